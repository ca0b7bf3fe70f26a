"""functions.py FOLDER: model-local functions are inlined, and what is wrong with them is named."""
import sys

import numpy as np

import programs
from programs import X

OURS = ', "my" : 1'
HEAD = '<opset_import: ["" : 20, "my" : 1], domain: "my"%s>\n'


def function(text, more=""):
    return HEAD % more + text + "\n"


def called(body, functions, **kind):
    return programs.model(body, functions, imports=OURS, **kind)


SCALE = function("Scale <alpha, beta: float = 2.0> (a) => (b) { s = Constant <value_float: float = @alpha> () "
                 "t = Constant <value_float: float = @beta> () m = Mul(a, s) b = Mul(m, t) }")


def overloads():
    case = called("y = my.F(x) u = my.F(y) p = Mul(u, w) z = ReduceSum <keepdims = 0> (p)",
                  function("F (a) => (b) { b = Neg(a) }", ', overload: "minus"') +
                  function("F (a) => (b) { b = Exp(a) }", ', overload: "power"'))
    case.graph.node[0].overload, case.graph.node[1].overload = "minus", "power"
    return case


def versions():
    """Softmax flattened its input before opset 13: the function says 12."""
    case = called("c = Constant <value_ints = [1, 3, 2, 2]> () y = Reshape(x, c) u = my.F(y) v = Reshape(u, s) p = Mul(v, w) "
                  "z = ReduceSum <keepdims = 0> (p)",
                  '<opset_import: ["" : 12], domain: "my">\nF (a) => (b) { b = Softmax <axis = 1> (a) }',
                  weights="<float[4] w = {0.5, -1.0, 2.0, 0.25}, int64[2] s = {3, 4}>")
    return case


def bomb(depth):
    text = function("F0 (a) => (b) { b = Neg(a) }")
    for i in range(depth):
        text += function("F%d (a) => (b) { t = my.F%d(a) b = my.F%d(t) }" % (i + 1, i, i))
    return called("y = my.F%d(x) p = Mul(y, w) z = ReduceSum <keepdims = 0> (p)" % depth, text)


def chain(depth):
    text = function("F0 (a) => (b) { b = Neg(a) }")
    for i in range(depth):
        text += function("F%d (a) => (b) { b = my.F%d(a) }" % (i + 1, i))
    return called("y = my.F%d(x) p = Mul(y, w) z = ReduceSum <keepdims = 0> (p)" % depth, text)


def value(y):
    """What LOSS makes of y."""
    return float((y * np.array([0.5, -1, 2, 0.25])).sum())


def softmax(x, axis):
    e = np.exp(x)
    return e / e.sum(axis=axis, keepdims=True)


LOSS = "p = Mul(y, w) z = ReduceSum <keepdims = 0> (p)"
AGREE = {
    # Names inside are the function's own: t stands outside too, and twice in two calls.
    "names": called("t = Exp(x) u = my.F(t) y = my.F(u) " + LOSS, function("F (x) => (w) { t = Neg(x) w = Add(t, x) }")),
    "nested": called("y = my.Twice(x) " + LOSS, function("F (a) => (b) { t = Tanh(a) b = Add(t, a) }") +
                     function("Twice (a) => (b) { t = my.F(a) b = my.F(t) }")),
    "default": (called("y = my.Scale <alpha = 0.5> (x) " + LOSS, SCALE), value(X)),
    "given": (called("y = my.Scale <alpha = 0.5, beta = -3.0> (x) " + LOSS, SCALE), value(-1.5 * X)),
    "absent": (called("s = my.Soft (x) r = my.Soft <axis = 0> (x) y = Add(s, r) " + LOSS,
                      function("Soft <axis> (a) => (b) { b = Softmax <axis: int = @axis> (a) }")),
               value(softmax(X, 1) + softmax(X, 0))),
    "through": (called("y = my.Outer <gamma = 0.25> (x) " + LOSS, SCALE +
                       function("Outer <gamma> (a) => (b) { b = my.Scale <alpha: float = @gamma> (a) }")), value(0.5 * X)),
    "optional_input": (called("y = my.F(x) " + LOSS, function("F (a, low) => (b) { b = Clip(a, low) }")), value(X)),
    "handed_on": (called("y, v = my.F(x) q = Mul(v, w) a = ReduceSum <keepdims = 0> (q) p = Mul(y, w) "
                        "c = ReduceSum <keepdims = 0> (p) z = Add(a, c)",
                         function("F (a) => (a, a) { t = Neg(a) }")), 2 * value(X)),
    "unused_output": (called("y = my.F(x) " + LOSS, function("F (a) => (b, c) { b = Neg(a) c = Det(a) }")), value(-X)),
    "overloads": (overloads(), value(np.exp(-X))),
    "versions": (versions(), value(np.exp(X) / np.exp(X).sum())),
    "branch": (called("c = Constant <value_int = 1> () i = Cast <to = 9> (c) y = my.F(x, i) " + LOSS,
                      function("F (a, i) => (b) { t = Exp(a) b = If (i) <then_branch = g1 () => (v) { v = my.G(t) }, "
                              "else_branch = g2 () => (v) { v = Neg(a) }> }") + function("G (a) => (b) { t = Neg(a) b = Abs(t) }")), value(np.exp(X))),
    "deep": (chain(100), value(-X)),
}


