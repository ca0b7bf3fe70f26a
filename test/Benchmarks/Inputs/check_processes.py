"""check_processes.py BENCHMARKS: a process that leaves its parent and computes for a second of CPU time."""
import sys
import time

sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
import processes

record = {}
with processes.watching(record):
    before = processes.used_seconds()
    processes.run([sys.executable, "-c", "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n"
                                         "        os.close(1), os.close(2)\n        while time.process_time() < 1: pass\n        os._exit(0)\n    os._exit(0)\nos.wait()"], 60)
    used, deadline = 0, time.monotonic() + 50
    while used < 1 and time.monotonic() < deadline:
        used = processes.used_seconds() - before
assert used >= 1, used
assert record["other_cores"] >= 0, record
