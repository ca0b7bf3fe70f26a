"""Trains a linear classifier whose loss the exporter noted with label smoothing: loss and gradient norm are those of PyTorch's formula.

label_smoothing.py FOLDER: for each case loss and, from finite differences of the formula in float64, the gradient norm.
"""
import json
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from recurrent import run

BATCH, LENGTH, WIDTH, CLASSES, IGNORED = 4, 3, 5, 7, 2


def model(w, class_weights, smoothing, attributes):
    loss = helper.make_node("SoftmaxCrossEntropyLoss", ["scores", "t"] + ["class_weights"] * (class_weights is not None), ["loss"], name="loss", **attributes)
    call = f"(%scores, %t, None, 1, {attributes.get('ignore_index', -100)}, {smoothing})"
    loss.metadata_props.add(key="pkg.torch.onnx.fx_node",
                            value=f"%loss : [num_users=1] = call_function[target=torch.ops.aten.cross_entropy_loss.default](args = {call}, kwargs = {{}})")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"], name="layer"), helper.make_node("Transpose", ["y"], ["scores"], name="turn", perm=[0, 2, 1]), loss]
    constants = [numpy_helper.from_array(w, "w")] + ([numpy_helper.from_array(class_weights, "class_weights")] if class_weights is not None else [])
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", LENGTH, WIDTH]),
                                           helper.make_tensor_value_info("t", TensorProto.INT64, ["batch", LENGTH])],
                              [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])], initializer=constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


def formula(w, x, t, class_weights, smoothing, reduction, ignore_index):
    scores = x.astype(np.float64) @ w
    logs = scores - np.log(np.exp(scores).sum(-1, keepdims=True))
    weights = np.ones(CLASSES) if class_weights is None else class_weights.astype(np.float64)
    counted = t != ignore_index
    picked = np.take_along_axis(logs, t[..., None], -1)[..., 0]
    loss = -(1 - smoothing) * picked * weights[t] - smoothing / CLASSES * (logs * weights).sum(-1)
    total = loss[counted].sum()
    return total / weights[t][counted].sum() if reduction == "mean" else total


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    path = lambda name: os.path.join(folder, name)
    with open(path("config.json"), "w") as config:
        json.dump({"train_micro_batch_size_per_gpu": BATCH, "optimizer": {"type": "SGD", "params": {"lr": 0.1}}}, config)
    random = np.random.default_rng(3)
    weights = random.random(CLASSES).astype(np.float32) + 0.5
    for name, class_weights, attributes in (("mean", None, {}), ("weights, a class ignored", weights, {"ignore_index": IGNORED}),
                                            ("sum", None, {"reduction": "sum", "ignore_index": IGNORED})):
        w = random.standard_normal((WIDTH, CLASSES)).astype(np.float32)
        x = random.standard_normal((BATCH, LENGTH, WIDTH)).astype(np.float32)
        t = random.integers(0, CLASSES, (BATCH, LENGTH))
        t[0, :2] = IGNORED
        loss = lambda w: formula(w, x, t, class_weights, 0.2, attributes.get("reduction", "mean"), attributes.get("ignore_index", -100))
        squares, step = 0.0, 1e-5
        for index in np.ndindex(w.shape):
            moved = [w.astype(np.float64), w.astype(np.float64)]
            moved[0][index] += step
            moved[1][index] -= step
            squares += ((loss(moved[0]) - loss(moved[1])) / (2 * step)) ** 2
        onnx.save(model(w, class_weights, 0.2, attributes), path("model.onnx"))
        np.savez(path("data.npz"), x=x, t=t)
        run("zero-compile", path("model.onnx"), "--loss=output", "--config", path("config.json"), "--world-size=1", "-o", path("compiled.bin"),
            *(["--freeze=class_weights"] if class_weights is not None else []))
        run("zero-run", path("compiled.bin"), "--data", path("data.npz"), "--steps=1", "--metrics", path("metrics.jsonl"))
        row = json.loads(open(path("metrics.jsonl")).readline())
        for what, got, want in (("loss", row["loss"], loss(w.astype(np.float64))), ("grad_norm", row["grad_norm"], squares ** 0.5)):
            if not abs(got - want) <= 1e-5 * abs(want):
                sys.exit("%s: %s is %.9g, not %.9g" % (name, what, got, want))
        print("%s: ok" % name)


main()
