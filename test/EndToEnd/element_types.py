"""A small model in float32, float64, float16 and bfloat16 (parameters, activations, gradients and updates) trains by SGD to the losses that NumPy
computes in float64. One input is int32 or an unsigned type, which scales the other."""
import json
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import harness

STEPS, BATCH, RATE = 6, 4, 0.1
#        name: ONNX type, that of the integer input, agreement of the losses
TYPES = {"float32": (TensorProto.FLOAT, np.int32, 2e-6), "float64": (TensorProto.DOUBLE, np.uint64, 2e-7),
         "float16": (TensorProto.FLOAT16, np.uint16, 1e-2), "bfloat16": (TensorProto.BFLOAT16, np.uint32, 5e-2)}


def make_weights():
    random = np.random.default_rng(3)
    return {"w1": random.standard_normal((6, 16)) * 0.4, "b1": random.standard_normal(16) * 0.1, "w2": random.standard_normal((16, 3)) * 0.4}


def make_model(path, kind, integer):
    predicted = kind if kind == TensorProto.DOUBLE else TensorProto.FLOAT  # of a model of float64 all is float64, its labels too
    def tensor(name, value):
        return helper.make_tensor(name, kind, value.shape, value.astype(np.float32).ravel().tolist())

    nodes = [helper.make_node("Cast", ["x"], ["xt"], "cast_x", to=kind), helper.make_node("Cast", ["k"], ["kt"], "cast_k", to=kind),
             helper.make_node("Mul", ["xt", "kt"], ["scaled"], "scale"),
             helper.make_node("Gemm", ["scaled", "w1", "b1"], ["h"], "first"), helper.make_node("Tanh", ["h"], ["t"], "tanh"),
             helper.make_node("Softmax", ["t"], ["s"], "softmax", axis=-1),
             helper.make_node("Add", ["s", "t"], ["a"], "add"),
             helper.make_node("MatMul", ["a", "w2"], ["z"], "second"), helper.make_node("Cast", ["z"], ["y"], "cast_y", to=predicted)]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 6]),
              helper.make_tensor_value_info("k", helper.np_dtype_to_tensor_dtype(np.dtype(integer)), ["batch", 1])]
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info("y", predicted, ["batch", 3])],
                              [tensor(n, v) for n, v in make_weights().items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), path)


def train(weights, x, k, target):
    """Losses by SGD in float64."""
    losses = []
    for step in range(STEPS):
        rows = slice(step * BATCH, (step + 1) * BATCH)
        scaled, wanted = x[rows] * k[rows], target[rows]
        t = np.tanh(scaled @ weights["w1"] + weights["b1"])
        s = np.exp(t) / np.exp(t).sum(1, keepdims=True)
        y = (s + t) @ weights["w2"]
        losses.append(np.mean((y - wanted) ** 2))
        dy = 2 * (y - wanted) / y.size
        da = dy @ weights["w2"].T
        dt = (da + s * (da - (da * s).sum(1, keepdims=True))) * (1 - t * t)
        gradients = {"w2": (s + t).T @ dy, "w1": scaled.T @ dt, "b1": dt.sum(0)}
        for name in weights:
            weights[name] = weights[name] - RATE * gradients[name]
    return losses


def main():
    a = harness.arguments(__doc__)
    random = np.random.default_rng(4)
    x = random.standard_normal((BATCH * STEPS, 6)).astype(np.float32)
    target = random.standard_normal((BATCH * STEPS, 3)).astype(np.float32)
    k = random.integers(0, 3, (BATCH * STEPS, 1))
    config = a.work / "config.json"
    bad = False
    for name, (kind, integer, agreement) in TYPES.items():
        model, data, compiled = a.work / f"{name}.onnx", a.work / f"{name}.npz", a.work / f"{name}.bin"
        make_model(model, kind, integer)
        np.savez(data, x=x, k=k.astype(integer), t=target.astype(np.float64 if name == "float64" else np.float32))
        wanted = train({n: np.asarray(v, np.float32).astype(np.float64) for n, v in make_weights().items()}, x.astype(np.float64), k, target)
        for ranks, stage in ((1, 0),) if name == "float64" else ((1, 0), (2, 0), (2, 3)):
            config.write_text(json.dumps({"train_micro_batch_size_per_gpu": BATCH // ranks, "zero_optimization": {"stage": stage},
                                          "optimizer": {"type": "SGD", "params": {"lr": RATE}}}))
            harness.run(a.bin / "zero-compile", model, "--loss=mse", "--labels=t", "--config", config, f"--world-size={ranks}", "-o", compiled)
            harness.run(a.bin / "zero-run", compiled, "--comm=loopback", "--data", data, f"--steps={STEPS}", "--metrics", a.work / "m.jsonl")
            losses = [row["loss"] for row in harness.read_metrics(a.work / "m.jsonl")]
            if np.allclose(losses, wanted, rtol=agreement, atol=0):
                print(f"{name}: losses agree on {ranks} rank(s) at stage {stage}")
            else:
                print(f"{name}: losses {losses} on {ranks} rank(s) at stage {stage}, but NumPy has {wanted}")
                bad = True
    sys.exit(bad)


if __name__ == "__main__":
    main()
