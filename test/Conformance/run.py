"""Runs ONNX's node tests through zero-compile --loss=none and zero-run --predict.

    python test/Conformance/run.py [--filter=REGEX] [--verbose] [--build=DIR] [--bin=DIR] [--jobs=N] [--check]

A case passes if every output has the type, shape and values that ONNX expects (tolerances: suite.py); it is refused if
zero-compile ends with exit code 3 and says why; anything else (another exit code, a signal, a hang, wrong numbers) is a failure.
The table goes to BUILD/test/Conformance/table.txt. --verbose prints each case with the tool's message; --check also asserts the
floor and the groups of suite.py. Exit code 0 only if nothing failed.
"""
import argparse
import collections
import concurrent.futures
import dataclasses
import os
import pathlib
import pickle
import re
import signal
import subprocess
import sys
import tempfile
import threading

import numpy as np

import cases
import suite

ROOT = pathlib.Path(__file__).resolve().parents[2]
SECONDS = 60
of_thread = threading.local()


@dataclasses.dataclass
class Outcome:
    case: cases.Case
    kind: str  # passed, refused, failed
    category: str  # of a refusal
    message: str


def run(command):
    try:
        result = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                errors="replace", timeout=SECONDS)
    except subprocess.TimeoutExpired as late:
        return None, f"took longer than {SECONDS} s: {(late.output or b'')[-300:]}"
    return result.returncode, result.stdout


