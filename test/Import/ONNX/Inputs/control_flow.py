"""control_flow.py FOLDER: If, Loop, Scan, sequences and optionals that are decided while importing, and what is refused."""
import sys

import numpy as np
from onnx import numpy_helper

import programs
from programs import X, model

W = np.array([0.5, -1, 2, 0.25])
LOSS = " p = Mul(y, w) z = ReduceSum <keepdims = 0> (p)"


def value(y):
    return float((y * W).sum())


def branches(condition, then="v = Exp(x)", other="v = Neg(x)", **kind):
    return model(condition + " y = If (c) <then_branch = g1 () => (v) { %s }, else_branch = g2 () => (v) { %s }>" % (then, other) + LOSS,
                 **kind)


def initializers():
    """Two branches with an initializer of one name each; the one that is taken trains."""
    case = branches("i = Constant <value_int = 1> () c = Cast <to = 9> (i)", "v = Mul(x, s)", "v = Add(x, s)")
    node = case.graph.node[2]
    for attribute, number in zip(node.attribute, (3.0, 5.0)):
        attribute.g.initializer.append(numpy_helper.from_array(np.full(4, number, np.float32), "s"))
    return case


TRUE = "i = Constant <value_int = 1> () c = Cast <to = 9> (i)"
LOOP = ("y%s = Loop (%s) <body = b (int64 i, bool go, float[3,4] a) => (keep, next%s) { keep = Identity(go) "
        "f = Cast <to = 1> (i) t = Add(a, f) next = Mul(t, x)%s }>")
COUNT3 = "m = Constant <value_int = 3> () c = Constant <value_int = 1> () t = Cast <to = 9> (c) "
SCAN = "a = Constant <value_floats = [0.0, 0.0, 0.0, 0.0]> () k = Constant <value_ints = [3, 4]> () x3 = Reshape(x, k) "


def loop3(a=X):
    for i in range(3):
        a = (a + i) * X
    return a


