"""Writes a small convolutional network for grey images as ONNX: twice convolution, ReLU and max-pooling, then two linear layers.

Images are bytes, N x 1 x H x W; the first nodes make them floats of mean 0 and deviation 1. Initial weights come from a fixed seed
and are distributed as PyTorch's: uniform in +-1/sqrt(inputs of an element), biases too.
"""
import argparse
import math

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

# Of Fashion-MNIST's training pixels, in [0, 1].
MEAN, DEVIATION = 0.2860, 0.3530


class Graph:
    """Collects nodes and initializers; every method returns the name of its result."""

    def __init__(self, seed):
        self.nodes, self.initializers = [], []
        self.random = np.random.default_rng(seed)

    def op(self, kind, name, *inputs, **attributes):
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name=f"node_{name}", **attributes))
        return name

    def constant(self, name, value):
        return self.op("Constant", name, value=numpy_helper.from_array(np.array(value, np.float32), name))

    def uniform(self, name, shape, fan_in):
        bound = 1 / math.sqrt(fan_in)
        array = self.random.uniform(-bound, bound, shape).astype(np.float32)
        self.initializers.append(numpy_helper.from_array(array, name))
        return name

    def conv(self, x, name, inputs, filters):
        fan_in = inputs * 9
        weight = self.uniform(f"{name}.weight", (filters, inputs, 3, 3), fan_in)
        y = self.op("Conv", name, x, weight, self.uniform(f"{name}.bias", (filters,), fan_in), kernel_shape=[3, 3], pads=[1, 1, 1, 1])
        y = self.op("Relu", f"{name}.relu", y)
        return self.op("MaxPool", f"{name}.pool", y, kernel_shape=[2, 2], strides=[2, 2])

    def linear(self, x, name, inputs, outputs):
        weight = self.uniform(f"{name}.weight", (outputs, inputs), inputs)
        return self.op("Gemm", name, x, weight, self.uniform(f"{name}.bias", (outputs,), inputs), transB=1)


def make_cnn(a):
    g = Graph(a.seed)
    x = g.op("Cast", "float", "x", to=TensorProto.FLOAT)
    x = g.op("Mul", "scaled", x, g.constant("scale", 1 / (255 * DEVIATION)))
    x = g.op("Sub", "normal", x, g.constant("mean", MEAN / DEVIATION))
    x = g.conv(x, "conv1", 1, a.filters)
    x = g.conv(x, "conv2", a.filters, 2 * a.filters)
    features = 2 * a.filters * (a.size // 4) ** 2
    x = g.op("Relu", "fc1.relu", g.linear(g.op("Flatten", "flat", x), "fc1", features, a.hidden))
    g.linear(x, "logits", a.hidden, a.classes)
    graph = helper.make_graph(
        g.nodes, "cnn", [helper.make_tensor_value_info("x", TensorProto.UINT8, ["batch", 1, a.size, a.size])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", a.classes])], g.initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9, producer_name="zero make_cnn")
    onnx.checker.check_model(model)
    return model


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=28, help="height and width of an image, a multiple of 4")
    parser.add_argument("--filters", type=int, default=32, help="of the first convolution; the second has twice as many")
    parser.add_argument("--hidden", type=int, default=128, help="width of the layer before the classes")
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1234)
    parser.add_argument("-o", "--output", required=True)
    a = parser.parse_args()
    if a.size % 4:
        parser.error(f"--size {a.size} is not a multiple of 4")
    model = make_cnn(a)
    onnx.save(model, a.output)
    count = sum(int(np.prod(i.dims)) for i in model.graph.initializer)
    print(f"{a.output}: {count} parameters, {len(model.graph.node)} nodes")


if __name__ == "__main__":
    main()
