"""Gradients of elementwise operators, as imported, against finite differences of onnx's reference evaluator in float64.

gradients.py FOLDER: one model with a parameter for each case; nn-build-backward differentiates it, the reference interpreter
evaluates it. Where the derivative jumps no number is asked for, only that the gradient is finite.
"""
import math
import os
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

EVEN = np.linspace(-2.9, 3.1, 13)
WIDE = np.array([-800.0, -90.0, -30.0, 0.0, 30.0, 90.0, 800.0])
INSIDE = np.linspace(-0.95, 0.95, 9)
POSITIVE = np.array([1e-3, 0.3, 1.0, 2.5, 40.0])


def binary(op, other, swap=False, **attributes):
    def build(g, x):
        y = g.const(np.asarray(other, np.float64))
        return g.op(op, *([y, x] if swap else [x, y]), **attributes)
    return build


def unary(op, **attributes):
    return lambda g, x: g.op(op, x, **attributes)


def clip(low, high):
    return lambda g, x: g.op("Clip", x, "" if low is None else g.const(np.float64(low)), "" if high is None else g.const(np.float64(high)))


# name: builder, points; at all of them the derivative exists
CASES = {
    "Abs": (unary("Abs"), EVEN), "Acos": (unary("Acos"), INSIDE), "Acosh": (unary("Acosh"), [1.01, 1.5, 3, 1e3, 1e160]),
    "Asin": (unary("Asin"), INSIDE), "Asinh": (unary("Asinh"), [-1e160, -3, -1e-9, 0, 0.5, 1, 40, 1e160]), "Atan": (unary("Atan"), EVEN),
    "Atan wide": (unary("Atan"), WIDE), "Atanh": (unary("Atanh"), INSIDE), "Celu": (unary("Celu", alpha=1.0), np.append(EVEN, 0)),
    "Celu alpha": (unary("Celu", alpha=2.5), np.append(EVEN, 0)), "Celu wide": (unary("Celu"), WIDE), "Clip": (clip(-1.01, 2.02), EVEN),
    "Clip low": (clip(0.77, None), EVEN), "Clip high": (clip(None, 0.77), EVEN), "Cos": (unary("Cos"), EVEN), "Cosh": (unary("Cosh"), EVEN),
    "Elu": (unary("Elu"), np.append(EVEN, 0)), "Elu wide": (unary("Elu"), WIDE), "Elu alpha": (unary("Elu", alpha=0.3), EVEN),
    "Erf": (unary("Erf"), EVEN), "Exp": (unary("Exp"), EVEN), "Gelu": (unary("Gelu"), EVEN), "Gelu tanh": (unary("Gelu", approximate="tanh"), EVEN),
    "HardSigmoid": (unary("HardSigmoid"), EVEN), "HardSwish": (unary("HardSwish"), [-5, -2.9, -0.1, 0, 0.1, 2.9, 5]),
    "LeakyRelu": (unary("LeakyRelu", alpha=0.2), EVEN), "Log": (unary("Log"), POSITIVE), "Mish": (unary("Mish"), np.append(EVEN, 0)),
    "Mish wide": (unary("Mish"), WIDE), "Neg": (unary("Neg"), EVEN), "PRelu": (binary("PRelu", 0.3), EVEN),
    "PRelu slope": (binary("PRelu", EVEN, swap=True), EVEN), "Reciprocal": (unary("Reciprocal"), POSITIVE), "Relu": (unary("Relu"), EVEN),
    "Selu": (unary("Selu"), EVEN), "Selu wide": (unary("Selu"), [-800, -30, 30, 800]), "Shrink": (unary("Shrink", lambd=0.5, bias=0.1), EVEN),
    "Sigmoid": (unary("Sigmoid"), EVEN), "Sigmoid wide": (unary("Sigmoid"), WIDE), "Sin": (unary("Sin"), EVEN), "Sinh": (unary("Sinh"), np.append(EVEN, 0)),
    "Softplus": (unary("Softplus"), np.append(EVEN, 0)), "Softplus wide": (unary("Softplus"), WIDE), "Softsign": (unary("Softsign"), np.append(EVEN, 0)),
    "Softsign wide": (unary("Softsign"), WIDE), "Sqrt": (unary("Sqrt"), POSITIVE), "Swish": (lambda g, x: g.op("Mul", x, g.op("Sigmoid", x)), EVEN),
    "Tan": (unary("Tan"), [-1.2, -0.3, 0, 0.9]), "Tanh": (unary("Tanh"), EVEN), "Tanh wide": (unary("Tanh"), WIDE),
    "ThresholdedRelu": (unary("ThresholdedRelu", alpha=0.77), EVEN),
    "Add": (binary("Add", 2.0), EVEN), "Sub": (binary("Sub", 2.0, swap=True), EVEN), "Mul": (binary("Mul", EVEN[::-1]), EVEN),
    "Div": (binary("Div", 3.0), EVEN), "Div by": (binary("Div", 3.0, swap=True), POSITIVE), "Pow": (binary("Pow", 2.5), POSITIVE),
    "Pow to": (binary("Pow", 1.7, swap=True), EVEN), "Pow negative base": (binary("Pow", 3.0), EVEN), "Max": (binary("Max", 0.77), EVEN),
    "Min": (binary("Min", 0.77), EVEN), "Mod fmod": (binary("Mod", 0.75, fmod=1), EVEN), "Mod fmod by": (binary("Mod", 5.25, swap=True, fmod=1), EVEN),
    "Mod": (binary("Mod", -0.75), EVEN), "Mod by": (binary("Mod", 5.25, swap=True), EVEN), "Mean": (lambda g, x: g.op("Mean", x, g.const(np.float64(1)), x), EVEN), "Sum": (lambda g, x: g.op("Sum", x, x, x), EVEN),
    "Where": (lambda g, x: g.op("Where", g.op("Less", g.const(EVEN), g.const(np.float64(0))), x, g.op("Mul", x, x)), EVEN),
    "Dropout": (unary("Dropout"), EVEN), "Cast": (lambda g, x: g.op("Cast", g.op("Cast", x, to=TensorProto.DOUBLE), to=TensorProto.DOUBLE), EVEN),
}
# Corners that zeros and bounds meet: PyTorch's (2.15) clamp, hardtanh, ReLU6, hardsigmoid, hardswish, leaky_relu and prelu.
AT_BOUNDS = {
    "Clip": (clip(-1, 2), [-1, 2], [0, 0]), "ReLU6": (clip(0, 6), [0, 1, 6], [0, 1, 0]), "Clip from 0": (clip(0, None), [0, 1], [0, 1]),
    "HardSigmoid": (unary("HardSigmoid", alpha=0.25, beta=0.5), [-2, 0, 2], [0, 0.25, 0]), "HardSwish": (unary("HardSwish"), [-3, 3], [0, 1]),
    "LeakyRelu": (unary("LeakyRelu", alpha=0.25), [-1, 0, 1], [0.25, 0.25, 1]), "PRelu": (binary("PRelu", 0.25), [-1, 0, 1], [0.25, 0.25, 1]),
}
# Where the function has a corner: any finite number.
CORNERS = {
    "Abs": (unary("Abs"), [0]), "Relu": (unary("Relu"), [0]), "LeakyRelu": (unary("LeakyRelu"), [0]), "Clip": (clip(-1, 2), [-1, 2]),
    "HardSigmoid": (unary("HardSigmoid"), [-2.5, 2.5]), "Selu": (unary("Selu"), [0]), "ThresholdedRelu": (unary("ThresholdedRelu"), [1]),
    "Shrink": (unary("Shrink"), [-0.5, 0.5]), "Max": (binary("Max", 1.0), [1.0]), "Cosh": (unary("Cosh"), [-300.0, 300.0]),
}


