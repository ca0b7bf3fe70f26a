"""Predicts with golden models and compares with the reference interpreter, and runs with each other.

    predict.py --bin=DIR --golden=DIR --work=DIR

The reference is nn-forward on the model as `zero-import --loss=none` gives it (1e-5 of the largest output). Runs with the same weights
have the same bits, whatever the stage, the ranks, the micro-batch (also where the last one is not full) and the channel.
"""
import json
import os
import re
import subprocess
import sys

import numpy as np

import harness

SAMPLES = 7  # no multiple of the micro-batches below times the ranks
REFERENCE = 2
TOLERANCE = 1e-5
MODELS = ("mlp", "gpt2", "llama", "cnn", "vit")


class Failure(Exception):
    """What a run did wrong."""


def execute(command, **options):
    result = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=180, **options)
    if result.returncode:
        raise Failure(f"exit code {result.returncode}: {' '.join(map(str, command))}\n{result.stdout[-1500:]}")
    return result.stdout


class Driver:
    def __init__(self, arguments):
        self.bin, self.golden, self.work = arguments.bin, arguments.golden, arguments.work
        self.runs = self.failures = 0

    def data(self, model):
        return np.load(self.golden / f"{model}.data.npz")

    def reference(self, model):
        """The outputs of the first samples by the reference interpreter: name -> array."""
        module, bound, raw = (self.work / f"{model}{suffix}" for suffix in (".mlir", ".bound.mlir", ".x.bin"))
        execute([self.bin / "zero-import", self.golden / f"{model}.onnx", "--loss=none", "-o", module])
        execute([self.bin / "zero-opt", module, f"--nn-bind-batch=micro-batch={REFERENCE}", "-o", bound])
        self.data(model)["x"][:REFERENCE].tofile(raw)
        outputs = {}
        for line in execute([self.bin / "nn-forward", bound, f"x={raw}"]).splitlines():
            name, shape, numbers = re.fullmatch(r"(.*): tensor<([\dx]*)f32> \[(.*)\]", line).groups()
            outputs[name] = np.array([float(n) for n in numbers.split(",")], np.float32).reshape([int(d) for d in shape.split("x")[:-1]])
        return outputs

    def compile(self, model, ranks, stage, batch, loss="cross-entropy", prefetch=False):
        folder = self.work / f"{model}-{ranks}-{stage}-{batch}-{loss}-{prefetch}"
        folder.mkdir()
        config = {"train_micro_batch_size_per_gpu": batch, "optimizer": {"type": "AdamW", "params": {"lr": 1e-3}},
                  "zero_optimization": {"stage": stage, "reduce_bucket_size": 50000}}
        (folder / "config.json").write_text(json.dumps(config))
        command = [self.bin / "zero-compile", self.golden / f"{model}.onnx", f"--loss={loss}", "--config", folder / "config.json",
                   f"--world-size={ranks}", f"--dump-phases={folder}", "-o", folder / "compiled.bin"]
        if loss != "none":
            command.append("--labels=y")
        if prefetch:
            command.append("--prefetch")
        (folder / "table.txt").write_text(execute(command))
        return folder

    def predict(self, program, model, ranks, comm="loopback", steps=0):
        """The predictions of one run as bytes, checked for their names and shapes."""
        data = self.work / f"{model}.npz"
        if not data.exists():
            arrays = self.data(model)
            np.savez(data, x=arrays["x"][:SAMPLES])
            np.savez(self.work / f"{model}.train.npz", **{name: arrays[name][:2 * 4 * 3] for name in arrays.files})
        output = program / f"out-{comm}-{steps}.npz"
        command = [self.bin / "zero-run", program / "compiled.bin", f"--predict={output}"]
        command += ["--data", self.work / f"{model}.train.npz", f"--steps={steps}"] if steps else ["--data", data]
        if comm == "mpi":
            command = ["mpirun", "--oversubscribe", "-n", ranks] + command
        else:
            command += ["--comm=loopback", f"--ranks={ranks}"]
        environment = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}
        self.runs += 1
        execute(command, env={**environment, **os.environ})
        with np.load(output) as archive:
            return {name: archive[name] for name in archive.files}

    def check(self, what, condition, text):
        if not condition:
            self.failures += 1
            print(f"FAILED {what}: {text}", flush=True)

    def check_same(self, what, ours, theirs):
        for name in theirs:
            self.check(what, name in ours and ours[name].tobytes() == theirs[name].tobytes(), f"output '{name}' has other bits")

    def model(self, model):
        reference = self.reference(model)
        alone = self.predict(self.compile(model, 1, 0, 1, loss="none"), model, 1)
        for name, want in reference.items():
            got = alone[name]
            self.check(model, got.dtype == want.dtype and got.shape == (SAMPLES, *want.shape[1:]), f"'{name}' is {got.dtype} {got.shape}")
            distance = float(np.max(np.abs(got[:REFERENCE] - want)) / np.max(np.abs(want)))
            self.check(model, distance < TOLERANCE, f"'{name}' is {distance:.1e} from the reference")
            print(f"{model}: '{name}' within {distance:.1e} of the reference", flush=True)
        cases = [(1, 0, 1), (2, 0, 2), (2, 1, 1), (2, 2, 3), (2, 3, 2), (3, 3, 1), (4, 3, 4)]
        for ranks, stage, batch in cases:
            program = self.compile(model, ranks, stage, batch, prefetch=stage == 3)
            self.check_same(f"{model}, {ranks} ranks, stage {stage}, micro-batch {batch}", self.predict(program, model, ranks), alone)
            if (ranks, stage) in ((2, 3), (2, 0)):
                self.check_same(f"{model}, stage {stage}, mpi", self.predict(program, model, ranks, comm="mpi"), alone)
        self.check_same(f"{model}, --loss=none, 2 ranks", self.predict(self.compile(model, 2, 0, 2, loss="none"), model, 2), alone)

    def after_training(self, model):
        """The trained weights predict: the same bits at all stages, other ones than before."""
        results = [self.predict(self.compile(model, 2, stage, 4, prefetch=False), model, 2, steps=3) for stage in (0, 1, 2, 3)]
        for stage, result in enumerate(results):
            self.check_same(f"{model} after 3 steps, stage {stage}", result, results[0])
        before = self.predict(self.work / f"{model}-2-0-2-cross-entropy-False", model, 2)
        name = next(iter(before))
        self.check(model, results[0][name].shape[0] == 24 and not np.array_equal(results[0][name][:SAMPLES], before[name]),
                   "training changes nothing")

    def memory(self, model):
        """The step's peak is what it is without @predict: its activations lie where the step's do."""
        plan = (self.work / f"{model}-2-3-2-cross-entropy-True" / "5-plan.mlir").read_text()
        states = ends = 0
        for size, offset, state in re.findall(r"plan\.buffer .*?offset = (\d+) : i64.*?size_bytes = (\d+) : i64(, state)?\}", plan):
            if state:
                states = max(states, int(size) + int(offset))
            ends = max(ends, int(size) + int(offset))
        table = (self.work / f"{model}-2-3-2-cross-entropy-True" / "table.txt").read_text()
        section = re.search(r"at the peak \(section (\w+),", table).group(1)
        self.check(model, section == "micro_first" and states < ends, f"the peak is in section {section}")


def main():
    driver = Driver(harness.arguments(__doc__, "golden"))
    for model in MODELS:
        try:
            driver.model(model)
            if model in ("mlp", "gpt2"):
                driver.after_training(model)
                driver.memory(model)
        except Failure as failure:
            driver.check(model, False, str(failure))
    print(f"{driver.runs} runs, {driver.failures} failures")
    sys.exit(1 if driver.failures else 0)


if __name__ == "__main__":
    main()
