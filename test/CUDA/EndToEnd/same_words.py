"""same_words.py WORK: what goes wrong in a step is said in the same words by programs for CPUs and for GPUs.

An index that is computed and lies outside of its table; a loss that is not finite, on the rank whose it is; a gradient that is not.
"""
import os
import pathlib
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

work = pathlib.Path(sys.argv[1]).resolve()
work.mkdir(parents=True, exist_ok=True)


def run(*command):
    result = subprocess.run([str(word) for word in command], cwd=work, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
    return result.returncode, result.stderr


def save(name, nodes, inputs, outputs, weights):
    graph = helper.make_graph(nodes, name, inputs, outputs, [numpy_helper.from_array(array, key) for key, array in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), work / f"{name}.onnx")


def value(name, element, *shape):
    return helper.make_tensor_value_info(name, element, list(shape))


def both(model, data, flags, run_flags, ranks):
    """The exit codes and messages of the program for CPUs and of that for GPUs."""
    outcomes = []
    for target in ([], ["--target=cuda", "--cuda-architectures=sm_90"]):
        code, errors = run("zero-compile", f"{model}.onnx", *flags, f"--world-size={ranks}", *target, "-o", "program.bin")
        assert code == 0, errors
        code, errors = run("zero-run", "program.bin", "--comm=loopback", "--data", data, *run_flags)
        outcomes.append((code, [line for line in errors.splitlines() if line.startswith("zero-run:")]))
    return outcomes


def expect(name, outcomes, code, *words):
    (cpu_code, cpu), (gpu_code, gpu) = outcomes
    assert cpu_code == code and gpu_code == code, outcomes
    assert cpu == gpu and len(cpu) == 1, outcomes
    assert all(word in cpu[0] for word in words), outcomes
    print(f"{name}: {cpu[0]}", flush=True)


(work / "config.json").write_text('{"train_micro_batch_size_per_gpu": 2, "zero_optimization": {"stage": 2}}')

# A table of 5 rows, and positions that are numbers of the data.
nodes = [helper.make_node("Cast", ["x"], ["i"], to=TensorProto.INT64, name="positions"),
         helper.make_node("Gather", ["w", "i"], ["rows"], axis=0, name="look_up")]
save("table", nodes, [value("x", TensorProto.FLOAT, "batch", 3)], [value("rows", TensorProto.FLOAT, "batch", 3, 4)],
     {"w": np.arange(20, dtype=np.float32).reshape(5, 4)})
x = np.zeros((8, 3), np.float32)
x[5, 1] = 7
np.savez(work / "table.npz", x=x)
expect("index", both("table", "table.npz", ["--loss=none", "--config=config.json"], ["--predict=out.npz"], 1), 3, "index 7 at position 4 is outside [0, 5)", "look_up")

# A linear model whose data hold a number that is not finite, on the second rank.
nodes = [helper.make_node("MatMul", ["x", "w"], ["y"], name="product")]
save("linear", nodes, [value("x", TensorProto.FLOAT, "batch", 4)], [value("y", TensorProto.FLOAT, "batch", 2)],
     {"w": np.array([[0.5, 0.5], [0.5, 0.5], [0, 0], [0.5, 0.5]], np.float32)})
for name, number, words in (("loss", np.inf, "the loss is nan on rank 1"),
                            ("gradient", 3e38, "the gradient norm is inf, the gradient of 'w' is not finite")):
    x = np.ones((8, 4), np.float32)
    x[2, 2] = number  # its weight is zero at first: a large number alone makes no large result
    np.savez(work / "linear.npz", x=x, t=np.full((8, 2), -1e3, np.float32))
    expect(name, both("linear", "linear.npz", ["--loss=mse", "--labels=t", "--config=config.json"], ["--steps=2"], 2), 1, "step 1: " + words)
print("the same words")
