"""Runs each ```mlir example in the documentation of ops through zero-opt, and what that prints again.

usage: op_examples.py OPS.td --tblgen-include DIR ... [--require-all]

--require-all: every op of the dialect must stand in an example.
"""
import argparse
import json
import re
import subprocess
import sys
import textwrap


def run_example(text):
    """The error output of zero-opt, or None where the example runs and what it prints runs again."""
    for _ in range(2):
        result = subprocess.run(["zero-opt", "-"], input=text, capture_output=True, text=True)
        if result.returncode != 0:
            return result.stderr
        text = result.stdout
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("td")
    parser.add_argument("--tblgen-include", action="append", default=[])
    parser.add_argument("--require-all", action="store_true")
    arguments = parser.parse_args()
    includes = ["-I" + path for path in arguments.tblgen_include]
    command = ["llvm-tblgen", "--dump-json", arguments.td] + includes
    dump = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    records = json.loads(dump)

    names, examples, failures = set(), [], []
    for record in sorted(records["!instanceof"]["Op"]):
        op = records[record]
        names.add(records[op["opDialect"]["def"]]["name"] + "." + op["opName"])
        for example in re.findall(r"```mlir\n(.*?)```", op["description"], re.DOTALL):
            examples.append((record, textwrap.dedent(example)))
    for record, example in examples:
        error = run_example(example)
        if error is not None:
            failures.append(f"{record}: {error}")
    if arguments.require_all:
        shown = {name for _, example in examples for name in re.findall(r"\b[a-z]+\.[a-z0-9_]+", example)}
        failures += [f"{name} stands in no example" for name in sorted(names - shown)]
    for failure in failures:
        print(failure)
    print(f"{len(examples)} examples, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