AGREE = {
    "then": branches(TRUE),
    "else": branches("i = Constant <value_int = 0> () c = Cast <to = 9> (i)"),
    "vector": branches("i = Constant <value_ints = [1]> () c = Cast <to = 9> (i)"),
    # Conditions that arithmetic of shapes and small tensors decides.
    "rank": branches("r = Shape(x) s = Size(r) two = Constant <value_int = 2> () c = Equal(s, two)"),
    "extent": branches("r = Shape(x) one = Constant <value_int = 1> () e = Gather(r, one) k = Constant <value_int = 5> () c = Greater(e, k)"),
    "floats": branches("f = Constant <value_floats = [0.5, 2.0]> () m = ReduceMax <keepdims = 0> (f) h = Constant <value_float = 1.5> () "
                       "l = Less(m, h) c = Not(l)"),
    "nested": branches(TRUE, "j = Constant <value_int = 0> () d = Cast <to = 9> (j) u = Exp(x) "
                             "v = If (d) <then_branch = g3 () => (q) { q = Neg(u) }, else_branch = g4 () => (q) { q = Abs(u) }>"),
    "outer_names": branches("o = Tanh(x) " + TRUE, "t = Add(o, w) v = Mul(t, o)"),
    "untaken_unsupported": (branches(TRUE, other="v = Det(x)"), value(np.exp(X))),
    "initializers": initializers(),
    "loop": (model(COUNT3 + LOOP % ("", "m, t, x", "", "") + LOSS), value(loop3())),
    "loop_without_condition": (model(COUNT3 + LOOP % ("", "m, , x", "", "") + LOSS), value(loop3())),
    "loop_zero": (model(COUNT3 + "n = Sub(m, m) " + LOOP % ("", "n, t, x", "", "") + LOSS), value(X)),
    "loop_never": (model(COUNT3 + "no = Not(t) " + LOOP % ("", "m, no, x", "", "") + LOSS), value(X)),
    "loop_stops": (model(COUNT3 + "y = Loop (, t, x) <body = b (int64 i, bool go, float[3,4] a) => (keep, next) { "
                         "four = Constant <value_int = 4> () keep = Less(i, four) next = Tanh(a) }>" + LOSS),
                   value(np.tanh(np.tanh(np.tanh(np.tanh(np.tanh(X))))))),
    "loop_scan_output": (model(COUNT3 + LOOP % ("0, all", "m, t, x", ", each", " each = Identity(t)") +
                               "s = ReduceSum <keepdims = 0> (all, c0) y = Add(y0, s)".replace("c0", "zero") .replace("s =", "zero = Constant <value_ints = [0]> () s =", 1)
                               + LOSS), None),
    "scan": (model(SCAN + "e, y = Scan (a, x3) <num_scan_inputs = 1, body = b (float[4] s, float[4] r) => (next, o) { "
                          "next = Add(s, r) o = Identity(next) }>" + LOSS), value(np.cumsum(X, axis=0))),
    "scan_reversed": (model(SCAN + "e, y = Scan (a, x3) <num_scan_inputs = 1, scan_input_directions = [1], scan_output_directions = [1], "
                                   "body = b (float[4] s, float[4] r) => (next, o) { next = Add(s, r) o = Identity(next) }>" + LOSS),
                      value(np.cumsum(X[::-1], axis=0)[::-1])),
    "scan_axes": (model("y = Scan (x, w) <num_scan_inputs = 2, scan_input_axes = [1, 0], scan_output_axes = [-1], "
                        "body = b (float[n] r, float s) => (o) { o = Mul(r, s) }>" + LOSS), value(X * W)),
    "sequence": (model("e = SequenceEmpty () s = SequenceInsert (e, x) n = Neg(x) t = SequenceInsert (s, n) k = Constant <value_int = 0> () "
                       "h = Exp(x) u = SequenceInsert (t, h, k) v = SequenceErase (u, k) m = SequenceErase (v) l = SequenceLength(m) "
                       "g = SequenceAt (v, k) f = Cast <to = 1> (l) y = Mul(g, f)" + LOSS), value(X)),
    "sequence_map": (model("n = Neg(x) s = SequenceConstruct (x, n) m = SequenceMap (s, w) <body = b (float[n,4] a, float[4] k) => (o) { "
                           "e = Exp(a) o = Mul(e, k) }> y = ConcatFromSequence <axis = 0> (m) q = Mul(y, w) z = ReduceSum <keepdims = 0> (q)"),
                     value(np.exp(X) * W) + value(np.exp(-X) * W)),
    "optional": (model("o = Optional (x) c = OptionalHasElement (o) y = If (c) <then_branch = g1 () => (v) { v = OptionalGetElement (o) }, "
                       "else_branch = g2 () => (v) { v = Neg(x) }>" + LOSS), value(X)),
    "optional_none": (model("c = OptionalHasElement () y = If (c) <then_branch = g1 () => (v) { v = Exp(x) }, "
                            "else_branch = g2 () => (v) { v = Neg(x) }>" + LOSS), value(-X)),
}


def joined():
    """Every iteration's a + i, and the last result."""
    a, total = X, 0
    for i in range(3):
        total = total + (a + i)
        a = (a + i) * X
    return value(a + total)


AGREE["loop_scan_output"] = (AGREE["loop_scan_output"][0], joined())

