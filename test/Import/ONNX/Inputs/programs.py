"""Models in ONNX's text form for the scripts beside this file: imported, bound, run, and compared with onnx's own evaluator."""
import os
import subprocess

import numpy as np
import onnx
from onnx import parser
from onnx.reference import ReferenceEvaluator

X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
W = "<float[4] w = {0.5, -1.0, 2.0, 0.25}>"


def model(nodes, functions="", opset=20, ir=10, imports="", declared="float[n, 4] x", weights=W, initializers=()):
    """One model: input x, weight w, output z of one element."""
    text = '<ir_version: %d, opset_import: ["" : %d%s]>\ng (%s) => (float z) %s {\n%s\n}\n%s' % (
        ir, opset, imports, declared, weights, nodes, functions)
    parsed = parser.parse_model(text)
    # The text form names no nodes.
    for index, node in enumerate(parsed.graph.node):
        node.name = node.name or "%s_%d" % (node.op_type.lower(), index)
    parsed.graph.initializer.extend(initializers)
    return parsed


def zero_import(path, *flags):
    return subprocess.run(["zero-import", path, "--loss=output:z", "-o", path[:-5] + ".mlir", *flags], capture_output=True, text=True)


def run(path):
    """The loss of the imported module on X, batch 3, before and after folding."""
    X.tofile(path + ".x.bin")
    values = []
    for passes in ([], ["--nn-fold-constants", "--nn-verify-import"]):
        bound = path + ".bound.mlir"
        subprocess.run(["zero-opt", path[:-5] + ".mlir", "--nn-bind-batch=micro-batch=3", *passes, "-o", bound], check=True)
        lines = subprocess.run(["nn-forward", bound, "x=" + path + ".x.bin"], check=True, capture_output=True, text=True).stdout
        values.append(float(lines.splitlines()[0].split("[")[1].rstrip("]")))
    return values


def compare(folder, cases):
    """cases: name -> model, or (model, its value where onnx's evaluator has none). Returns what is wrong."""
    os.makedirs(folder, exist_ok=True)
    bad = []
    for name, case in cases.items():
        path = os.path.join(folder, name + ".onnx")
        case, want = case if isinstance(case, tuple) else (case, None)
        onnx.save(case, path)
        if want is None:
            want = float(ReferenceEvaluator(case).run(None, {"x": X})[0].reshape(()))
        result = zero_import(path)
        if result.returncode:
            bad.append("%s: %s" % (name, result.stderr))
            continue
        got = run(path)
        if not np.allclose(got, want, rtol=1e-5, atol=1e-6):
            bad.append("%s: %s, not %s" % (name, got, want))
    return bad


def refuse(folder, cases):
    """cases: name -> (model, what the only error must contain[, flags]). Returns what is wrong."""
    os.makedirs(folder, exist_ok=True)
    bad = []
    for name, (case, message, *flags) in cases.items():
        path = os.path.join(folder, name + ".onnx")
        onnx.save(case, path)
        result = zero_import(path, *flags)
        lines = [line for line in result.stderr.splitlines() if "error: " in line or "note: " in line]
        errors = [line for line in lines if "error: " in line]
        if result.returncode != 3 or len(errors) != 1 or not any(message in line for line in lines):
            bad.append("%s: status %d, wanted '%s', got: %s" % (name, result.returncode, message, result.stderr))
    return bad
