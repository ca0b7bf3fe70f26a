"""errors.py FOLDER: every mistake that an operator's builder finds, with the message that it must give.

Each case is one small model with one bad node; zero-import must end with status 3 and name the node.
"""
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import elementwise_errors
import refused
import window_errors
from graph import Graph

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def flat(g, *shape):
    return g.const(np.zeros(shape, np.float32))


# (what the message must contain, how to build the node that is wrong); x is ? x 5 x 4 floats, i is ? x 6 integers.
CASES = [
    ("has 2 attributes where one gives the value", lambda g: g.op("Constant", value_int=1, value_float=1.0)),
    ("attribute 'value_string' is not supported", lambda g: g.op("Constant", value_string="a")),
    ("attribute 'value' needs one element, not 'tensor<2xf32>'", lambda g: g.op(
        "ConstantOfShape", g.ints(2), value=numpy_helper.from_array(np.zeros(2, np.float32)))),
    ("has 1.000000e+15 elements", lambda g: g.op("Range", g.const(0, np.int64), g.const(10**15, np.int64), g.const(1, np.int64))),
    ("start, limit and delta must be constant, or integers with delta 1", lambda g: g.op(
        "Range", g.const(0, np.int64), g.op("Squeeze", g.op("Shape", "x", start=0, end=1)), g.const(2, np.int64))),
    ("needs numbers of one type, not 'tensor<?x6xi64>' and 'tensor<6x2xf32>'", lambda g: g.op("MatMul", "i", flat(g, 6, 2))),
    ("inner dimensions differ: 4 of 'tensor<?x5x4xf32>' and 3 of 'tensor<3x2xf32>'", lambda g: g.op("MatMul", "x", flat(g, 3, 2))),
    ("needs matrices, not 'tensor<?x5x4xf32>' and 'tensor<4x2xf32>'", lambda g: g.op("Gemm", "x", flat(g, 4, 2))),
    ("C of type 'tensor<3xf32>' does not fit the product of type 'tensor<2x2xf32>'",
     lambda g: g.op("Gemm", flat(g, 2, 4), flat(g, 4, 2), flat(g, 3))),
    ("needs at least vectors, not 'tensor<?x5x4xf32>' and 'tensor<f32>'", lambda g: g.op("MatMul", "x", g.const(1, np.float32))),
    ("batch dimensions of 'tensor<2x3x4xf32>' and 'tensor<5x4x2xf32>' do not fit",
     lambda g: g.op("MatMul", flat(g, 2, 3, 4), flat(g, 5, 4, 2))),
    ("has 0 inputs; the operator has at least 1", lambda g: g.op("Max")),
    ("has 0 inputs; the operator has at least 1", lambda g: g.op("Concat", axis=0)),
    ("inputs have different element types: 'tensor<?x5x4xf32>' and 'tensor<?x6xi64>'", lambda g: g.op("Add", "x", "i")),
    ("inputs have different element types: 'tensor<?x5x4xf32>' and 'tensor<?x6xi64>'",
     lambda g: g.op("Where", g.op("Less", "x", "x"), "x", "i")),
    ("shapes do not fit: 'tensor<?x5x4xf32>' and 'tensor<3xf32>'", lambda g: g.op("Add", "x", flat(g, 3))),
    ("needs integers or booleans, not 'tensor<?x5x4xf32>'", lambda g: g.op("And", "x", "x")),
    ("needs fmod=1 for 'tensor<?x5x4xf32>'", lambda g: g.op("Mod", "x", "x")),
    ("input 0 is missing", lambda g: g.op("Identity", "")),
    ("has 0 inputs; the operator has at least 1", lambda g: g.op("Relu")),
    ("approximate='sine' is not supported", lambda g: g.op("Gelu", "x", approximate="sine")),
    ("needs integer indices, not 'tensor<?x5x4xf32>'", lambda g: g.op("Gather", "x", "x")),
    ("index 7 is outside dimension 1 of 'tensor<?x5x4xf32>'", lambda g: g.op("Gather", "x", g.ints(7), axis=1)),
    ("reads outside 'tensor<3xi64>'", lambda g: g.op("Gather", g.op("Shape", "x"), g.const(5, np.int64))),
    ("needs index tuples of known length, not 'tensor<i64>'", lambda g: g.op("GatherND", "x", g.const(1, np.int64))),
    ("index tuples of 4 elements do not fit 'tensor<?x5x4xf32>' with 0 batch dimensions",
     lambda g: g.op("GatherND", "x", g.ints(0, 0, 0, 0))),
    ("input 0 is a sequence, not a tensor", lambda g: g.op("Relu", g.op("SequenceConstruct", "x"))),
    ("axes (input 1) must be constant", lambda g: g.op("Unsqueeze", "x", "i")),
    ("k (input 1) has 2 elements, not 1", lambda g: g.op("Trilu", "x", g.ints(1, 2))),
    ("needs a shape, a list of int64 of known length, not 'tensor<?x5x4xf32>'", lambda g: g.op("Reshape", "x", "x")),
    ("has the size -3 in its shape", lambda g: g.op("Expand", "x", g.ints(-3))),
    ("has the size -3 in its shape", lambda g: g.op("Reshape", "x", g.ints(-3))),
    ("axis 3 is outside a tensor of rank 3", lambda g: g.op("Softmax", "x", axis=3)),
    ("axis 1 is given twice", lambda g: g.op("ReduceSum", "x", g.ints(1, -2))),
    ("normalises a dimension of 'tensor<?x5x4xf32>' whose size is not known",
     lambda g: g.op("LayerNormalization", "x", flat(g, 4), axis=0)),
    ("weights of type 'tensor<5xf32>' do not fit the normalised dimensions of 'tensor<?x5x4xf32>'",
     lambda g: g.op("LayerNormalization", "x", flat(g, 5))),
    ("input 0 is not a sequence", lambda g: g.op("SequenceAt", "x", g.const(0, np.int64))),
    ("splits dimension 0, whose size is not known", lambda g: g.op("SequenceAt", g.op("SplitToSequence", "x"), g.const(0, np.int64))),
    ("splits into parts of size 0", lambda g: g.op("SequenceAt", g.op("SplitToSequence", "x", g.const(0, np.int64), axis=1),
                                                   g.const(0, np.int64))),
    ("position 3 is outside a sequence of 2 tensors", lambda g: g.op("SequenceAt", g.op("SequenceConstruct", "x", "x"),
                                                                    g.const(3, np.int64))),
    ("joins an empty sequence", lambda g: g.op("ConcatFromSequence", g.op("SequenceEmpty"), axis=0)),
    ("parts of 3 elements together do not make up dimension 1 of 'tensor<?x5x4xf32>'",
     lambda g: g.op("Split", "x", g.ints(1, 2), axis=1, outputs=2)[0]),
    ("joins 'tensor<?x5x4xf32>' and 'tensor<2x3x4xf32>' along dimension 0",
     lambda g: g.op("Concat", "x", flat(g, 2, 3, 4), axis=0)),
    ("dimension 3 is to be copied from 'tensor<?x5x4xf32>'", lambda g: g.op("Reshape", "x", g.ints(-1, 2, 2, 0))),
    ("has -1 twice in its shape", lambda g: g.op("Reshape", "x", g.ints(-1, -1))),
    ("cannot give 8 elements of 'tensor<2x4xf32>' a shape in multiples of 3", lambda g: g.op("Reshape", flat(g, 2, 4), g.ints(-1, 3))),
    ("cannot give 8 elements of 'tensor<2x4xf32>' a shape of 9", lambda g: g.op("Reshape", flat(g, 2, 4), g.ints(3, 3))),
    ("axis 4 is outside a tensor of rank 3", lambda g: g.op("Flatten", "x", axis=4)),
    ("without axes cannot tell whether dimension 0 of 'tensor<?x5x4xf32>' is 1", lambda g: g.op("Squeeze", "x")),
    ("squeezes dimension 1 of 'tensor<?x5x4xf32>', which is not 1", lambda g: g.op("Squeeze", "x", g.ints(1))),
    ("has 1 inputs; the operator has at least 2", lambda g: g.op("Unsqueeze", "x")),
    ("permutes 2 dimensions of 'tensor<?x5x4xf32>'", lambda g: g.op("Transpose", "x", perm=[1, 0])),
    ("splits dimension 0 of 'tensor<?x5x4xf32>', whose size is not known", lambda g: g.op("Split", "x", axis=0, num_outputs=2, outputs=2)[0]),
    ("has 2 outputs and num_outputs 3", lambda g: g.op("Split", "x", axis=1, num_outputs=3, outputs=2)[0]),
    ("has 2 outputs and 3 sizes", lambda g: g.op("Split", "x", g.ints(1, 1, 3), axis=1, outputs=2)[0]),
    ("starts (input 1) must be constant", lambda g: g.op("Slice", "x", "i", "i")),
    ("needs starts, ends, axes and steps of one length", lambda g: g.op("Slice", "x", g.ints(0), g.ints(1, 2))),
    ("axes and steps must be constant", lambda g: g.op("Slice", "x", g.ints(0), g.ints(1), g.op("Shape", "x", end=1))),
    ("has step 0", lambda g: g.op("Slice", "x", g.ints(0), g.ints(1), g.ints(1), g.ints(0))),
    ("cuts dimension 0 of 'tensor<?x5x4xf32>', whose size is not known", lambda g: g.op("Slice", "x", g.ints(0), g.ints(1), g.ints(0))),
    ("starts and ends must be constant", lambda g: g.op("Slice", "x", g.ints(0), g.op("Shape", "x", end=1), g.ints(1))),
    ("cannot expand 'tensor<?x5x4xf32>' to 'tensor<3xf32>'", lambda g: g.op("Expand", "x", g.ints(3))),
    ("needs one repeat for each dimension of 'tensor<?x5x4xf32>'", lambda g: g.op("Tile", "x", g.ints(1, 2))),
    ("mode 'mirror' is not supported", lambda g: g.op("Pad", "x", g.ints(0, 0, 0, 0, 1, 1), mode="mirror")),
    ("needs two pads for each of 3 axes", lambda g: g.op("Pad", "x", g.ints(0, 1))),
    ("the padding's value (input 2) must be constant", lambda g: g.op(
        "Pad", "x", g.ints(0, 0, 0, 0, 1, 1), g.op("ReduceSum", "x", keepdims=0))),
    ("pads dimension 0, whose size is not known", lambda g: g.op("Pad", "x", g.ints(1, 0, 0, 0, 0, 0))),
    # What every operator's version says of its nodes.
    ("has 2 outputs; the operator has at most 1", lambda g: g.raw("Relu", ["x"], ["a", "b"])),
    ("has 3 inputs; the operator has at most 2", lambda g: g.op("Add", "x", "x", "x")),
    ("has an attribute 'axes', which the operator does not have", lambda g: g.op("Softmax", "x", axes=[1])),
    ("has an attribute 'axes', which the operator does not have", lambda g: g.op("Unsqueeze", "x", g.ints(0), axes=[1])),
    ("attribute 'axis' has type FLOAT, not INT", lambda g: g.op("Softmax", "x", axis=1.0)),
    ("attribute 'perm' has type STRING, not INTS", lambda g: g.op("Transpose", "x", perm="abc")),
    ("attribute 'alpha' is not a number", lambda g: g.op("LeakyRelu", "x", alpha=float("nan"))),
    ("has no attribute 'to', which the operator needs", lambda g: g.op("Cast", "x")),
    ("has the attribute 'axis' twice", lambda g: g.twice(g.op("Softmax", "x", axis=1))),
    ("attribute 'axis' refers to the attribute 'a' of a function, and the node is in none",
     lambda g: g.refer(g.op("Softmax", "x", axis=1))),
    # Sizes that nobody has.
    ("makes a tensor of type 'tensor<1099511627776x1099511627776xf32>'; at most 281474976710656 elements and 64 dimensions are supported",
     lambda g: g.op("Expand", g.const(1, np.float32), g.ints(2**40, 2**40))),
    ("has a shape of 65 dimensions; at most 64 are supported", lambda g: g.op("Reshape", "x", g.ints(*[1] * 65))),
    ("splits into 1000000 tensors; at most 4096 are supported", lambda g: g.op(
        "SequenceAt", g.op("SplitToSequence", g.op("Expand", g.const(1, np.float32), g.ints(10**6))), g.const(0, np.int64))),
    # Shapes that depend on data.
    ("the shape (input 1) depends on data: on 'i'", lambda g: g.op("Reshape", "x", g.op("Squeeze", g.op("Slice", "i", g.ints(0), g.ints(2), g.ints(1)), g.ints(0)))),
    ("gives a result whose shape depends on data: on 'x'", lambda g: g.op("NonZero", "x")),
    ("gives a result whose shape depends on data: on 'i'", lambda g: g.op(
        "Compress", "x", g.op("Cast", g.op("ReduceSum", "i", g.ints(0), keepdims=0), to=TensorProto.BOOL), axis=1)),
    ("needs a list of booleans, not 'tensor<?x6xi64>'", lambda g: g.op("Compress", "x", "i")),
    ("index 6 is outside dimension 1 of 'tensor<?x5x4xf32>'", lambda g: g.op("Compress", "x", g.const([False] * 6 + [True]), axis=1)),
    ("defines 'x' again", lambda g: g.raw("Relu", ["x"], ["x"])),
]


class OpenGraph(Graph):
    def raw(self, op_type, inputs, outputs):
        self.nodes.append(helper.make_node(op_type, inputs, outputs, name="wrong"))
        return outputs[-1]

    def twice(self, output):
        self.nodes[-1].attribute.append(self.nodes[-1].attribute[0])
        return output

    def refer(self, output):
        self.nodes[-1].attribute[0].ref_attr_name = "a"
        return output


def build(case, message):
    g = OpenGraph(23)
    output = case(g)
    if g.nodes[-1].op_type != "SequenceAt" or "sequence" in message:
        g.nodes[-1].name = "wrong"
    return g, output, ""  # some mistakes are another node's


refused.check(sys.argv[1], CASES + window_errors.CASES + elementwise_errors.CASES, 23, build)
