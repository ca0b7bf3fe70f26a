"""Runs the README's first commands on the golden gpt2 and compares what they print with what the README says they print.

Throughput differs from run to run, the instruction-set variant from machine to machine: both are left out. Everything else must be
the same to the letter.
"""
import os
import pathlib
import re
import subprocess
import sys

root, golden, work = (pathlib.Path(a).resolve() for a in sys.argv[1:4])
readme = (root / "README.md").read_text()
first, config = (re.search(pattern, readme, re.S).group(1) for pattern in (r"```\n(\$ zero-import.*?)```", r"```json\n(.*?)```"))
# What is said of the program that the first commands have made, and of models that are numbers.
later = re.findall(r"```\n(\$ zero-(?:dump|compile|plan) .*?)```", readme, re.S)
work.mkdir(parents=True, exist_ok=True)
(work / "ds_config.json").write_text(config)
for name in ("gpt2.onnx", "gpt2.data.npz"):
    if not (work / name).exists():
        os.symlink(golden / name, work / name)


def plain(text):
    return [re.sub(r"  [\d.]+ samples/s$|, x86-64-v\d(-bf16)?$", "", line) for line in text.splitlines()]


failures = count = 0
for block in re.split(r"^\$ ", "".join([first, *later]), flags=re.M)[1:]:
    command, _, expected = block.partition("\n")
    command = re.sub(r"\s+#.*", "", command)
    run = subprocess.run(command, shell=True, cwd=work, capture_output=True, text=True)
    count += 1
    refuses = ": error: " in expected
    if bool(run.returncode) != refuses:
        failures += 1
        print(f"{command}: exit {run.returncode}: {run.stderr[-400:]}")
        continue
    lines = plain(run.stderr if refuses else run.stdout)
    # "..." stands for lines that are left out: what follows it stands somewhere later.
    position, anywhere = 0, False
    for line in plain(expected):
        if line == "...":
            anywhere = True
            continue
        found = next((i for i in range(position, len(lines)) if lines[i] == line), None)
        if found is None or (found != position and not anywhere):
            failures += 1
            print(f"{command}: the README says '{line}', printed is '{lines[position] if position < len(lines) else ''}'")
            break
        position, anywhere = found + 1, False
print(f"{count} commands of the README, {failures} print something else")
sys.exit(bool(failures))
