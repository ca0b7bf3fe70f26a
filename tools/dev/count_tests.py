"""Counts the results that tools/dev/test left in a folder, over both runners; the last line is the sum.

Reads ctest.junit, one GoogleTest XML per binary (its cases are what counts; a binary that crashed counts as one failure),
and lit.json. Exits with 1 if a test failed or nothing was run.
"""
import json
import pathlib
import sys
import xml.etree.ElementTree as xml

# What lit calls a result: anything else is a failure.
LIT_PASSED = {"PASS", "XFAIL", "FLAKYPASS"}
LIT_SKIPPED = {"UNSUPPORTED", "SKIPPED", "EXCLUDED"}


def unit_tests(folder):
    """(passed, failed names, skipped (name, reason))."""
    passed, failed, skipped = 0, [], []
    binaries = xml.parse(folder / "ctest.junit").getroot()
    for binary in binaries.iter("testcase"):
        name, status = binary.get("name"), binary.get("status")
        cases = folder / f"{name}.xml"
        if status == "disabled" or binary.find("skipped") is not None:
            reason = binary.find("skipped")
            output = (binary.findtext("system-out") or "").strip().splitlines()
            skipped.append((name, output[-1] if output else reason is not None and reason.get("message") or "disabled"))
            continue
        failures = 0
        for case in xml.parse(cases).getroot().iter("testcase") if cases.exists() else ():
            full = f"{name}: {case.get('classname')}.{case.get('name')}"
            if case.find("failure") is not None:
                failed.append(full)
                failures += 1
            elif case.find("skipped") is not None or case.get("result") == "skipped":
                reason = case.find("skipped")
                message = (reason.get("message") or "").strip() if reason is not None else ""
                skipped.append((full, message.splitlines()[-1] if message else "no reason given"))
            elif case.get("status") == "notrun":
                skipped.append((full, "disabled"))
            else:
                passed += 1
        if status != "run" and not failures:  # crashed, timed out, or not built
            failed.append(f"{name}: {status}")
        elif not cases.exists():
            passed += 1  # not a GoogleTest binary
    return passed, failed, skipped


def lit_tests(folder):
    passed, failed, skipped = 0, [], []
    for test in json.loads((folder / "lit.json").read_text())["tests"]:
        if test["code"] in LIT_PASSED:
            passed += 1
        elif test["code"] in LIT_SKIPPED:
            output = [line for line in test["output"].splitlines() if line.strip()]
            skipped.append((test["name"], output[-1] if output else "unsupported here"))
        else:
            failed.append(f"{test['name']}: {test['code']}")
    return passed, failed, skipped


def main():
    folder = pathlib.Path(sys.argv[1])
    passed, failed, skipped = 0, [], []
    for read, file in ((unit_tests, "ctest.junit"), (lit_tests, "lit.json")):
        if not (folder / file).exists():
            failed.append(f"{file} is missing: the runner did not finish")
            continue
        p, f, s = read(folder)
        passed, failed, skipped = passed + p, failed + f, skipped + s
    for name, reason in skipped:
        print(f"skipped: {name}: {reason}")
    for name in failed:
        print(f"failed: {name}")
    print(f"{passed} passed, {len(failed)} failed, {len(skipped)} skipped")
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()
