"""Gradients of convolution, pooling, norms over batch and channels and resampling, as imported, against finite differences.

window_gradients.py FOLDER: each case works on the parameter of its name plus the input x. So the derivative of its sum by x, found by
running the forward function at x +- step, is the gradient of the parameter, which nn-build-backward derives.
"""
import os
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from graph import Graph

SIZE = 40  # elements of each parameter
STEP = 1e-5


def numbers(g, *shape, phase=0.3):
    return g.const(np.cos(np.arange(int(np.prod(shape))) * 0.9 + phase).reshape(shape), np.float64)


def reshaped(g, x, *shape):
    """The first elements of x."""
    count = int(np.prod(shape))
    return g.op("Reshape", g.op("Slice", x, g.ints(0), g.ints(count), g.ints(1)), g.ints(*shape))


def image(g, x):
    return reshaped(g, x, 2, 1, 4, 5)


def channels(g, x):
    return reshaped(g, x, 2, 4, 5, 1)


def resize(**attributes):
    def build(g, x):
        return g.op("Resize", image(g, x), "", g.const([1, 1, 1.5, 0.6], np.float32), **attributes)
    return build


def grid_sample(data_is_x, **attributes):
    def build(g, x):
        if data_is_x:
            return g.op("GridSample", image(g, x), g.op("Mul", numbers(g, 2, 3, 2, 2), g.const(1.3, np.float64)), **attributes)
        return g.op("GridSample", numbers(g, 2, 2, 4, 5), g.op("Mul", reshaped(g, x, 2, 5, 2, 2), g.const(0.45, np.float64)), **attributes)
    return build


def pool(op, **attributes):
    return lambda g, x: g.op(op, image(g, x), kernel_shape=[2, 3], strides=[1, 2], pads=[1, 0, 0, 1], **attributes)


def unpooled(g, x):
    _, indices = g.op("MaxPool", numbers(g, 2, 1, 4, 6), kernel_shape=[2, 2], strides=[2, 2], outputs=2)
    return g.op("MaxUnpool", reshaped(g, x, 2, 1, 2, 3), indices, kernel_shape=[2, 2], strides=[2, 2])


CASES = {
    "Conv data": lambda g, x: g.op("Conv", image(g, x), numbers(g, 3, 1, 2, 3), numbers(g, 3), pads=[1, 0, 0, 2], strides=[2, 1]),
    "Conv kernel": lambda g, x: g.op("Conv", numbers(g, 2, 4, 5, 4), reshaped(g, x, 4, 2, 2, 2), group=2, dilations=[2, 1]),
    "Conv bias": lambda g, x: g.op("Conv", numbers(g, 2, 1, 4, 3), numbers(g, 5, 1, 2, 2), reshaped(g, x, 5)),
    "ConvTranspose data": lambda g, x: g.op("ConvTranspose", channels(g, x), numbers(g, 4, 2, 3, 2), strides=[2, 1], output_padding=[1, 0]),
    "ConvTranspose kernel": lambda g, x: g.op("ConvTranspose", numbers(g, 2, 4, 3, 3), reshaped(g, x, 4, 2, 2, 2), pads=[1, 0, 0, 1]),
    "MaxPool": pool("MaxPool"), "AveragePool": pool("AveragePool"), "AveragePool counts": pool("AveragePool", count_include_pad=1),
    "LpPool": pool("LpPool"), "LpPool 3": pool("LpPool", p=3),
    "AveragePool tiles": lambda g, x: g.op("AveragePool", image(g, x), kernel_shape=[2, 2], strides=[2, 2]),
    "GlobalAveragePool": lambda g, x: g.op("GlobalAveragePool", image(g, x)), "GlobalMaxPool": lambda g, x: g.op("GlobalMaxPool", image(g, x)),
    "GlobalLpPool": lambda g, x: g.op("GlobalLpPool", image(g, x)), "MaxUnpool": unpooled,
    "BatchNormalization": lambda g, x: g.op("BatchNormalization", channels(g, x), *[numbers(g, 4)] * 3, g.op("Abs", numbers(g, 4))),
    "BatchNormalization training": lambda g, x: g.op("BatchNormalization", channels(g, x), *[numbers(g, 4)] * 4, training_mode=1, outputs=3)[0],
    "BatchNormalization scale": lambda g, x: g.op("BatchNormalization", numbers(g, 2, 4, 3), reshaped(g, x, 4), *[numbers(g, 4)] * 3,
                                                  training_mode=1, outputs=3)[0],
    "InstanceNormalization": lambda g, x: g.op("InstanceNormalization", channels(g, x), numbers(g, 4), numbers(g, 4)),
    "GroupNormalization": lambda g, x: g.op("GroupNormalization", channels(g, x), numbers(g, 4), numbers(g, 4), num_groups=2),
    "LRN": lambda g, x: g.op("LRN", channels(g, x), size=3, alpha=0.5),
    "MeanVarianceNormalization": lambda g, x: g.op("MeanVarianceNormalization", channels(g, x)),
    "LpNormalization 1": lambda g, x: g.op("LpNormalization", channels(g, x), axis=1, p=1),
    "LpNormalization 2": lambda g, x: g.op("LpNormalization", channels(g, x), axis=1, p=2),
    "Resize nearest": resize(), "Resize linear": resize(mode="linear"), "Resize cubic": resize(mode="cubic", exclude_outside=1),
    "Resize antialias": resize(mode="linear", antialias=1), "Resize corners": resize(mode="linear", coordinate_transformation_mode="align_corners"),
    "Resize twice": lambda g, x: g.op("Resize", image(g, x), "", g.const([1, 1, 2, 2], np.float32), coordinate_transformation_mode="asymmetric",
                                      nearest_mode="floor"),
    "Pad reflect": lambda g, x: g.op("Pad", image(g, x), g.ints(0, 0, 2, 1, 0, 0, 1, 3), mode="reflect"),
    "Pad wrap": lambda g, x: g.op("Pad", image(g, x), g.ints(0, 0, 2, 1, 0, 0, 1, 7), mode="wrap"),
    "Pad edge": lambda g, x: g.op("Pad", image(g, x), g.ints(0, 0, 2, -1, 0, 0, 1, 3), mode="edge"),
    "Pad": lambda g, x: g.op("Pad", image(g, x), g.ints(0, 0, 2, -1, 0, 0, -1, 3)),
    "CenterCropPad": lambda g, x: g.op("CenterCropPad", image(g, x), g.ints(7, 2), axes=[2, 3]),
    "DepthToSpace": lambda g, x: g.op("DepthToSpace", reshaped(g, x, 1, 8, 1, 5), blocksize=2),
    "SpaceToDepth": lambda g, x: g.op("SpaceToDepth", reshaped(g, x, 1, 2, 4, 4), blocksize=2),
    "Col2Im": lambda g, x: g.op("Col2Im", reshaped(g, x, 2, 4, 4), g.ints(3, 3), g.ints(2, 2)),
    "AffineGrid": lambda g, x: g.op("AffineGrid", reshaped(g, x, 2, 2, 3), g.ints(2, 1, 2, 3)),
    **{f"GridSample {what} {mode} {padding}": grid_sample(what == "data", mode=mode, padding_mode=padding)
       for what in ("data", "grid") for mode in ("linear", "cubic") for padding in ("zeros", "border", "reflection")},
    "GridSample data nearest": grid_sample(True, mode="nearest"),
}


