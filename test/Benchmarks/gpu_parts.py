"""The parts of tools/dev/gpu-check: each runs programs, checks what they say, and gives what was measured; or says why it cannot run here."""
import dataclasses
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

import numpy as np

import processes
from models import Size, configuration, write_data, write_model
from processes import Failed, run

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGETS = ["zero-compile", "zero-run", "zero-bench-cuda", "CudaCommConformance", "DeviceConformance", "CudaKernelsTest",
           "CudaGeneratedTests"]

# GPT-2 medium with a head of its own: 406 M parameters (355 M where embedding and head are one).
GPT = Size(layers=24, width=1024, heads=16, sequence=1024, batch=8, vocabulary=50304)
TINY = Size(layers=2, width=64, heads=2, sequence=32, batch=2, vocabulary=256)
# What messages name where cuBLASLt lacks something that products do before they are stored.
PLAIN = "--cuda-epilogues=false"
GOLDEN_TOLERANCE = 1e-4  # relative, of a loss in float32: kernels round elsewhere than PyTorch's on a CPU

# Dense bf16 products per second, as the vendor's data sheets state them.
PEAK_FLOPS = {"H200": 989e12, "H100 PCIe": 756e12, "H100": 989e12, "A100": 312e12, "GB200": 2500e12, "B200": 2250e12, "L40S": 362e12, "RTX 4090": 165e12}


class Skipped(Exception):
    """Why a part cannot run here."""


@dataclasses.dataclass
class Check:
    """Where things are, and what is known of the machine."""
    arguments: object

    def __post_init__(self):
        self.bin, self.build = self.arguments.build / "bin", self.arguments.build
        self.quick, self.shim = self.arguments.quick, self.arguments.shim
        self.models = self.arguments.results / "models"
        self.timeout = 120
        if self.shim:
            folder = self.build / "test/CUDA/Shim/lib"
            if not (folder / "libcuda.so.1").exists():
                raise SystemExit(f"gpu-check: --shim: no simulated driver in {folder}")
            processes.ENVIRONMENT["ZERO_CUDA_LIBRARY_PATH"] = str(folder)
        self._device = None
        self._lacking = {}  # precision: what cuBLASLt has no algorithm for

    def device(self):
        """What zero-bench-cuda says of the first GPU; Failed or Skipped where there is none."""
        if self._device is None:
            try:
                self._device = json.loads(run([self.bin / "zero-bench-cuda", "--bytes", str((1 << 20) if self.quick else (1 << 30))], self.timeout)["stdout"])
            except Failed as why:
                self._device = why
        if isinstance(self._device, Failed):
            raise Skipped(f"no GPU: {self._device}")
        return self._device

    def gpu_name(self):
        try:
            return self.device()["name"]
        except Skipped:
            return None

    def compile(self, model, program, config, flags, world=1):
        path = program.with_suffix(".config.json")
        path.write_text(config if isinstance(config, str) else json.dumps(config))
        architectures = ["--cuda-architectures=" + self.device()["architecture"]]
        run([self.bin / "zero-compile", model, "--target=cuda", "--config", path, f"--world-size={world}", "-o", program, *architectures, *flags], self.timeout)
        return program

    def train(self, program, data, steps, ranks=1, comm=None, flags=(), prefix=()):
        """The metrics of each step."""
        with tempfile.TemporaryDirectory(prefix="zero-gpu-") as folder:
            metrics = pathlib.Path(folder) / "metrics.jsonl"
            command = [self.bin / "zero-run", program, "--data", data, "--steps", steps, "--metrics", metrics, "--flight-recorder", "none",
                       *([f"--comm={comm}"] if comm else []), *flags]
            run([*(["mpirun", "-n", ranks] if ranks > 1 else []), *prefix, *command], self.timeout)
            return [json.loads(line) for line in metrics.read_text().splitlines()]

    def trained(self, notes, precision, build, train):
        """`train` of the program that `build` compiles with more flags: none, or PLAIN where cuBLASLt lacks something for that precision, which is noted."""
        if precision not in self._lacking:
            try:
                return train(build([]))
            except Failed as why:
                if PLAIN not in str(why):
                    raise
                self._lacking[precision] = "".join(str(why).partition("fused_matmul: ")[1:]).partition(";")[0]
        metrics = train(build([PLAIN]))
        note = f"ONLY WITH {PLAIN} in {precision}: {self._lacking[precision]}"
        if note not in notes:
            notes.append(note)
        return metrics


