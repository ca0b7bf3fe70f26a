"""lose_a_rank.py STOP|KILL RANK COMMAND...: starts an MPI job, stops or kills one rank in the middle, and gives the job's exit code."""
import os
import pathlib
import signal
import subprocess
import sys
import time

how, rank, command = getattr(signal, f"SIG{sys.argv[1]}"), sys.argv[2], sys.argv[3:]
job = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
for line in job.stdout:
    if line.startswith("step "):
        break


def find():
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            parent = process.joinpath("stat").read_text().rsplit(")", 1)[1].split()[1]
            if parent == str(job.pid) and f"OMPI_COMM_WORLD_RANK={rank}\0" in process.joinpath("environ").read_text():
                return int(process.name)
        except OSError:
            pass
    sys.exit(f"no process of rank {rank}")


os.kill(find(), how)
begin = time.time()
for line in job.stdout:
    pass
code = job.wait(timeout=120)
print(f"ended after {time.time() - begin:.1f} s with exit code {code}")
