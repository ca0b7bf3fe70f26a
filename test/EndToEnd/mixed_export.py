"""What comes out of programs in mixed precision: exports hold the float32 masters, predictions are those of the 16-bit parameters.

With a learning rate of 0 a master keeps the bits of the model's weight, so that an export is the model again. After training, exports are
the same at every stage, and predictions are those of a program compiled from the exported model.
"""
import hashlib
import json
import sys

import numpy as np
import onnx
from onnx import numpy_helper

import harness


def weights(path):
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in onnx.load(path).graph.initializer}


def main():
    a = harness.arguments(__doc__, "golden")
    failures = []

    def compile_model(model, stage, precision, rate):
        (a.work / "config.json").write_text(json.dumps({
            "train_micro_batch_size_per_gpu": 2, precision: {"enabled": True}, "zero_optimization": {"stage": stage},
            "optimizer": {"type": "AdamW", "params": {"lr": rate, "weight_decay": 0.1}}}))
        harness.run(a.bin / "zero-compile", model, "--loss=cross-entropy", "--labels=y", "--config", a.work / "config.json", "--world-size=2",
            "-o", a.work / "compiled.bin")

    def start(data, *flags):
        return harness.run(a.bin / "zero-run", a.work / "compiled.bin", "--comm=loopback", "--data", data, *flags)

    def check(what, holds):
        if not holds:
            failures.append(what)

    for name in ("mlp", "gpt2"):
        model, data = a.golden / f"{name}.onnx", a.golden / f"{name}.data.npz"
        original = weights(model)
        for precision in ("bf16", "fp16"):
            case = f"{name}, {precision}"
            for stage in (0, 1, 3):
                compile_model(model, stage, precision, 0.0)
                start(data, "--steps=2", "--export", a.work / "same.onnx")
                same = weights(a.work / "same.onnx")
                check(f"{case}, stage {stage}: masters are the model's weights",
                      same.keys() == original.keys() and all(same[n].tobytes() == original[n].tobytes() and same[n].dtype == original[n].dtype for n in same))
            digests = set()
            for stage in range(4):
                compile_model(model, stage, precision, 1e-2)
                start(data, "--steps=3", "--export", a.work / "trained.onnx", "--predict", a.work / "after.npz")
                digests.add(hashlib.sha256((a.work / "trained.onnx").read_bytes()).hexdigest())
            check(f"{case}: exports differ between stages", len(digests) == 1)
            trained = weights(a.work / "trained.onnx")
            changed = [n for n in trained if trained[n].dtype == np.float32 and not np.array_equal(trained[n], original[n])]
            narrow = np.uint32(0xffff if precision == "bf16" else 0x1fff)
            check(f"{case}: exports are rounded", changed and all((trained[n].view(np.uint32) & narrow).any() for n in changed))
            start(data, "--steps=3", "--export", a.work / "trained.safetensors")
            header = (a.work / "trained.safetensors").read_bytes()
            header = json.loads(header[8:8 + int.from_bytes(header[:8], "little")])
            check(f"{case}: types of the safetensors", {entry["dtype"] for entry in header.values()} == {"F32"})

            dump = harness.run(a.bin / "zero-dump", a.work / "compiled.bin", f"--parameter={changed[0]}", "--rank=1")
            check(f"{case}: zero-dump\n{dump}", f"x{precision.replace('fp', 'f')}, " in dump and " elements, from f32\n" in dump and "\n  master (f32): " in dump)
            compile_model(a.work / "trained.onnx", 3, precision, 1e-2)
            start(data, "--predict", a.work / "before.npz")
            after, before = np.load(a.work / "after.npz"), np.load(a.work / "before.npz")
            check(f"{case}: predictions", after.files == before.files and all(after[n].tobytes() == before[n].tobytes() for n in after.files))
            check(f"{case}: outputs have the model's types", all(after[n].dtype == np.float32 for n in after.files))
    for failure in failures:
        print(f"FAILED: {failure}")
    print(f"{len(failures)} failures")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
