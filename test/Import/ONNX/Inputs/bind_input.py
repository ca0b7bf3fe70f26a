"""bind_input.py FOLDER: models with inputs that --bind-input makes constants, and the values as .npy files."""
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64, INT32, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL
node, info = helper.make_node, helper.make_tensor_value_info


def save(folder, name, nodes, inputs):
    weights = [numpy_helper.from_array(np.arange(12, dtype=np.float32).reshape(4, 3), "w")]
    graph = helper.make_graph(nodes, "g", inputs, [info("z", FLOAT, None)], initializer=weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10),
              os.path.join(folder, name + ".onnx"))


def main():
    folder = sys.argv[1]
    fc = node("MatMul", ["x", "w"], ["h"], name="fc")
    # Sizes that arithmetic reads: int64 and int32.
    save(folder, "shape", [fc, node("Sub", ["shape", "one"], ["less"], name="less"),
                           node("Reshape", ["h", "less"], ["z"], name="view")],
         [info("x", FLOAT, ["n", 4]), info("shape", INT64, ["k"]), info("one", INT64, [])])
    save(folder, "slice", [fc, node("Slice", ["h", "from", "to", "axes"], ["z"], name="cut")],
         [info("x", FLOAT, ["n", 4])] + [info(name, INT32, [1]) for name in ("from", "to", "axes")])
    # Values: a small one, a large one, a mask.
    save(folder, "scale", [fc, node("Mul", ["h", "scale"], ["z"], name="times")],
         [info("x", FLOAT, ["n", 4]), info("scale", FLOAT, [3])])
    save(folder, "large", [node("MatMul", ["x", "table"], ["y"], name="look"), node("MatMul", ["y", "w"], ["z"], name="fc")],
         [info("x", FLOAT, ["n", "width"]), info("table", FLOAT, ["width", 4])])
    sequence = helper.make_tensor_sequence_value_info("parts", FLOAT, [3])
    save(folder, "sequence", [fc, node("SequenceAt", ["parts", "one"], ["part"], name="part"), node("Add", ["h", "part"], ["z"], name="add")],
         [info("x", FLOAT, ["n", 4]), sequence, info("one", INT64, [])])
    save(folder, "mask", [fc, node("Where", ["mask", "h", "h"], ["z"], name="where")],
         [info("x", FLOAT, ["n", 4]), info("mask", BOOL, [3])])
    arrays = {
        "shape": np.array([0, 4, 2]), "one": np.array(1), "float": np.float32(1), "zero": np.array([0], np.int32),
        "two": np.array([2], np.int32), "column": np.array([1], np.int32), "scale": np.array([2, 3, 4], np.float32),
        "four": np.ones(4, np.float32), "table": np.ones((100, 4), np.float32), "wide": np.ones((100, 4), np.float32).T.copy().T,
        "mask": np.array([True, False, True]), "complex": np.ones(3, np.complex64),
    }
    for name, array in arrays.items():
        np.save(os.path.join(folder, name + ".npy"), array)
    # Reshape to (3, 3): one more each than what is wanted, and the shape that says it.
    np.save(os.path.join(folder, "shape.npy"), np.array([0, 4]))
    for name, change in (("cut", lambda b: b[:-1]), ("long", lambda b: b + b"x"), ("magic", lambda b: b"PK" + b[2:]),
                         ("huge", lambda b: b.replace(b"(3,)", b"(9223372036854775807, 4)")[:len(b)]),
                         ("negative", lambda b: b.replace(b"(3,)", b"(-3,)"))):
        with open(os.path.join(folder, "scale.npy"), "rb") as f:
            data = change(f.read())
        with open(os.path.join(folder, name + ".npy"), "wb") as f:
            f.write(data)
    with open(os.path.join(folder, "mask.npy"), "rb") as f:
        data = f.read()
    with open(os.path.join(folder, "two_bool.npy"), "wb") as f:
        f.write(data[:-1] + b"\x02")


main()
