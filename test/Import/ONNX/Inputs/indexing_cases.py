"""Families of operators.py: indexing, scattering, order, contraction by labels, losses."""
import numpy as np
from onnx import TensorProto


def elements(g):
    """GatherElements, ReverseSequence, GatherND and the scatters; indices negative, repeated and at run time."""
    x, y, i = "x", "y", "i"
    columns = g.op("Mod", g.op("Slice", i, g.ints(0), g.ints(4), g.ints(1)), g.const(4, np.int64))  # 3 x 4 of [0, 4)
    negative = g.op("Sub", columns, g.const(4, np.int64))
    rows = g.op("Unsqueeze", columns, g.ints(1))  # 3 x 1 x 4
    for name, index in [("", rows), (" negative", g.op("Unsqueeze", negative, g.ints(1)))]:
        g.case("GatherElements" + name, g.op("GatherElements", x, g.op("Expand", index, g.ints(1, 5, 1)), axis=2))
        g.case("GatherElements middle" + name, g.op("GatherElements", x, index, axis=1))
    g.case("GatherElements batch", g.op("GatherElements", x, g.op("Mod", g.op("Expand", rows, g.ints(1, 5, 1)), g.const(3, np.int64)), axis=0))
    g.case("GatherElements flat", g.op("GatherElements", g.const(np.arange(7) * 3, np.float32), g.ints(6, -7, 2, 2)))
    g.case("GatherElements int32", g.op("GatherElements", x, g.op("Cast", rows, to=TensorProto.INT32), axis=-2))
    g.case("Gather run time", g.op("Gather", x, negative, axis=2))
    g.case("Gather run time batch", g.op("Gather", x, g.op("Mod", i, g.const(3, np.int64)), axis=0))
    tuples = g.op("Concat", g.op("Unsqueeze", columns, g.ints(-1)), g.op("Unsqueeze", negative, g.ints(-1)), axis=-1)
    g.case("GatherND run time", g.op("GatherND", x, tuples, batch_dims=1))
    table = g.const(np.arange(60).reshape(3, 5, 4) ** 2, np.float32)
    g.case("GatherND table", g.op("GatherND", table, g.op("Sub", g.op("Mod", g.op("Unsqueeze", i, g.ints(-1)), g.const(3, np.int64)),
                                                         g.const(3, np.int64))))
    for kind in ["none", "add", "mul", "max", "min"]:
        if kind != "none":  # of equal indices which one counts is not defined
            g.case("ScatterElements " + kind, g.op("ScatterElements", x, rows, g.op("Slice", y, g.ints(2), g.ints(3), g.ints(1)),
                                                   axis=2, reduction=kind))
            g.case("ScatterND run time " + kind,
                   g.op("ScatterND", table, g.op("Mod", g.op("Unsqueeze", i, g.ints(-1)), g.const(3, np.int64)),
                        g.op("Reshape", g.op("Tile", y, g.ints(1, 6, 1)), g.ints(0, 6, 5, 4)), reduction=kind))
        g.case("ScatterElements once " + kind, g.op("ScatterElements", x, g.const([[[3, -2]] * 2] * 2, np.int64),
                                                    g.const(np.arange(8).reshape(2, 2, 2) - 3.5, np.float32), axis=1, reduction=kind))
        g.case("ScatterND " + kind, g.op("ScatterND", table, g.const([[2, -5], [0, 3], [1, 1]], np.int64),
                                         g.const(np.arange(12).reshape(3, 4), np.float32), reduction=kind))
        g.case("ScatterND int " + kind, g.op("ScatterND", g.const(np.arange(12).reshape(3, 4), np.int32), g.const([[2], [0]], np.int64),
                                             g.const(np.arange(8).reshape(2, 4) * 2, np.int32), reduction=kind))
    g.case("ScatterElements last", g.op("ScatterElements", g.const(np.arange(5), np.float32), g.ints(1, -1),
                                        g.const([10, 20], np.float32)))
    image = g.op("Reshape", x, g.ints(-1, 1, 5, 4))
    places = g.op("Reshape", g.op("Mul", y, g.const(1.3, np.float32)), g.ints(-1, 2, 5, 2))
    if g.opset >= 20:
        for mode in ["linear", "cubic", "nearest"]:
            for padding in ["zeros", "border", "reflection"]:
                for corners in (0, 1):
                    g.case("GridSample %s %s %d" % (mode, padding, corners),
                           g.op("GridSample", image, places, mode=mode, padding_mode=padding, align_corners=corners))
        for corners in (0, 1):
            theta = g.op("Reshape", g.op("Slice", i, g.ints(0), g.ints(6), g.ints(1)), g.ints(-1, 2, 3))
            g.case("AffineGrid %d" % corners, g.op("AffineGrid", g.op("Cast", theta, to=TensorProto.FLOAT), g.ints(3, 1, 2, 4), align_corners=corners))
    lengths = g.op("Slice", g.op("Add", g.op("Mod", i, g.const(5, np.int64)), g.const(1, np.int64)), g.ints(0), g.ints(1), g.ints(1))
    g.case("ReverseSequence", g.op("ReverseSequence", x, g.op("Squeeze", lengths, g.ints(1)), batch_axis=0, time_axis=1))
    g.case("ReverseSequence time first", g.op("ReverseSequence", g.op("Transpose", x, perm=[1, 0, 2]),
                                              g.op("Squeeze", lengths, g.ints(1)), batch_axis=1, time_axis=0))