class Graph:
    def __init__(self):
        self.nodes, self.count = [], 0

    def fresh(self, stem):
        self.count += 1
        return "%s_%d" % (stem, self.count)

    def const(self, value):
        name = self.fresh("const")
        self.nodes.append(helper.make_node("Constant", [], [name], "node_" + name, value=numpy_helper.from_array(np.asarray(value))))
        return name

    def op(self, op_type, *inputs, **attributes):
        name = self.fresh(op_type.lower())
        self.nodes.append(helper.make_node(op_type, list(inputs), [name], "node_" + name, **attributes))
        return name


def values(build, points):
    """The operator at the points by onnx's own evaluator."""
    g = Graph()
    output = build(g, "w")
    graph = helper.make_graph(g.nodes, "one", [helper.make_tensor_value_info("w", TensorProto.DOUBLE, [len(points)])],
                              [helper.make_empty_tensor_value_info(output)])
    with np.errstate(all="ignore"):
        return np.asarray(ReferenceEvaluator(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 28)])).run(None, {"w": points})[0])


ERF = np.vectorize(math.erf)
# onnx's evaluator has these in float32.
IN_DOUBLE = {"Erf": ERF, "Gelu": lambda x: x / 2 * (1 + ERF(x / math.sqrt(2)))}


def slopes(name, build, points):
    values_at = IN_DOUBLE.get(name, lambda x: values(build, x))
    step = 1e-6 * np.maximum(1, np.abs(points))
    return (values_at(points + step) - values_at(points - step)) / (2 * step)