def run(*command):
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        sys.exit("%s\nfailed: %s" % (" ".join(command), result.stderr))
    return result.stdout


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    path = lambda name: os.path.join(folder, name)
    g, weights, sums = Graph(21), [], []
    moved = g.op("Reshape", "x", g.ints(SIZE))
    for k, (name, build) in enumerate(CASES.items()):
        weights.append(numpy_helper.from_array(np.sin(np.arange(SIZE) * 0.77 + k * 0.1), name))
        # The first elements by themselves; what the case does not use has gradient 0.
        value = g.op("Reshape", build(g, g.op("Reshape", g.op("Add", name, moved), g.ints(1, SIZE))), g.ints(-1))
        factors = g.op("Cos", g.op("Cast", g.op("CumSum", g.op("ConstantOfShape", g.op("Shape", value), value=numpy_helper.from_array(np.ones(1))),
                                                g.const(0, np.int64)), to=TensorProto.DOUBLE))
        sums.append(g.op("ReduceSum", g.op("Mul", value, factors), g.ints(0), keepdims=1))
    g.nodes.append(helper.make_node("Concat", sums, ["cases"], name="cases", axis=0))
    total = g.op("ReduceSum", "cases", keepdims=0)
    inputs = [helper.make_tensor_value_info("x", TensorProto.DOUBLE, ["batch", SIZE])]
    graph = helper.make_graph(g.nodes, "gradients", inputs, [helper.make_tensor_value_info(total, TensorProto.DOUBLE, [])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path("model.onnx"))
    run("zero-import", path("model.onnx"), "--loss=output", "--train=[A-Z].*", "-o", path("model.mlir"))
    run("zero-opt", path("model.mlir"), "--nn-bind-batch=micro-batch=1", "--nn-fold-constants", "--mlir-print-debuginfo", "-o", path("bound.mlir"))
    run("zero-opt", path("bound.mlir"), "--nn-build-backward", "-o", path("micro.mlir"))

    def cases_at(x):
        x.tofile(path("x.bin"))
        lines = run("nn-forward", path("bound.mlir"), "x=" + path("x.bin"), "@cases").splitlines()
        line = next(line for line in lines if line.startswith("cases") or "tensor<%dxf64>" % len(CASES) in line)
        return np.array([float(v) for v in line.split("[")[1].rstrip("]").split(",")])

    slopes = np.zeros((len(CASES), SIZE))
    for i in range(SIZE):
        x = np.zeros(SIZE)
        x[i] = STEP
        slopes[:, i] = (cases_at(x) - cases_at(-x)) / (2 * STEP)
    np.zeros(SIZE).tofile(path("x.bin"))
    found = {}
    for line in run("nn-forward", path("micro.mlir"), "--function=micro", "x=" + path("x.bin")).splitlines():
        name, rest = line.split(": tensor", 1)
        found[name] = np.array([float(v) for v in rest.split("[")[1].rstrip("]").split(",") if v])
    bad = []
    for name, want in zip(CASES, slopes):
        got = found["gradient " + name]
        if not np.any(want) or not np.allclose(got, want, rtol=1e-6, atol=1e-7):
            bad.append("%s:\n  gradient    %s\n  differences %s" % (name, got, want))
    if bad:
        sys.exit("\n".join(bad))
    print("gradients of %d cases agree" % len(CASES))


main()
