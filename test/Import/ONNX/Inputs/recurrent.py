"""Compares LSTM, GRU and RNN with their equations, written out in numpy.

recurrent.py KIND FOLDER [--onnxruntime]: for each case imports a model of one node with a symbolic batch, binds it, and
compares all outputs, run by the reference interpreter. With --onnxruntime the equations are compared with onnxruntime too.
"""
import os
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

STEPS, BATCH, INPUTS, HIDDEN = 5, 3, 4, 6
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
DEFAULTS = {"LSTM": ["Sigmoid", "Tanh", "Tanh"], "GRU": ["Sigmoid", "Tanh"], "RNN": ["Tanh"]}
sigmoid = lambda x: 1 / (1 + np.exp(-x))
ACTIVATIONS = {
    "Sigmoid": lambda x, a, b: sigmoid(x),
    "Tanh": lambda x, a, b: np.tanh(x),
    "Relu": lambda x, a, b: np.maximum(x, 0),
    "Affine": lambda x, a, b: a * x + b,
    "LeakyRelu": lambda x, a, b: np.where(x >= 0, x, a * x),
    "ThresholdedRelu": lambda x, a, b: np.where(x >= a, x, 0),
    "ScaledTanh": lambda x, a, b: a * np.tanh(b * x),
    "HardSigmoid": lambda x, a, b: np.clip(a * x + b, 0, 1),
    "Elu": lambda x, a, b: np.where(x >= 0, x, a * (np.exp(np.minimum(x, 0)) - 1)),
    "Softsign": lambda x, a, b: x / (1 + np.abs(x)),
    "Softplus": lambda x, a, b: np.log1p(np.exp(-np.abs(x))) + np.maximum(x, 0),
}
DEFAULT_NUMBERS = {"LeakyRelu": (0.01, 0), "ThresholdedRelu": (1, 0), "HardSigmoid": (0.2, 0.5), "Elu": (1, 0)}
TAKES_ALPHA = ["Affine", "LeakyRelu", "ThresholdedRelu", "ScaledTanh", "HardSigmoid", "Elu"]
TAKES_BETA = ["Affine", "ScaledTanh", "HardSigmoid"]


def activations(kind, directions, attributes):
    names = attributes.get("activations", DEFAULTS[kind] * directions)
    alphas, betas = list(attributes.get("activation_alpha", [])), list(attributes.get("activation_beta", []))
    result = []
    for name in names:
        a, b = DEFAULT_NUMBERS.get(name, (0, 0))
        if name in TAKES_ALPHA and alphas:
            a = alphas.pop(0)
        if name in TAKES_BETA and betas:
            b = betas.pop(0)
        result.append(lambda x, name=name, a=a, b=b: ACTIVATIONS[name](x, a, b))
    return result


def reference(kind, data, attributes):
    """The equations of the operator's text, in float64."""
    data = {name: array.astype(np.float64) if array.dtype == np.float32 else array for name, array in data.items()}
    direction = attributes.get("direction", "forward")
    directions = 2 if direction == "bidirectional" else 1
    turned = attributes.get("layout", 0) == 1
    x = data["X"].swapaxes(0, 1) if turned else data["X"]
    lens = data.get("sequence_lens", np.full(BATCH, STEPS))
    clip = attributes.get("clip", np.inf)
    clipped = lambda v: np.clip(v, -clip, clip)
    every = activations(kind, directions, attributes)
    count, h_size = len(DEFAULTS[kind]), HIDDEN
    y = np.zeros((STEPS, directions, BATCH, h_size))
    y_h, y_c = np.zeros((directions, BATCH, h_size)), np.zeros((directions, BATCH, h_size))
    for d in range(directions):
        acts = [lambda v, act=act: act(clipped(v)) for act in every[d * count:(d + 1) * count]]
        w, r = data["W"][d], data["R"][d]
        gates = GATES[kind]
        wb, rb = np.split(data["B"][d], 2) if "B" in data else (np.zeros(gates * h_size),) * 2
        parts = lambda m: np.split(m, gates)
        for n in range(BATCH):
            def initial(name):
                if name not in data:
                    return np.zeros(h_size)
                return data[name][n, d] if turned else data[name][d, n]
            h, c = initial("initial_h"), initial("initial_c")
            order = range(lens[n]) if direction == "forward" or (directions == 2 and d == 0) else reversed(range(lens[n]))
            for t in order:
                v = x[t, n]
                if kind == "RNN":
                    h = acts[0](w @ v + r @ h + wb + rb)
                elif kind == "LSTM":
                    i, o, f, g = np.split(w @ v + r @ h + wb + rb, 4)
                    pi, po, pf = np.split(data["P"][d], 3) if "P" in data else (0, 0, 0)
                    i = acts[0](i + pi * c)
                    f = 1 - i if attributes.get("input_forget", 0) else acts[0](f + pf * c)
                    c = f * c + i * acts[1](g)
                    h = acts[0](o + po * c) * acts[2](c)
                else:
                    (wz, wr, wh), (rz, rr, rh) = parts(w), parts(r)
                    (bz, br, bh), (cz, cr, ch) = parts(wb), parts(rb)
                    z = acts[0](wz @ v + rz @ h + bz + cz)
                    reset = acts[0](wr @ v + rr @ h + br + cr)
                    if attributes.get("linear_before_reset", 0):
                        new = acts[1](wh @ v + reset * (rh @ h + ch) + bh)
                    else:
                        new = acts[1](wh @ v + rh @ (reset * h) + bh + ch)
                    h = (1 - z) * new + z * h
                y[t, d, n] = h
            y_h[d, n], y_c[d, n] = h, c
    if turned:
        y, y_h, y_c = y.transpose(2, 0, 1, 3), y_h.swapaxes(0, 1), y_c.swapaxes(0, 1)
    return [y, y_h, y_c] if kind == "LSTM" else [y, y_h]


