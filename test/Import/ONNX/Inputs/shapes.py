"""shapes.py FOLDER: how the batch and other symbols are spelled, chains of shape arithmetic, and sizes that nobody has."""
import os
import resource
import subprocess
import sys
import time

import numpy as np
import onnx

import programs
from programs import X, model

LOSS = " m = Mul(y, w) z = ReduceSum <keepdims = 0> (m)"
S = "s = Shape(x) zero = Constant <value_int = 0> () one = Constant <value_int = 1> () ax = Constant <value_ints = [0]> () "


def spelled(change, **kind):
    case = model("y = Exp(x)" + LOSS, **kind)
    change(case.graph.input[0].type.tensor_type.shape.dim)
    return case


def param(name):
    def change(dims):
        dims[0].dim_param = name
    return change


def number(value, index=0):
    def change(dims):
        dims[index].dim_value = value
    return change


def empty(dims):
    dims[0].Clear()


AGREE = {
    "name": spelled(param("batch_size")), "question": spelled(param("?")), "minus": spelled(param("-1")), "none": spelled(param("")),
    "number_minus": spelled(number(-1)), "number_zero": spelled(number(0)), "empty": spelled(empty), "number": spelled(number(3)),
    # What exporters write, with the batch in it.
    "reshape": model(S + "b = Gather(s, zero) u = Unsqueeze(b, ax) k = Constant <value_ints = [4]> () to = Concat <axis = 0> (u, k) y = Reshape(x, to)" + LOSS),
    "slice": model(S + "o = Constant <value_ints = [1]> () two = Constant <value_ints = [2]> () t = Slice(s, o, two) "
                   "m1 = Constant <value_ints = [-1]> () to = Concat <axis = 0> (m1, t) y = Reshape(x, to)" + LOSS),
    "arithmetic": model(S + "h = Gather(s, one) two = Constant <value_int = 2> () d = Div(h, two) e = Mul(d, two) c = Cast <to = 6> (e) "
                            "i = Cast <to = 7> (c) u = Unsqueeze(i, ax) b = Gather(s, zero) v = Unsqueeze(b, ax) to = Concat <axis = 0> (v, u) "
                            "y = Reshape(x, to)" + LOSS),
    "where": model(S + "minus = Constant <value_ints = [-1]> () eq = Equal(s, minus) ones = Constant <value_ints = [1, 1]> () to = Where(eq, ones, s) "
                       "y = Expand(x, to)" + LOSS),
    "where_minus": model("k = Constant <value_ints = [-1, 4]> () minus = Constant <value_ints = [-1]> () eq = Equal(k, minus) s = Shape(x) "
                         "to = Where(eq, s, k) y = Expand(x, to)" + LOSS),
    "range": model(S + "h = Gather(s, one) r = Range(zero, h, one) f = Cast <to = 1> (r) y = Add(x, f)" + LOSS),
    "range_batch": model(S + "h = Gather(s, zero) r = Range(zero, h, one) f = Cast <to = 1> (r) a1 = Constant <value_ints = [1]> () "
                             "u = Unsqueeze(f, a1) y = Add(x, u)" + LOSS),
    # A table repeated for each sample, also beside other repeats.
    "tile_batch": model(S + "b = Gather(s, zero) u = Unsqueeze(b, ax) k = Constant <value_ints = [1]> () t = Concat <axis = 0> (u, k) e = Tile(w2, t) "
                            "y = Add(x, e)" + LOSS, weights="<float[4] w = {0.5, -1.0, 2.0, 0.25}, float[1, 4] w2 = {1, 2, 3, 4}>"),
    "tile_batch_more": model(S + "b = Gather(s, zero) u = Unsqueeze(b, ax) k = Constant <value_ints = [2, 1]> () t = Concat <axis = 0> (u, k) e = Tile(w2, t) "
                                 "a1 = Constant <value_ints = [1]> () q = ReduceSum <keepdims = 0> (e, a1) y = Add(x, q)" + LOSS,
                             weights="<float[4] w = {0.5, -1.0, 2.0, 0.25}, float[1, 2, 4] w2 = {1, 2, 3, 4, 5, 6, 7, 8}>"),
    "float_detour": model(S + "h = Gather(s, one) f = Cast <to = 1> (h) half = Constant <value_float = 0.5> () g = Mul(f, half) e = Floor(g) "
                              "i = Cast <to = 7> (e) u = Unsqueeze(i, ax) two = Constant <value_ints = [2]> () m1 = Constant <value_ints = [-1]> () "
                              "to = Concat <axis = 0> (m1, u, two) t = Reshape(x, to) "
                              "back = Constant <value_ints = [-1, 4]> () y = Reshape(t, back)" + LOSS),
    "nonzero": model("k = Constant <value_ints = [0, 5, 0, 7]> () n = NonZero(k) f = Cast <to = 1> (n) r = ReduceSum <keepdims = 0> (f) y = Mul(x, r)" + LOSS),
    "compress": model("k = Constant <value_ints = [0, 1, 1, 0]> () c = Cast <to = 9> (k) p = Compress <axis = 1> (x, c) q = Concat <axis = 1> (p, p) "
                      "y = Exp(q)" + LOSS),
}


def two_inputs(first, second):
    case = model("y = Add(x, x2)" + LOSS, declared="float[%s] x, float[%s] x2" % (first, second))
    return case


