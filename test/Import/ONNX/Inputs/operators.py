"""Compares every supported operator with onnx's own reference evaluator.

operators.py FAMILY FOLDER: builds one model of all cases of a family (each reduced to one number, all joined by the node
`cases`), imports it with a symbolic batch, binds it, runs it by the reference interpreter as it is and after folding and
raising, and compares the numbers case by case.
"""
import math
import os
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from graph import Graph
from indexing_cases import attributes, einsum, elements, integers, losses, order  # noqa: F401: families
from layers import attention, rotary

BATCH = 3
FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def elementwise(g):
    x, y, i, b = "x", "y", "i", "b"
    positive = g.op("Add", g.op("Abs", x), g.const(0.5, np.float32))
    for op in ["Abs", "Neg", "Exp", "Tanh", "Sigmoid", "Erf", "Sin", "Cos", "Relu", "Sign", "Floor", "Ceil", "Round",
               "Softplus", "LeakyRelu", "Gelu", "Identity"]:
        g.case(op, g.op(op, x))
    g.case("Gelu tanh", g.op("Gelu", x, approximate="tanh"))
    for op in ["Log", "Sqrt", "Reciprocal"]:
        g.case(op, g.op(op, positive))
    for op in ["Add", "Sub", "Mul", "Div", "Max", "Min"]:
        g.case(op, g.op(op, x, positive))
        g.case(op + " row", g.op(op, x, g.const(np.linspace(1, 2, 4), np.float32)))
        g.case(op + " column", g.op(op, g.const(np.linspace(1, 2, 5).reshape(5, 1), np.float32), x))
        g.case(op + " batch", g.op(op, g.op("ReduceSum", x, g.ints(1, 2), keepdims=1), positive))
    g.case("Pow", g.op("Pow", positive, g.const(2.5, np.float32)))
    g.case("Pow int", g.op("Pow", x, g.const(3, np.int64)))
    g.case("Sum", g.op("Sum", x, y, x))
    g.case("Mean", g.op("Mean", x, y, x))
    g.case("Clip", g.op("Clip", x, g.const(-0.5, np.float32), g.const(0.25, np.float32)))
    g.case("Clip low", g.op("Clip", x, g.const(-0.5, np.float32)))
    g.case("Mod", g.op("Mod", i, g.const(3, np.int64)))
    g.case("Mod negative", g.op("Mod", i, g.const(-3, np.int64)))
    g.case("Mod fmod", g.op("Mod", x, g.const(0.75, np.float32), fmod=1))
    g.case("Div int", g.op("Div", i, g.const(2, np.int64)))
    for op in ["Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"]:
        g.case(op, g.op(op, i, g.const(1, np.int64)))
    for op in ["And", "Or", "Xor"]:
        g.case(op, g.op(op, b, g.op("Less", x, y)))
    g.case("Not", g.op("Not", b))
    for op in ["BitwiseAnd", "BitwiseOr", "BitwiseXor"]:
        g.case(op, g.op(op, i, g.const(5, np.int64)))
    g.case("BitwiseNot", g.op("BitwiseNot", i))
    g.case("Where", g.op("Where", b, x, g.const(2, np.float32)))
    g.case("IsNaN", g.op("IsNaN", g.op("Log", x)))
    g.case("Cast", g.op("Cast", x, to=INT64))
    g.case("Cast bool", g.op("Cast", i, to=BOOL))
    g.case("CastLike", g.op("CastLike", i, x))
    g.case("Dropout", g.op("Dropout", x))


    if g.opset >= 28:
        g.case("Mod of floats", g.op("Mod", x, g.const(0.75, np.float32)))
        g.case("Mod of floats by negative", g.op("Mod", x, g.const(-0.75, np.float32)))
        g.case("Mod of special floats", g.op("Where", g.op("IsNaN", g.op("Mod", g.const([1, -1, np.inf, 3], np.float32), g.const([np.inf, 2, 2, 0], np.float32))),
                                             g.const(7, np.float32), g.op("Mod", g.const([1, -1, 1, 3], np.float32), g.const([np.inf, 2, 2, 2], np.float32))))
        for direction in ["LEFT", "RIGHT"]:
            g.case("BitShift signed " + direction, g.op("BitShift", i, g.const([1, 2, 3, 70, -1, 0], np.int64), direction=direction))
    g.case("Dropout mask", g.op("Dropout", x, g.const(0.5, np.float32), outputs=2)[1])
    g.case("Dropout ratio 0", g.op("Dropout", x, g.const(0, np.float32), g.const(True, bool)))
    for direction in ["LEFT", "RIGHT"]:
        for dtype, values in [(np.uint8, [1, 200, 255]), (np.uint16, [1, 40000, 65535]), (np.uint32, [1, 3 << 30, 7]),
                              (np.uint64, [1, 3 << 62, 7])]:
            g.case("BitShift %s %s" % (direction, np.dtype(dtype)),
                   g.op("BitwiseAnd", g.op("BitShift", g.const(values, dtype), g.const([3, 1, 7], dtype), direction=direction),
                        g.const(0xff, dtype)))
    for dtype in [np.uint8, np.uint16, np.uint32, np.uint64, np.int8, np.int16, np.int32]:
        a, b2 = g.const([7, 100, 3, 200 if dtype(0).dtype.kind == "u" else -100], dtype), g.const([2, 7, 5, 3], dtype)
        for op in ["Add", "Mul", "Div", "Max", "Min", "Mod", "Sub", "Less", "Equal"]:
            g.case("%s %s" % (op, np.dtype(dtype)), g.op(op, a, b2))
        g.case("Cast %s" % np.dtype(dtype), g.op("Cast", g.const([0, 1.5, 99.9], np.float32), to=helper.np_dtype_to_tensor_dtype(np.dtype(dtype))))
        g.case("Relu %s" % np.dtype(dtype), g.op("Cast", g.op("Max", a, b2, a), to=FLOAT))
        g.case("Clip %s" % np.dtype(dtype), g.op("Clip", a, g.const(4, dtype), g.const(100, dtype)))
        g.case("Clip high %s" % np.dtype(dtype), g.op("Clip", a, "", g.const(5, dtype)))
    g.case("Abs int", g.op("Abs", i))
    g.case("Neg int", g.op("Neg", i))
    g.case("Sign int", g.op("Sign", i))
    g.case("Relu int", g.op("Relu", g.op("Cast", i, to=TensorProto.INT32)))
    for base in [np.float32, np.float64, np.int32, np.int64]:
        for exponent in [np.float32, np.float64, np.int32, np.int64, np.uint32]:
            g.case("Pow %s %s" % (np.dtype(base), np.dtype(exponent)),
                   g.op("Pow", g.const([1, 2, 3, 5, 7], base), g.const([0, 3, 6, 2, 1], exponent)))
    g.case("Equal bool", g.op("Equal", b, g.op("Less", x, y)))
    g.case("Where bool", g.op("Where", b, g.op("Less", x, y), g.op("Not", b)))
    g.case("Max one", g.op("Max", x))
    g.case("Min three", g.op("Min", x, y, g.const(0.1, np.float32)))
    g.case("Mod half", g.op("Mod", g.op("Cast", x, to=TensorProto.FLOAT16), g.const(0.75, np.float16), fmod=1))
    g.case("Cast double", g.op("Mul", g.op("Cast", x, to=TensorProto.DOUBLE), g.const(1 / 3, np.float64)))


