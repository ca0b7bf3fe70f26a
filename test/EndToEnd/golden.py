"""Trains the golden models through zero-compile and zero-run and compares with PyTorch's runs, and runs with each other.

    golden.py SUITE            every run of a suite (suites.py); what the tests with RUN lines call
    golden.py run MODEL [--variant V] [--ranks N] [--stage S] [--prefetch] [--comm C] [--bucket B] [--reduce-at R] [--micro-batch M]
                               [--precision bf16|fp16|tf32] [--wire TYPE] [--gradients TYPE]
                               [--target cuda] [--deterministic] [--fast] [--plain] [--generated] [--timing serial|adversarial:SEED] [--steps K]
                               one run, compared with its golden where there is one

Compared: 20 losses (2e-5 relative) and gradient norms (1e-4), the exported parameters after `base` (1e-4 + 1e-3 relative), and,
bit by bit, all runs that section 3 of the design says are equal. In bf16, fp16 and TF32 losses are within 0.5 % of float32's, norms within
5 %. Programs for GPUs run on the simulated driver of the build, or on that of ZERO_CUDA_LIBRARY_PATH. The golden runs lie outside the repository: ZERO_GOLDEN_DIR, or ../shared/golden beside it. ZERO_TEST_FULL=1 or --full: all combinations instead of a covering set.
"""
import argparse
import dataclasses
import hashlib
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

import numpy as np

import suites
from suites import Case

ROOT = pathlib.Path(__file__).resolve().parents[2]
LOSS_TOLERANCE, NORM_TOLERANCE = 2e-5, 1e-4
PARAMETER_ABSOLUTE, PARAMETER_RELATIVE = 1e-4, 1e-3
MIXED_TOLERANCE, MIXED_NORM_TOLERANCE = 0.005, 0.05  # 2 % of the loss is what is asked for
REDUCE_AT_TOLERANCE = 1e-5  # between runs that reduce each micro-batch and runs that reduce the step's sum


class Failure(Exception):
    """What a run did wrong, for the list at the end."""


@dataclasses.dataclass
class Result:
    losses: list
    norms: list
    parameters: dict  # name -> array

    def digest(self):
        """Equal exactly for runs with the same bits everywhere."""
        h = hashlib.sha256(np.array([self.losses, self.norms], np.float64).tobytes())
        for name in sorted(self.parameters):
            h.update(name.encode() + self.parameters[name].tobytes())
        return h.hexdigest()


def read_safetensors(path):
    data = path.read_bytes()
    (size,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    arrays = {}
    for name, entry in header.items():
        if entry["dtype"] != "F32":
            raise Failure(f"{path.name}: '{name}' is {entry['dtype']}, expected F32")
        begin, end = entry["data_offsets"]
        arrays[name] = np.frombuffer(data[8 + size + begin:8 + size + end], np.float32).reshape(entry["shape"])
    return arrays


def run_command(command, seconds, **options):
    """Runs it; a Failure with the end of its output if it fails or takes longer."""
    words = " ".join(str(word) for word in command)
    try:
        result = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                timeout=seconds, errors="replace", **options)
    except FileNotFoundError:
        raise Failure(f"{command[0]} does not exist") from None
    except subprocess.TimeoutExpired:
        raise Failure(f"took longer than {seconds} s: {words}") from None
    if result.returncode:
        raise Failure(f"exit code {result.returncode}: {words}\n{result.stdout[-2000:]}")
    return result.stdout