def device(check):
    measured = check.device()
    notes = []
    if shutil.which("nvidia-smi"):
        lines = subprocess.run(["nvidia-smi", "--query-gpu=index,name,driver_version,memory.total,memory.used", "--format=csv,noheader"], capture_output=True,
                               text=True).stdout.strip().splitlines()
        notes += [f"GPU {line}" for line in lines]
    return {"name": measured["name"], "architecture": measured["architecture"], "gpus": measured["gpus"],
            "copy_bytes_per_second": float(measured["copy_bytes_per_second"]), "notes": notes}


def run_unit_tests(check, names):
    """Runs GoogleTest programs of the build folder; {program: cases}. Those that were not built are named."""
    ran, absent = {}, []
    for name, few in names:
        found = next((path for path in (check.bin / name, *check.build.glob(f"test/**/{name}")) if path.is_file()), None)
        if not found:
            absent.append(name)
            continue
        with tempfile.TemporaryDirectory() as folder:
            report = pathlib.Path(folder) / "report.json"
            run([found, f"--gtest_output=json:{report}", *([f"--gtest_filter={few}"] if check.quick else [])], check.timeout)
            result = json.loads(report.read_text())
        skipped = sum(case.get("result") == "SKIPPED" for suite in result["testsuites"] for case in suite["testsuite"])
        if result["tests"] == 0:
            raise Failed(f"{name} has no case '{few}'")
        ran[name] = {"cases": result["tests"] - skipped, "skipped": skipped}
    return ran, absent


def conformance(check):
    gpus = check.device()["gpus"]
    program = check.bin / "CudaCommConformance"
    if not program.exists():
        raise Skipped("CudaCommConformance is not built")
    notes = []
    most = min(gpus, 2 if check.quick else 4)
    jobs = [("nccl", 1), ("deterministic", 1), ("staged", 2)] + ([("nccl", most), ("deterministic", most)] if gpus > 1 else [])
    for channels, ranks in jobs:
        said = run([*(["mpirun", "-n", ranks] if ranks > 1 else []), program, channels, "conform-small" if check.quick else "conform"], check.timeout)["stdout"]
        if f"{ranks} ranks conform" not in said:
            raise Failed(f"{channels} channels of {ranks} ranks: {said.strip()[-300:]}")
        notes.append(f"{channels} channels of {ranks} {'rank' if ranks == 1 else 'ranks'} conform")
    if gpus < 2:
        notes.append("NOT RUN: NCCL between GPUs (there is one)")
    ran, absent = run_unit_tests(check, UNIT_TESTS["conformance"])
    notes += [f"{name}: {counts['cases']} cases pass, {counts['skipped']} skipped" for name, counts in ran.items()]
    notes += [f"NOT RUN: {name} is not built" for name in absent]
    return {"channel_jobs": len(jobs), "unit_cases": sum(counts["cases"] for counts in ran.values()), "notes": notes}


def kernels(check):
    check.device()
    ran, absent = run_unit_tests(check, UNIT_TESTS["kernels"])
    if not ran:
        raise Skipped(f"{', '.join(absent)} not built")
    return {"unit_cases": sum(counts["cases"] for counts in ran.values()),
            "notes": [f"{name}: {counts['cases']} cases pass, {counts['skipped']} skipped" for name, counts in ran.items()]
            + [f"NOT RUN: {name} is not built" for name in absent]}