def functions(g):
    x, y, i, b = "x", "y", "i", "b"
    inside, above, infinite = g.op("Tanh", x), g.op("Add", g.op("Exp", x), g.const(1, np.float32)), g.const([0, np.inf, -np.inf, np.nan, 1], np.float32)
    for op in ["Acos", "Asin", "Atanh"]:
        g.case(op, g.op(op, inside))
    g.case("Asin ends", g.op("Asin", g.const([-1, 0, 1], np.float32)))
    g.case("Acos ends", g.op("Acos", g.const([-1, 0, 1], np.float32)))
    for op in ["Atan", "Asinh", "Sinh", "Cosh", "Tan"]:
        g.case(op, g.op(op, x))
    g.case("Asinh far", g.op("Asinh", g.const([1e-20, 1e19, -1e30, 3.0, -1e-6], np.float32)))
    g.case("Acosh", g.op("Acosh", above))
    g.case("Acosh far", g.op("Acosh", g.const([1.0, 1.0001, 1e25], np.float32)))
    g.case("Atanh small", g.op("Mul", g.op("Atanh", g.const([1e-6, -0.9999, 0.5], np.float32)), g.const([1e6, 1, 1], np.float32)))
    g.case("Sinh small", g.op("Mul", g.op("Sinh", g.const([1e-6, -1e-5], np.float32)), g.const(1e6, np.float32)))
    double = g.op("Cast", inside, to=TensorProto.DOUBLE)
    for op in ["Acos", "Asin", "Atanh", "Atan", "Asinh", "Sinh", "Cosh", "Tan", "Exp", "Erf", "Sin", "Cos", "Tanh", "Sigmoid"]:
        g.case(op + " double", g.op(op, double))
    half = g.op("Cast", inside, to=TensorProto.FLOAT16)
    g.case("Sinh half", g.op("Round", g.op("Mul", g.op("Cast", g.op("Sinh", half), to=FLOAT), g.const(100, np.float32))))
    g.case("IsInf", g.op("IsInf", infinite))
    g.case("IsInf positive", g.op("IsInf", infinite, detect_negative=0))
    g.case("IsInf negative", g.op("IsInf", infinite, detect_positive=0))
    g.case("IsInf neither", g.op("IsInf", infinite, detect_positive=0, detect_negative=0))
    g.case("IsNaN", g.op("IsNaN", infinite))


def activations(g):
    x, y = "x", "y"
    for op in ["Celu", "Elu", "Selu", "HardSigmoid", "HardSwish", "LeakyRelu", "Mish", "Softplus", "Softsign", "ThresholdedRelu",
               "Shrink", "Relu", "Sigmoid", "Gelu"]:
        g.case(op, g.op(op, x))
    wide = g.const([-1000, -90, -20, 0, 20, 90, 1000], np.float32)
    for op in ["Celu", "Elu", "Selu", "HardSigmoid", "HardSwish", "Mish", "Softplus", "Softsign"]:
        g.case(op + " wide", g.op("Mul", g.op(op, wide), g.const(1e-2, np.float32)))
    g.case("Celu alpha", g.op("Celu", x, alpha=2.5))
    g.case("Elu alpha", g.op("Elu", x, alpha=0.5))
    g.case("Selu both", g.op("Selu", x, alpha=2.0, gamma=3.0))
    g.case("HardSigmoid both", g.op("HardSigmoid", x, alpha=0.5, beta=0.6))
    g.case("LeakyRelu alpha", g.op("LeakyRelu", x, alpha=0.1))
    g.case("ThresholdedRelu alpha", g.op("ThresholdedRelu", x, alpha=0.3))
    g.case("Shrink both", g.op("Shrink", x, lambd=0.7, bias=0.2))
    g.case("Shrink int", g.op("Shrink", "i", lambd=2.5, bias=1.5))
    g.case("PRelu", g.op("PRelu", x, g.const(np.linspace(0, 1, 4), np.float32)))
    g.case("PRelu whole", g.op("PRelu", x, y))
    g.case("PRelu int", g.op("PRelu", "i", g.const(3, np.int64)))
    g.case("Clip none", g.op("Clip", x))
    g.case("Clip high", g.op("Clip", x, "", g.const(0.25, np.float32)))
    g.case("Clip computed", g.op("Clip", x, g.op("ReduceMin", y, keepdims=0), g.op("ReduceMax", y, keepdims=0)))
    if g.opset >= 24:
        g.case("Swish", g.op("Swish", x))
        g.case("Swish alpha", g.op("Swish", x, alpha=1.7))


