"""The systems that Zero is compared with: their virtual environment, and runs of them."""
import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from models import ADAM, ROOT
from processes import ENVIRONMENT, Failed, cores

TORCH, DEEPSPEED = "torch==2.15.0", "deepspeed==0.19.8"
HELPERS = ["numpy", "onnx==1.23.2", "psutil", "ninja", "wheel", "setuptools", "einops", "py-cpuinfo"]

# What is compared at each stage; None: one rank, nothing is sent.
OF_STAGE = {None: ["eager"], 0: ["ddp", "deepspeed"], 1: ["zero1", "deepspeed"], 2: ["fsdp2", "deepspeed"], 3: ["fsdp2", "deepspeed"]}
NAMES = {"eager": "PyTorch eager", "ddp": "DDP", "zero1": "ZeroRedundancyOptimizer", "fsdp2": "FSDP2", "deepspeed": "DeepSpeed"}
# Compiled on first use otherwise, inside the first measured run. Its own Adam is not: PyTorch's fused AdamW is what all peers get.
EXTENSIONS = ("ShareMemCommBuilder",)


class Environment:
    def __init__(self, folder=ROOT / ".venv-bench"):
        self.folder = pathlib.Path(folder)
        self.python = self.folder / "bin" / "python"

    def variables(self):
        return ENVIRONMENT | {"DS_ACCELERATOR": "cpu", "TORCH_EXTENSIONS_DIR": str(self.folder / "extensions"), "CUDA_VISIBLE_DEVICES": "", "PYTHONWARNINGS": "ignore", "TORCH_CPP_LOG_LEVEL": "ERROR",
                              "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false",
                              "PATH": f"{self.python.parent}{os.pathsep}{ENVIRONMENT['PATH']}"}

    def _pip(self, *arguments):
        subprocess.run([self.python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *arguments], check=True, env=self.variables())

    def install(self):
        """Once: PyTorch, DeepSpeed and its extensions (several GB, some minutes)."""
        stamp = self.folder / "installed.txt"
        wanted = "\n".join([TORCH, DEEPSPEED, *HELPERS])
        if stamp.exists() and stamp.read_text() == wanted:
            return
        print("installing", TORCH, "and", DEEPSPEED, "into", self.folder, flush=True)
        if not self.python.exists():
            subprocess.run([sys.executable, "-m", "venv", self.folder], check=True)
        self._pip(TORCH, *HELPERS)
        self._pip("--no-build-isolation", DEEPSPEED)
        code = ("from deepspeed.accelerator import get_accelerator\n"
                f"for name in {EXTENSIONS!r}:\n"
                "    builder = get_accelerator().create_op_builder(name)\n"
                "    if builder is not None:\n"
                "        builder.load()\n")
        subprocess.run([self.python, "-c", code], check=True, env=self.variables(), stdout=subprocess.DEVNULL)
        stamp.write_text(wanted)


def _describe_failure(folder, world):
    lines = [line for rank in range(world) for line in (folder / f"log.{rank}").read_text(errors="replace").splitlines() if line.strip()]
    errors = [line for line in lines if "Error" in line or "error" in line]
    return (errors or lines or ["it said nothing"])[-1][:400]


def run(environment, system, stage, size, dtype, model, data, steps, warmup, link, timeout):
    """One run: seconds of a step (median of the slowest rank), losses (mean over ranks), bytes sent per rank and step, memory of the worst
    rank. `link` is a network.Link that is up, or None for the loopback interface."""
    world = 1 if stage is None else 2
    with tempfile.TemporaryDirectory(prefix="zero-bench-") as name:
        folder = pathlib.Path(name)
        processes = []
        port = 20000 + (os.getpid() + int(time.time() * 10)) % 20000
        with contextlib.ExitStack() as files:
            for rank in range(world):
                interface = link.interfaces[rank] if link else "lo"
                variables = environment.variables() | {
                    "RANK": str(rank), "WORLD_SIZE": str(world), "LOCAL_RANK": str(rank), "LOCAL_SIZE": str(world), "LOCAL_WORLD_SIZE": str(world),
                    "MASTER_ADDR": link.addresses[0] if link else "127.0.0.1", "MASTER_PORT": str(port), "GLOO_SOCKET_IFNAME": interface}
                command = (link.inside(rank) if link else []) + ["taskset", "-c", str(cores()[rank % len(cores())]), environment.python,
                                                                 pathlib.Path(__file__).parent / "peer_rank.py", "--interface", interface,
                                                                 "--system", system, "--stage", stage or 0, "--dtype", dtype, "--model", model,
                                                                 "--data", data, "--out", folder / "out", "--layers", size.layers, "--heads",
                                                                 size.heads, "--batch", size.batch, "--steps", steps, "--warmup", warmup,
                                                                 "--adam", json.dumps(ADAM)]
                log = files.enter_context(open(folder / f"log.{rank}", "w"))
                processes.append(subprocess.Popen([str(each) for each in command], env=variables, stdout=log, stderr=log, cwd=folder,
                                                  start_new_session=True))
            end = time.time() + timeout
            while any(p.poll() is None for p in processes) and time.time() < end and not any(p.poll() for p in processes):
                time.sleep(0.05)
            for process in processes:
                if process.poll() is None:
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(process.pid, 9)
                process.wait()
        results = [folder / f"out.{rank}" for rank in range(world)]
        if any(p.returncode for p in processes) or not all(r.exists() for r in results):
            raise Failed(f"{NAMES[system]}: {_describe_failure(folder, world)}")
        ranks = [json.loads(r.read_text()) for r in results]
    return {"system": system, "version": ranks[0]["deepspeed"] or ranks[0]["torch"],
            "step_seconds": max(statistics.median(r["step_seconds"]) for r in ranks),
            "losses": [statistics.fmean(each) for each in zip(*(r["losses"] for r in ranks))],
            "first_step_seconds": max(r["first_step_seconds"] for r in ranks),
            # The loopback interface counts what all ranks send.
            "sent_bytes": max(r["sent_bytes"] for r in ranks) / (1 if link else world),
            "peak_bytes": max(r["peak_bytes"] - r["imported_bytes"] for r in ranks), "peak_total_bytes": max(r["peak_bytes"] for r in ranks)}
