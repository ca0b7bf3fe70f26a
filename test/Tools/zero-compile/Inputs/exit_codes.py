"""Runs each command before `--` with the arguments behind it; prints exit code and last line."""
import subprocess
import sys

split = sys.argv.index("--")
for command in sys.argv[1:split]:
    result = subprocess.run(command.split() + sys.argv[split + 1:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(result.returncode, result.stdout.strip().splitlines()[-1])
