"""Holds loss scale and skipped steps against DeepSpeed's rule over random sequences of overflows, with random keys.

    scale_sequences.py --bin=DIR --work=DIR

y = x w with w = 0 and a learning rate of 0: the gradient of a micro-batch is -2 t x times the scale, and so known before. What overflows is a
contribution, a sum over micro-batches, a sum over ranks, or the loss (x is no number); what each is rounded to, the types in the configuration say.
The states are stepped by the rule as DeepSpeed 0.19's documentation and loss_scaler.py tell it, with numbers of steps.
"""
import json
import random

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import harness

STEPS, CASES = 40, 24
TYPES = {"fp32": np.float32, "fp16": np.float16, "bf16": ml_dtypes.bfloat16}


class Scaler:
    """DeepSpeed's rule; `keys` are those of fp16 in a configuration."""

    def __init__(self, keys):
        self.is_dynamic = keys.get("loss_scale", 0) == 0
        self.scale = 2.0 ** keys.get("initial_scale_power", 16) if self.is_dynamic else float(keys["loss_scale"])
        self.window, self.least = keys.get("loss_scale_window", 1000), keys.get("min_loss_scale", 1)
        self.shift = self.hysteresis = keys.get("hysteresis", 2)
        self.is_consecutive = keys.get("consecutive_hysteresis", False)
        self.iteration, self.last_overflow = 0, -1

    def step(self, overflow):
        if not self.is_dynamic:
            return
        if overflow:
            if self.shift == 1 or self.hysteresis == 1:
                self.scale = max(self.scale / 2, self.least)
            else:
                self.hysteresis -= 1
            self.last_overflow = self.iteration
        else:
            stable = self.iteration - self.last_overflow - 1
            doubles = stable > 0 and stable % self.window == 0
            if self.is_consecutive or doubles:
                self.hysteresis = self.shift
            if doubles:
                self.scale *= 2
        self.iteration += 1


