"""growth.py MOST PASS FEW.mlir MANY.mlir: processor time of zero-opt PASS on both files; fails where the second takes MOST times as much."""
import os
import subprocess
import sys


def seconds(path):
    best = float("inf")
    for _ in range(3):
        process = subprocess.Popen(["zero-opt", sys.argv[2], path, "-o", "/dev/null"])
        _, status, usage = os.wait4(process.pid, 0)
        assert status == 0, path
        best = min(best, usage.ru_utime)
    return best


few, many = map(seconds, sys.argv[3:])
print(f"{few:.2f} s, {many:.2f} s")
sys.exit(f"{many / few:.1f} times the time, expected less than {sys.argv[1]}" if many > float(sys.argv[1]) * few else 0)
