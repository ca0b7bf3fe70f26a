"""A small mixture of experts with the operators that index and order: TopK, ScatterElements, GatherElements, GatherND, CumSum, OneHot, Einsum.

Trains on one and two ranks with SGD; losses must be those of NumPy, which differentiates the same formula by central differences.
"""
import json
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import harness

FEATURES, EXPERTS, OUT, BATCH, STEPS, RATE = 6, 4, 3, 4, 4, 0.001
SHAPES = {"router": (FEATURES, EXPERTS), "experts": (EXPERTS, FEATURES, OUT), "table": (3, 2, OUT)}


def build(path):
    nodes, count = [], [0]

    def op(kind, *inputs, outputs=1, **attributes):
        names = ["%s_%d" % (kind.lower(), count[0] + k) for k in range(outputs)]
        count[0] += outputs
        nodes.append(helper.make_node(kind, list(inputs), names, name=names[0], **attributes))
        return names[0] if outputs == 1 else names

    const = lambda value, dtype=np.int64: op("Constant", value=numpy_helper.from_array(np.array(value, dtype)))
    probabilities = op("Softmax", op("MatMul", "x", "router"))
    values, indices = op("TopK", probabilities, const([2]), outputs=2)
    gates = op("Div", values, op("ReduceSum", values, const([1])))
    dense = op("ScatterElements", op("Mul", probabilities, const(0, np.float32)), indices, gates, axis=1, reduction="add")
    each = op("Einsum", "x", "experts", equation="bi,eio->beo")
    mixed = op("CumSum", op("Einsum", each, dense, equation="beo,be->bo"), const(1))
    extra = op("GatherND", "table", "k")
    best = op("ArgMax", probabilities, axis=1, keepdims=0)
    penalty = op("ReduceSum", op("Mul", op("OneHot", best, const(EXPERTS), const([0, 0.1], np.float32)), probabilities), const([1]))
    picked = op("GatherElements", mixed, op("Slice", "k", const([0]), const([1]), const([1])), axis=1)
    spread = op("ReduceLogSumExp", mixed, const([1]))
    result = op("Add", op("Add", mixed, extra), op("Add", op("Mul", picked, spread), penalty))
    nodes.append(helper.make_node("Identity", [result], ["z"], name="z"))
    random = np.random.default_rng(3)
    weights = {name: random.standard_normal(shape).astype(np.float32) * 0.7 for name, shape in SHAPES.items()}
    info = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "routing", [info("x", TensorProto.FLOAT, ["batch", FEATURES]), info("k", TensorProto.INT64, ["batch", 2])],
                              [info("z", TensorProto.FLOAT, ["batch", OUT])], [numpy_helper.from_array(w, n) for n, w in weights.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    onnx.checker.check_model(model)
    onnx.save(model, path)
    return {name: w.astype(np.float64) for name, w in weights.items()}


def loss(weights, x, k, y):
    logits = x @ weights["router"]
    p = np.exp(logits - logits.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    indices = np.argsort(-p, axis=1, kind="stable")[:, :2]
    values = np.take_along_axis(p, indices, 1)
    dense = np.zeros_like(p)
    np.put_along_axis(dense, indices, values / values.sum(1, keepdims=True), 1)
    mixed = np.cumsum(np.einsum("bi,eio,be->bo", x, weights["experts"], dense), axis=1)
    extra = weights["table"][k[:, 0], k[:, 1]]
    picked = np.take_along_axis(mixed, k[:, :1], 1)
    spread = np.log(np.exp(mixed).sum(1, keepdims=True))
    z = mixed + extra + picked * spread + 0.1 * p.max(1, keepdims=True)
    return np.mean((z - y) ** 2)


def train(weights, data, ranks):
    weights = {name: w.copy() for name, w in weights.items()}
    losses = []
    for step in range(STEPS):
        rows = slice(step * ranks * BATCH, (step + 1) * ranks * BATCH)
        batch = [data[name][rows] for name in ("x", "k", "y")]
        losses.append(loss(weights, *batch))
        gradients = {}
        for name, w in weights.items():
            gradient = np.zeros(w.size)
            for index in range(w.size):
                value = w.flat[index]
                sides = []
                for move in (1e-5, -1e-5):
                    w.flat[index] = value + move
                    sides.append(loss(weights, *batch))
                w.flat[index] = value
                gradient[index] = (sides[0] - sides[1]) / 2e-5
            gradients[name] = gradient.reshape(w.shape)
        for name, w in weights.items():
            w -= RATE * gradients[name]
    return losses


def main():
    a = harness.arguments(__doc__)
    weights = build(a.work / "routing.onnx")
    random = np.random.default_rng(5)
    samples = 2 * BATCH * STEPS
    k = np.stack([random.integers(0, 3, samples), random.integers(0, 2, samples)], 1)
    data = {"x": random.standard_normal((samples, FEATURES)).astype(np.float32), "k": k,
            "y": random.standard_normal((samples, OUT)).astype(np.float32)}
    np.savez(a.work / "data.npz", **data)
    config = a.work / "config.json"
    config.write_text(json.dumps({"train_micro_batch_size_per_gpu": BATCH, "zero_optimization": {"stage": 3},
                                  "optimizer": {"type": "SGD", "params": {"lr": RATE}}}))
    bad = []
    for ranks in (1, 2):
        harness.run(a.bin / "zero-compile", a.work / "routing.onnx", "--loss=mse", "--labels=y", "--config", config, f"--world-size={ranks}",
                    "-o", a.work / "compiled.bin")
        harness.run(a.bin / "zero-run", a.work / "compiled.bin", "--comm=loopback", "--data", a.work / "data.npz", f"--steps={STEPS}",
                    "--metrics", a.work / "metrics.jsonl")
        have = [row["loss"] for row in harness.read_metrics(a.work / "metrics.jsonl")]
        want = train(weights, data, ranks)
        print(f"{ranks} ranks: {' '.join('%.7f' % v for v in have)}, NumPy {' '.join('%.7f' % v for v in want)}")
        bad.append(len(have) != STEPS or not np.allclose(have, want, rtol=2e-5))
    print("the losses differ" if any(bad) else "the losses agree")
    sys.exit(any(bad))


if __name__ == "__main__":
    main()