class Driver:
    """Compiles (each program once), runs, and compares."""

    def __init__(self, binaries, golden, work, keep=False):
        self.binaries, self.golden, self.work, self.keep = binaries, golden, work, keep
        self.goldens, self.compiled, self.runs, self.failures = {}, {}, 0, []

    def golden_of(self, model):
        if model not in self.goldens:
            self.goldens[model] = json.loads((self.golden / f"{model}.json").read_text())
        return self.goldens[model]

    def config(self, case):
        """The DeepSpeed configuration of a case."""
        golden = self.golden_of(case.model)
        variant = golden["variants"][case.variant]
        accumulation = variant.get("accum", 1)
        micro_batch = case.micro_batch
        if micro_batch is None:
            micro_batch, rest = divmod(golden["global_batch"], case.ranks)
            if rest:
                raise Failure(f"global batch {golden['global_batch']} does not divide over {case.ranks} ranks")
        if variant.get("opt") == "sgd":
            optimizer = {"type": "SGD", "params": golden["sgd"]}
        else:
            optimizer = {"type": "AdamW", "params": golden["adamw"]}
        zero = {"stage": case.stage}
        if case.bucket is not None:
            zero |= {"reduce_bucket_size": case.bucket, "allgather_bucket_size": case.bucket}
        if case.reduce_at is not None:
            zero["reduce_at"] = case.reduce_at
        precision = {}
        if case.precision == "tf32":
            precision["allow_tf32"] = True
        elif case.precision != "fp32":
            precision[case.precision] = {"enabled": True}
        if case.precision == "fp16":  # a start below which no gradient of these models overflows: each step is applied
            precision["fp16"]["initial_scale_power"] = 8
        if case.wire is not None:
            precision["communication_data_type"] = case.wire
        if case.gradients is not None:
            precision["data_types"] = {"grad_accum_dtype": case.gradients}
        return precision | {"train_batch_size": micro_batch * accumulation * case.ranks,
                "train_micro_batch_size_per_gpu": micro_batch,
                "gradient_accumulation_steps": accumulation,
                "optimizer": optimizer,
                "gradient_clipping": variant.get("clip", 0),
                "zero_optimization": zero}

    def compile(self, case):
        program = dataclasses.replace(case, comm="", timing="", steps=0)  # one program for every channel
        if program not in self.compiled:
            folder = self.work / f"program{len(self.compiled)}"
            folder.mkdir()
            (folder / "config.json").write_text(json.dumps(self.config(case)))
            command = [self.binaries / "zero-compile", self.golden / f"{case.model}.onnx", "--loss=cross-entropy", "--labels=y",
                       "--config", folder / "config.json", f"--world-size={case.ranks}", "-o", folder / "compiled.bin"]
            if case.prefetch:
                command.append("--prefetch")
            if case.target != "cpu":
                command += [f"--target={case.target}", "--cuda-architectures=sm_90"]
            if case.deterministic:
                command.append("--deterministic")
            if case.fast:
                command.append("--fast")
            if case.plain:
                command.append("--cuda-epilogues=false")
            if case.generated:
                command.append("--cuda-convolutions=generated")
            (folder / "table.txt").write_text(run_command(command, 300, env=self.environment(case)))
            self.compiled[program] = folder / "compiled.bin"
        return self.compiled[program]

    def environment(self, case):
        environment = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                       "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}
        if case.target == "cuda":
            environment["ZERO_CUDA_LIBRARY_PATH"] = str(self.binaries.parent / "test/CUDA/Shim/lib")
        environment |= os.environ
        if case.timing:
            environment["ZERO_SHIM_TIMING"] = case.timing
        return environment

    def run(self, case):
        program = self.compile(case)
        self.runs += 1
        folder = self.work / f"run{self.runs}"
        folder.mkdir()
        metrics, export = folder / "metrics.jsonl", folder / "final.safetensors"
        command = [self.binaries / "zero-run", program, "--data", self.golden / f"{case.model}.data.npz", "--steps", case.steps,
                   "--metrics", metrics, "--export", export]
        if case.comm == "loopback":
            command += ["--comm=loopback", f"--ranks={case.ranks}"]
        else:
            command = ["mpirun", "--oversubscribe", "-n", case.ranks] + command
            command.append("--comm=" + case.comm if case.target == "cuda" else
                           "--shared-memory=" + {"mpi": "auto", "messages": "off"}[case.comm])
        run_command(command, 180, env=self.environment(case))
        rows = [json.loads(line) for line in metrics.read_text().splitlines()]
        if len(rows) != case.steps:
            raise Failure(f"{len(rows)} metrics, expected {case.steps}")
        result = Result([row["loss"] for row in rows], [row["grad_norm"] for row in rows], read_safetensors(export))
        if not self.keep:
            shutil.rmtree(folder)
        return result

    def compare_with_golden(self, case, result):
        """The distances as text; a Failure where one is too large."""
        golden = self.golden_of(case.model)["variants"][case.variant]
        if is_mixed(case):
            return (compare_series("loss", result.losses, golden["loss"], MIXED_TOLERANCE) + ", " +
                    compare_series("grad_norm", result.norms, golden["grad_norm"], MIXED_NORM_TOLERANCE))
        text = compare_series("loss", result.losses, golden["loss"], LOSS_TOLERANCE)
        text += ", " + compare_series("grad_norm", result.norms, golden["grad_norm"], NORM_TOLERANCE)
        if case.variant == "base" and case.steps == len(golden["loss"]):
            final = read_safetensors(self.golden / f"{case.model}.final.safetensors")
            text += ", " + compare_parameters(result.parameters, final)
        return text

    def compare_with_run(self, result, reference):
        return compare_results(result, reference, LOSS_TOLERANCE, NORM_TOLERANCE)

    def attempt(self, case, compare=None):
        """Runs a case and compares it: `compare(case, result)`, by default with its golden, gives the text or fails. Prints a
        line; returns the result, or None where it failed."""
        try:
            result = self.run(case)
            text = (compare or self.compare_with_golden)(case, result)
            print(f"{case}: {text}", flush=True)
            return result
        except Failure as failure:
            self.fail(f"{case}: {failure}")
            return None

    def fail(self, text):
        print(f"FAILED {text}", flush=True)
        self.failures.append(text)

    def list_skipped(self):
        """Says which variants of the models that were run were not, and why; one without a reason is a failure."""
        for model, golden in self.goldens.items():
            for variant in golden["variants"]:
                if variant in suites.SKIPPED_VARIANTS:
                    print(f"skipped {model} {variant}: {suites.SKIPPED_VARIANTS[variant]}")
                elif variant not in suites.FACTORS["variant"]:
                    self.fail(f"{model} {variant}: no suite runs it, and no reason says why")

    def check_same_bits(self, results):
        """`results`: (case, result) that have to agree bit by bit wherever `bits_key` is equal, and closely where only the
        time of the reduction differs."""
        groups = {}
        for case, result in results:
            if result is not None:
                groups.setdefault(self.bits_key(case), []).append((case, result))
        first_of_training = {}
        for key, members in groups.items():
            first_case, first = members[0]
            for case, result in members[1:]:
                if result.digest() != first.digest():
                    self.fail(f"{case}: other bits than {first_case}: {first_difference(result, first)}")
            other = first_of_training.setdefault(key[:-1], (first_case, first))
            try:
                tolerances = (MIXED_TOLERANCE, MIXED_NORM_TOLERANCE) if is_mixed(first_case) else (REDUCE_AT_TOLERANCE, REDUCE_AT_TOLERANCE)
                compare_results(first, other[1], *tolerances)
            except Failure as failure:
                self.fail(f"{first_case} beside {other[0]}: {failure}")
        print(f"same bits: {sum(len(members) for members in groups.values())} runs in {len(groups)} groups", flush=True)

    def check_differ(self, results, other):
        """`results` were computed in another way than `other` and must show it: (case, result) each."""
        for case, result in results:
            if result is not None and other[1] is not None and result.digest() == other[1].digest():
                self.fail(f"{case}: the bits of {other[0]}")

    def bits_key(self, case):
        """Runs with equal keys train the same program, up to what changes no bit."""
        accumulates = self.golden_of(case.model)["variants"][case.variant].get("accum", 1) > 1
        reduce_at = None
        if accumulates and case.ranks > 1:
            reduce_at = case.reduce_at or ("micro_batch" if case.stage >= 2 else "step")
        # NCCL sums in an order of its own, which depends on where an element lies.
        order = (case.stage, case.bucket) if case.comm == "nccl" and case.ranks > 1 and not case.deterministic else None
        return (case.model, case.precision, case.wire, case.gradients, case.variant, case.ranks, case.micro_batch, case.target, case.fast, case.plain, case.generated, order,
                reduce_at)