def without_domain():
    case = called("y = my.F(x) " + LOSS, function("F (a) => (b) { b = Neg(a) }"))
    del case.functions[0].opset_import[:]
    return case


def twice():
    case = called("y = my.F(x) " + LOSS, function("F (a) => (b) { b = Neg(a) }"))
    case.functions.append(case.functions[0])
    return case


REFUSE = {
    "itself": (called("y = my.F(x) " + LOSS, function("F (a) => (b) { b = my.F(a) }")), "functions call themselves: my.F -> my.F"),
    "circle": (called("y = my.A(x) " + LOSS, function("A (a) => (b) { b = my.B(a) }") + function("B (a) => (b) { t = Neg(a) b = my.C(t) }") +
                      function("C (a) => (b) { b = my.A(a) }")), "functions call themselves: my.A -> my.B -> my.C -> my.A"),
    "circle_inside": (called("y = my.A(x) " + LOSS, function("A (a) => (b) { c = Constant <value_int = 1> () i = Cast <to = 9> (c) "
                      "b = If (i) <then_branch = g1 () => (v) { v = my.A(a) }, else_branch = g2 () => (v) { v = Neg(a) }> }")),
                      "functions call themselves: my.A -> my.A"),
    "bomb": (bomb(60), "nodes; at most 65536 are imported"),
    "bomb_19": (bomb(19), "the functions of the model expand to 524290 nodes; at most 65536 are imported"),
    "too_deep": (chain(200), "functions call functions more than 128 deep"),
    "inputs": (called("y = my.F(x, x) " + LOSS, function("F (a) => (b) { b = Neg(a) }")),
               "node 'f_0' (F): has 2 inputs and 1 outputs and the function takes 1 and gives 1"),
    "attribute": (called("y = my.F <beta = 1.0> (x) " + LOSS, function("F (a) => (b) { b = Neg(a) }")),
                  "node 'f_0' (F): the function has no attribute 'beta'"),
    "reference": (called("y = my.F (x) " + LOSS, function("F (a) => (b) { b = Softmax <axis: int = @axes> (a) }")),
                  "refers to the attribute 'axes', which the function 'my.F' does not have"),
    "type": (called("y = my.F <axis = 1.0> (x) " + LOSS, function("F <axis> (a) => (b) { b = Softmax <axis: int = @axis> (a) }")),
             "attribute 'axis' has type FLOAT and node 'f_0/Softmax' needs INT"),
    "unsupported": (called("y = my.F(x) " + LOSS, function("F (a) => (b) { b = Det(a) }")),
                    "operator 'Det' (opset 20) is not supported, used by 1 node: 'f_0/Det'"),
    "no_version": (without_domain(), "operator 'Neg' (opset 0) is supported from opset 7"),
    "twice": (twice(), "the model has two functions 'my.F'"),
}


def main():
    bad = programs.compare(sys.argv[1], AGREE) + programs.refuse(sys.argv[1], REFUSE)
    if bad:
        sys.exit("\n".join(bad))
    print("%d agree, %d are refused" % (len(AGREE), len(REFUSE)))


if __name__ == "__main__":
    main()