def quantization(g):
    x, y, i = "x", "y", "i"
    scale = g.const(0.05, np.float32)
    for dtype in [np.uint8, np.int8, np.uint16, np.int16]:
        zero = g.const(100, dtype)
        quantized = g.op("QuantizeLinear", x, scale, zero)
        g.case("QuantizeLinear %s" % np.dtype(dtype), quantized)
        g.case("DequantizeLinear %s" % np.dtype(dtype), g.op("DequantizeLinear", quantized, scale, zero))
        g.case("saturates %s" % np.dtype(dtype),
               g.op("QuantizeLinear", g.const([-1e5, -3, 0, 3, 1e5], np.float32), g.const(1e-3, np.float32), zero))
    g.case("no zero point", g.op("QuantizeLinear", g.op("Abs", x), scale))
    g.case("halves to even", g.op("QuantizeLinear", g.const([0.5, 1.5, 2.5, 3.5], np.float32), g.const(1, np.float32)))
    scales, zeros = g.const([0.1, 0.2, 0.3, 0.4], np.float32), g.const([1, 2, 3, 4], np.int8)
    last = g.op("QuantizeLinear", x, scales, zeros, axis=-1)
    g.case("last axis", last)
    g.case("last axis back", g.op("DequantizeLinear", last, scales, zeros, axis=-1))
    five = g.const([0.1, 0.2, 0.3, 0.4, 0.5], np.float32)
    g.case("axis 1", g.op("QuantizeLinear", x, five, g.const([1, 2, 3, 4, 5], np.uint8)))
    g.case("int32", g.op("DequantizeLinear", g.op("Cast", i, to=TensorProto.INT32), scale))
    if g.opset >= 21:
        blocked = g.const(np.linspace(0.05, 0.2, 6).reshape(3, 2), np.float32)
        data = g.const(np.linspace(-3, 3, 15).reshape(3, 5), np.float32)
        quantized = g.op("QuantizeLinear", data, blocked, g.const(np.arange(6).reshape(3, 2), np.int16), axis=1, block_size=3)
        g.case("blocked", quantized)
        g.case("blocked back", g.op("DequantizeLinear", quantized, blocked, g.const(np.arange(6).reshape(3, 2), np.int16), axis=1, block_size=3))
        g.case("output_dtype", g.op("QuantizeLinear", x, scale, output_dtype=TensorProto.INT16))
    for k, output in enumerate(g.op("DynamicQuantizeLinear", x, outputs=3)):
        g.case("DynamicQuantizeLinear %d" % k, output)
    random = np.random.default_rng(5)
    left, right = random.integers(0, 256, (3, 4)), random.integers(-128, 128, (4, 2))
    a, b, az = g.const(left, np.uint8), g.const(right, np.int8), g.const(7, np.uint8)
    g.case("MatMulInteger", g.op("MatMulInteger", a, b, az, g.const(-3, np.int8)))
    g.case("MatMulInteger plain", g.op("MatMulInteger", a, b))
    g.case("MatMulInteger columns", g.op("MatMulInteger", a, b, az, g.const([5, -6], np.int8)))
    g.case("QLinearMatMul", g.op("QLinearMatMul", a, g.const(0.013, np.float32), az, b, g.const(0.02, np.float32), g.const(4, np.int8),
                                 g.const(0.31, np.float32), g.const(100, np.uint8)))
    image, kernel = g.const(random.integers(0, 256, (2, 3, 5, 5)), np.uint8), g.const(random.integers(0, 256, (4, 3, 3, 3)), np.uint8)
    g.case("ConvInteger", g.op("ConvInteger", image, kernel, g.const(100, np.uint8), pads=[1, 1, 1, 1], strides=[2, 2]))
    g.case("QLinearConv", g.op("QLinearConv", image, g.const(0.01, np.float32), g.const(120, np.uint8), kernel,
                               g.const([0.01, 0.02, 0.03, 0.04], np.float32), g.const([1, 2, 100, 130], np.uint8), g.const(0.5, np.float32),
                               g.const(128, np.uint8), g.const([100, -2000, 3000, 7], np.int32)))
    g.case("DynamicQuantizeLinear of one sign", g.op("DynamicQuantizeLinear", g.op("Abs", y), outputs=3)[2])


def signal(g):
    x = "x"
    for op in ["HannWindow", "HammingWindow", "BlackmanWindow"]:
        for periodic in (0, 1):
            g.case("%s %d" % (op, periodic), g.op(op, g.const(10, np.int64), periodic=periodic))
        g.case(op + " double", g.op(op, g.const(7, np.int64), output_datatype=TensorProto.DOUBLE))
    axis = lambda n: g.const(n, np.int64)
    real = g.op("Unsqueeze", x, g.ints(-1))
    both = g.op("Slice", x, g.ints(0), g.ints(2), g.ints(2))  # batch x 5 x 2
    g.case("DFT", g.op("DFT", real))
    g.case("DFT axis", g.op("DFT", real, "", axis(1)))
    g.case("DFT batch last", g.op("DFT", real, "", axis(-2), onesided=1))
    g.case("DFT long", g.op("DFT", real, g.const(9, np.int64), axis(1)))
    g.case("DFT short", g.op("DFT", real, g.const(3, np.int64), axis(1), onesided=1))
    g.case("DFT complex", g.op("DFT", both))
    g.case("DFT inverse", g.op("DFT", both, inverse=1))
    g.case("DFT whole and back", g.op("DFT", g.op("DFT", real, "", axis(1)), "", axis(1), inverse=1))
    g.case("DFT back", g.op("DFT", g.op("DFT", real, "", axis(1), onesided=1), g.const(5, np.int64), axis(1), onesided=1, inverse=1))
    g.case("DFT back even", g.op("DFT", g.op("DFT", real, onesided=1), inverse=1, onesided=1))
    sound = g.const(np.sin(np.arange(24).reshape(2, 12, 1)), np.float32)
    g.case("STFT", g.op("STFT", sound, g.const(3, np.int64), g.const(np.hanning(5), np.float32)))
    g.case("STFT both", g.op("STFT", sound, g.const(2, np.int64), g.const(np.hanning(4), np.float32), g.const(4, np.int64), onesided=0))
    g.case("MelWeightMatrix", g.op("MelWeightMatrix", g.const(8, np.int64), g.const(16, np.int64), g.const(8192, np.int64),
                                   g.const(10, np.float32), g.const(4000, np.float32)))
    g.case("MelWeightMatrix fine", g.op("MelWeightMatrix", g.const(20, np.int32), g.const(64, np.int32), g.const(16000, np.int32),
                                        g.const(0, np.float32), g.const(8000, np.float32), output_datatype=TensorProto.DOUBLE))
    g.case("STFT no window", g.op("STFT", sound, g.const(4, np.int64), "", g.const(4, np.int64)))