def order(g):
    """TopK, ArgMax, ArgMin, Hardmax, OneHot, EyeLike."""
    x, i, b = "x", "i", "b"
    small = g.op("Mod", i, g.const(3, np.int64))  # with ties
    for axis in (0, 1, -1):
        for largest in (0, 1):
            values, indices = g.op("TopK", x, g.ints(2), axis=axis, largest=largest, outputs=2)
            g.case("TopK values %d %d" % (axis, largest), values)
            g.case("TopK indices %d %d" % (axis, largest), indices)
        for op in ["ArgMax", "ArgMin"]:
            g.case("%s %d" % (op, axis), g.op(op, x, axis=axis, keepdims=axis + 1 & 1))
    values, indices = g.op("TopK", small, g.ints(6), outputs=2)
    g.case("TopK ties", indices)
    for op in ["ArgMax", "ArgMin"]:
        g.case(op + " first", g.op(op, small, axis=1))
        g.case(op + " last", g.op(op, small, axis=1, select_last_index=1, keepdims=0))
    g.case("Hardmax", g.op("Hardmax", x))
    g.case("Hardmax 1", g.op("Hardmax", x, axis=1))
    on_off = g.const([0.5, 3], np.float32)
    for axis in (-1, 0, 1):
        g.case("OneHot %d" % axis, g.op("OneHot", i, g.const(5, np.int64), on_off, axis=axis))
    g.case("OneHot ints", g.op("OneHot", g.op("Cast", i, to=TensorProto.INT32), g.const(5, np.float32), g.ints(-1, 7)))
    g.case("OneHot negated", g.op("OneHot", i, g.const(5, np.int64), g.op("Neg", on_off)))
    g.case("EyeLike", g.op("EyeLike", i, dtype=TensorProto.FLOAT))
    g.case("EyeLike k", g.op("EyeLike", g.op("Transpose", i), k=-2))
    g.case("EyeLike static", g.op("EyeLike", g.const(np.zeros((3, 5)), np.int32), k=1, dtype=TensorProto.BOOL))
    g.case("Trilu large k", g.op("Trilu", x, g.const(2**62, np.int64), upper=0))
    g.case("Trilu far", g.op("Trilu", x, g.const(-(2**62), np.int64), upper=0))
    g.case("CenterCropPad", g.op("CenterCropPad", x, g.ints(2, 7), axes=[1, -1]))
    g.case("CenterCropPad odd", g.op("CenterCropPad", x, g.ints(8, 1), axes=[1, 2]))


