"""models.py NAME FILE.onnx: small models for the importer's tests."""
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
node, tensor, info = helper.make_node, numpy_helper.from_array, helper.make_tensor_value_info


def array(*shape):
    return np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)


def model(nodes, inputs, outputs, weights, opset=20, ir_version=10, **extra):
    graph = helper.make_graph(nodes, "g", inputs, outputs, initializer=weights, **extra)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir_version)


def linear(batch="batch", classes=3, weights=None, **kind):
    """x W + b"""
    weights = weights or [tensor(array(4, classes), "w"), tensor(array(classes), "b")]
    return model([node("Gemm", ["x", "w", "b"], ["z"], name="fc")], [info("x", FLOAT, [batch, 4])],
                 [info("z", FLOAT, [batch, classes])], weights, **kind)


def fixed():
    return linear(batch=12)


def dims():
    """A sequence dimension that has only a name."""
    return model([node("MatMul", ["x", "w"], ["z"], name="fc")], [info("x", FLOAT, ["n", "sequence", 4])],
                 [info("z", FLOAT, ["n", "sequence", 3])], [tensor(array(4, 3), "w")])


def unnamed():
    return model([node("MatMul", ["x", "w"], ["z"], name="fc")], [info("x", FLOAT, ["n", None, 4])],
                 [info("z", FLOAT, ["n", None, 3])], [tensor(array(4, 3), "w")])


def backwards():
    return model([node("Relu", ["h"], ["z"], name="late"), node("Gemm", ["x", "w"], ["h"], name="fc")], [info("x", FLOAT, ["n", 4])],
                 [info("z", FLOAT, ["n", 3])], [tensor(array(4, 3), "w")])


def scalar_input():
    return model([node("Mul", ["x", "w"], ["z"], name="scale")], [info("x", FLOAT, [])], [info("z", FLOAT, [4])],
                 [tensor(array(4), "w")])


def classes_first():
    """Classes in dimension 1, labels declared as an input."""
    return model([node("MatMul", ["w", "x"], ["z"], name="fc"), node("Identity", ["y"], ["unused"], name="keep")],
                 [info("x", FLOAT, ["n", 4, 5]), info("y", INT64, ["n", 5])],
                 [info("z", FLOAT, ["n", 3, 5]), info("unused", INT64, ["n", 5])], [tensor(array(3, 4), "w")])


def square_classes():
    """As many classes as positions: the shape alone does not say which is which."""
    return model([node("MatMul", ["x", "w"], ["z"], name="fc")], [info("x", FLOAT, ["n", 3, 4])],
                 [info("z", FLOAT, ["n", 3, 3])], [tensor(array(4, 3), "w")])


def two_outputs():
    return model([node("Gemm", ["x", "w"], ["z"], name="fc"), node("Relu", ["z"], ["h"], name="act")],
                 [info("x", FLOAT, ["n", 4])], [info("z", FLOAT, ["n", 3]), info("h", FLOAT, ["n", 3])],
                 [tensor(array(4, 3), "w")])


def computed_loss():
    return model([node("Gemm", ["x", "w"], ["z"], name="fc"), node("ReduceMean", ["z"], ["loss"], name="mean", keepdims=0)],
                 [info("x", FLOAT, ["n", 4])], [info("loss", FLOAT, [])], [tensor(array(4, 3), "w")])


def unsupported():
    """Two operators that nothing imports, one of them twice, one in another domain, one of an unknown version; and one
    that the loss does not need."""
    nodes = [node("Gemm", ["x", "w"], ["z0"], name="fc"),
             node("Det", ["z0"], ["z1"], name="first"), node("Det", ["z1"], ["z2"], name="second"),
             node("FusedThing", ["z2"], ["z3"], name="fused", domain="com.example"),
             node("LayerNormalization", ["z3", "w"], ["z"], name="norm"),
             node("NonZero", ["x"], ["other"], name="not_needed")]
    result = model(nodes, [info("x", FLOAT, ["n", 4])], [info("z", FLOAT, ["n", 3]), info("other", INT64, [2, "k"])],
                   [tensor(array(4, 3), "w")], opset=16)
    result.opset_import.append(helper.make_opsetid("com.example", 3))
    return result


def declared_shape():
    result = linear()
    result.graph.output[0].type.tensor_type.shape.dim[1].dim_value = 7
    return result


def declared_rank():
    result = linear()
    result.graph.output[0].type.tensor_type.shape.dim.add().dim_value = 3
    return result


def declared_type():
    result = linear()
    result.graph.output[0].type.tensor_type.elem_type = TensorProto.DOUBLE
    return result


def mismatch():
    return model([node("Gemm", ["x", "w"], ["z"], name="fc")], [info("x", FLOAT, ["n", 5])], [info("z", FLOAT, ["n", 3])],
                 [tensor(array(4, 3), "w")])


def undefined():
    return model([node("Gemm", ["x", "missing"], ["z"], name="fc")], [info("x", FLOAT, ["n", 4])],
                 [info("z", FLOAT, ["n", 3])], [tensor(array(4, 3), "w")])


