"""Small models of the kinds that are trained, for the scripts that mutate and fuzz."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

import programs

node, info = helper.make_node, helper.make_tensor_value_info


def build(nodes, x, z, weights):
    """weights: name -> shape."""
    random = np.random.default_rng(3)
    tensors = [numpy_helper.from_array(random.standard_normal(shape).astype(np.float32), name) for name, shape in weights.items()]
    for index, each in enumerate(nodes):
        each.name = "%s_%d" % (each.op_type.lower(), index)
    graph = helper.make_graph(nodes, "g", [info("x", TensorProto.FLOAT, x)], [info("z", TensorProto.FLOAT, z)], initializer=tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


MODELS = {
    "mlp": build([node("Gemm", ["x", "w1", "b1"], ["h"], transB=1), node("Relu", ["h"], ["r"]), node("Gemm", ["r", "w2", "b2"], ["z"], transB=1)],
                 ["n", 4], ["n", 3], {"w1": (5, 4), "b1": (5,), "w2": (3, 5), "b2": (3,)}),
    "norm": build([node("LayerNormalization", ["x", "s", "b"], ["h"], axis=-1), node("Gelu", ["h"], ["g"]), node("MatMul", ["g", "w"], ["z"])],
                  ["n", 5, 4], ["n", 5, 3], {"s": (4,), "b": (4,), "w": (4, 3)}),
    "cnn": build([node("Conv", ["x", "k", "b"], ["c"], pads=[1, 1, 1, 1]), node("Relu", ["c"], ["r"]), node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2]),
                  node("Flatten", ["p"], ["f"]), node("Gemm", ["f", "w"], ["z"])],
                 ["n", 1, 4, 4], ["n", 3], {"k": (2, 1, 3, 3), "b": (2,), "w": (18, 3)}),
    # The shape arithmetic of exporters, with a batch.
    "attention": programs.model(
        "s = Shape(x) zero = Constant <value_int = 0> () b = Gather(s, zero) one = Constant <value_ints = [0]> () bu = Unsqueeze(b, one) "
        "rest = Constant <value_ints = [2, 2]> () to = Concat <axis = 0> (bu, rest) q = Reshape(x, to) k = Transpose <perm = [0, 2, 1]> (q) "
        "a = MatMul(q, k) p = Softmax <axis = -1> (a) y = MatMul(p, q) back = Constant <value_ints = [-1, 4]> () f = Reshape(y, back) "
        "m = Mul(f, w) z = ReduceSum <keepdims = 0> (m)"),
    "mask": programs.model(
        "s = Shape(x) i = Constant <value_int = 1> () t = Gather(s, i) nil = Constant <value_int = 0> () r = Range(nil, t, i) "
        "ax = Constant <value_ints = [1]> () c = Unsqueeze(r, ax) le = LessOrEqual(r, c) f = Cast <to = 1> (le) y = MatMul(x, f) "
        "m = Mul(y, w) z = ReduceSum <keepdims = 0> (m)"),
    "expand": programs.model(
        "s = Shape(x) minus = Constant <value_ints = [-1]> () eq = Equal(s, minus) one = Constant <value_ints = [1, 1]> () "
        "to = Where(eq, one, s) e = Expand(w, to) y = Mul(e, x) z = ReduceSum <keepdims = 0> (y)"),
}