REFUSE = {
    "unbound": (two_inputs("n, 4", "n, m"), "dimension 1 of input 'x2' is the unbound symbol 'm'; give it a size with --dim m=VALUE"),
    "batch_behind": (two_inputs("n, 4", "4, n"), "dimension 1 of input 'x2' is the unbound symbol 'n'; give it a size with --dim n=VALUE "
                     "(it is also the first dimension of input 'x': a batch is the first dimension of every input)"),
    "negative": (spelled(number(-5)), "dimension 0 of input 'x' is -5"),
    "negative_behind": (spelled(number(-5, 1)), "dimension 1 of input 'x' is -5"),
    "unknown_behind": (spelled(number(-1, 1)), "dimension 1 of input 'x' has neither a size nor a name; give it a size with --dim x.1=VALUE"),
    "absurd": (spelled(number(2**62, 1)), "input 'x' has impossible dimensions"),
    "other_size": (two_inputs("n, 4", "n, 4"), "no symbolic dimension of an input is called 'k'; there are: n", "--dim=k=4"),
    "unique": (model("y, i, j, k = Unique <axis = 0> (x)" + LOSS), "operator 'Unique' (opset 20) is not supported (the shape of its result depends on data)"),
    "image_decoder": (model("y = ImageDecoder (x)" + LOSS), "operator 'ImageDecoder' (opset 20) is not supported (data are tensors: decode images before)"),
    "max_roi_pool": (model("y = MaxRoiPool (x, x)" + LOSS), "operator 'MaxRoiPool' (opset 20) is not supported (its windows are data)"),
    "reshape_data": (model("s = ReduceSum <keepdims = 0> (x) i = Cast <to = 7> (s) ax = Constant <value_ints = [0]> () u = Unsqueeze(i, ax) "
                           "y = Reshape(x, u)" + LOSS), "node 'reshape_4' (Reshape, opset 20): the shape (input 1) depends on data: on 'x'"),
    "tile_batch_twice": (model(S + "b = Gather(s, zero) u = Unsqueeze(b, ax) t = Concat <axis = 0> (u, u) y = Tile(x, t)" + LOSS),
                         "node 'tile_7' (Tile, opset 20): repeats (input 1) must be constant, but depends on the batch"),
    "range_data": (model("s = ReduceSum <keepdims = 0> (x) i = Cast <to = 7> (s) zero = Constant <value_int = 0> () one = Constant <value_int = 1> () "
                         "r = Range(zero, i, one) f = Cast <to = 1> (r) y = Mul(f, s)" + LOSS), "node 'range_4' (Range, opset 20): the limit (input 1) depends on data: on 'x'"),
}

BIG = "b = Constant <value_ints = [1000000, 1000000]> () "
# Neither made nor waited for: each is a few numbers while compiling.
HUGE = {
    "constant_of_shape": BIG + "c = ConstantOfShape(b) r = ReduceMean <keepdims = 0> (c) y = Add(x, r)",
    "expand": BIG + "e = Expand(one, b) r = ReduceMean <keepdims = 0> (e) y = Add(x, r)",
    "range": "k = Constant <value_int = 1000000000000> () o = Constant <value_int = 0> () i = Constant <value_int = 1> () q = Range(o, k, i) "
             "f = Cast <to = 1> (q) r = ReduceMean <keepdims = 0> (f) y = Add(x, r)",
    "tile": "t = Constant <value_ints = [100000000]> () e = Tile(w, t) u = Constant <value_ints = [1000]> () f = Tile(e, u) "
            "r = ReduceMean <keepdims = 0> (f) y = Add(x, r)",
    "chain": BIG + "e = Expand(one, b) " + "".join("e%d = Add(e%s, e%s) " % (i + 1, i or "", i or "") for i in range(40)) +
             "r = ReduceMean <keepdims = 0> (e40) y = Add(x, r)",
    "known_chain": "e = Constant <value_ints = [1]> () k = Constant <value_ints = [16384]> () a = Expand(e, k) " +
                   "".join("a%d = Add(a%s, a%s) " % (i + 1, i or "", i or "") for i in range(400)) +
                   "r = ReduceMax <keepdims = 0> (a400) l = Greater(r, r) y = If (l) <then_branch = g1 () => (v) { v = Exp(x) }, else_branch = g2 () => (v) { v = Neg(x) }>",
}


# A sanitizer reserves terabytes of addresses, and its shadow counts as memory.
SANITIZED = any(name in os.environ for name in ("ASAN_OPTIONS", "TSAN_OPTIONS"))
PEAK_KIB = 1_200_000 if SANITIZED else 300_000


def limit():
    if not SANITIZED:
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))


def huge(folder):
    bad = []
    for name, text in HUGE.items():
        case = model(text + LOSS, weights="<float[4] w = {0.5, -1.0, 2.0, 0.25}, float[1] one = {1}>")
        path = "%s/huge_%s.onnx" % (folder, name)
        onnx.save(case, path)
        started = time.time()
        result = subprocess.run(["zero-import", path, "--loss=output:z", "-o", path[:-5] + ".mlir"], capture_output=True, text=True, preexec_fn=limit)
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        if result.returncode not in (0, 3):
            bad.append("%s: status %d: %s" % (name, result.returncode, result.stderr))
            continue
        if result.returncode == 0:
            result = subprocess.run(["zero-opt", path[:-5] + ".mlir", "--nn-bind-batch=micro-batch=3", "--nn-fold-constants", "-o", path + ".folded"],
                                    capture_output=True, text=True, preexec_fn=limit)
            if result.returncode not in (0, 1):
                bad.append("%s: folding: status %d: %s" % (name, result.returncode, result.stderr))
        if time.time() - started > 60:
            bad.append("%s takes %.0f s" % (name, time.time() - started))
        if peak > PEAK_KIB:
            bad.append("%s needs %d KiB" % (name, peak))
    return bad


def main():
    bad = programs.compare(sys.argv[1], AGREE) + programs.refuse(sys.argv[1], REFUSE) + huge(sys.argv[1])
    if bad:
        sys.exit("\n".join(bad))
    print("%d agree, %d are refused, %d are small" % (len(AGREE), len(REFUSE), len(HUGE)))


main()