def shape(g):
    x, i = "x", "i"
    g.case("Reshape", g.op("Reshape", x, g.ints(-1, 10, 2)))
    g.case("Reshape zero", g.op("Reshape", x, g.ints(0, 2, -1)))
    g.case("Flatten", g.op("Flatten", x))
    g.case("Flatten 2", g.op("Flatten", x, axis=2))
    g.case("Flatten 0", g.op("Flatten", x, axis=0))
    g.case("Transpose", g.op("Transpose", x, perm=[2, 0, 1]))
    g.case("Transpose reverse", g.op("Transpose", x))
    g.case("Unsqueeze", g.op("Unsqueeze", x, g.ints(0, -1)))
    g.case("Squeeze", g.op("Squeeze", g.op("Unsqueeze", x, g.ints(1)), g.ints(1)))
    g.case("Concat", g.op("Concat", x, x, axis=1))
    g.case("Concat batch", g.op("Concat", x, x, axis=0))
    parts = g.op("Split", x, g.ints(2, 3), axis=1, outputs=2)
    g.case("Split", g.op("Concat", parts[1], parts[0], axis=1))
    parts = g.op("Split", x, axis=1, num_outputs=3, outputs=3)
    g.case("Split uneven", g.op("Concat", parts[2], parts[0], axis=1))
    g.case("Slice", g.op("Slice", x, g.ints(1, -1), g.ints(4, -5), g.ints(1, 2), g.ints(2, -2)))
    g.case("Slice reverse", g.op("Slice", x, g.ints(-1), g.ints(-1000), g.ints(1), g.ints(-1)))
    g.case("Slice whole batch", g.op("Slice", x, g.ints(0, 1), g.ints(10**9, 2**63 - 1), g.ints(0, 2)))
    g.case("Slice past the ends", g.op("Slice", x, g.ints(-100, 100), g.ints(100, -100), g.ints(1, 2), g.ints(3, -3)))
    g.case("Slice nothing", g.op("Concat", g.op("Slice", x, g.ints(3), g.ints(2), g.ints(1), g.ints(-1)),
                                 g.op("Slice", x, g.ints(4), g.ints(-1000), g.ints(1), g.ints(2**62)), axis=1))
    g.case("Slice int32", g.op("Slice", x, g.const([1], np.int32), g.const([2**31 - 1], np.int32), g.const([-1], np.int32)))
    # Parts of a dimension that is twice the batch.
    twice, size = g.op("Concat", x, "y", axis=0), g.op("Shape", x, start=0, end=1)
    parts = g.op("Split", twice, axis=0, num_outputs=2, outputs=2)
    g.case("Split batches", g.op("Sub", parts[0], parts[1]))
    parts = g.op("Split", twice, g.op("Concat", size, size, axis=0), axis=0, outputs=2)
    g.case("Split batches by size", g.op("Sub", parts[0], parts[1]))
    g.case("Slice batch", g.op("Slice", twice, size, g.op("Mul", size, g.ints(2)), g.ints(0)))
    g.case("Slice batch first", g.op("Slice", twice, g.ints(0), size, g.ints(0)))
    g.case("Expand", g.op("Expand", g.const(np.arange(4), np.float32), g.op("Shape", x)))
    g.case("Expand static", g.op("Expand", x, g.ints(2, 1, 5, 1)))
    g.case("Tile", g.op("Tile", x, g.ints(2, 1, 3)))
    g.case("Pad", g.op("Pad", x, g.ints(0, 1, 0, 0, 0, 2), g.const(0.5, np.float32)))
    g.case("Trilu", g.op("Trilu", x, g.const(1, np.int64), upper=0))
    g.case("Trilu upper", g.op("Trilu", x, g.const(-1, np.int64)))
    g.case("Size", g.op("Size", x))
    g.case("Shape", g.op("Shape", x))
    g.case("Shape part", g.op("Shape", x, start=-2))
    batch = g.op("Squeeze", g.op("Shape", x, start=0, end=1))
    g.case("Range", g.op("Range", g.const(0, np.int64), batch, g.const(1, np.int64)))
    g.case("Range from", g.op("Range", g.const(-2, np.int64), batch, g.const(1, np.int64)))
    g.case("Range static", g.op("Range", g.const(9, np.int64), g.const(-4, np.int64), g.const(-3, np.int64)))
    g.case("Range float", g.op("Range", g.const(0.5, np.float32), g.const(10.5, np.float32), g.const(2, np.float32)))
    filled = g.op("ConstantOfShape", g.op("Concat", g.op("Unsqueeze", batch, g.ints(0)), g.ints(2), axis=0),
                  value=numpy_helper.from_array(np.array([2.5], np.float32)))
    g.case("ConstantOfShape", filled)
    g.case("Reshape computed", g.op("Reshape", x, g.op("Concat", g.op("Mul", g.op("Unsqueeze", batch, g.ints(0)), g.ints(5)),
                                                       g.ints(-1), axis=0)))
    # A shape that the importer does not follow: where(shape == 5, 10, shape), as torch.onnx writes expand.
    sizes = g.op("Shape", x)
    chosen = g.op("Where", g.op("Equal", sizes, g.ints(1, 1, 1)), g.ints(7, 7, 7), sizes)
    g.case("Expand chosen", g.op("Expand", g.const(np.arange(20).reshape(5, 4), np.float32), chosen))


def indexing(g):
    x, i = "x", "i"
    table = g.const(np.arange(24).reshape(6, 4) ** 2, np.float32)
    index = g.op("Mod", i, g.const(6, np.int64))
    g.case("Gather", g.op("Gather", table, index))
    g.case("Gather axis", g.op("Gather", x, g.ints(3, -1, 0), axis=2))
    g.case("Gather scalar", g.op("Gather", x, g.const(-2, np.int64), axis=1))
    g.case("Gather negative", g.op("Gather", table, g.op("Sub", index, g.const(6, np.int64))))
    positions = g.op("Range", g.const(1, np.int64), g.const(5, np.int64), g.const(1, np.int64))
    g.case("Gather positions", g.op("Gather", table, g.op("Unsqueeze", positions, g.ints(0))))
    g.case("GatherND", g.op("GatherND", table, g.const([[1, 2], [5, 3], [0, 0]], np.int64)))
    g.case("GatherND rows", g.op("GatherND", table, g.const([[4], [1]], np.int64)))
    g.case("GatherND batch", g.op("GatherND", x, g.op("Unsqueeze", g.op("Mod", g.op("Slice", i, g.ints(0), g.ints(1), g.ints(1)),
                                                                      g.const(5, np.int64)), g.ints(-1)), batch_dims=1))
    batch = g.op("Squeeze", g.op("Shape", x, start=0, end=1))
    rows = g.op("Unsqueeze", g.op("Range", g.const(0, np.int64), batch, g.const(1, np.int64)), g.ints(1))
    columns = g.op("Unsqueeze", g.op("Range", g.const(0, np.int64), g.const(5, np.int64), g.const(1, np.int64)), g.ints(0))
    both = g.op("Shape", g.op("Max", rows, columns))
    tuples = g.op("Concat", g.op("Unsqueeze", g.op("Expand", rows, both), g.ints(-1)),
                  g.op("Unsqueeze", g.op("Expand", columns, both), g.ints(-1)), axis=-1)
    g.case("GatherND positions", g.op("GatherND", x, tuples))
    sequence = g.op("SplitToSequence", x, g.const(2, np.int64), axis=1)
    g.case("SequenceAt", g.op("SequenceAt", sequence, g.const(-1, np.int64)))
    g.case("SequenceLength", g.op("SequenceLength", sequence))
    g.case("ConcatFromSequence", g.op("ConcatFromSequence", sequence, axis=1))
    g.case("ConcatFromSequence new", g.op("ConcatFromSequence", g.op("SequenceConstruct", x, x), axis=0, new_axis=1))