def einsum(g):
    x, y = "x", "y"  # batch x 5 x 4
    m, n = g.const(np.linspace(-1, 1, 20).reshape(5, 4), np.float32), g.const(np.linspace(0, 2, 12).reshape(4, 3), np.float32)
    square = g.const(np.linspace(-1, 1, 16).reshape(4, 4), np.float32)
    cube = g.const(np.linspace(-1, 1, 64).reshape(4, 4, 4), np.float32)
    row, one = g.const(np.linspace(1, 2, 4), np.float32), g.const(np.linspace(1, 2, 5).reshape(5, 1), np.float32)
    for equation, operands in [
            ("bij->bji", [x]), ("bij->b", [x]), ("bij->", [x]), ("bij", [x]), ("ba...->...ab", [x]), ("...j->...", [x]),
            ("ii->i", [square]), ("ii", [square]), ("iii->i", [cube]), ("iji->ij", [cube]), ("ijj->i", [cube]), ("...ii->...i", [cube]),
            ("bij,jk->bik", [x, n]), ("bij,jk", [x, n]), ("bij,bkj->bik", [x, y]), ("bij,bij->bij", [x, y]), ("bij,bij->b", [x, y]),
            ("bij,bij", [x, y]), ("bij,ckj->bcik", [x, y]), ("...ij,...kj->...ik", [x, y]), ("b i j , j -> b i", [x, row]),
            ("bij,ij->bj", [x, m]), ("bij,i...->b...", [x, one]), ("ij,bij->ijb", [one, x]), ("i,j->ij", [row, row]), ("i,i->", [row, row]),
            ("...,...->...", [x, row]), ("bij,jk,kl->bil", [x, n, g.const(np.linspace(0, 1, 6).reshape(3, 2), np.float32)]),
            ("bij,bkj,bik->b", [x, y, g.op("MatMul", x, g.op("Transpose", y, perm=[0, 2, 1]))]), ("bij,ii->bj", [g.op("Slice", x, g.ints(0), g.ints(4), g.ints(1)), square]),
            ("BIj,jK->KBI", [x, n])]:
        g.case("Einsum " + equation, g.op("Einsum", *operands, equation=equation))
    ints = g.const(np.arange(6).reshape(2, 3), np.int32)
    g.case("Einsum int", g.op("Einsum", ints, g.const(np.arange(12).reshape(3, 4) - 5, np.int32), equation="ij,jk->ki"))


def integers(g):
    """Products and reductions of integers."""
    a, c = g.const(np.arange(12).reshape(3, 4) * 21, np.uint8), g.const(np.arange(20).reshape(4, 5) * 12 - 120, np.int8)
    g.case("MatMul int", g.op("MatMul", "i", g.const(np.arange(18).reshape(6, 3), np.int64)))
    g.case("MatMul int batch", g.op("MatMul", g.const(np.arange(24).reshape(2, 3, 4), np.int32), g.const(np.arange(8).reshape(4, 2), np.int32)))
    g.case("MatMul int vectors", g.op("MatMul", g.ints(1, 2, 3), g.ints(4, 5, 6)))
    g.case("Gemm int", g.op("Gemm", "i", g.const(np.arange(12).reshape(2, 6), np.int64), g.ints(3, 4), transB=1, alpha=2.0, beta=3.0))
    g.case("MatMulInteger", g.op("MatMulInteger", a, c))
    g.case("MatMulInteger zero points", g.op("MatMulInteger", a, c, g.const(128, np.uint8), g.const(-3, np.int8)))
    g.case("MatMulInteger columns", g.op("MatMulInteger", a, c, g.const(128, np.uint8), g.const([1, 2, 3, 4, 5], np.int8)))
    scale = lambda value: g.const(value, np.float32)
    g.case("QLinearMatMul", g.op("QLinearMatMul", a, scale(0.05), g.const(100, np.uint8), c, scale(0.03), g.const(2, np.int8), scale(0.4),
                                 g.const(120, np.uint8)))
    g.case("QLinearMatMul signed", g.op("QLinearMatMul", a, scale(0.05), g.const(100, np.uint8), c, scale(0.03), g.const(2, np.int8),
                                        scale(0.1), g.const(-7, np.int8)))
    for op in ["ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceSumSquare", "ReduceL1"]:
        g.case(op + " int", g.op(op, "i", g.ints(1)))
    g.case("ReduceMean int", g.op("ReduceMean", g.const(np.arange(12).reshape(3, 4), np.int32), g.ints(0)))
    for op in ["ReduceMax", "ReduceMin"]:
        if g.opset >= 20:
            g.case(op + " bool", g.op("Cast", g.op(op, "b", g.ints(1)), to=TensorProto.FLOAT))
    g.case("CumSum int", g.op("CumSum", "i", g.const(-1, np.int32), reverse=1, exclusive=1))


