"""Writes a GPT as ONNX: embedding, learned positions, pre-LN blocks, causal attention, GELU, a head.

Attention, its mask and GELU are spelled out in plain operators, as exporters write them. Initial weights come from a fixed seed:
N(0, 0.02), the residual projections divided by sqrt(2 x layers) (GPT-2), zeros and ones for biases and norms. With --shapes-only the
file says how large the weights are and holds none: for plans of models that fit on no machine.
"""
import argparse
import math

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Graph:
    """Collects nodes and initializers; every method returns the name of its result."""

    def __init__(self, seed, shapes_only=False):
        self.shapes_only = shapes_only
        self.nodes, self.initializers = [], []
        self.random = np.random.default_rng(seed)
        self.constants = {}

    def op(self, kind, *inputs, name=None, outputs=1, **attributes):
        name = name or f"{kind.lower()}_{len(self.nodes)}"
        results = [name] if outputs == 1 else [f"{name}.{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), results, name=f"node_{name}", **attributes))
        return results[0] if outputs == 1 else results

    def weight(self, name, shape, value):
        """`value` makes the array."""
        if self.shapes_only:
            self.initializers.append(onnx.TensorProto(name=name, data_type=TensorProto.FLOAT, dims=shape))
        else:
            self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(value(), dtype=np.float32), name))
        return name

    def normal(self, name, shape, std):
        return self.weight(name, shape, lambda: self.random.standard_normal(shape).astype(np.float32) * np.float32(std))

    def filled(self, name, size, value):
        return self.weight(name, (size,), lambda: np.full(size, value))

    def constant(self, value, dtype):
        array = np.array(value, dtype=dtype)
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self.constants:
            name = f"constant_{len(self.constants)}"
            self.nodes.append(helper.make_node("Constant", [], [name], value=numpy_helper.from_array(array, name)))
            self.constants[key] = name
        return self.constants[key]

    def linear(self, x, name, rows, columns, std, bias=True):
        y = self.op("MatMul", x, self.normal(f"{name}.weight", (rows, columns), std), name=f"{name}.matmul")
        return self.op("Add", y, self.filled(f"{name}.bias", columns, 0), name=f"{name}.add") if bias else y

    def layer_norm(self, x, name, width):
        return self.op("LayerNormalization", x, self.filled(f"{name}.weight", width, 1),
                       self.filled(f"{name}.bias", width, 0), name=f"{name}.norm", axis=-1, epsilon=1e-5)

    def gelu(self, x, name):
        """The tanh approximation."""
        cube = self.op("Pow", x, self.constant(3.0, np.float32))
        inner = self.op("Add", x, self.op("Mul", cube, self.constant(0.044715, np.float32)))
        tanh = self.op("Tanh", self.op("Mul", inner, self.constant(math.sqrt(2 / math.pi), np.float32)))
        half = self.op("Mul", x, self.constant(0.5, np.float32))
        return self.op("Mul", half, self.op("Add", tanh, self.constant(1.0, np.float32)), name=f"{name}.gelu")

    def attention(self, x, name, a, residual_std):
        head = a.width // a.heads
        qkv = self.linear(x, f"{name}.qkv", a.width, 3 * a.width, 0.02)
        heads = []
        for i in range(3):
            part = self.op("Slice", qkv, self.constant([i * a.width], np.int64), self.constant([(i + 1) * a.width], np.int64),
                           self.constant([2], np.int64))
            part = self.op("Reshape", part, self.constant([0, 0, a.heads, head], np.int64))
            heads.append(self.op("Transpose", part, perm=[0, 2, 3, 1] if i == 1 else [0, 2, 1, 3]))
        scores = self.op("Mul", self.op("MatMul", heads[0], heads[1]), self.constant(1 / math.sqrt(head), np.float32))
        masked = self.op("Where", self.causal_mask(a.sequence), scores, self.constant(-np.inf, np.float32))
        y = self.op("MatMul", self.op("Softmax", masked, axis=-1), heads[2])
        y = self.op("Reshape", self.op("Transpose", y, perm=[0, 2, 1, 3]), self.constant([0, 0, a.width], np.int64))
        return self.linear(y, f"{name}.proj", a.width, a.width, residual_std)

    def causal_mask(self, length):
        index = self.op("Range", self.constant(0, np.int64), self.constant(length, np.int64), self.constant(1, np.int64))
        row = self.op("Unsqueeze", index, self.constant([1], np.int64))
        column = self.op("Unsqueeze", index, self.constant([0], np.int64))
        return self.op("LessOrEqual", column, row)


def make_gpt(a):
    g = Graph(a.seed, a.shapes_only)
    residual_std = 0.02 / math.sqrt(2 * a.layers)
    token_table = g.normal("wte.weight", (a.vocabulary, a.width), 0.02)
    x = g.op("Gather", token_table, "x", axis=0, name="wte")
    x = g.op("Add", x, g.normal("wpe.weight", (a.sequence, a.width), 0.02), name="embedding")
    for i in range(a.layers):
        y = g.attention(g.layer_norm(x, f"h.{i}.ln1", a.width), f"h.{i}.attn", a, residual_std)
        x = g.op("Add", x, y, name=f"h.{i}.residual1")
        y = g.gelu(g.linear(g.layer_norm(x, f"h.{i}.ln2", a.width), f"h.{i}.mlp.fc", a.width, 4 * a.width, 0.02), f"h.{i}.mlp")
        x = g.op("Add", x, g.linear(y, f"h.{i}.mlp.proj", 4 * a.width, a.width, residual_std), name=f"h.{i}.residual2")
    x = g.layer_norm(x, "lnf", a.width)
    if a.tied:
        g.op("MatMul", x, g.op("Transpose", token_table, perm=[1, 0]), name="logits")
    else:
        g.op("MatMul", x, g.normal("head.weight", (a.width, a.vocabulary), 0.02), name="logits")
    graph = helper.make_graph(
        g.nodes, "gpt", [helper.make_tensor_value_info("x", TensorProto.INT64, ["batch", a.sequence])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", a.sequence, a.vocabulary])], g.initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9, producer_name="zero make_gpt")
    if not a.shapes_only:  # which the checker takes for tensors that lost their data
        onnx.checker.check_model(model)
    return model


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--sequence", type=int, default=128, help="positions of a sample")
    parser.add_argument("--vocabulary", type=int, default=256)
    parser.add_argument("--tied", action="store_true", help="the head is the embedding, transposed")
    parser.add_argument("--shapes-only", action="store_true", help="no values of weights")
    parser.add_argument("--seed", type=int, default=1234)
    parser.add_argument("-o", "--output", required=True)
    a = parser.parse_args()
    if a.width % a.heads:
        parser.error(f"--width {a.width} is not divisible by --heads {a.heads}")
    model = make_gpt(a)
    onnx.save(model, a.output)
    count = sum(math.prod(i.dims) for i in model.graph.initializer)
    print(f"{a.output}: {count} parameters, {len(model.graph.node)} nodes")


if __name__ == "__main__":
    main()
