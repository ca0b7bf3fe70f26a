"""divisor.py MODEL.onnx: an average pooling whose exporter noted another divisor than the window of 4."""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

pool = helper.make_node("AveragePool", ["c"], ["y"], name="pool", kernel_shape=[2, 2], strides=[2, 2])
pool.metadata_props.add(key="pkg.torch.onnx.fx_node",
                        value="%pool : [num_users=1] = call_function[target=torch.ops.aten.avg_pool2d.default](args = (%c, [2, 2], [2, 2], [0, 0], False, True, 3), kwargs = {})")
graph = helper.make_graph([helper.make_node("Conv", ["x", "w"], ["c"], name="conv"), pool], "g",
                          [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 1, 6, 6])],
                          [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 4, 2, 2])],
                          [numpy_helper.from_array(np.ones((4, 1, 3, 3), np.float32), "w")])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), sys.argv[1])