def losses(g):
    x, i = "x", "i"  # batch x 5 x 4
    target = g.op("Mod", g.op("Slice", i, g.ints(0), g.ints(4), g.ints(1)), g.const(5, np.int64))
    plain = g.op("Squeeze", g.op("Slice", target, g.ints(0), g.ints(1), g.ints(1)), g.ints(1))
    scores = g.op("ReduceSum", x, g.ints(2), keepdims=0)
    weight = g.const(np.linspace(0.5, 2, 5), np.float32)
    for reduction in ["none", "sum", "mean"]:
        for name, arguments, attributes in [("", [], {}), (" weight", [weight], {}), (" ignore", [], {"ignore_index": 2}),
                                            (" both", [weight], {"ignore_index": 0})]:
            for op in ["SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"]:
                g.case("%s %s%s" % (op, reduction, name), g.op(op, x, target, *arguments, reduction=reduction, **attributes))
                g.case("%s %s%s plain" % (op, reduction, name), g.op(op, scores, plain, *arguments, reduction=reduction, **attributes))
    loss, probabilities = g.op("SoftmaxCrossEntropyLoss", x, target, outputs=2)
    g.case("SoftmaxCrossEntropyLoss log_prob", probabilities)


def attributes(g):
    """What older operator sets say by attributes."""
    x, i = "x", "i"
    for op in ["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceProd", "ReduceLogSumExp"]:
        g.case(op, g.op(op, x, axes=[-1, 1]))
        g.case(op + " flat", g.op(op, x, axes=[2], keepdims=0))
        g.case(op + " all", g.op(op, x))
    g.case("Squeeze", g.op("Squeeze", g.op("Unsqueeze", x, axes=[1, 3]), axes=[1]))
    parts = g.op("Split", x, axis=1, split=[2, 3], outputs=2)
    g.case("Split", parts[1])
    parts = g.op("Split", x, axis=2, outputs=2)
    g.case("Split equal", parts[1])
    # All dimensions from the axis on are one row.
    for op in ["Softmax", "LogSoftmax", "Hardmax"]:
        for axis in (1, 2, -2):
            rows = g.op("Reshape", x, g.ints(0, -1) if axis != 2 else g.ints(-1, 4))
            g.case("%s %d" % (op, axis), g.op(op, x, axis=axis), same_as=g.op("Reshape", g.op(op, rows, axis=1), g.ints(-1, 5, 4)))
        g.case(op, g.op(op, g.op("Flatten", x)))
    if g.opset < 10:
        g.case("Slice", g.op("Slice", x, starts=[1, -3], ends=[-1, 100], axes=[1, 2]))
        g.case("Slice no axes", g.op("Slice", x, starts=[0, 1], ends=[1000000000000, 3]))
        values, indices = g.op("TopK", x, axis=1, k=2, outputs=2)
        g.case("TopK", values)
        g.case("TopK indices", indices)
    else:
        values, indices = g.op("TopK", x, g.ints(2), outputs=2)
        g.case("TopK", values)
    g.case("ArgMax", g.op("ArgMax", x, axis=1))
    g.case("Gather", g.op("Gather", x, g.ints(2, 0), axis=1))