def run(*command):
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        sys.exit("%s\nfailed: %s" % (" ".join(command), result.stderr))
    return result.stdout


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    path = lambda name: os.path.join(folder, name)
    g, weights, sums, wanted = Graph(), [], [], []
    for kind, cases in (("", CASES), ("corner ", CORNERS), ("bound ", AT_BOUNDS)):
        for name, (build, points, *known) in cases.items():
            points = np.asarray(points, np.float64)
            weights.append(numpy_helper.from_array(points, kind + name))
            factors = 1 + np.arange(len(points)) / 7
            sums.append(g.op("ReduceSum", g.op("Mul", build(g, kind + name), g.const(factors)), keepdims=0))
            slope = known[0] if known else None if kind else slopes(name, build, points)
            wanted.append((kind + name, None if slope is None else slope * factors))
    total = g.op("Mul", g.op("Sum", *sums), g.op("ReduceMean", "x", keepdims=0))
    inputs = [helper.make_tensor_value_info("x", TensorProto.DOUBLE, ["batch"])]
    graph = helper.make_graph(g.nodes, "gradients", inputs, [helper.make_tensor_value_info(total, TensorProto.DOUBLE, [])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 28)], ir_version=10), path("model.onnx"))
    np.ones(1).tofile(path("x.bin"))
    run("zero-import", path("model.onnx"), "--loss=output", "--train=.*", "-o", path("model.mlir"))
    run("zero-opt", path("model.mlir"), "--nn-bind-batch=micro-batch=1", "--nn-build-backward", "-o", path("micro.mlir"))
    found = {}
    for line in run("nn-forward", path("micro.mlir"), "--function=micro", "x=" + path("x.bin")).splitlines():
        name, rest = line.split(": tensor", 1)
        found[name] = np.array([float(v) for v in rest.split("[")[1].rstrip("]").split(",") if v])
    bad = []
    for name, want in wanted:
        got = found["gradient " + name]
        if not np.isfinite(got).all():
            bad.append("%s: not finite: %s" % (name, got))
        elif want is not None and not np.allclose(got, want, rtol=2e-6, atol=2e-8):
            bad.append("%s:\n  gradient    %s\n  differences %s" % (name, got, want))
    if bad:
        sys.exit("\n".join(bad))
    print("gradients of %d cases agree" % len(wanted))


main()
