"""batch_norm.py MODEL.onnx MODE: a convolution and a batch normalization, as exporters write them.

MODE 0: with running statistics, 1: with those of the batch, 9: the same in operator set 9, with saved statistics as outputs, 2: as 0, but
noted as a call in training mode, which the torch.export-based exporter writes so, 3: noted as one in evaluation mode.
"""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

path, mode = sys.argv[1], int(sys.argv[2])
outputs, attributes = {0: (["z"], {}), 2: (["z"], {}), 3: (["z"], {}), 1: (["z", "m", "v"], {"training_mode": 1}), 9: (["z", "m", "v", "sm", "sv"], {})}[mode]
weights = {"w": np.ones((4, 1, 3, 3)), "scale": np.ones(4), "bias": np.zeros(4), "running_mean": np.zeros(4), "running_var": np.ones(4),
           "scales": np.array([1, 1, 2, 2])}
nodes = [helper.make_node("Conv", ["x", "w"], ["c"], name="conv"),
         helper.make_node("BatchNormalization", ["c", "scale", "bias", "running_mean", "running_var"],
                          outputs, name="norm", **attributes),
         helper.make_node("Upsample", ["z", "scales"], ["y"], name="resize") if mode == 9 else
         helper.make_node("Resize", ["z", "", "scales"], ["y"], name="resize")]
if mode in (2, 3):
    call = f"call_function[target=torch.ops.aten._native_batch_norm_legit_functional.default](args = (%c, %p_scale, %p_bias, %b_m, %b_v, {mode == 2}, 0.1, 1e-05), kwargs = {{}})"
    nodes[1].metadata_props.add(key="pkg.torch.onnx.fx_node", value="%norm : [num_users=3] = " + call)
graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 1, 6, 6])],
                          [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 4, 8, 8])],
                          [numpy_helper.from_array(a.astype(np.float32), n) for n, a in weights.items()])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 9 if mode == 9 else 17)], ir_version=8), path)