def golden(check):
    gpus = check.device()["gpus"]
    if not check.arguments.golden.is_dir():
        raise Skipped(f"no golden models in '{check.arguments.golden}' (ZERO_GOLDEN_DIR)")
    models = ["mlp", "cnn"] if check.quick else ["mlp", "gpt2", "cnn"]
    steps = 2 if check.quick else 20
    worst, notes, runs = 0.0, [], 0
    check.models.mkdir(parents=True, exist_ok=True)
    for model in models:
        expected = json.loads((check.arguments.golden / f"{model}.json").read_text())
        base = expected["variants"]["base"]
        for ranks, comm in [(1, None), (2, "mpi")] + ([(2, "nccl")] if gpus > 1 else []):
            for deterministic in (False, True):
                config = {"train_micro_batch_size_per_gpu": expected["global_batch"] // ranks, "optimizer": {"type": "AdamW", "params": expected["adamw"]},
                          "zero_optimization": {"stage": 3 if ranks > 1 else 0}}
                flags = ["--loss=cross-entropy", "--labels=y", *(["--deterministic"] if deterministic else [])]
                name = f"{model}-{ranks}{'-deterministic' * deterministic}.bin"
                metrics = check.trained(
                    notes, "float32",
                    lambda more, model=model, name=name, config=config, flags=flags, ranks=ranks: check.compile(
                        check.arguments.golden / f"{model}.onnx", check.models / name, config, [*flags, *more], ranks),
                    lambda program, model=model, ranks=ranks, comm=comm: check.train(program, check.arguments.golden / f"{model}.data.npz", steps, ranks, comm))
                difference = max(abs(step["loss"] - loss) / abs(loss) for step, loss in zip(metrics, base["loss"], strict=False))
                worst, runs = max(worst, difference), runs + 1
                if difference > GOLDEN_TOLERANCE:
                    raise Failed(f"{model}, {ranks} ranks{', deterministic' * deterministic}: a loss differs from PyTorch's by {difference:.3g} (relative), allowed are {GOLDEN_TOLERANCE}")
        if model == "cnn":
            notes.append(f"{model}: {metrics[0]['device']}")  # with the version of cuDNN, where that computes convolutions
        notes.append(f"{model}: {steps} losses within {GOLDEN_TOLERANCE} of PyTorch's: 1 rank; 2 ranks through the host{' and over NCCL' * (gpus > 1)}")
    if gpus < 2:
        notes.append("NOT RUN: two ranks over NCCL (there is one GPU)")
    return {"runs": runs, "largest_relative_difference": worst, "notes": notes}


def sanitizer(check):
    check.device()
    if check.shim:
        raise Skipped("the simulated driver checks each access itself")
    tool = shutil.which("compute-sanitizer") or next((path for path in ("/usr/local/cuda/bin/compute-sanitizer",) if os.path.exists(path)), None)
    if not tool:
        raise Skipped("compute-sanitizer is not installed")
    size, folder, notes = TINY, check.models / "tiny", []
    model, data = write_model(size, folder), write_data(size, size.batch, folder)
    for kind in ("memcheck", "racecheck"):
        check.trained(notes, "float32",
                      lambda more: check.compile(model, folder / "sanitized.bin", configuration(size, 0, "float32"), ["--loss=cross-entropy", "--labels=y", *more]),
                      lambda program, kind=kind: check.train(program, data, 1, prefix=[tool, "--tool", kind, "--error-exitcode", "9"]))
    return {"tools": "memcheck racecheck", "steps": 1, "notes": notes}


def peak_flops(name):
    return next((flops for key, flops in PEAK_FLOPS.items() if key in name), None)


def benchmark(check):
    gpu = check.device()
    size = TINY if check.quick else GPT
    folder = check.models / ("tiny-shapes" if check.quick else "gpt-shapes")  # weights are drawn by the compiler
    steps, warmup = (3, 1) if check.quick else (30, 10)
    report, program, notes = folder / "benchmark.report.json", folder / "benchmark.bin", []
    model, data = write_model(size, folder, shapes_only=True), write_data(size, size.batch * steps, folder)
    metrics = check.trained(notes, "bf16",
                            lambda more: check.compile(model, program, configuration(size, 0, "bf16"),
                                                       ["--loss=cross-entropy", "--labels=y", "--init=normal:0.02", f"--report={report}", *more]),
                            lambda compiled: check.train(compiled, data, steps))
    seconds = statistics.median(step["step_seconds"] for step in metrics[warmup:])
    plan = json.loads(report.read_text())
    arena = next(arena["arena_bytes"] for arena in plan["memory"]["arenas"] if arena["kind"] == "device")
    if metrics[-1]["peak_device_bytes"] != arena:
        raise Failed(f"the device arena holds {metrics[-1]['peak_device_bytes']} bytes, the compiler said {arena}")
    measured = {"parameters": plan["parameters"]["elements"], "step_seconds": seconds, "tokens_per_second": size.batch * size.sequence / seconds,
                "loss_first": metrics[0]["loss"], "loss_last": metrics[-1]["loss"], "peak_device_bytes": arena,
                "other_device_bytes": metrics[-1].get("other_device_bytes")}
    if peak := peak_flops(gpu["name"]):
        measured["mfu"] = size.flops / seconds / peak
    measured["notes"] = notes + ([] if peak else [f"NOT MEASURED: MFU (no known peak of a '{gpu['name']}')"])
    measured |= bandwidths(check, program, data, plan, gpu, measured["notes"])
    return measured


