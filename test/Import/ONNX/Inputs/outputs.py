"""outputs.py NAME FILE.onnx: models with several outputs, for the tests of graph outputs."""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from models import FLOAT, INT64, array, info, model, node, tensor


def several():
    """Logits for the loss; beside them what can be had and what cannot."""
    nodes = [node("Gemm", ["x", "w", "b"], ["z"], name="fc"),
             node("Softmax", ["z"], ["p"], name="probabilities"),
             node("Unique", ["z"], ["values"], name="distinct"),
             node("Neg", ["values"], ["late"], name="behind"),
             node("Reshape", ["x", "wanted"], ["moved"], name="move"),
             node("MatMul", ["x", "extra"], ["side"], name="aside"),
             node("SplitToSequence", ["z"], ["pieces"], name="split", axis=1)]
    outputs = [info("p", FLOAT, ["n", 3]), info("z", FLOAT, ["n", 3]), info("late", FLOAT, [None]),
               info("moved", FLOAT, [None, None]), info("side", FLOAT, ["n", 2]), info("x", FLOAT, ["n", 4]),
               info("extra", FLOAT, [4, 2]), info("z", FLOAT, ["n", 3]),
               helper.make_tensor_sequence_value_info("pieces", FLOAT, None)]
    return model(nodes, [info("x", FLOAT, ["n", 4]), info("wanted", INT64, ["n", 1])], outputs,
                 [tensor(array(4, 3), "w"), tensor(array(3), "b"), tensor(array(4, 2), "extra")])


def plain():
    """Nothing is symbolic: a 0-d input, static first dimensions, no elements; an input and an initializer are outputs; types."""
    nodes = [node("Mul", ["x", "s"], ["y"], name="scale"), node("Identity", ["s"], ["t"], name="same"),
             node("Greater", ["x", "s"], ["big"], name="big"), node("Identity", ["h"], ["half"], name="half"),
             node("Identity", ["b"], ["brain"], name="brain"),
             node("Cast", ["x"], ["whole"], name="whole", to=TensorProto.INT16), node("Neg", ["nothing"], ["none"], name="none")]
    outputs = [info("y", FLOAT, [2, 3]), info("t", FLOAT, []), info("big", TensorProto.BOOL, [2, 3]),
               info("half", TensorProto.FLOAT16, [3]), info("brain", TensorProto.BFLOAT16, [3]),
               info("whole", TensorProto.INT16, [2, 3]), info("none", FLOAT, [0, 4]), info("x", FLOAT, [2, 3]),
               info("w", FLOAT, [2])]
    inputs = [info("x", FLOAT, [2, 3]), info("s", FLOAT, []), info("nothing", FLOAT, [0, 4]), info("h", TensorProto.FLOAT16, [3]),
              info("b", TensorProto.BFLOAT16, [3])]
    return model(nodes, inputs, outputs,
                 [tensor(np.float32([5, 7]), "w")])


def mixed():
    """A batch, an input that is the same for all samples, and outputs of every kind: rows of samples, a sum over them."""
    nodes = [node("Add", ["x", "table"], ["y"], name="add"), node("ReduceSum", ["y"], ["total"], name="sum", keepdims=0),
             node("Reshape", ["y", "flat"], ["rows"], name="flatten"), node("Neg", ["table"], ["minus"], name="minus")]
    outputs = [info("y", FLOAT, ["n", 2, 3]), info("total", FLOAT, []), info("rows", FLOAT, [None, 3]), info("minus", FLOAT, [2, 3])]
    return model(nodes, [info("x", FLOAT, ["n", 2, 3]), info("table", FLOAT, [2, 3])], outputs,
                 [tensor(np.int64([-1, 3]), "flat")])


def constant():
    """No input at all."""
    return model([node("Neg", ["w"], ["y"], name="minus")], [], [info("y", FLOAT, [3])], [tensor(array(3), "w")])


def none():
    return model([node("Neg", ["x"], ["y"], name="minus")], [info("x", FLOAT, [3])], [], [])


if __name__ == "__main__":
    onnx.save(globals()[sys.argv[1]](), sys.argv[2])