def reduction(g):
    x = "x"
    axes = g.ints(1, -1)
    for op in ["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceProd"]:
        g.case(op, g.op(op, x, axes))
        g.case(op + " flat", g.op(op, x, g.ints(2), keepdims=0))
    g.case("ReduceMean all", g.op("ReduceMean", x))
    g.case("ReduceMean batch", g.op("ReduceMean", x, g.ints(0, 2), keepdims=0))
    for op in ["ReduceSum", "ReduceL2", "ReduceLogSumExp", "ReduceSumSquare"]:
        g.case(op + " noop", g.op(op, x, noop_with_empty_axes=1))
        g.case(op + " noop empty", g.op(op, x, g.ints(), noop_with_empty_axes=1))
        g.case(op + " empty", g.op(op, x, g.ints()))
    g.case("ReduceLogSum", g.op("ReduceLogSum", g.op("Abs", x), axes))
    g.case("ReduceLogSumExp", g.op("ReduceLogSumExp", g.op("Mul", x, g.const(500, np.float32)), axes))
    g.case("ReduceLogSumExp flat", g.op("ReduceLogSumExp", x, g.ints(0, 2), keepdims=0))
    none = g.op("Slice", x, g.ints(2), g.ints(2), g.ints(1))
    for op in ["ReduceSum", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare"]:
        g.case(op + " of nothing", g.op(op, none, g.ints(1)))
    for exclusive in (0, 1):
        for reverse in (0, 1):
            g.case("CumSum %d %d" % (exclusive, reverse),
                   g.op("CumSum", x, g.const(1, np.int64), exclusive=exclusive, reverse=reverse))
    ones = g.const(np.ones((2, 9)), np.int64)
    for exclusive in (0, 1):
        for reverse in (0, 1):
            g.case("CumSum ones %d %d" % (exclusive, reverse),
                   g.op("CumSum", ones, g.const(-1, np.int64), exclusive=exclusive, reverse=reverse))
    for axis in (-1, 1):
        g.case("Softmax %d" % axis, g.op("Softmax", x, axis=axis))
        g.case("LogSoftmax %d" % axis, g.op("LogSoftmax", x, axis=axis))
    scale, bias = g.const(np.linspace(0.5, 2, 4), np.float32), g.const(np.linspace(-1, 1, 4), np.float32)
    g.case("LayerNormalization", g.op("LayerNormalization", x, scale, bias, epsilon=1e-3))
    g.case("LayerNormalization no bias", g.op("LayerNormalization", x, scale))
    scale2 = g.const(np.linspace(0.5, 2, 20).reshape(5, 4), np.float32)
    g.case("LayerNormalization axis", g.op("LayerNormalization", x, scale2, axis=1))
    if g.opset >= 23:
        g.case("RMSNormalization", g.op("RMSNormalization", x, scale, epsilon=1e-3))


def contraction(g):
    x, y = "x", "y"
    m = g.const(np.linspace(-1, 1, 12).reshape(4, 3), np.float32)
    flat = g.op("Reshape", x, g.ints(-1, 4))
    g.case("MatMul weight", g.op("MatMul", x, m))
    g.case("MatMul matrix", g.op("MatMul", flat, m))
    g.case("MatMul batch", g.op("MatMul", x, g.op("Transpose", y, perm=[0, 2, 1])))
    g.case("MatMul broadcast", g.op("MatMul", g.const(np.linspace(0, 1, 10).reshape(1, 2, 5), np.float32), x))
    g.case("MatMul shared left", g.op("MatMul", g.const(np.linspace(0, 1, 10).reshape(2, 5), np.float32), x))
    g.case("MatMul vector", g.op("MatMul", x, g.const(np.linspace(0, 1, 4), np.float32)))
    g.case("MatMul vector left", g.op("MatMul", g.const(np.linspace(0, 1, 5), np.float32), x))
    heads = g.op("Reshape", x, g.ints(0, 5, 2, 2))
    g.case("MatMul heads", g.op("MatMul", heads, g.op("Transpose", heads, perm=[0, 1, 3, 2])))
    c = g.const(np.linspace(0, 1, 3), np.float32)
    g.case("Gemm", g.op("Gemm", flat, m, c))
    g.case("Gemm scaled", g.op("Gemm", flat, m, c, alpha=0.5, beta=2.0))
    g.case("Gemm transposed", g.op("Gemm", g.op("Transpose", flat), g.op("Transpose", m), transA=1, transB=1))
    g.case("Gemm column", g.op("Gemm", flat, m, g.const([[2.0]], np.float32)))


def image(g, *shape, scale=0.7):
    """Values of both signs without a pattern, one image for each element of the batch."""
    count = int(np.prod(shape))
    row = g.const(np.sin(np.arange(count) * scale).reshape((1,) + shape), np.float32)
    return g.op("Mul", row, g.op("Reshape", g.op("ReduceSum", "x", g.ints(1, 2)), g.ints(-1, *[1] * len(shape))))


def kernel(g, *shape):
    return g.const(np.cos(np.arange(int(np.prod(shape))) * 0.9).reshape(shape), np.float32)


def convolution(g):
    line, plane, volume = image(g, 4, 9), image(g, 4, 7, 6), image(g, 2, 4, 5, 3)
    bias = g.const([0.5, -1, 2, 0.25, 1, -2], np.float32)
    g.case("Conv", g.op("Conv", plane, kernel(g, 6, 4, 3, 3), bias))
    g.case("Conv pads", g.op("Conv", plane, kernel(g, 6, 4, 3, 2), bias, pads=[1, 0, 2, 1], strides=[2, 1]))
    g.case("Conv groups", g.op("Conv", plane, kernel(g, 6, 2, 3, 3), group=2, dilations=[2, 1]))
    g.case("Conv depthwise", g.op("Conv", plane, kernel(g, 4, 1, 2, 2), group=4, kernel_shape=[2, 2]))
    g.case("Conv line", g.op("Conv", line, kernel(g, 6, 4, 3), bias, auto_pad="VALID", strides=[2]))
    g.case("Conv volume", g.op("Conv", volume, kernel(g, 6, 2, 2, 3, 2), bias, pads=[0, 1, 0, 1, 1, 0]))
    for mode in ["SAME_UPPER", "SAME_LOWER"]:
        g.case("Conv " + mode, g.op("Conv", plane, kernel(g, 6, 4, 2, 4), auto_pad=mode, strides=[1, 2]))
    g.case("ConvTranspose", g.op("ConvTranspose", plane, kernel(g, 4, 6, 3, 2), bias))
    g.case("ConvTranspose pads", g.op("ConvTranspose", plane, kernel(g, 4, 6, 3, 3), bias, strides=[3, 2], pads=[1, 0, 1, 2]))
    g.case("ConvTranspose output_padding",
           g.op("ConvTranspose", plane, kernel(g, 4, 3, 3, 3), strides=[3, 2], output_padding=[2, 1], pads=[1, 1, 1, 1]))
    weight = kernel(g, 4, 2, 3)
    g.case("ConvTranspose output_shape", g.op("ConvTranspose", line, weight, strides=[3], output_shape=[24]),
           same_as=g.op("ConvTranspose", line, weight, strides=[3], pads=[2, 1]))
    g.case("ConvTranspose output_shape upper", g.op("ConvTranspose", line, weight, strides=[3], output_shape=[24], auto_pad="SAME_UPPER"),
           same_as=g.op("ConvTranspose", line, weight, strides=[3], pads=[1, 2]))
    g.case("ConvTranspose output_shape beyond", g.op("ConvTranspose", line, weight, strides=[3], output_shape=[29]),
           same_as=g.op("Pad", g.op("ConvTranspose", line, weight, strides=[3]), g.ints(0, 0, 0, 0, 0, 2)))
    g.case("ConvTranspose larger", g.op("ConvTranspose", line, kernel(g, 4, 2, 3), strides=[2], output_padding=[1], dilations=[2]))
    g.case("ConvTranspose same", g.op("ConvTranspose", plane, kernel(g, 4, 2, 3, 3), strides=[2, 2], auto_pad="SAME_UPPER"))
    g.case("ConvTranspose lower", g.op("ConvTranspose", plane, kernel(g, 4, 2, 3, 3), strides=[2, 2], auto_pad="SAME_LOWER"))


def pooling(g):
    line, plane, volume = image(g, 4, 9), image(g, 2, 7, 6), image(g, 2, 4, 5, 3)
    for op in ["MaxPool", "AveragePool", "LpPool"]:
        g.case(op, g.op(op, plane, kernel_shape=[2, 3]))
        g.case(op + " strides", g.op(op, plane, kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 1, 1]))
        g.case(op + " line", g.op(op, line, kernel_shape=[3], strides=[2]))
        g.case(op + " volume", g.op(op, volume, kernel_shape=[2, 2, 2], strides=[1, 2, 1]))
        for mode in ["SAME_UPPER", "SAME_LOWER", "VALID"]:
            # The reference evaluator pads the other side for SAME_LOWER.
            pads = {"SAME_UPPER": [0, 0, 1, 1], "SAME_LOWER": [1, 1, 0, 0], "VALID": [0, 0, 0, 0]}[mode]
            g.case(op + " " + mode, g.op(op, plane, kernel_shape=[2, 4], auto_pad=mode, strides=[1, 3]),
                   same_as=g.op(op, plane, kernel_shape=[2, 4], pads=pads, strides=[1, 3]))
    for op in ["MaxPool", "AveragePool"]:
        # The reference evaluator divides by another count than onnxruntime.
        g.case(op + " ceil", g.op(op, plane, kernel_shape=[3, 3], strides=[3, 2], ceil_mode=1),
               same_as=g.op(op, plane, kernel_shape=[3, 3], strides=[3, 2], pads=[0, 0, 2, 1]))
        g.case(op + " ceil pads", g.op(op, plane, kernel_shape=[2, 3], strides=[4, 4], pads=[0, 1, 1, 2], ceil_mode=1))
        g.case(op + " dilations", g.op(op, plane, kernel_shape=[2, 2], dilations=[3, 2]))
    g.case("AveragePool padding counts",
           g.op("AveragePool", plane, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], count_include_pad=1))
    values, indices = g.op("MaxPool", plane, kernel_shape=[2, 2], strides=[2, 2], outputs=2)
    g.case("MaxPool indices", indices)
    g.case("MaxPool values", values)
    _, indices = g.op("MaxPool", plane, kernel_shape=[2, 2], strides=[2, 2], storage_order=1, outputs=2)
    g.case("MaxPool storage_order", indices)
    g.case("MaxPool u8", g.op("MaxPool", g.op("Cast", g.op("Mul", g.op("Abs", line), g.const(5, np.float32)), to=TensorProto.UINT8),
                              kernel_shape=[3]))
    for op in ["GlobalAveragePool", "GlobalMaxPool"]:
        g.case(op, g.op(op, plane))
    g.case("GlobalLpPool", g.op("GlobalLpPool", plane, p=3), same_as=g.op("LpPool", plane, kernel_shape=[7, 6], p=3))
    g.case("LpPool 1", g.op("LpPool", plane, kernel_shape=[2, 2], p=1))
    g.case("LpPool 3", g.op("LpPool", plane, kernel_shape=[2, 2], p=3))