def bandwidths(check, program, data, plan, gpu, notes):
    """Bytes per second of generated kernels, by kind, beside copies of the device's memory."""
    with tempfile.TemporaryDirectory(prefix="zero-gpu-") as folder:
        trace = pathlib.Path(folder) / "trace.json"
        check.train(program, data, 2 if check.quick else 5, flags=[f"--trace={trace}"])
        events = [event for event in json.loads(trace.read_text())["traceEvents"] if event["ph"] == "X"]
    commands = {(section["name"], index): command for section in plan["timeline"]["sections"] for index, command in enumerate(section["commands"])}
    moved, taken = {}, {}
    for event in events:
        command = commands.get((event["args"]["section"], event["args"]["command"]))
        if command and command["kind"] in GENERATED:
            moved[command["kind"]] = moved.get(command["kind"], 0) + command["read_bytes"] + command["written_bytes"]
            taken[command["kind"]] = taken.get(command["kind"], 0.0) + event["dur"] * 1e-6
    copies = float(gpu["copy_bytes_per_second"])
    rates = {kind: moved[kind] / taken[kind] for kind in moved if taken[kind] > 0}
    for kind, rate in sorted(rates.items(), key=lambda item: -moved[item[0]])[:6]:
        notes.append(f"{kind}: {rate / 1e9:.1f} GB/s, {rate / copies:.2f} of copies, {taken[kind] * 1e3:.2f} ms")
    total = sum(taken.values())
    if not total:
        notes.append("NOT MEASURED: bandwidth of generated kernels (the trace names none)")
        return {"bandwidth_by_kind": {}}
    return {"generated_kernels_of_copy_bandwidth": sum(moved.values()) / total / copies, "bandwidth_by_kind": rates}


def pytorch(check):
    gpu = check.device()
    if check.shim:
        raise Skipped("PyTorch does not run on the simulated driver")
    python = next((path for path in (os.environ.get("ZERO_GPU_CHECK_PYTHON"), sys.executable, shutil.which("python3"))
                   if path and subprocess.run([path, "-c", "import torch; assert torch.cuda.is_available()"], capture_output=True).returncode == 0), None)
    if not python:
        raise Skipped("torch (with CUDA) cannot be imported")
    size = TINY if check.quick else GPT
    measured = {}
    for mode in ("eager", "compile"):
        result = run([python, pathlib.Path(__file__).parent / "gpu_torch.py", "--mode", mode, "--steps", "30", "--warmup", "10",
                      "--size", json.dumps(dataclasses.asdict(size))], check.timeout)
        one = json.loads(result["stdout"].strip().splitlines()[-1])
        measured |= {f"{mode}_step_seconds": one["step_seconds"], f"{mode}_peak_bytes": one["peak_bytes"], "torch": one["torch"]}
        if peak := peak_flops(gpu["name"]):
            measured[f"{mode}_mfu"] = size.flops / one["step_seconds"] / peak
    return measured


# What the report calls commands of generated kernels.
GENERATED = ("fused", "update")
# GoogleTest programs, and which of their cases are enough to try gpu-check itself.
UNIT_TESTS = {"conformance": [("DeviceConformance", "*")],
              "kernels": [("CudaKernelsTest", "CudaCopy.*:CudaMatmul.*:CudaFusedMatmul.*:*CudaConvolution.Fixed*"), ("CudaGeneratedTests", "RowKernels.LayerNorm*")]}
PARTS = {"device": device, "conformance": conformance, "kernels": kernels, "golden": golden, "sanitizer": sanitizer, "benchmark": benchmark, "pytorch": pytorch}
