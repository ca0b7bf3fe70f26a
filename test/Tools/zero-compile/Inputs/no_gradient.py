"""Writes FOLDER/flat.onnx, with operators whose gradient is zero."""
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def save(path, nodes, output):
    constants = {"scale": np.float32(0.1), "zero": np.int8(0), "nothing": np.float32(0)}
    nodes = [helper.make_node("Constant", [], [name], name, value=numpy_helper.from_array(np.asarray(value))) for name, value in constants.items()] + nodes
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 4])]
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info(output, TensorProto.FLOAT, [])],
                              [numpy_helper.from_array(np.linspace(-1, 1, 4).astype(np.float32), "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), path)


def node(op, inputs, name, **attributes):
    return helper.make_node(op, inputs, [name + "_out"], name, **attributes)


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    save(os.path.join(folder, "flat.onnx"), [
        node("Mul", ["x", "w"], "product"), node("LeakyRelu", ["product_out"], "leaky"), node("Floor", ["leaky_out"], "steps"),
        node("QuantizeLinear", ["leaky_out", "scale", "zero"], "to_int8"), node("DequantizeLinear", ["to_int8_out", "scale", "zero"], "from_int8"),
        node("Greater", ["product_out", "nothing"], "positive"), node("Where", ["positive_out", "leaky_out", "x"], "choice"),
        node("Sum", ["steps_out", "from_int8_out", "choice_out"], "total"), node("ReduceSum", ["total_out"], "sum", keepdims=0)], "sum_out")


main()