def is_mixed(case):
    """Whether something in it has 16 bits, or 19."""
    return case.precision != "fp32" or case.wire not in (None, "fp32")


def compare_series(name, ours, theirs, tolerance):
    theirs = theirs[:len(ours)]
    distance = np.abs(np.array(ours) - theirs) / np.abs(theirs)
    worst = int(np.argmax(np.where(np.isnan(distance), np.inf, distance)))
    if not distance[worst] <= tolerance:
        raise Failure(f"{name} of step {worst + 1} is {ours[worst]!r}, expected {theirs[worst]!r} (relative {distance[worst]:.1e}, "
                      f"tolerance {tolerance:.0e})")
    return f"{name} {distance[worst]:.1e}"


def compare_parameters(ours, theirs):
    if sorted(ours) != sorted(theirs):
        raise Failure(f"exported {sorted(set(ours) - set(theirs))} too many, {sorted(set(theirs) - set(ours))} too few")
    worst = 0.0
    for name, array in theirs.items():
        if ours[name].shape != array.shape:
            raise Failure(f"'{name}' is exported as {ours[name].shape}, expected {array.shape}")
        distance = np.abs(ours[name] - array) / (PARAMETER_ABSOLUTE + PARAMETER_RELATIVE * np.abs(array))
        # The bias of keys has no gradient but rounding.
        if name.endswith("attn.c_attn.bias"):
            distance[64:128] = 0
        elif name.endswith("attention.k_proj.bias"):
            distance[:] = 0
        worst = max(worst, float(np.max(distance, initial=0)))
        if not np.all(distance <= 1):
            i = int(np.nanargmax(distance))
            raise Failure(f"'{name}' element {i} is {ours[name].flat[i]!r} after the last step, expected {array.flat[i]!r}")
    return f"parameters {worst:.1e} of the tolerance"


