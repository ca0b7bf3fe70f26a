"""What operators that index, order, contract and lose cannot do: each is refused with the node's name and the reason, exit 3.

indexing_refusals.py FOLDER: one model for each row; `x` is batch x 5 x 4 floats, `i` batch x 6 int64, numbers are constants.
"""
import os
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper

from graph import Graph

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
x, i = "x", "i"
ints = lambda *values: np.array(values, np.int64)
floats = lambda *shape: np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)

# operator, operands, attributes, what the message says after "node 'it' (OP, opset 20): "
ROWS = [
    ("Gather", [x, x], {}, "needs integer indices, not 'tensor<?x5x4xf32>'"),
    ("Gather", [x, ints(5)], {"axis": 1}, "index 5 is outside dimension 1 of 'tensor<?x5x4xf32>'"),
    ("GatherElements", [x, i], {}, "needs indices of the rank of 'tensor<?x5x4xf32>', not 'tensor<?x6xi64>'"),
    ("GatherElements", [floats(2, 2), np.zeros((3, 1), np.int64)], {"axis": 1},
     "has indices of type 'tensor<3x1xi64>', larger than 'tensor<2x2xf32>' in dimension 0"),
    ("GatherND", [x, ints(0, 0, 0, 0)], {}, "index tuples of 4 elements do not fit 'tensor<?x5x4xf32>' with 0 batch dimensions"),
    ("ScatterND", [x, ints(0, 0, 0, 0), floats()], {}, "needs index tuples of 1 to 3 elements, not 'tensor<4xi64>'"),
    ("ScatterND", [floats(3), np.zeros((1, 1), np.int64), floats(2)], {},
     "has updates of type 'tensor<2xf32>' where data and indices need 'tensor<1xf32>'"),
    ("ScatterElements", [floats(3), ints(0), floats(1)], {"reduction": "mean"}, "reduction 'mean' is not supported"),
    ("ScatterElements", [np.ones(3, bool), ints(0), np.ones(1, bool)], {"reduction": "add"}, "reduction 'add' has no meaning for 'tensor<3xi1>'"),
    ("ReverseSequence", [x, ints(1, 1, 1, 1)], {"time_axis": 2, "batch_axis": 1}, "needs time and batch as the first two dimensions of"),
    ("TopK", [x, ints(6)], {"axis": 1, "outputs": 2}, "takes 6 elements of dimension 1 of 'tensor<?x5x4xf32>'"),
    ("TopK", [x, i], {"outputs": 2}, "K (input 1) must be constant"),
    ("ArgMax", [floats(2, 0)], {"axis": 1}, "has no element along dimension 1 of 'tensor<2x0xf32>'"),
    ("ArgMin", [x], {"select_last_index": 1}, "cannot find the last index along dimension 0 of 'tensor<?x5x4xf32>', whose size is not known"),
    ("OneHot", [i, ints(0), floats(2)], {}, "has depth 0"),
    ("OneHot", [i, ints(2), floats(3)], {}, "needs two values, not 'tensor<3xf32>'"),
    ("CumSum", [np.ones(3, bool), ints(0)], {}, "cannot sum 'tensor<3xi1>'"),
    ("AffineGrid", [x, ints(3, 1, 2, 4)], {}, "needs the sizes of 2 or 3 dimensions and an affine map of them, not 'tensor<?x5x4xf32>'"),
    ("GridSample", [x, x], {}, "needs floats of known spatial sizes and places in them, not 'tensor<?x5x4xf32>' and 'tensor<?x5x4xf32>'"),
    ("GridSample", [floats(1, 1, 2, 2), floats(1, 1, 1, 2)], {"mode": "area"}, "mode 'area' is not supported"),
    ("GridSample", [floats(1, 1, 2, 2), floats(1, 1, 1, 2)], {"padding_mode": "wrap"}, "padding mode 'wrap' is not supported"),
    ("CenterCropPad", [x, ints(1)], {}, "has 1 sizes for 3 axes"),
    ("CenterCropPad", [x, ints(1)], {"axes": [0]}, "cannot give dimension 0 of 'tensor<?x5x4xf32>' the size 1"),
    ("EyeLike", [x], {}, "needs a matrix, not 'tensor<?x5x4xf32>'"),
    ("Trilu", [floats(3)], {}, "needs matrices, not 'tensor<3xf32>'"),
    ("MatMul", [x, np.zeros((4, 2), np.int64)], {}, "needs numbers of one type, not 'tensor<?x5x4xf32>' and 'tensor<4x2xi64>'"),
    ("MatMul", [floats(), x], {}, "needs at least vectors, not 'tensor<f32>' and 'tensor<?x5x4xf32>'"),
    ("MatMul", [floats(2, 1, 1, 5), floats(3, 1, 5, 1)], {}, "batch dimensions of 'tensor<2x1x1x5xf32>' and 'tensor<3x1x5x1xf32>' do not fit"),
    ("Gemm", [i, np.zeros((6, 2), np.int64)], {"alpha": 0.5}, "scales integers by 5.000000e-01"),
    ("Gemm", [i, np.zeros((6, 2), np.int64), ints(1, 2, 3)], {}, "C of type 'tensor<3xi64>' does not fit the product of type 'tensor<?x2xi64>'"),
    ("Einsum", [x, i], {"equation": "bij->b"}, "equation 'bij->b' has 1 terms for 2 operands"),
    ("Einsum", [x], {"equation": "b1j->b"}, "term 'b1j' of the equation is not made of letters and one ellipsis"),
    ("Einsum", [x], {"equation": "bi->b"}, "term 'bi' of the equation has 2 labels for an operand of rank 3"),
    ("Einsum", [x], {"equation": "bii->b"}, "takes the diagonal of dimensions 1 and 2 of 'tensor<?x5x4xf32>', which are not known to be equal numbers"),
    ("Einsum", [x, floats(5, 4)], {"equation": "bij,jk->bik"},
     "dimensions of 'tensor<?x5x4xf32>' and 'tensor<5x4xf32>' under one label have sizes 4 and 5"),
    ("Einsum", [x, i], {"equation": "bij,bk->b"}, "needs numbers of one type, not 'tensor<?x6xi64>'"),
    ("Einsum", [x], {"equation": "bij->bb"}, "equation 'bij->bb' has a label in its result twice"),
    ("Einsum", [x], {"equation": "bij->k"}, "equation 'bij->k' has a label in its result that no operand has"),
    ("NegativeLogLikelihoodLoss", [x, ints(1)], {}, "needs a class number for each position of 'tensor<?x5x4xf32>', not 'tensor<1xi64>'"),
    ("NegativeLogLikelihoodLoss", [floats(2, 3), ints(1, 2), floats(4)], {}, "needs a weight for each class of 'tensor<2x3xf32>', not 'tensor<4xf32>'"),
    ("SoftmaxCrossEntropyLoss", [floats(2, 3), ints(1, 2)], {"reduction": "max"}, "reduction 'max' is not supported"),
    ("SoftmaxCrossEntropyLoss", [floats(3), ints(1)], {}, "needs floats with dimensions for samples and classes, not 'tensor<3xf32>'"),
    ("Slice", [x, ints(0), ints(1), ints(0)], {}, "cuts dimension 0 of 'tensor<?x5x4xf32>', whose size is not known: only the whole of it can be taken"),
    ("Slice", [x, ints(0), i, ints(1)], {}, "ends (input 2) must be constant"),
    ("Split", [x], {"axis": 0, "outputs": 2, "num_outputs": 2},
     "splits dimension 0 of 'tensor<?x5x4xf32>', whose size is not known, into parts that are no multiples of it"),
]