def write_model(path):
    tensor = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 1])
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", [tensor("x")], [tensor("y")],
                              [numpy_helper.from_array(np.zeros((1, 1), np.float32), "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10), path)


def draw(generator, case):
    """Ranks, micro-batches and a configuration; each pair of a wire and a kept type, and each stage, comes up."""
    keys = {"enabled": True}
    if generator.random() < 0.1:
        keys["loss_scale"] = generator.choice([1, 12, 1024, 0.5])
    else:
        keys["initial_scale_power"] = generator.choice([0, 2, 5, 10, 15, 16, 20, 24])
        keys["loss_scale_window"] = generator.choice([1, 2, 3, 4, 6])
        keys["hysteresis"] = generator.choice([1, 1, 2, 3, 4])
        keys["consecutive_hysteresis"] = generator.random() < 0.4
        keys["min_loss_scale"] = 2.0 ** keys["initial_scale_power"] * generator.choice([1, 0.5, 0.25, 0.1875, 2.0 ** -20])
    config = {"train_micro_batch_size_per_gpu": 1, "gradient_accumulation_steps": generator.choice([1, 2, 3]), "fp16": keys,
              "optimizer": {"type": generator.choice(["AdamW", "SGD"]), "params": {"lr": 0}}, "zero_optimization": {"stage": case % 4}}
    kept, wire = ("fp16", "fp32")[case // 4 % 2], ("fp16", "fp32", "bf16")[case // 8 % 3]
    if kept == "fp32":
        config["data_types"] = {"grad_accum_dtype": kept}
    if wire != "fp16":
        config["communication_data_type"] = wire
    if case % 4 < 2 and generator.random() < 0.3:
        config["zero_optimization"]["reduce_at"] = "micro_batch"
    return generator.choice([2, 2, 3, 1]), config, TYPES[kept], TYPES[wire]


def has_overflow(config, ranks, scale, x, t, kept, wire):
    """Of one step; x and t by micro-batch and rank."""
    accumulation = len(x)
    seed = np.float32(1 / (accumulation * ranks))  # one position a micro-batch
    with np.errstate(all="ignore"):
        half = lambda value: np.float32(np.float16(value))
        keep, send = lambda value: np.float32(kept(value)), lambda value: np.float32(wire(value)) if ranks > 1 else np.float32(value)

        def gradient(micro, rank):
            difference = np.float32(2) * (half(np.float32(0) * half(x[micro][rank])) - t[micro][rank])
            return half(half(difference * np.float32(seed * np.float32(scale))) * half(x[micro][rank]))

        def add(values, rounded):
            total = values[0]
            for value in values[1:]:
                total = rounded(total + value)
            return total

        each_micro_batch = config["zero_optimization"].get("reduce_at", "micro_batch" if config["zero_optimization"]["stage"] > 1 else "step") == "micro_batch"
        if each_micro_batch:
            total = add([keep(add([send(gradient(micro, rank)) for rank in range(ranks)], np.float32)) for micro in range(accumulation)], keep)
        else:
            total = keep(add([send(add([keep(gradient(micro, rank)) for micro in range(accumulation)], keep)) for rank in range(ranks)], np.float32))
    return not np.isfinite(total) or not np.isfinite(x).all()


def main():
    a = harness.arguments(__doc__)
    write_model(a.work / "model.onnx")
    generator = random.Random(3)
    failures, seen = [], {"overflow": 0, "doubled": 0, "halved": 0, "least": 0}
    for case in range(CASES):
        ranks, config, kept, wire = draw(generator, case)
        accumulation, scaler = config["gradient_accumulation_steps"], Scaler(config["fp16"])
        x, t = np.ones((STEPS, accumulation, ranks), np.float32), np.zeros((STEPS, accumulation, ranks), np.float32)
        scales, skipped = [], [0]
        for step in range(STEPS):
            # Powers of 2: scaled, they lie well below 65504, or about there.
            powers = (6, 8, 10, 12) if generator.random() < 0.6 else (12, 14, 15, 15, 16, 17)
            for place in np.ndindex(accumulation, ranks):
                t[step][place] = min(2.0 ** generator.choice(powers) / scaler.scale, 2.0 ** 60) * generator.choice([1, 1, -1])
                if generator.random() < 0.02:
                    x[step][place] = generator.choice([np.inf, np.nan])
            overflow = has_overflow(config, ranks, scaler.scale, x[step], t[step], kept, wire)
            scales.append(scaler.scale)
            skipped.append(skipped[-1] + overflow)
            before = scaler.scale
            scaler.step(overflow)
            seen["overflow"] += overflow
            seen["doubled"] += scaler.scale > before
            seen["halved"] += scaler.scale < before
            seen["least"] += scaler.scale < before and scaler.scale == scaler.least
        np.savez(a.work / "data.npz", x=x.reshape(-1, 1), t=t.reshape(-1, 1))
        (a.work / "config.json").write_text(json.dumps(config))
        harness.run(a.bin / "zero-compile", a.work / "model.onnx", "--loss=mse", "--labels=t", "--config", a.work / "config.json",
                    f"--world-size={ranks}", "-o", a.work / "compiled.bin")
        harness.run(a.bin / "zero-run", a.work / "compiled.bin", "--comm=loopback", "--data", a.work / "data.npz", f"--steps={STEPS}",
                    "--metrics", a.work / "m.jsonl")
        rows = harness.read_metrics(a.work / "m.jsonl")
        found, expected = [(row["loss_scale"], row["skipped_steps"]) for row in rows], list(zip(scales, skipped[1:]))
        if found != expected:
            step = next((i for i, (one, other) in enumerate(zip(found, expected)) if one != other), len(found))
            failures.append(f"{ranks} ranks, {json.dumps(config)}: step {step + 1}: {found[step:step + 1]}, expected {expected[step]}")
    for failure in failures:
        print(failure)
    rare = [name for name, count in seen.items() if count < 5]
    if rare:
        print(f"hardly tested: {', '.join(rare)}")
    print(f"{CASES} sequences: {seen['overflow']} of {CASES * STEPS} steps overflow, {seen['doubled']} times doubled, {seen['halved']} times halved; "
          f"{len(failures) + len(rare)} failures")


if __name__ == "__main__":
    main()
