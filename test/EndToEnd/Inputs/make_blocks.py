"""Writes residual blocks as ONNX: x + fc2(tanh(fc1(x))), named h.I.fc1 and h.I.fc2, no embedding, nothing outside the blocks.

Every bucket of this model is read in both passes, so the closed forms of the traffic hold on it.
"""
import argparse

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def make_blocks(layers, width, hidden, seed=3):
    random = np.random.default_rng(seed)
    nodes, weights = [], []

    def weight(name, shape):
        weights.append(numpy_helper.from_array((random.standard_normal(shape) * 0.2).astype(np.float32), name))
        return name

    x = "x"
    for i in range(layers):
        p = f"h.{i}."
        nodes += [
            helper.make_node("Gemm", [x, weight(p + "fc1.weight", (hidden, width)), weight(p + "fc1.bias", (hidden,))], [p + "a"], name=p + "fc1", transB=1),
            helper.make_node("Tanh", [p + "a"], [p + "b"], name=p + "tanh"),
            helper.make_node("Gemm", [p + "b", weight(p + "fc2.weight", (width, hidden)), weight(p + "fc2.bias", (width,))], [p + "c"], name=p + "fc2", transB=1),
            helper.make_node("Add", [x, p + "c"], ["out" if i == layers - 1 else p + "out"], name=p + "add"),
        ]
        x = p + "out"
    graph = helper.make_graph(nodes, "blocks", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", width])],
                              [helper.make_tensor_value_info("out", TensorProto.FLOAT, ["batch", width])], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("data")
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--width", type=int, default=24)
    parser.add_argument("--hidden", type=int, default=40)
    parser.add_argument("--samples", type=int, default=96)
    a = parser.parse_args()
    onnx.save(make_blocks(a.layers, a.width, a.hidden), a.model)
    random = np.random.default_rng(5)
    x = random.standard_normal((a.samples, a.width)).astype(np.float32)
    np.savez(a.data, x=x, y=np.tanh(x[:, ::-1]).copy())


if __name__ == "__main__":
    main()
