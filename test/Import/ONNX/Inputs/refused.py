"""Models with one mistake each, which zero-import must name: what errors.py and layer_errors.py share."""
import os
import subprocess
import sys

import onnx
from onnx import TensorProto, helper


def check(folder, cases, opset, build):
    """Imports a model for each (message, case): build(case, message) gives its graph, the output and how the name of
    the wrong node begins. It must end with status 3 and one error, which has the message and that name; ends the program with all that differ."""
    os.makedirs(folder, exist_ok=True)
    bad = []
    for index, (message, case) in enumerate(cases):
        g, output, blamed = build(case, message)
        inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 5, 4]),
                  helper.make_tensor_value_info("i", TensorProto.INT64, ["batch", 6])]
        graph = helper.make_graph(g.nodes, "g", inputs, [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)])
        path = os.path.join(folder, "%d.onnx" % index)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10), path)
        result = subprocess.run(["zero-import", path, "--loss=output"], capture_output=True, text=True)
        errors = [line for line in result.stderr.splitlines() if "error: " in line]
        if result.returncode != 3 or len(errors) != 1 or message not in errors[0] or "node '%s" % blamed not in errors[0]:
            bad.append("case %d: status %d, wanted '%s', got: %s" % (index, result.returncode, message, result.stderr))
    if bad:
        sys.exit("\n".join(bad))
    print("%d mistakes are named" % len(cases))