def cases(kind):
    """(name, inputs beside X, W and R, attributes)."""
    both = dict(direction="bidirectional")
    yield "plain", [], {}
    yield "bias", ["B"], {}
    yield "reverse", ["B", "initial_h"], dict(direction="reverse")
    yield "two ways", ["B", "initial_h"], both
    yield "batch first", ["B", "initial_h"], dict(both, layout=1)
    yield "lengths", ["B", "sequence_lens"], {}
    yield "lengths reverse", ["B", "sequence_lens", "initial_h"], dict(direction="reverse")
    yield "lengths two ways", ["B", "sequence_lens"], dict(both, layout=1)
    yield "constant lengths", ["B", "constant_lens"], both
    yield "clip", ["B"], dict(clip=0.25)
    count = len(DEFAULTS[kind])
    for index, name in enumerate(sorted(ACTIVATIONS)):
        attributes = dict(activations=(DEFAULTS[kind] if index % 2 else [name] * count)[:count - 1] + [name])
        yield "last " + name, ["B"], dict(attributes, activation_alpha=[0.375] * count, activation_beta=[0.625] * count)
        if name not in ("Affine", "ScaledTanh"):
            yield "default " + name, ["B"], dict(activations=[name] * count)
    yield "numbers of two ways", ["B"], dict(both, activations=(["HardSigmoid", "LeakyRelu", "Tanh"] * 2)[:2 * count],
                                            activation_alpha=[0.25, 0.5, 0.125, 0.75], activation_beta=[0.5, 0.25])
    if kind == "GRU":
        for inputs in ([], ["B"], ["B", "initial_h", "sequence_lens"]):
            yield "linear before reset %d" % len(inputs), inputs, dict(both, linear_before_reset=1)
    if kind == "LSTM":
        yield "cell", ["B", "initial_h", "initial_c"], both
        yield "cell only", ["initial_c"], {}
        yield "peepholes", ["B", "P"], {}
        yield "all", ["B", "sequence_lens", "initial_h", "initial_c", "P"], dict(both, layout=1, clip=0.75)
        yield "input forget", ["B", "P"], dict(input_forget=1)


def run(*command):
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        sys.exit("%s\nfailed: %s" % (" ".join(command), result.stderr))
    return result.stdout


def build(kind, inputs, attributes, random):
    directions = 2 if attributes.get("direction") == "bidirectional" else 1
    turned = attributes.get("layout", 0) == 1
    gates = GATES[kind]
    normal = lambda *shape: random.standard_normal(shape).astype(np.float32) * np.float32(0.3)
    state = lambda: normal(BATCH, directions, HIDDEN) if turned else normal(directions, BATCH, HIDDEN)
    data = {"X": normal(BATCH, STEPS, INPUTS) if turned else normal(STEPS, BATCH, INPUTS),
            "W": normal(directions, gates * HIDDEN, INPUTS), "R": normal(directions, gates * HIDDEN, HIDDEN)}
    for name in inputs:
        data[name.replace("constant", "sequence")] = {
            "B": lambda: normal(directions, 2 * gates * HIDDEN), "P": lambda: normal(directions, 3 * HIDDEN),
            "initial_h": state, "initial_c": state, "sequence_lens": lambda: np.array([5, 2, 3], np.int32),
            "constant_lens": lambda: np.array([4, 5, 0], np.int32)}[name]()
    return data