def twice():
    return model([node("Gemm", ["x", "w"], ["z"], name="fc")], [info("x", FLOAT, ["n", 4])], [info("z", FLOAT, ["n", 3])],
                 [tensor(array(4, 3), "w"), tensor(array(4, 3), "w")])


def no_output():
    return model([node("Gemm", ["x", "w"], ["z"], name="fc")], [info("x", FLOAT, ["n", 4])], [], [tensor(array(4, 3), "w")])


def exclusions(marked=False):
    """One initializer for each reason not to train it."""
    names = ["w", "scale", "frozen.bias", "unused", "inv_freq", "ids"]
    weights = [tensor(array(4, 4), "w"), tensor(np.float32(2), "scale"), tensor(array(4), "frozen.bias"),
               tensor(array(4), "unused"), tensor(array(4), "inv_freq"), tensor(np.arange(300), "ids")]
    nodes = [node("Constant", [], ["positions"], name="positions", value=tensor(array(1, 4))),
             node("Mul", ["inv_freq", "positions"], ["angles"], name="angles"), node("Cos", ["angles"], ["cos"], name="cos"),
             node("Gemm", ["x", "w", "frozen.bias"], ["h"], name="fc"), node("Mul", ["h", "scale"], ["s"], name="scaled"),
             node("Constant", [], ["zero"], name="zero", value_ints=[0]), node("Gather", ["ids", "zero"], ["id"], name="id"),
             node("Cast", ["id"], ["idf"], name="idf", to=FLOAT), node("Add", ["s", "idf"], ["t"], name="shift"),
             node("Mul", ["t", "cos"], ["z"], name="rotate")]
    result = model(nodes, [info("x", FLOAT, ["n", 4])], [info("z", FLOAT, ["n", 4])], weights)
    if marked:
        for name in names[:3]:
            value = result.graph.value_info.add()
            value.CopyFrom(info(name, FLOAT, [4, 4] if name == "w" else [4] if name != "scale" else []))
            mark = value.metadata_props.add()
            mark.key = "pkg.torch.export.graph_signature.InputSpec.kind"
            mark.value = "BUFFER" if name == "frozen.bias" else "PARAMETER"
    return result


def recurrent_marked():
    """An exporter that marks parameters and computed the weights of an LSTM from them."""
    nodes = [node("Transpose", ["x"], ["t"], name="turn", perm=[1, 0, 2]),
             node("LSTM", ["t", "val_1", "val_2", "val_3", "", "val_4"], ["", "h"], name="lstm", hidden_size=2),
             node("Squeeze", ["h", "axes"], ["s"], name="last"), node("MatMul", ["s", "fc"], ["z"], name="head")]
    weights = [tensor(array(1, 8, 4), "val_1"), tensor(array(1, 8, 2), "val_2"), tensor(array(1, 16), "val_3"),
               tensor(array(1, 1, 2), "val_4"), tensor(array(2, 3), "fc"), tensor(np.array([0]), "axes")]
    result = model(nodes, [info("x", FLOAT, ["n", 5, 4])], [info("z", FLOAT, ["n", 3])], weights)
    value = result.graph.value_info.add()
    value.CopyFrom(info("fc", FLOAT, [2, 3]))
    mark = value.metadata_props.add()
    mark.key, mark.value = "pkg.torch.export.graph_signature.InputSpec.kind", "PARAMETER"
    return result


def exclusions_marked():
    return exclusions(marked=True)


def sine_layer():
    """A layer under a sine is trained: it reads an input."""
    return model([node("MatMul", ["x", "w"], ["h"], name="fc"), node("Sin", ["h"], ["z"], name="sin")],
                 [info("x", FLOAT, ["n", 4])], [info("z", FLOAT, ["n", 3])], [tensor(array(4, 3), "w")])


def typed():
    """Weights that are stored as numbers."""
    w = helper.make_tensor("w", FLOAT, [4, 3], array(4, 3).flatten().tolist())
    b = helper.make_tensor("b", FLOAT, [3], [0.5, 1.5, 2.5])
    return linear(weights=[w, b])


def wrong_size():
    w = tensor(array(4, 3), "w")
    w.raw_data = w.raw_data[:-4]
    return linear(weights=[w, tensor(array(3), "b")])


def external(location="weights.bin", offset=16, length=48):
    w = tensor(array(4, 3), "w")
    w.ClearField("raw_data")
    w.data_location = TensorProto.EXTERNAL
    for key, value in [("location", location), ("offset", str(offset)), ("length", str(length))]:
        entry = w.external_data.add()
        entry.key, entry.value = key, value
    return linear(weights=[w, tensor(array(3), "b")])


def external_outside():
    return external(location="../weights.bin")


def external_short():
    return external(offset=40)


def external_unaligned():
    """An offset of 3 bytes; b has no length and begins inside w."""
    result = external(offset=3)
    b = result.graph.initializer[1]
    b.ClearField("raw_data")
    b.data_location = TensorProto.EXTERNAL
    for key, value in [("location", "weights.bin"), ("offset", "11")]:
        entry = b.external_data.add()
        entry.key, entry.value = key, value
    return result