REFUSE = {
    "data": (branches("s = ReduceSum <keepdims = 0> (x) k = Constant <value_float = 0.0> () c = Greater(s, k)"),
             "node 'if_3' (If, opset 20): the condition is not constant: it depends on 'x'"),
    "trained": (branches("s = ReduceSum <keepdims = 0> (w) k = Constant <value_float = 0.0> () c = Greater(s, k)"),
                "node 'if_3' (If, opset 20): the condition is not constant: it depends on 'w'"),
    "not_a_boolean": (branches("c = Constant <value_int = 1> ()"), "the condition is 'tensor<i64>', not a boolean"),
    "two": (branches("i = Constant <value_ints = [1, 0]> () c = Cast <to = 9> (i)"), "the condition is 'tensor<2xi1>', not one boolean"),
    "taken_unsupported": (branches(TRUE, "v = Det(x)"), "operator 'Det' (opset 20) is not supported, used by 1 node: 'if_2/v'"),
    "endless": (model(COUNT3 + LOOP % ("", ", t, x", "", "") + LOSS), "runs more than 1024 times; loops of at most that many iterations"),
    "long": (model("m = Constant <value_int = 1000000000000> () " + LOOP % ("", "m, , x", "", "") + LOSS), "runs more than 1024 times"),
    "trips": (model("s = ReduceSum <keepdims = 0> (x) m = Cast <to = 7> (s) " + LOOP % ("", "m, , x", "", "") + LOSS),
              "node 'loop_2' (Loop, opset 20): the trip count is not constant: it depends on 'x'"),
    "goes": (model("y = Loop (, , x) <body = b (int64 i, bool go, float[3,4] a) => (keep, next) { s = ReduceSum <keepdims = 0> (a) "
                   "k = Constant <value_float = 0.0> () keep = Greater(s, k) next = Tanh(a) }>" + LOSS),
             "the condition of iteration 1 is not constant: it depends on 'x'"),
    "explodes": (model("m = Constant <value_int = 1024> () " + "y = Loop (m, , x) <body = b (int64 i, bool go, float[3,4] a) => (go, n) { "
                       "n = Loop (m, , a) <body = b2 (int64 j, bool go2, float[3,4] q) => (go2, r) { r = Tanh(q) }> }>" + LOSS),
                 "of the nodes after loops are unrolled; at most 65536 are imported"),
    "carries": (model(COUNT3 + "y = Loop (m, t, x, x) <body = b (int64 i, bool go, float[3,4] a) => (go, n) { n = Tanh(a) }>" + LOSS),
                "carries 2 values and has 1 outputs, and its body gives 2"),
    "scan_length": (model("e = Constant <value_floats = [0.0, 0.0, 0.0, 0.0]> () f, y = Scan (e, x) <num_scan_inputs = 1, "
                          "body = b (float[4] s, float[4] r) => (next, o) { next = Add(s, r) o = Identity(next) }>" + LOSS),
                    "scans dimension 0 of input 1, whose size is not known"),
    "scan_count": (model("y = Scan (x) <num_scan_inputs = 2, body = b (float[n] r) => (o) { o = Neg(r) }>" + LOSS),
                   "has 1 inputs and num_scan_inputs 2"),
    "scan_lists": (model("y = Scan (x) <num_scan_inputs = 1, scan_input_axes = [1, 1], body = b (float[n] r) => (o) { o = Neg(r) }>" + LOSS),
                   "scan_input_axes has 2 entries for 1 values"),
    "scan_differs": (model("k = Constant <value_floats = [1.0]> () y = Scan (x, k) <num_scan_inputs = 2, scan_input_axes = [1, 0], "
                           "body = b (float[n] r, float s) => (o) { o = Mul(r, s) }>" + LOSS), "scans dimensions of 4 and 1 elements"),
    "erase": (model("e = SequenceEmpty () s = SequenceErase (e) k = Constant <value_int = 0> () y = SequenceAt (s, k)" + LOSS),
              "erases from an empty sequence"),
    "insert": (model("e = SequenceEmpty () k = Constant <value_int = 2> () s = SequenceInsert (e, x, k) y = SequenceAt (s, k)" + LOSS),
               "position 2 is outside a sequence of 0 tensors"),
    "empty_optional": (model("o = Optional () y = OptionalGetElement (o)" + LOSS), "takes the element of an optional that has none"),
    "optional_as_loss": (model("z = Optional ()"), "output 'z' is an optional without element and cannot be a loss"),
    "optional_as_tensor": (model("o = Optional () y = Neg (o)" + LOSS), "input 0 is an optional without element, not a tensor"),
    "inner_name": (branches(TRUE, "v = Add(x, missing)"), "node 'if_2/v' (Add, opset 20): reads 'missing', which nothing before it defines"),
    "map_lengths": (model("s = SequenceConstruct (x, x) t = SequenceConstruct (x) m = SequenceMap (s, t) <body = b (float[n,4] a, float[n,4] k) => (o) { "
                          "o = Mul(a, k) }> y = ConcatFromSequence <axis = 0> (m)" + LOSS), "takes sequences of 2 and 1 tensors"),
}


def main():
    bad = programs.compare(sys.argv[1], AGREE) + programs.refuse(sys.argv[1], REFUSE)
    if bad:
        sys.exit("\n".join(bad))
    print("%d agree, %d are refused" % (len(AGREE), len(REFUSE)))


if __name__ == "__main__":
    main()