def main():
    kind, folder = sys.argv[1], sys.argv[2]
    os.makedirs(folder, exist_ok=True)
    path = lambda name: os.path.join(folder, name)
    bad, total = [], 0
    for number, (name, inputs, attributes) in enumerate(cases(kind)):
        data = build(kind, inputs, attributes, np.random.default_rng(number))
        expected = reference(kind, data, attributes)
        turned = attributes.get("layout", 0) == 1
        # X and states come with the batch in front, as inputs do; a transpose brings them where the operator wants them.
        nodes, graph_inputs, files, weights = [], [], [], []
        for key, array in data.items():
            if key in ("W", "R", "B", "P") or (key == "sequence_lens" and "constant_lens" in inputs):
                weights.append(numpy_helper.from_array(array, key))
                continue
            outer = array if turned or array.ndim == 1 else array.swapaxes(0, 1)
            inner = key
            if outer is not array:
                inner = key + "_in"
                nodes.append(helper.make_node("Transpose", [inner], [key], name=key, perm=[1, 0, 2]))
            outer = np.ascontiguousarray(outer)
            graph_inputs.append(helper.make_tensor_value_info(inner, helper.np_dtype_to_tensor_dtype(outer.dtype),
                                                              ["batch"] + list(outer.shape[1:])))
            outer.tofile(path(inner + ".bin"))
            files.append((inner, outer))
        order = ["X", "W", "R", "B", "sequence_lens", "initial_h", "initial_c", "P"]
        names = [key if key in data else "" for key in order[:8 if kind == "LSTM" else 6]]
        while not names[-1]:
            names.pop()
        outputs = ["Y", "Y_h", "Y_c"][:len(expected)]
        nodes.append(helper.make_node(kind, names, outputs, name="cell", hidden_size=HIDDEN, **attributes))
        nodes.append(helper.make_node("Concat", [o + "_flat" for o in outputs], ["all"], name="all", axis=0))
        for output in outputs:
            nodes.insert(-1, helper.make_node("Reshape", [output, "flat"], [output + "_flat"], name=output))
        nodes.append(helper.make_node("ReduceSum", ["all"], ["loss"], name="loss", keepdims=0))
        weights.append(numpy_helper.from_array(np.array([-1]), "flat"))
        graph = helper.make_graph(nodes, kind, graph_inputs, [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])],
                                  initializer=weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22 if number % 2 else 14)], ir_version=10)
        onnx.checker.check_model(model)
        onnx.save(model, path("model.onnx"))
        if "--onnxruntime" in sys.argv:
            import onnxruntime
            graph.output[0].CopyFrom(helper.make_tensor_value_info("all", TensorProto.FLOAT, [None]))
            model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=10)
            try:
                values = onnxruntime.InferenceSession(model.SerializeToString()).run(["all"], dict(files))[0]
                error = np.abs(values - np.concatenate([e.ravel() for e in expected])).max()
                print("onnxruntime: %s: error %.2g" % (name, error))
            except Exception as problem:
                print("onnxruntime: %s: %s" % (name, str(problem)[:150]))
        run("zero-import", path("model.onnx"), "--loss=output", "-o", path("model.mlir"))
        run("zero-opt", path("model.mlir"), "--nn-bind-batch=micro-batch=%d" % BATCH, "--mlir-print-debuginfo", "-o",
            path("bound.mlir"))
        lines = run("nn-forward", path("bound.mlir"), *["%s=%s" % (n, path(n + ".bin")) for n, _ in files], "@all").splitlines()
        values = np.array([float(v) for v in lines[2].split("[")[1].rstrip("]").split(",")])
        want = np.concatenate([e.ravel() for e in expected])
        error = np.abs(values - want).max() if values.shape == want.shape else np.inf
        if not error < 2e-6 * (1 + np.abs(want).max()):
            bad.append("%s: error %.3g" % (name, error))
        total += 1
    if bad:
        sys.exit("\n".join(bad))
    print("%s: %d cases agree" % (kind, total))


if __name__ == "__main__":
    main()
