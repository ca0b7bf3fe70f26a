"""domains.py FOLDER: operators of other domains: those that are the standard ones, and others, refused by name."""
import os
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

# (domain, operator, what the module then holds or the refusal)
CASES = [
    ("com.microsoft", "Gelu", "nn.gelu"),
    ("com.microsoft", "Trilu", "nn.select"),
    ("ai.onnx", "Gelu", "nn.gelu"),
    ("com.microsoft", "FastGelu", "operator 'com.microsoft.FastGelu' (opset 1) is not supported, used by 1 node: 'it'"),
    ("com.microsoft", "SkipLayerNormalization", "operator 'com.microsoft.SkipLayerNormalization' (opset 1) is not supported"),
    ("pkg.onnxscript.torch_lib", "aten_roll", "operator 'pkg.onnxscript.torch_lib.aten_roll' (opset 1) is not supported"),
    ("ai.onnx.ml", "Scaler", "operator 'ai.onnx.ml.Scaler' (opset 1) is not supported"),
]


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for domain, name, expected in CASES:
        nodes = [helper.make_node("Mul", ["x", "w"], ["y"], name="scale"), helper.make_node(name, ["y"], ["z"], name="it", domain=domain)]
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3, 3])],
                                  [helper.make_tensor_value_info("z", TensorProto.FLOAT, None)],
                                  initializer=[numpy_helper.from_array(np.ones(3, np.float32), "w")])
        imports = [helper.make_opsetid("", 20)] + [helper.make_opsetid(domain, 1)] * (domain != "ai.onnx")
        path = os.path.join(folder, name + ".onnx")
        onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=9), path)
        result = subprocess.run(["zero-import", path, "--loss=mse", "--labels=t"], capture_output=True, text=True)
        refused = expected.startswith("operator")
        if result.returncode != (3 if refused else 0) or expected not in (result.stderr if refused else result.stdout):
            sys.exit("%s.%s: status %d, wanted %s, got %s" % (domain, name, result.returncode, expected, result.stdout + result.stderr))
    print("%d operators are what they should be" % len(CASES))


main()