def channels(g):
    """Norms over batch, groups, channels and planes."""
    plane, rows = image(g, 4, 3, 5), image(g, 6)
    scale, bias, mean = g.const([1, -0.5, 2, 0.25], np.float32), g.const([0.5, 0, -1, 2], np.float32), g.const([0.1, 0.2, -0.3, 0], np.float32)
    variance = g.const([1, 0.5, 2, 0.25], np.float32)
    g.case("BatchNormalization", g.op("BatchNormalization", plane, scale, bias, mean, variance, epsilon=1e-2))
    ones, zeros = g.const(np.ones(6), np.float32), g.const(np.zeros(6), np.float32)
    g.case("BatchNormalization rows", g.op("BatchNormalization", rows, ones, zeros, zeros, ones))
    for i, output in enumerate(g.op("BatchNormalization", plane, scale, bias, mean, variance, training_mode=1, momentum=0.8, outputs=3)):
        g.case("BatchNormalization training %d" % i, output)
    g.case("BatchNormalization training rows", g.op("BatchNormalization", rows, ones, zeros, zeros, ones, training_mode=1, outputs=3)[0])
    g.case("InstanceNormalization", g.op("InstanceNormalization", plane, scale, bias, epsilon=1e-2))
    if g.opset >= 21:
        g.case("GroupNormalization", g.op("GroupNormalization", plane, scale, bias, num_groups=2, epsilon=1e-2))
    else:
        pair = g.const([1.5, -0.5], np.float32), g.const([0.25, 1], np.float32)
        g.case("GroupNormalization", g.op("GroupNormalization", plane, *pair, num_groups=2, epsilon=1e-2))
    for size in [2, 3, 5]:  # the reference evaluator sums other channels than onnxruntime
        first, last = (size - 1) // 2, size // 2
        band = np.array([[float(-first <= j - i <= last) for j in range(4)] for i in range(4)]).reshape(4, 4, 1, 1)
        sums = g.op("Conv", g.op("Mul", plane, plane), g.const(band, np.float32))
        base = g.op("Add", g.op("Mul", sums, g.const(0.5 / size, np.float32)), g.const(1.5, np.float32))
        g.case("LRN %d" % size, g.op("LRN", plane, size=size, alpha=0.5, beta=0.6, bias=1.5),
               same_as=g.op("Div", plane, g.op("Pow", base, g.const(0.6, np.float32))))
    g.case("MeanVarianceNormalization", g.op("MeanVarianceNormalization", plane))
    g.case("MeanVarianceNormalization axes", g.op("MeanVarianceNormalization", plane, axes=[1, 3]))
    for p in [1, 2]:
        shifted = g.op("Abs", plane)  # the reference evaluator forgets the magnitude for p = 1
        g.case("LpNormalization %d" % p, g.op("LpNormalization", shifted, axis=1, p=p))
    g.case("LpNormalization zero", g.op("LpNormalization", g.op("Mul", plane, g.const(0, np.float32))))


