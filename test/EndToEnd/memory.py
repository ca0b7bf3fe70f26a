"""The memory of processes that train: after step 2, beyond what they had at the entry of main, within 5 % + 16 MiB of their arenas.

Over loopback one process has the arenas of all ranks; over MPI each has its own, and `process_bytes` is that of the largest. The GPT's arena is far
larger than the 16 MiB; the convolutional network has small arenas and hundreds of library kernels, each with descriptions of its own on every rank;
the sums over a large vocabulary are long, and what a product copies of them is not.
"""
import json
import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper

import harness

MIB = 1 << 20


def write_deep_cnn(path, layers):
    """A chain of 3x3 convolutions of 16 channels and other sizes of images, so that few of oneDNN's kernels are the same."""
    random = np.random.default_rng(1)
    initializers = [numpy_helper.from_array((random.standard_normal((16, 16, 3, 3)) / 12).astype(np.float32), f"conv{i}.weight") for i in range(layers)]
    initializers.append(numpy_helper.from_array(random.standard_normal((16, 10)).astype(np.float32), "head.weight"))
    nodes, x = [], "x"
    for i in range(layers):
        grows = i % 3 == 2 and i < layers // 2
        pads, strides = ([2] * 4, [1, 1]) if grows else ([1] * 4, [2, 2] if i == layers - 4 else [1, 1])
        nodes.append(helper.make_node("Conv", [x, f"conv{i}.weight"], [f"conv{i}"], pads=pads, strides=strides))
        nodes.append(helper.make_node("Relu", [f"conv{i}"], [f"relu{i}"]))
        x = f"relu{i}"
    nodes += [helper.make_node("GlobalAveragePool", [x], ["pooled"]), helper.make_node("Flatten", ["pooled"], ["flat"]),
              helper.make_node("MatMul", ["flat", "head.weight"], ["logits"])]
    graph = helper.make_graph(nodes, "deep", [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", 16, 4, 4])],
                              [helper.make_tensor_value_info("logits", onnx.TensorProto.FLOAT, ["n", 10])], initializers)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)


def write_head(path, words, width, sequence):
    """A product, then logits of many words, from a weight of words x width, as an embedding is."""
    random = np.random.default_rng(1)
    weights = [numpy_helper.from_array(random.standard_normal((rows, width)).astype(np.float32), name)
               for name, rows in (("first.weight", width), ("head.weight", words))]
    nodes = [helper.make_node("MatMul", ["x", "first.weight"], ["first"]),
             helper.make_node("Transpose", ["head.weight"], ["transposed"], perm=[1, 0]), helper.make_node("MatMul", ["first", "transposed"], ["logits"])]
    shapes = {"x": ["n", sequence, width], "logits": ["n", sequence, words]}
    info = {name: [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)] for name, shape in shapes.items()}
    graph = helper.make_graph(nodes, "head", info["x"], info["logits"], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)


def main():
    a = harness.arguments(__doc__)
    gpt, tokens_file, cnn, images, head, states, config, program, metrics = (
        a.work / n for n in ("gpt.onnx", "tokens.npz", "cnn.onnx", "images.npz", "head.onnx", "states.npz", "config.json", "compiled.bin", "m.jsonl"))
    harness.make_gpt(gpt, layers=4, width=512, heads=8, sequence=64, vocabulary=8192)
    tokens = np.random.default_rng(1).integers(0, 8192, (24, 65), dtype=np.int64)
    np.savez(tokens_file, x=tokens[:, :-1], y=tokens[:, 1:])
    write_deep_cnn(cnn, 120)
    random = np.random.default_rng(1)
    np.savez(images, x=random.standard_normal((16, 16, 4, 4)).astype(np.float32), y=random.integers(0, 10, 16))
    write_head(head, 40000, 128, 16)
    np.savez(states, x=random.standard_normal((16, 16, 128)).astype(np.float32), y=random.integers(0, 40000, (16, 16)))
    failures = 0
    cases = [(gpt, tokens_file, *rest) for rest in ((1, 0, 1, 0, "loopback"), (2, 3, 2, 10**7, "loopback"), (3, 2, 1, 0, "loopback"), (2, 0, 2, 0, "mpi"),
                                                    (2, 3, 1, 10**7, "mpi"), (2, 1, 1, 0, "mpi"))]
    cases += [(cnn, images, *rest) for rest in ((1, 0, 1, 0, "loopback"), (4, 3, 1, 0, "loopback"), (2, 1, 1, 0, "mpi"))]
    cases += [(head, states, *rest) for rest in ((4, 3, 1, 0, "loopback"), (2, 2, 1, 0, "mpi"))]
    for model, data, ranks, stage, steps, prefetch, comm in cases:
        config.write_text(json.dumps({"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": steps,
                                      "zero_optimization": {"stage": stage, "reduce_bucket_size": 5000000, "stage3_prefetch_bucket_size": prefetch}}))
        harness.run(a.bin / "zero-compile", model, "--loss=cross-entropy", "--labels=y", "--config", config, f"--world-size={ranks}", "-o", program)
        launch = ["mpirun", "-n", str(ranks)] if comm == "mpi" else []
        harness.run(*launch, a.bin / "zero-run", program, f"--comm={comm}", "--data", data, "--steps=2", "--metrics", metrics)
        row = harness.read_metrics(metrics)[1]
        arena = row["peak_device_bytes"] * (ranks if comm == "loopback" else 1)
        beyond = row["process_bytes"] - arena
        bad = not 0 <= beyond <= 0.05 * arena + 16 * MIB
        failures += bad
        print(f"{'FAILED: ' if bad else ''}{model.stem} over {comm}, {ranks} ranks, stage {stage}, accumulation {steps}, prefetch {prefetch}: "
              f"arenas of {arena} bytes, {beyond / MIB:.1f} MiB more in the process ({100 * beyond / arena:.2f} %)", flush=True)
    print("processes take what was planned" if not failures else f"{failures} failures")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