def external_far():
    """Beyond 4 GiB."""
    return external(offset=5 * 2**30 + 1, location="far.bin")


def external_beyond():
    return external(offset=2**64 - 8, length=2**63)


def external_absolute():
    return external(location=os.path.abspath("weights.bin"))


def external_nowhere():
    """A path that leads out and to nothing is no missing file."""
    return external(location="../../nowhere.bin")


def external_no_location():
    result = external()
    del result.graph.initializer[0].external_data[0]
    return result


def external_constant():
    """The tensor of a Constant node lies in a file."""
    result = external()
    w = result.graph.initializer[0]
    result.graph.node.insert(0, node("Constant", [], ["w"], name="make_w", value=w))
    del result.graph.initializer[0]
    return result


def external_missing():
    return external(location="nowhere.bin")


def merged():
    """The zero biases of two layers were made one initializer."""
    names = {"fc1": "h.0.fc", "fc2": "h.1.fc"}
    nodes = [node("Gemm", ["x", "h.0.fc.weight", "h.0.fc.bias"], ["h"], name="fc1"),
             node("Gemm", ["h", "h.1.fc.weight", "h.0.fc.bias"], ["z"], name="fc2")]
    for n in nodes:
        scope = n.metadata_props.add()
        scope.key, scope.value = "pkg.torch.onnx.name_scopes", str(["", names[n.name].rsplit(".", 1)[0], names[n.name], n.name])
    return model(nodes, [info("x", FLOAT, ["n", 4])], [info("z", FLOAT, ["n", 4])],
                 [tensor(array(4, 4), "h.0.fc.weight"), tensor(np.zeros(4, np.float32), "h.0.fc.bias"),
                  tensor(array(4, 4), "h.1.fc.weight")])


def sparse():
    result = linear()
    entry = result.graph.sparse_initializer.add()
    entry.values.CopyFrom(tensor(array(1), "s"))
    entry.indices.CopyFrom(tensor(np.array([0]), "s_indices"))
    entry.dims.append(4)
    return result


def newer():
    return linear(ir_version=99)


def complex_type():
    return model([node("Cast", ["x"], ["z"], name="cast", to=TensorProto.COMPLEX64)], [info("x", FLOAT, ["n", 4])],
                 [info("z", FLOAT, ["n", 4])], [])


def dropout():
    return model([node("Gemm", ["x", "w"], ["h"], name="fc"), node("Constant", [], ["r"], name="r", value_float=0.5),
                  node("Constant", [], ["t"], name="t", value=tensor(np.array(True))),
                  node("Dropout", ["h", "r", "t"], ["z"], name="drop")], [info("x", FLOAT, ["n", 4])],
                 [info("z", FLOAT, ["n", 3])], [tensor(array(4, 3), "w")])


def impossible():
    result = linear()
    result.graph.initializer[0].dims[0] = -4
    return result


def zero_batch():
    return linear(batch=0)


def no_shape():
    result = linear()
    result.graph.input[0].type.tensor_type.ClearField("shape")
    return result


def sequence_output():
    return model([node("SequenceConstruct", ["x"], ["z"], name="sequence"), node("Identity", ["w"], ["v"], name="keep")],
                 [info("x", FLOAT, ["n", 4])], [info("z", FLOAT, None)], [tensor(array(4), "w")])


def classes_only():
    return model([node("ReduceSum", ["x"], ["s"], name="sum", keepdims=0), node("Mul", ["s", "w"], ["z"], name="scale")],
                 [info("x", FLOAT, ["n", 4])], [info("z", FLOAT, [3])], [tensor(array(3), "w")])


def flat_rows():
    """Rows of the whole batch, sample by sample: each keeps its 5 labels."""
    return model([node("Constant", [], ["shape"], name="shape", value_ints=[-1, 4]),
                  node("Reshape", ["x", "shape"], ["rows"], name="rows"), node("MatMul", ["rows", "w"], ["z"], name="fc")],
                 [info("x", FLOAT, ["n", 5, 4])], [info("z", FLOAT, [None, 3])], [tensor(array(4, 3), "w")])


def time_major_rows():
    """Rows of the whole batch, but not sample by sample: labels of a sample do not lie together."""
    return model([node("Transpose", ["x"], ["t"], name="turn", perm=[1, 0, 2]),
                  node("Constant", [], ["shape"], name="shape", value_ints=[-1, 4]),
                  node("Reshape", ["t", "shape"], ["rows"], name="rows"), node("MatMul", ["rows", "w"], ["z"], name="fc")],
                 [info("x", FLOAT, ["n", 5, 4])], [info("z", FLOAT, [None, 3])], [tensor(array(4, 3), "w")])


def external_number():
    result = external()
    result.graph.initializer[0].external_data[1].value = "many"
    return result


def main():
    name, path = sys.argv[1:]
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "wb") as file:
        file.write(globals()[name]().SerializeToString())


if __name__ == "__main__":
    main()