def resampling(g):
    plane, line, volume = image(g, 2, 4, 5), image(g, 2, 6), image(g, 1, 3, 4, 3)
    modes = [("nearest", {"nearest_mode": m}) for m in ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]]
    modes += [("linear", {}), ("cubic", {}), ("cubic", {"cubic_coeff_a": -0.5, "exclude_outside": 1})]
    for mode, more in modes:
        for where in ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric"]:
            for name, scales in [("up", [1, 1, 2, 1.7]), ("down", [1, 1, 0.6, 0.5])]:
                g.case("Resize %s %s %s %s" % (mode, more, where, name),
                       g.op("Resize", plane, "", g.const(scales, np.float32), mode=mode, coordinate_transformation_mode=where, **more))
    for mode in ["linear", "cubic"]:
        for name, scales in [("up", [1, 1, 2, 1.5]), ("down", [1, 1, 0.4, 0.5])]:
            g.case("Resize antialias %s %s" % (mode, name),
                   g.op("Resize", plane, "", g.const(scales, np.float32), mode=mode, antialias=1))
    sizes = lambda *n: g.op("Concat", g.op("Shape", plane, end=2), g.ints(*n), axis=0)
    g.case("Resize sizes", g.op("Resize", plane, "", "", sizes(7, 3), mode="linear"))
    g.case("Resize nearest sizes", g.op("Resize", plane, "", "", sizes(8, 10)))
    for policy in ["not_larger", "not_smaller"]:
        g.case("Resize " + policy, g.op("Resize", plane, "", "", g.ints(9, 8), axes=[2, 3], keep_aspect_ratio_policy=policy))
    g.case("Resize axes", g.op("Resize", plane, "", g.const([1.5, 3], np.float32), axes=[3, 2], mode="linear"))
    g.case("Resize crop", g.op("Resize", plane, g.const([0, 0, 0.4, -0.2, 1, 1, 0.8, 1.3], np.float32), "", sizes(3, 6), mode="linear",
                               coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=10.0))
    g.case("Resize line", g.op("Resize", line, "", g.const([1, 1, 2.5], np.float32), mode="linear"))
    g.case("Resize volume", g.op("Resize", volume, "", g.const([1, 1, 2, 0.5, 1.5], np.float32), mode="linear"))
    g.case("Resize computed scales",
           g.op("Resize", plane, "", g.op("Concat", g.const([1, 1], np.float32), g.op("Cast", g.ints(2, 3), to=FLOAT), axis=0)))
    for mode in ["reflect", "edge", "wrap"]:
        g.case("Pad " + mode, g.op("Pad", plane, g.ints(0, 0, 3, 1, 0, 1, 2, 4), mode=mode))
    g.case("Pad axes", g.op("Pad", plane, g.ints(1, 2, 0, 3), "", g.ints(-1, 2), mode="reflect"))
    g.case("Pad negative", g.op("Pad", plane, g.ints(0, 0, -1, 1, 0, 1, 2, -2), g.const(0.5, np.float32)),
           same_as=g.op("Pad", g.op("Slice", plane, g.ints(1, 0), g.ints(4, 3), g.ints(2, 3)), g.ints(0, 0, 0, 1, 0, 1, 2, 0),
                        g.const(0.5, np.float32)))
    g.case("Pad integers", g.op("Pad", "i", g.ints(0, 2, 0, 1), g.const(-7, np.int64)))
    g.case("CenterCropPad", g.op("CenterCropPad", plane, g.ints(7, 2), axes=[2, -1]))
    g.case("DepthToSpace", g.op("DepthToSpace", image(g, 8, 2, 3), blocksize=2))
    g.case("DepthToSpace CRD", g.op("DepthToSpace", image(g, 8, 2, 3), blocksize=2, mode="CRD"))
    g.case("SpaceToDepth", g.op("SpaceToDepth", image(g, 2, 4, 6), blocksize=2))
    g.case("Col2Im", g.op("Col2Im", image(g, 12, 16), g.ints(6, 5), g.ints(3, 2)))
    g.case("Col2Im strides", g.op("Col2Im", image(g, 12, 9), g.ints(6, 5), g.ints(3, 2), strides=[2, 1], pads=[1, 0, 1, 0], dilations=[1, 2]))
    theta = g.op("Mul", image(g, 2, 3), g.const(0.3, np.float32))
    for align in [0, 1]:
        grid = g.op("AffineGrid", theta, g.op("Concat", g.op("Shape", plane, end=1), g.ints(2, 3, 4), axis=0), align_corners=align)
        g.case("AffineGrid %d" % align, grid)
        for mode in ["nearest", "linear", "cubic"]:
            for padding in ["zeros", "border", "reflection"]:
                g.case("GridSample %s %s %d" % (mode, padding, align),
                       g.op("GridSample", plane, grid, mode=mode, padding_mode=padding, align_corners=align))