def check(folder, number, operator, operands, attributes, message):
    g = Graph(20)
    names = [g.const(operand) if isinstance(operand, np.ndarray) else operand for operand in operands]
    outputs = [g.fresh("out") for _ in range(attributes.pop("outputs", 1))]
    g.nodes.append(helper.make_node(operator, names, outputs, name="it", **attributes))
    g.nodes.append(helper.make_node("Cast", outputs[:1], ["float"], name="cast", to=FLOAT))
    g.nodes.append(helper.make_node("ReduceSum", ["float"], ["sum"], name="sum", keepdims=0))
    g.weight([1.0], "w")
    g.nodes.append(helper.make_node("Mul", ["sum", "w"], ["loss"], name="loss"))
    inputs = [helper.make_tensor_value_info("x", FLOAT, ["batch", 5, 4]), helper.make_tensor_value_info("i", INT64, ["batch", 6])]
    graph = helper.make_graph(g.nodes, "g", inputs, [helper.make_tensor_value_info("loss", FLOAT, [1])], initializer=g.constants)
    path = os.path.join(folder, "%d.onnx" % number)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), path)
    result = subprocess.run(["zero-import", path, "--loss=output"], capture_output=True, text=True)
    want = "node 'it' (%s, opset 20): %s" % (operator, message)
    if result.returncode != 3 or want not in result.stderr:
        return "%s %s: exit %d\n  want: %s\n  have: %s" % (operator, attributes, result.returncode, want, result.stderr.strip())
    return None


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    bad = [text for text in (check(folder, number, *row) for number, row in enumerate(ROWS)) if text]
    if bad:
        sys.exit("\n".join(bad))
    print("%d refusals" % len(ROWS))


main()
