"""Trains a two-way LSTM and GRU with lengths for a step on two ranks: loss and gradient norm are those of the equations.

recurrent_training.py FOLDER: the gradient comes from finite differences of the equations in float64 (recurrent.py).
"""
import json
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import recurrent
from recurrent import BATCH, HIDDEN, build, reference, run

RANKS = 2


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    path = lambda name: os.path.join(folder, name)
    with open(path("config.json"), "w") as config:
        json.dump({"train_micro_batch_size_per_gpu": BATCH // RANKS, "optimizer": {"type": "SGD", "params": {"lr": 0.1}},
                   "zero_optimization": {"stage": 3}}, config)
    for kind in ("LSTM", "GRU"):
        attributes = dict(direction="bidirectional", layout=1)
        inputs = ["B", "sequence_lens", "initial_h"] + ["P"] * (kind == "LSTM")
        random = np.random.default_rng(3)
        data = build(kind, inputs, attributes, random)
        data["sequence_lens"] = np.array([5, 1, 4, 2], np.int32)
        target = random.standard_normal((BATCH, 2 * HIDDEN)).astype(np.float32)

        def loss(values):
            last = reference(kind, values, attributes)[1].reshape(BATCH, 2 * HIDDEN)
            return np.mean((last - target) ** 2)

        weights = {name: data[name] for name in ("W", "R", "B", "P") if name in data}
        squares, step = 0.0, 1e-5
        for name, weight in weights.items():
            wide = weight.astype(np.float64)
            for index in np.ndindex(wide.shape):
                sides = []
                for delta in (step, -step):
                    moved = wide.copy()
                    moved[index] += delta
                    sides.append(loss(dict(data, **{name: moved})))
                squares += ((sides[0] - sides[1]) / (2 * step)) ** 2
        names = ["X", "W", "R", "B", "sequence_lens", "initial_h"] + (["", "P"] if kind == "LSTM" else [])
        nodes = [helper.make_node(kind, names, ["Y", "last"], name="cell", hidden_size=HIDDEN, **attributes),
                 helper.make_node("Flatten", ["last"], ["flat"], name="flat")]
        graph_inputs = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), ["batch"] + list(a.shape[1:]))
                        for n, a in data.items() if n not in weights]
        graph = helper.make_graph(nodes, kind, graph_inputs, [helper.make_tensor_value_info("flat", TensorProto.FLOAT, None)],
                                  initializer=[numpy_helper.from_array(a, n) for n, a in weights.items()])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8), path("model.onnx"))
        np.savez(path("data.npz"), target=target, **{n: a for n, a in data.items() if n not in weights})
        run("zero-compile", path("model.onnx"), "--loss=mse", "--labels=target", "--config", path("config.json"),
            "--world-size=%d" % RANKS, "-o", path("compiled.bin"))
        run("zero-run", path("compiled.bin"), "--comm=loopback", "--ranks=%d" % RANKS, "--data", path("data.npz"), "--steps=1",
            "--metrics", path("metrics.jsonl"))
        row = json.loads(open(path("metrics.jsonl")).readline())
        for what, got, want in (("loss", row["loss"], loss(data)), ("grad_norm", row["grad_norm"], squares ** 0.5)):
            if not abs(got - want) <= 1e-5 * want:
                sys.exit("%s: %s is %.9g, not %.9g" % (kind, what, got, want))
        print("%s: loss %.6f, grad_norm %.6f" % (kind, row["loss"], row["grad_norm"]))


recurrent.BATCH = BATCH = 4
main()
