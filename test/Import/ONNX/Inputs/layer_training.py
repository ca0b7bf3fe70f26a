"""Trains models with Attention and RotaryEmbedding for a step: loss and gradient norm are those of onnx's reference evaluator.

layer_training.py FOLDER: the gradient comes from finite differences of the reference evaluator in float64.
"""
import json
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from recurrent import run

BATCH, LENGTH, WIDTH, HEADS, GROUPS, SIZE = 4, 5, 4, 4, 2, 2


def model(float_type, weights, rotates, mask, attributes):
    """x -> Q, K, V -> (rotary) -> attention -> prediction, all in one float type."""
    element = helper.tensor_dtype_to_np_dtype(float_type)
    nodes = [helper.make_node("MatMul", ["x", "w" + n], [n], name="project_" + n) for n in "qkv"]
    constants = [numpy_helper.from_array(np.cos(np.arange(LENGTH)[:, None] * 0.5).astype(element), "cos"),
                 numpy_helper.from_array(np.sin(np.arange(LENGTH)[:, None] * 0.5).astype(element), "sin")]
    inputs = [helper.make_tensor_value_info("x", float_type, ["batch", LENGTH, WIDTH])]
    q, k = "q", "k"
    if rotates:
        inputs.append(helper.make_tensor_value_info("positions", TensorProto.INT64, ["batch", LENGTH]))
        for name, heads in (("q", HEADS), ("k", GROUPS)):
            nodes.append(helper.make_node("RotaryEmbedding", [name, "cos", "sin", "positions"], [name + "_turned"],
                                          name="turn_" + name, num_heads=heads))
        q, k = "q_turned", "k_turned"
    if mask == "mask":
        inputs.append(helper.make_tensor_value_info("mask", TensorProto.BOOL, ["batch", 1, LENGTH, LENGTH]))
    nodes.append(helper.make_node("Attention", [q, k, "v"] + [mask] * bool(mask), ["out"], name="attention", q_num_heads=HEADS,
                                  kv_num_heads=GROUPS, **attributes))
    initializers = [numpy_helper.from_array(a.astype(element), n) for n, a in weights.items()] + constants
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info("out", float_type, None)],
                              initializer=initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    path = lambda name: os.path.join(folder, name)
    with open(path("config.json"), "w") as config:
        json.dump({"train_micro_batch_size_per_gpu": BATCH, "optimizer": {"type": "SGD", "params": {"lr": 0.1}}}, config)
    cases = [("rotated, causal", True, "", dict(is_causal=1)), ("masked, a row without keys", False, "mask", {}),
             ("masked and capped", False, "mask", dict(is_causal=1, softcap=1.5)), ("trained bias", True, "bias", dict(is_causal=1))]
    for name, rotates, mask, attributes in cases:
        random = np.random.default_rng(5)
        weights = {"wq": random.standard_normal((WIDTH, HEADS * SIZE)), "wk": random.standard_normal((WIDTH, GROUPS * SIZE)),
                   "wv": random.standard_normal((WIDTH, GROUPS * SIZE))}
        if mask == "bias":
            weights["bias"] = random.standard_normal((1, HEADS, LENGTH, LENGTH))
        weights = {n: a.astype(np.float32) for n, a in weights.items()}
        data = {"x": random.standard_normal((BATCH, LENGTH, WIDTH)).astype(np.float32)}
        if rotates:
            data["positions"] = random.integers(0, LENGTH, (BATCH, LENGTH))
        if mask == "mask":
            data["mask"] = random.random((BATCH, 1, LENGTH, LENGTH)) < 0.6
            data["mask"][1, 0, 3] = False
        target = random.standard_normal((BATCH, LENGTH, HEADS * SIZE)).astype(np.float32)
        wide = {n: a.astype(np.float64) if a.dtype == np.float32 else a for n, a in data.items()}

        def loss(values):
            out = ReferenceEvaluator(model(TensorProto.DOUBLE, values, rotates, mask, attributes)).run(None, wide)[0]
            return np.mean((out - target) ** 2)

        squares, step = 0.0, 1e-5
        for key, weight in weights.items():
            for index in np.ndindex(weight.shape):
                sides = []
                for delta in (step, -step):
                    moved = weight.astype(np.float64)
                    moved[index] += delta
                    sides.append(loss(dict(weights, **{key: moved})))
                squares += ((sides[0] - sides[1]) / (2 * step)) ** 2
        onnx.save(model(TensorProto.FLOAT, weights, rotates, mask, attributes), path("model.onnx"))
        np.savez(path("data.npz"), target=target, **data)
        run("zero-compile", path("model.onnx"), "--loss=mse", "--labels=target", "--config", path("config.json"),
            "--freeze=cos|sin", "--world-size=1", "-o", path("compiled.bin"))
        run("zero-run", path("compiled.bin"), "--data", path("data.npz"), "--steps=1", "--metrics", path("metrics.jsonl"))
        row = json.loads(open(path("metrics.jsonl")).readline())
        for what, got, want in (("loss", row["loss"], loss(weights)), ("grad_norm", row["grad_norm"], squares ** 0.5)):
            if not abs(got - want) <= 1e-5 * want:
                sys.exit("%s: %s is %.9g, not %.9g" % (name, what, got, want))
        print("%s: loss %.6f, grad_norm %.6f" % (name, row["loss"], row["grad_norm"]))


main()