def compare_results(ours, theirs, loss_tolerance, norm_tolerance):
    return (compare_series("loss", ours.losses, theirs.losses, loss_tolerance) + ", " +
            compare_series("grad_norm", ours.norms, theirs.norms, norm_tolerance))


def first_difference(a, b):
    for step in range(min(len(a.losses), len(b.losses))):
        for name, ours, theirs in (("loss", a.losses, b.losses), ("grad_norm", a.norms, b.norms)):
            if ours[step] != theirs[step]:
                return f"{name} of step {step + 1} is {ours[step]!r}, not {theirs[step]!r}"
    for name in b.parameters:
        if name not in a.parameters or a.parameters[name].tobytes() != b.parameters[name].tobytes():
            return f"'{name}' differs after the last step"
    return "other parameters are exported"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", choices=[*suites.SUITES, "run"])
    parser.add_argument("model", nargs="?")
    parser.add_argument("--variant", default="base")
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--stage", type=int, default=0)
    parser.add_argument("--prefetch", action="store_true")
    parser.add_argument("--comm", choices=sorted({*suites.COMMS, *suites.CUDA_COMMS}), default="loopback")
    parser.add_argument("--bucket", type=int)
    parser.add_argument("--reduce-at", choices=["step", "micro_batch"])
    parser.add_argument("--micro-batch", type=int)
    parser.add_argument("--precision", choices=["fp32", "bf16", "fp16", "tf32"], default="fp32")
    parser.add_argument("--wire", choices=["fp32", "bf16", "fp16"])
    parser.add_argument("--gradients", choices=["fp32", "bf16", "fp16"])
    parser.add_argument("--target", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--deterministic", action="store_true")
    parser.add_argument("--fast", action="store_true")
    parser.add_argument("--plain", action="store_true", help="products without epilogues")
    parser.add_argument("--generated", action="store_true", help="convolutions by generated kernels")
    parser.add_argument("--timing", default="")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--full", action="store_true", default=os.environ.get("ZERO_TEST_FULL") == "1")
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/bin", help="folder of zero-compile and zero-run")
    parser.add_argument("--work", type=pathlib.Path, help="folder for programs and metrics, kept (default: a temporary one)")
    a = parser.parse_args()
    if (a.suite == "run") != (a.model is not None):
        parser.error("'run' takes a model, a suite takes none")
    return a


def main():
    a = arguments()
    golden = pathlib.Path(os.environ.get("ZERO_GOLDEN_DIR", ROOT.parent / "shared/golden")).resolve()
    if not golden.is_dir():
        sys.exit(f"golden.py: no golden runs in {golden}: set ZERO_GOLDEN_DIR")
    with tempfile.TemporaryDirectory() as temporary:
        work = a.work or pathlib.Path(temporary)
        if a.work:
            shutil.rmtree(work, ignore_errors=True)
            work.mkdir(parents=True)
        driver = Driver(a.bin.resolve(), golden, work, keep=a.work is not None and a.suite == "run")
        if a.suite == "run":
            driver.attempt(Case(a.model, a.variant, a.ranks, a.stage, a.prefetch, a.comm, a.bucket, a.reduce_at, a.micro_batch, a.precision,
                                a.wire, a.gradients, a.target, a.deterministic, a.fast, a.plain, a.generated, a.timing, a.steps))
        else:
            suites.SUITES[a.suite](driver, a.full)
            driver.list_skipped()
        for text in driver.failures:
            print(f"golden.py: {text}", file=sys.stderr)
        print(f"{driver.runs} runs, {len(driver.failures)} failures")
    sys.exit(1 if driver.failures or not driver.runs else 0)


if __name__ == "__main__":
    main()
