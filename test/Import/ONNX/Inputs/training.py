"""training.py FOLDER: the optimizers of ai.onnx.preview.training as formulas, and what is refused of that domain."""
import sys

import numpy as np

import programs
from programs import X, model

IMPORTS = ', "ai.onnx.preview.training" : 1'
T = "ai.onnx.preview.training."
LOSS = " p = Mul(y, w) s = Mul(u, w) q = Add(p, s) z = ReduceSum <keepdims = 0> (q)"
W = np.array([0.5, -1, 2, 0.25])
HEAD = "r = Constant <value_float = 0.1> () t = Constant <value_int = %d> () g = Tanh(x) h = Abs(x) "


def value(*results):
    return float(sum((r * W).sum() for r in results))


def build(count, text):
    return model(HEAD % count + text + LOSS, imports=IMPORTS)


def adam(t, alpha=0.9, beta=0.85, epsilon=1e-2, norm=0.001, post=0.01):
    g = norm * X + np.tanh(X)
    v, h = alpha * np.abs(X) + (1 - alpha) * g, beta * np.abs(X) + (1 - beta) * g * g
    rate = 0.1 * np.sqrt(1 - beta ** t) / (1 - alpha ** t) if t else 0.1
    return (1 - post) * (X - rate * v / (np.sqrt(h) + epsilon)), v


def adagrad(t, decay=0.1, norm=0.001, epsilon=1e-5):
    g = norm * X + np.tanh(X)
    h = np.abs(X) + g * g
    return X - 0.1 / (1 + t * decay) * g / (np.sqrt(h) + epsilon), h


def momentum(t, mode, alpha=0.95, beta=0.85, norm=0.001):
    g = norm * X + np.tanh(X)
    v = alpha * np.abs(X) + (beta if t else 1) * g
    return X - 0.1 * (v if mode == "standard" else g + alpha * v), v


ADAM = "y, u, k = %sAdam <alpha = 0.9, beta = 0.85, epsilon = 0.01, norm_coefficient = 0.001, norm_coefficient_post = 0.01> (r, t, x, g, h, h)" % T
ADAGRAD = "y, u = %sAdagrad <decay_factor = 0.1, epsilon = 0.00001, norm_coefficient = 0.001> (r, t, x, g, h)" % T
MOMENTUM = 'y, u = %sMomentum <alpha = 0.95, beta = 0.85, mode = "%%s", norm_coefficient = 0.001> (r, t, x, g, h)' % T
AGREE = {
    "adam": (build(3, ADAM), value(*adam(3))),
    "adam_first": (build(0, ADAM), value(*adam(0))),
    "adagrad": (build(3, ADAGRAD), value(*adagrad(3))),
    "adagrad_two": (build(3, "y, v, u, k = %sAdagrad (r, t, x, x, g, g, h, h)" % T),
                    value(adagrad(0, 0, 0, 0)[0], adagrad(0, 0, 0, 0)[1])),
    "momentum": (build(3, MOMENTUM % "standard"), value(*momentum(3, "standard"))),
    "momentum_first": (build(0, MOMENTUM % "standard"), value(*momentum(0, "standard"))),
    "nesterov": (build(2, MOMENTUM % "nesterov"), value(*momentum(2, "nesterov"))),
}
REFUSE = {
    "gradient": (build(1, 'y = %sGradient <xs = ["x"], y = "g"> (x) u = Identity(y)' % T),
                 "operator 'ai.onnx.preview.training.Gradient' (opset 1) is not supported (gradients are made here, from the forward "
                 "graph and --loss: export the model without them), used by 1 node: 'gradient_4'"),
    "mode": (build(1, MOMENTUM % "heavy"), "mode 'heavy' is neither 'standard' nor 'nesterov'"),
    "inputs": (build(1, "y, u = %sAdagrad (r, t, x, g, h, h)" % T), "has 6 inputs, not 2 and 3 for each tensor"),
    "outputs": (build(1, "y, u, k = %sAdagrad (r, t, x, g, h)" % T), "has 3 outputs for 1 tensors"),
    "rate": (build(1, "y, u = %sAdagrad (x, t, x, g, h)" % T), "needs a rate of one float and a count of one int64, not 'tensor<?x4xf32>'"),
    "types": (build(1, "y, u = %sAdagrad (r, t, x, w, h)" % T), "needs floats of one type, not 'tensor<?x4xf32>' and 'tensor<4xf32>'"),
    "missing_mode": (build(1, "y, u = %sMomentum <alpha = 0.95, beta = 0.85, norm_coefficient = 0.0> (r, t, x, g, h)" % T),
                     "has no attribute 'mode', which the operator needs"),
    "version": (model(HEAD % 1 + ADAM + LOSS, imports=', "ai.onnx.preview.training" : 2'),
                "operator 'ai.onnx.preview.training.Adam' (opset 2) is supported from opset 1 to 1"),
}


def with_training_info(folder):
    """The forward graph is what it is; the rest is said to be ignored."""
    case = model("y = Mul(x, w) z = ReduceSum <keepdims = 0> (y)")
    info = case.training_info.add()
    info.algorithm.name = "step"
    programs.onnx.save(case, folder + "/info.onnx")
    return programs.zero_import(folder + "/info.onnx")


def main():
    bad = programs.compare(sys.argv[1], AGREE) + programs.refuse(sys.argv[1], REFUSE)
    result = with_training_info(sys.argv[1])
    if result.returncode or "warning: " not in result.stderr or "the model's training information 'step' is ignored" not in result.stderr:
        bad.append("training info: %s" % result.stderr)
    if bad:
        sys.exit("\n".join(bad))
    print("%d agree, %d are refused" % (len(AGREE), len(REFUSE)))


main()