def mask(g):
    """Position arithmetic of exporters, which folds to closed forms."""
    batch = g.op("Squeeze", g.op("Shape", "x", start=0, end=1))
    positions = g.op("Range", g.const(0, np.int64), g.const(6, np.int64), g.const(1, np.int64))
    rows, columns = g.op("Unsqueeze", positions, g.ints(1)), g.op("Unsqueeze", positions, g.ints(0))
    for op in ["LessOrEqual", "Less", "Greater", "GreaterOrEqual", "Equal"]:
        g.case("mask " + op, g.op(op, columns, rows))
    g.case("never", g.op("Less", columns, g.const(0, np.int64)))
    g.case("always", g.op("Less", columns, g.const(6, np.int64)))
    shifted = g.op("Add", g.op("Mul", positions, g.const(-3, np.int64)), g.const(7, np.int64))
    g.case("affine", shifted)
    g.case("affine cast", g.op("Cast", shifted, to=FLOAT))
    g.case("affine max", g.op("Max", positions, g.const(9, np.int64)))
    g.case("affine reshape", g.op("Reshape", positions, g.ints(2, 3)))
    g.case("affine slice", g.op("Slice", shifted, g.ints(-1), g.ints(-7), g.ints(0), g.ints(-2)))
    wide = g.op("Expand", columns, g.op("Concat", g.op("Unsqueeze", batch, g.ints(0)), g.ints(6), axis=0))
    shift = g.op("Concat", g.op("Sub", g.op("Slice", wide, g.ints(0), g.ints(1), g.ints(1)), g.const(1, np.int64)), wide, axis=1)
    step = g.op("Sub", g.op("Slice", shift, g.ints(1), g.ints(7), g.ints(1)), g.op("Slice", shift, g.ints(0), g.ints(-1), g.ints(1)))
    g.case("documents", g.op("CumSum", g.op("Cast", g.op("Not", g.op("Equal", step, g.const(1, np.int64))), to=INT64),
                             g.const(1, np.int64)))
    stored = g.const(np.arange(24).reshape(2, 12) * 5 - 3, np.int64)
    g.case("stored progression", g.op("Transpose", stored))
    g.case("sine", g.op("Sin", g.op("Cast", positions, to=FLOAT)))
    g.case("rem", g.op("Mod", positions, g.const(4, np.int64)))


def run(*command):
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        sys.exit("%s\nfailed: %s" % (" ".join(command), result.stderr))
    return result.stdout


def main():
    family, folder = sys.argv[1], sys.argv[2]
    opset = int(sys.argv[3]) if len(sys.argv) > 3 else 20
    os.makedirs(folder, exist_ok=True)
    random = np.random.default_rng(7)
    data = {"x": random.standard_normal((BATCH, 5, 4)).astype(np.float32),
            "y": random.standard_normal((BATCH, 5, 4)).astype(np.float32),
            "i": random.integers(-9, 9, (BATCH, 6)),
            "b": random.integers(0, 2, (BATCH, 5, 4)).astype(bool)}
    types = {"x": FLOAT, "y": FLOAT, "i": INT64, "b": BOOL}
    inputs = [helper.make_tensor_value_info(n, types[n], ["batch"] + list(a.shape[1:])) for n, a in data.items()]

    g = Graph(opset)
    globals()[family](g)
    # One run without the weights gives the shapes of the cases.
    imports = [helper.make_opsetid("", opset)]
    outputs = [helper.make_empty_tensor_value_info(output) for output in g.references]
    graph = helper.make_graph(g.needed(g.references), "cases", inputs, outputs, initializer=list(g.constants))
    expected = ReferenceEvaluator(helper.make_model(graph, opset_imports=imports)).run(None, data)

    numbers = []
    for (name, output), value in zip(g.cases, expected):
        weights = np.cos(np.arange(value.size, dtype=np.float64)).reshape(value.shape).astype(np.float32)
        number = g.op("ReduceSum", g.op("Mul", g.op("Cast", output, to=FLOAT), g.const(weights)), keepdims=0)
        numbers.append(g.op("Reshape", number, g.ints(1)))
    g.nodes.append(helper.make_node("Concat", numbers, ["cases"], name="cases", axis=0))
    g.weight([1.0, 1.0], "w")
    loss = g.op("ReduceSum", g.op("Mul", "w", g.op("ReduceSum", "cases", keepdims=1)), keepdims=0)
    graph = helper.make_graph(g.nodes, family, inputs, [helper.make_tensor_value_info(loss, FLOAT, [])],
                              initializer=g.constants)
    model = helper.make_model(graph, opset_imports=imports, ir_version=10)
    if family != "channels" or opset >= 21:  # GroupNormalization of operator set 18 is deprecated
        onnx.checker.check_model(model)
    path = lambda name: os.path.join(folder, name)
    onnx.save(model, path("model.onnx"))
    files = []
    for name, array in data.items():
        array.tofile(path(name + ".bin"))
        files.append("%s=%s" % (name, path(name + ".bin")))

    run("zero-import", path("model.onnx"), "--loss=output", "-o", path("model.mlir"))
    bind = ["--nn-bind-batch=micro-batch=%d" % BATCH]
    bad = []
    for stage, passes in [("bound", []), ("raised", ["--nn-fold-constants", "--nn-raise-composites", "--nn-verify-import"]),
                          ("canonical", ["--canonicalize", "--cse", "--nn-fold-constants"])]:
        run("zero-opt", path("model.mlir"), *bind, *passes, "--mlir-print-debuginfo", "-o", path(stage + ".mlir"))
        lines = run("nn-forward", path(stage + ".mlir"), *files, "@cases").splitlines()
        values = [float(v) for v in lines[2].split("[")[1].rstrip("]").split(",")]
        assert len(values) == len(expected), (len(values), len(expected))
        for (name, _), value, array in zip(g.cases, values, expected):
            array = array.astype(np.float32).astype(np.float64)
            want = float(np.sum(np.cos(np.arange(array.size)).reshape(array.shape) * array))
            if not math.isclose(value, want, rel_tol=2e-5, abs_tol=2e-5 * (1 + float(np.abs(array).sum()))):
                bad.append("%s: %s: %.9g, not %.9g" % (stage, name, value, want))
    if bad:
        sys.exit("\n".join(bad))
    print("%s: %d cases agree" % (family, len(g.cases)))


main()