class Compiler:
    """zero-compile, loaded once for all cases of a thread (compile-server.cpp)."""

    def __init__(self, tools):
        self.server = subprocess.Popen([tools / "compile-server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, arguments, log):
        """(exit code, output); no exit code: what a signal did."""
        self.server.stdin.write("\t".join(str(word) for word in [log, "zero-compile", *arguments]) + "\n")
        self.server.stdin.flush()
        answer = self.server.stdout.readline()
        if not answer:
            sys.exit(f"compile-server ended with exit code {self.server.wait()}")
        code, text = int(answer), log.read_text(errors="replace")
        if code == -signal.SIGALRM:
            return None, f"took longer than a minute: {text[-300:]}"
        return code, text


def first_reason(text):
    """The errors of a tool with their notes, without its name and file names."""
    lines = [line for line in text.splitlines() if re.match(r"[\w-]+: (error|note): ", line)]
    return " | ".join(re.sub(r"^[\w-]+: (error|note): (at '[^']*model.onnx': )?", "", line).replace(str(ROOT), "") for line in lines)


def categorise(case, reason):
    if case.opset > suite.NEWEST_OPSET:
        return f"opset above {suite.NEWEST_OPSET}"
    if case.exotic:
        return f"type {re.sub(r'(float8|float4|complex|u?int4|u?int2).*', lambda m: m.group(1), case.exotic)}"
    if re.search(r"is a sequence|has no shape of known rank|is an optional", reason):
        return "sequences and optionals at the door"
    if re.search(r"must be constant|depends on data|data-dependent|depends on the values", reason):
        return "shape depends on data"
    return "unsupported"


def compare(case, number, path):
    """What is wrong with the outputs; empty if nothing is."""
    expected = pickle.loads((case.folder / f"expected{number}.pickle").read_bytes())
    with np.load(path) as archive:
        for name, want in expected:
            if want is None or name == "":
                continue
            if name not in archive.files:
                return f"output '{name}' is not there"
            got = archive[name]
            if want.dtype.name == "bfloat16" and np.array_equal(got, got.astype(want.dtype).astype(np.float32), equal_nan=True):
                got = got.astype(want.dtype)  # the same numbers, which are written as float32
            if got.dtype != want.dtype:
                return f"output '{name}' is of type {got.dtype}, not {want.dtype}"
            if got.shape != want.shape:
                return f"output '{name}' has the shape {got.shape}, not {want.shape}"
            rtol, atol = suite.tolerances(case, want.dtype)
            if got.dtype.name == "bfloat16":
                got, want = got.astype(np.float32), want.astype(np.float32)
            try:
                np.testing.assert_allclose(got, want, rtol=rtol, atol=atol)
            except AssertionError as error:
                return f"output '{name}': " + " ".join(str(error).split())
    return ""


def run_data_set(case, number, tools, work):
    program, output = work / "compiled.bin", work / "out.npz"
    arguments = [case.folder / "model.onnx", "--loss=none", "-o", program]
    arguments += [f"--bind-input={name}={path}" for index, name in enumerate(case.bound)
                if (path := case.folder / f"bound{number}.{index}.npy").exists()]
    if not hasattr(of_thread, "compiler"):
        of_thread.compiler = Compiler(tools)
    code, text = of_thread.compiler.run(arguments, work / "log")
    if code == 3:
        reason = first_reason(text)
        return ("refused", reason) if reason else ("failed", "exit code 3 without a reason: " + text)
    if code != 0:
        return "failed", f"zero-compile: exit code {code}: {text[-2000:]}"
    code, text = run([tools / "zero-run", program, "--data", case.folder / f"data{number}.npz", "--predict", output])
    if code != 0:
        return "failed", f"zero-run: exit code {code}: {text[-2000:]}"
    try:
        wrong = compare(case, number, output)
    except Exception as error:  # a file that NumPy cannot read is the tool's fault
        wrong = f"zero-run wrote what cannot be read: {error!r}"
    return ("failed", wrong) if wrong else ("passed", "")


def run_case(case, tools):
    for number in range(case.data_sets):
        with tempfile.TemporaryDirectory(prefix="zero-conformance-") as work:
            kind, message = run_data_set(case, number, tools, pathlib.Path(work))
        if kind != "passed":
            break
    else:
        kind, message = "passed", ""
    return Outcome(case, kind, categorise(case, message) if kind == "refused" else "", message)


def table(outcomes):
    """One line for each operator; below, the reasons of refusals and all failures."""
    by_operator = collections.defaultdict(collections.Counter)
    for outcome in outcomes:
        by_operator[suite.operator_of(outcome.case)][outcome.kind] += 1
    lines = [f"{'operator':40} {'passed':>7} {'refused':>8} {'failed':>7}"]
    for operator in sorted(by_operator):
        counts = by_operator[operator]
        lines.append(f"{operator:40} {counts['passed']:7} {counts['refused']:8} {counts['failed']:7}")
    lines += ["", "refused, by reason:"]
    reasons = collections.defaultdict(list)
    for outcome in outcomes:
        if outcome.kind == "refused":
            reasons[outcome.category].append(outcome)
    for category, members in sorted(reasons.items(), key=lambda item: -len(item[1])):
        lines.append(f"  {category}: {len(members)}")
        if category.startswith("unsupported") or category.startswith("shape"):
            lines += [f"    {o.case.name}: {o.message}" for o in members]
    lines += ["", "failed:"] + [f"  {o.case.name}: {o.message}" for o in outcomes if o.kind == "failed"]
    return "\n".join(lines) + "\n"


def summary(outcomes):
    counts = collections.Counter(outcome.kind for outcome in outcomes)
    categories = collections.Counter(outcome.category for outcome in outcomes if outcome.kind == "refused")
    refused = ", ".join(f"{category} {count}" for category, count in categories.most_common())
    share = 100 * counts["passed"] / max(1, len(outcomes))
    return (f"{len(outcomes)} cases: {counts['passed']} passed ({share:.1f} %), {counts['refused']} refused ({refused}), "
            f"{counts['failed']} failed")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--filter", default="", metavar="REGEX", help="only cases whose name matches somewhere")
    parser.add_argument("--verbose", action="store_true", help="print each case with the tool's message")
    parser.add_argument("--build", default=str(ROOT / "build"), metavar="DIR", help="the build folder")
    parser.add_argument("--bin", metavar="DIR", help="the folder of compile-server and zero-run (default: bin of the build folder)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="cases at once")
    parser.add_argument("--check", action="store_true", help="also assert the floor and the groups that must pass")
    arguments = parser.parse_args()
    folder = pathlib.Path(arguments.build) / "test" / "Conformance"
    selected = [case for case in cases.load(folder) if re.search(arguments.filter, case.name)]
    if not selected:
        sys.exit(f"no case's name matches '{arguments.filter}'")
    tools = pathlib.Path(arguments.bin or pathlib.Path(arguments.build) / "bin")
    outcomes = []
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for outcome in pool.map(lambda case: run_case(case, tools), selected):
            outcomes.append(outcome)
            if arguments.verbose:
                text = f" ({outcome.category}): {outcome.message}" if outcome.kind == "refused" else f": {outcome.message}" if outcome.message else ""
                print(f"{outcome.kind:8}{outcome.case.name}{text}", flush=True)
    name = "table.txt" if not arguments.filter else "table-filtered.txt"
    (folder / name).write_text(table(outcomes))
    for outcome in outcomes:
        if outcome.kind == "failed" and not arguments.verbose:
            print(f"failed: {outcome.case.name}: {outcome.message}")
    print(summary(outcomes))
    print(f"the table is {folder / name}")
    problems = suite.check(outcomes) if arguments.check else []
    for problem in problems:
        print(f"check: {problem}")
    sys.exit(1 if problems or any(outcome.kind == "failed" for outcome in outcomes) else 0)


if __name__ == "__main__":
    main()
