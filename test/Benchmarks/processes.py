"""Starting programs and what is measured of them from outside: their time, their memory, and how much of the machine others used meanwhile."""
import contextlib
import ctypes
import os
import resource
import subprocess
import time

# Settings of some machines that slow BLAS libraries down, and threads: no system gets them.
ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith("OPENBLAS_")} | {
    "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}


class Failed(Exception):
    """A program that did not do its work; the message is what it said last."""


def cores():
    return sorted(os.sched_getaffinity(0))


def run(command, timeout, cwd=None):
    """Runs `command` to its end: {seconds, peak_rss_bytes, stdout}; Failed with its last lines where its exit code is not 0."""
    command = [str(each) for each in command]
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=ENVIRONMENT, cwd=cwd,
                               start_new_session=True)
    try:
        output, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, 9)
        process.communicate()
        raise Failed(f"{os.path.basename(command[0])} took longer than {timeout} s") from None
    seconds = time.perf_counter() - begin
    if process.returncode:
        raise Failed(f"{command[0]}: exit code {process.returncode}: " + " / ".join(output.strip().splitlines()[-3:])[-600:])
    return {"seconds": seconds, "stdout": output}


def run_measured(command, timeout):
    """As `run`, with the most memory that the program itself held (children excluded)."""
    command = [str(each) for each in command]
    begin = time.perf_counter()
    with open(os.devnull, "w") as nowhere:
        process = subprocess.Popen(command, stdout=nowhere, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
        message = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise Failed(f"{command[0]}: exit code {process.returncode}: " + message.strip()[-600:])
    return {"seconds": time.perf_counter() - begin, "peak_rss_bytes": usage.ru_maxrss * 1024}


PR_SET_CHILD_SUBREAPER = 36  # <linux/prctl.h>


def used_seconds():
    """CPU time of this process and of its children that have ended: also of those that left their parents, as mpirun's daemons do."""
    with contextlib.suppress(ChildProcessError):
        deadline = time.perf_counter() + 2
        while time.perf_counter() < deadline:
            if os.waitpid(-1, os.WNOHANG) == (0, 0):
                time.sleep(0.01)  # one of them is about to end
    return sum(u.ru_utime + u.ru_stime for u in map(resource.getrusage, (resource.RUSAGE_CHILDREN, resource.RUSAGE_SELF)))


def _busy():
    with open("/proc/stat") as file:
        fields = [int(x) for x in file.readline().split()[1:]]
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def watching(record):
    """Writes `other_cores` into `record`: cores that processes other than our children kept busy meanwhile, on average."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    busy, mine, begin = _busy(), used_seconds(), time.perf_counter()
    yield
    mine = used_seconds() - mine
    record["other_cores"] = round(max(0.0, (_busy() - busy - mine) / (time.perf_counter() - begin)), 3)
