"""Networks whose parameters lie in every place where an ONNX model can have them. Each maps x [n, 4] to z [n, 3]."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT
node, tensor, info = helper.make_node, numpy_helper.from_array, helper.make_tensor_value_info


def random(*shape, seed=0):
    return (np.random.default_rng([seed, *shape]).standard_normal(shape) / 2).astype(np.float32)


def model(nodes, weights, opset=20):
    graph = helper.make_graph(nodes, "g", [info("x", FLOAT, ["n", 4])], [info("z", FLOAT, ["n", 3])], initializer=weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def constant(name, value):
    return node("Constant", [], [name], name="make_" + name, value=tensor(value, name))


W, B, V = random(4, 7), random(7), random(7, 3)


def layers(nodes, weights):
    """x W + b, tanh, V: the names W, b and V come from `nodes` or `weights`."""
    return model([*nodes, node("Gemm", ["x", "W", "b"], ["h"], name="fc1"), node("Tanh", ["h"], ["t"], name="act"),
                  node("MatMul", ["t", "V"], ["z"], name="fc2")], weights)


def initializers(bias=B):
    return layers([], [tensor(W, "W"), tensor(bias, "b"), tensor(V, "V")])


def constants():
    """All weights are Constant nodes, one of them as a list of floats."""
    return layers([constant("W", W), node("Constant", [], ["b"], name="make_b", value_floats=B.tolist()), constant("V", V)],
                  [])


def views():
    """Behind Identity, Transpose and Cast."""
    return layers([node("Transpose", ["Wt"], ["W"], name="transpose", perm=[1, 0]),
                   node("Identity", ["b0"], ["b1"], name="identity"), node("Cast", ["b1"], ["b"], name="cast", to=FLOAT)],
                  [tensor(np.ascontiguousarray(W.T), "Wt"), tensor(B, "b0"), tensor(V, "V")])


def filled():
    """The bias is a ConstantOfShape."""
    return layers([node("Constant", [], ["shape"], name="shape", value_ints=[7]),
                   node("ConstantOfShape", ["shape"], ["b"], name="fill")], [tensor(W, "W"), tensor(V, "V")])


def empty():
    """W is an empty weight and another, joined."""
    return layers([node("Concat", ["none", "rows"], ["W"], name="join", axis=0)],
                  [tensor(random(0, 7), "none"), tensor(W, "rows"), tensor(B, "b"), tensor(V, "V")])


def scalar():
    """A 0-d factor."""
    return layers([node("Mul", ["rows", "factor"], ["W"], name="scaled")],
                  [tensor(W, "rows"), tensor(np.float32(1.5), "factor"), tensor(B, "b"), tensor(V, "V")])


def small():
    """Parameters of fewer elements than ranks, of one element, and of sizes that no number of ranks divides."""
    return model([node("Mul", ["x", "one"], ["m"], name="scaled"), node("Gemm", ["m", "W", "b"], ["h"], name="fc1"),
                  node("MatMul", ["h", "V"], ["two_classes"], name="fc2"),
                  node("Add", ["two_classes", "two"], ["a"], name="shifted"),
                  node("MatMul", ["a", "U"], ["z"], name="fc3")],
                 [tensor(np.float32([1.25]), "one"), tensor(random(4, 5), "W"), tensor(random(5), "b"),
                  tensor(random(5, 2), "V"), tensor(random(2), "two"), tensor(random(2, 3), "U")])


def shared():
    """One weight of three layers."""
    return model([node("MatMul", ["x", "S"], ["h1"], name="fc1"), node("Tanh", ["h1"], ["t1"], name="act1"),
                  node("MatMul", ["t1", "S"], ["h2"], name="fc2"), node("Tanh", ["h2"], ["t2"], name="act2"),
                  node("MatMul", ["t2", "S"], ["h3"], name="fc3"), node("MatMul", ["h3", "V"], ["z"], name="fc4")],
                 [tensor(random(4, 4), "S"), tensor(random(4, 3), "V")])


def unused():
    """One weight that nobody reads, one whose output nobody reads, one of which only the shape is read."""
    return layers([node("MatMul", ["x", "side"], ["nowhere"], name="side"), node("Shape", ["sized"], ["shape"], name="size"),
                   node("Reshape", ["flat", "shape"], ["W"], name="reshape")],
                  [tensor(random(4, 2), "side"), tensor(random(9), "alone"), tensor(random(4, 7, seed=1), "sized"),
                   tensor(W.reshape(-1), "flat"), tensor(B, "b"), tensor(V, "V")])


def no_gradient():
    """A weight that reaches the loss through integers only."""
    return layers([node("Cast", ["steps"], ["integers"], name="round", to=TensorProto.INT64),
                   node("Cast", ["integers"], ["floats"], name="back", to=FLOAT),
                   node("Add", ["b0", "floats"], ["b"], name="shift")],
                  [tensor(W, "W"), tensor(B, "b0"), tensor(3 * random(7, seed=1), "steps"), tensor(V, "V")])


def equal():
    """Two weights of the same bytes: not tied, for they are two."""
    return model([node("MatMul", ["x", "A"], ["h1"], name="fc1"), node("Tanh", ["h1"], ["t1"], name="act1"),
                  node("MatMul", ["t1", "B"], ["h2"], name="fc2"), node("MatMul", ["h2", "V"], ["z"], name="fc3")],
                 [tensor(random(4, 4), "A"), tensor(random(4, 4), "B"), tensor(random(4, 3), "V")])


def filled_by_batch():
    """The size of the ConstantOfShape is the batch's."""
    return model([node("Shape", ["x"], ["rows"], name="rows", end=1), node("ConstantOfShape", ["rows"], ["f"], name="fill"),
                  node("Constant", [], ["one"], name="one", value_ints=[1]), node("Unsqueeze", ["f", "one"], ["c"], name="column"),
                  node("Add", ["x", "c"], ["xc"], name="add"), node("MatMul", ["xc", "head"], ["z"], name="fc")],
                 [tensor(random(4, 3), "head")])


def _scoped(name, scope, op, inputs, output):
    made = node(op, inputs, [output], name=name)
    entry = made.metadata_props.add()
    entry.key, entry.value = "pkg.torch.onnx.name_scopes", str(["", scope.rsplit(".", 1)[0], scope, name])
    return made


def _mark(result, names):
    for name in names:
        value = result.graph.value_info.add()
        value.CopyFrom(info(name, FLOAT, [w.dims for w in result.graph.initializer if w.name == name][0]))
        entry = value.metadata_props.add()
        entry.key, entry.value = "pkg.torch.export.graph_signature.InputSpec.kind", "PARAMETER"
    return result


def merged_ones():
    """The ones of two norms are one initializer, as are their zeros."""
    return model([_scoped("ln1", "h.0.ln", "LayerNormalization", ["x", "h.0.ln.weight", "h.0.ln.bias"], "a"),
                  _scoped("ln2", "h.1.ln", "LayerNormalization", ["a", "h.0.ln.weight", "h.0.ln.bias"], "b"),
                  _scoped("fc", "fc", "MatMul", ["b", "fc.weight"], "z")],
                 [tensor(np.ones(4, np.float32), "h.0.ln.weight"), tensor(np.zeros(4, np.float32), "h.0.ln.bias"),
                  tensor(random(4, 3), "fc.weight")])


def merged_through_identity():
    """As the TorchScript-based exporter merges: an Identity in the place of the second."""
    return model([node("Identity", ["l1.bias"], ["l2.bias"], name="Identity_0"),
                  node("Gemm", ["x", "l1.weight", "l1.bias"], ["a"], name="/l1/Gemm"),
                  node("Gemm", ["a", "l2.weight", "l2.bias"], ["b"], name="/l2/Gemm"),
                  node("MatMul", ["b", "head"], ["z"], name="/head/MatMul")],
                 [tensor(random(4, 4), "l1.weight"), tensor(np.zeros(4, np.float32), "l1.bias"),
                  tensor(random(4, 4, seed=1), "l2.weight"), tensor(random(4, 3), "head")])


def merged_without_scopes():
    """No names of modules: two layers with different weights share a bias of zeros."""
    return model([node("MatMul", ["x", "w1"], ["a0"], name="m1"), node("Add", ["a0", "zeros"], ["a"], name="add1"),
                  node("MatMul", ["a", "w2"], ["b0"], name="m2"), node("Add", ["b0", "zeros"], ["b"], name="add2"),
                  node("MatMul", ["b", "head"], ["z"], name="m3")],
                 [tensor(random(4, 4), "w1"), tensor(random(4, 4, seed=1), "w2"), tensor(np.zeros(4, np.float32), "zeros"),
                  tensor(random(4, 3), "head")])


def shared_module():
    """One layer that runs twice: its zero bias is its own."""
    return model([node("Gemm", ["x", "w", "zeros"], ["a"], name="m1"), node("Gemm", ["a", "w", "zeros"], ["b"], name="m2"),
                  node("MatMul", ["b", "head"], ["z"], name="m3")],
                 [tensor(random(4, 4), "w"), tensor(np.zeros(4, np.float32), "zeros"), tensor(random(4, 3), "head")])


def transposed_copy():
    """The optimizer transposed a tied weight: the mark and the tie are lost."""
    w = random(3, 4)
    result = model([node("Transpose", ["emb"], ["t"], name="transpose"), node("MatMul", ["x", "t"], ["a"], name="m1"),
                    node("MatMul", ["a", "emb"], ["b"], name="m2"), node("MatMul", ["b", "val_7"], ["z"], name="head")],
                   [tensor(w, "emb"), tensor(np.ascontiguousarray(w.T), "val_7")])
    return _mark(result, ["emb"])


def computed():
    """The optimizer added a table of positions up: an initializer without a mark."""
    result = model([node("Add", ["x", "val_1"], ["a"], name="positions"), node("MatMul", ["a", "head"], ["z"], name="m")],
                   [tensor(random(1, 4), "val_1"), tensor(random(4, 3), "head")])
    return _mark(result, ["head"])


def replaced():
    """What the optimizer computed from parameters that are gone: a transposed weight, and a batch normalization merged into a
    convolution. A filter bank at the place of a weight is none: its call takes no parameter."""
    def call(made, function, operands):
        entry = made.metadata_props.add()
        entry.key = "pkg.torch.onnx.fx_node"
        entry.value = "%%y : [num_users=1] = call_function[target=torch.ops.aten.%s.default](args = (%s), kwargs = {})" % (function, operands)
        return made

    result = model([call(node("MatMul", ["x", "bank"], ["f"], name="filter"), "matmul", "%x, %bank"),
                    call(node("MatMul", ["f", "val_2"], ["a0"], name="fc"), "linear", "%f, %p_fc_weight, %p_fc_bias"),
                    call(node("Add", ["a0", "fc.bias"], ["a"], name="fc_bias"), "linear", "%f, %p_fc_weight, %p_fc_bias"),
                    node("Unsqueeze", ["a", "last"], ["image"], name="image"),
                    call(node("Conv", ["image", "c.weight", "c.weight_bias"], ["c"], name="conv"), "_native_batch_norm_legit_no_training",
                         "%conv1d, %p_n_weight, %p_n_bias, %b_n_mean, %b_n_var, 0.1, 1e-05"),
                    node("Squeeze", ["c", "last"], ["h"], name="flat"),
                    call(node("MatMul", ["h", "head"], ["z"], name="head"), "mm", "%h, %p_head")],
                   [tensor(random(4, 4), "bank"), tensor(random(4, 4, seed=1), "val_2"), tensor(random(4), "fc.bias"),
                    tensor(random(5, 4, 1), "c.weight"), tensor(random(5), "c.weight_bias"), tensor(random(5, 3), "head"),
                    tensor(np.array([2]), "last")])
    entry = result.graph.metadata_props.add()
    entry.key = "pkg.torch.export.ExportedProgram.graph_signature"
    entry.value = "\n# inputs\n" + "".join("p_%s: PARAMETER target='%s'\n" % (name.replace(".", "_"), name) for name in (
        "fc.weight", "fc.bias", "c.weight", "n.weight", "n.bias", "head")) + "b_n_mean: BUFFER target='n.mean' persistent=True\nx: USER_INPUT\n"
    return _mark(result, ["fc.bias", "head"])


def _call(function, inputs, output, arguments, op="Gather"):
    """A node with the exporter's note of the PyTorch call that it comes from."""
    made = node(op, inputs, [output], name=output)
    entry = made.metadata_props.add()
    entry.key = "pkg.torch.onnx.fx_node"
    entry.value = "%%e : [num_users=1] = call_function[target=torch.ops.aten.%s.default](args = (%s), kwargs = {})" % (function, arguments)
    return made


def _rows(look_ups, tail):
    return model([node("Cast", ["x"], ["wide"], name="wide", to=TensorProto.INT64), node("Clip", ["wide", "least", "most"], ["ids"], name="clip"), *look_ups,
                  node("ReduceSum", [tail, "axis"], ["z"], name="sum", keepdims=0)],
                 [tensor(random(5, 3), "words"), tensor(random(5, 3, seed=1), "types"), tensor(random(5, 3, seed=2), "frozen"),
                  tensor(np.array([1]), "axis"), tensor(np.array(0), "least"), tensor(np.array(4), "most")])


def padding_row():
    """Embeddings that PyTorch gave a padding_idx, none, and one that is not trained."""
    return _rows([_call("embedding", ["words", "ids"], "words_rows", "%p_words, %ids, 1"), _call("embedding", ["types", "ids"], "types_rows", "%p_types, %ids"),
                  _call("embedding", ["frozen", "ids"], "frozen_rows", "%p_frozen, %ids, 2"),
                  node("Add", ["words_rows", "types_rows"], ["a"], name="add"), node("Add", ["a", "frozen_rows"], ["b"], name="add2")], "b")


def by_frequency():
    """An embedding whose gradients PyTorch divides by how often a row is looked up."""
    return _rows([_call("embedding", ["words", "ids"], "words_rows", "%p_words, %ids, 0, True")], "words_rows")


def detached():
    """Rows that are looked up twice, once without a gradient, and a weight that has none at all."""
    return _rows([node("Gather", ["words", "ids"], ["words_rows"], name="words_rows"), _call("detach", ["words_rows"], "still", "%words_rows", "Identity"),
                  node("Gather", ["types", "ids"], ["types_rows"], name="types_rows"), _call("detach", ["types_rows"], "held", "%types_rows", "Identity"),
                  _call("detach", ["ids"], "numbers", "%ids", "Identity"), node("Gather", ["frozen", "numbers"], ["frozen_rows"], name="frozen_rows"),
                  node("Mul", ["words_rows", "still"], ["a"], name="mul"), node("Mul", ["a", "held"], ["b"], name="mul2"),
                  node("Add", ["b", "frozen_rows"], ["c"], name="add")], "c")


def folded_by_script():
    """As the TorchScript-based exporter names what it computed: a transposed weight, which is no more than that, and others."""
    return model([node("MatMul", ["x", "onnx::MatMul_20"], ["a"], name="/fc/MatMul"), node("Unsqueeze", ["a", "last"], ["image"], name="image"),
                  node("Conv", ["image", "onnx::Conv_21", "onnx::Conv_22"], ["c"], name="/conv/Conv"), node("Squeeze", ["c", "last"], ["h"], name="flat"),
                  node("MatMul", ["h", "head"], ["z"], name="/head/MatMul")],
                 [tensor(random(4, 4), "onnx::MatMul_20"), tensor(random(5, 4, 1), "onnx::Conv_21"), tensor(random(5), "onnx::Conv_22"),
                  tensor(random(5, 3), "head"), tensor(np.array([2]), "last")])


def shapes_only():
    """No values: one weight is a shape alone, one names a file that is not there."""
    result = initializers()
    result.graph.initializer[0].ClearField("raw_data")
    weight = result.graph.initializer[2]
    weight.ClearField("raw_data")
    weight.data_location = TensorProto.EXTERNAL
    entry = weight.external_data.add()
    entry.key, entry.value = "location", "nowhere.bin"
    return result


def inputs():
    """Exported without parameters: they are inputs of the graph."""
    result = initializers()
    for weight in result.graph.initializer:
        result.graph.input.append(info(weight.name, FLOAT, weight.dims))
    result.graph.ClearField("initializer")
    return result


def _function(weight):
    body = [constant("w", weight), node("MatMul", ["a", "w"], ["c"], name="mul")]
    return helper.make_function("local", "Layer", ["a"], ["c"], body, [helper.make_opsetid("", 20)])


def function():
    """A weight in a function that is called once."""
    result = model([node("Layer", ["x"], ["h"], name="first", domain="local"), node("MatMul", ["h", "V"], ["z"], name="fc2")],
                   [tensor(V, "V")])
    result.functions.append(_function(W))
    result.opset_import.append(helper.make_opsetid("local", 1))
    return result


def function_twice():
    """A weight in a function that is called twice: the file holds it once, so it is one parameter."""
    result = model([node("Layer", ["x"], ["h"], name="first", domain="local"), node("Tanh", ["h"], ["t"], name="act"),
                    node("Layer", ["t"], ["g"], name="second", domain="local"), node("MatMul", ["g", "V"], ["z"], name="fc2")],
                   [tensor(random(4, 3), "V")])
    result.functions.append(_function(random(4, 4)))
    result.opset_import.append(helper.make_opsetid("local", 1))
    return result


def branch():
    """A weight in the branch of an If with a constant condition."""
    then = helper.make_graph([constant("w", W), node("MatMul", ["x", "w"], ["c"], name="mul")], "then", [],
                             [info("c", FLOAT, ["n", 7])])
    other = helper.make_graph([node("MatMul", ["x", "U"], ["d"], name="other")], "else", [], [info("d", FLOAT, ["n", 7])])
    return model([node("Constant", [], ["yes"], name="yes", value=tensor(np.array(True), "yes")),
                  node("If", ["yes"], ["h"], name="choice", then_branch=then, else_branch=other),
                  node("MatMul", ["h", "V"], ["z"], name="fc2")], [tensor(V, "V"), tensor(random(4, 7, seed=2), "U")])


def branches_of_one_name():
    """Each branch of an If has an initializer `w`; that of the one not taken is not trained."""
    def graph(name, values):
        return helper.make_graph([node("MatMul", ["x", "w"], [name + "_c"], name=name + "_mul")], name, [],
                                 [info(name + "_c", FLOAT, ["n", 7])], [tensor(values, "w")])

    return model([node("Constant", [], ["no"], name="no", value=tensor(np.array(False), "no")),
                  node("If", ["no"], ["h"], name="choice", then_branch=graph("then", random(4, 7, seed=2)), else_branch=graph("else", W)),
                  node("MatMul", ["h", "V"], ["z"], name="fc2")], [tensor(V, "V")])


def _loop(name, before, after, weight):
    """Three turns of `h = tanh(h w)`, whose w is in the body."""
    state = name + "_h"
    body = helper.make_graph([node("MatMul", [state, "w"], [name + "_m"], name=name + "_mul"), node("Tanh", [name + "_m"], [name + "_o"], name=name + "_tanh"),
                              node("Identity", [name + "_go"], [name + "_on"], name=name + "_id")], name + "_body",
                             [info(name + "_i", TensorProto.INT64, []), info(name + "_go", TensorProto.BOOL, []), info(state, FLOAT, ["n", 4])],
                             [info(name + "_on", TensorProto.BOOL, []), info(name + "_o", FLOAT, ["n", 4])], [weight])
    return node("Loop", ["three", "", before], [after], name=name, body=body)


def loops():
    """Two loops whose bodies have an initializer of the same name, one of them as a list of numbers."""
    first = random(4, 4, seed=3)
    return model([node("Constant", [], ["three"], name="three", value=tensor(np.array(3), "three")), _loop("l1", "x", "a", tensor(first, "w")),
                  _loop("l2", "a", "b", helper.make_tensor("w", FLOAT, [4, 4], random(4, 4, seed=4).flatten().tolist())),
                  node("MatMul", ["b", "V4"], ["z"], name="fc")], [tensor(random(4, 3), "V4")])


def scan():
    """A Scan over columns, whose body has an initializer and reads a weight from outside."""
    body = helper.make_graph([node("Mul", ["s", "decay"], ["d"], name="decay_it"), node("Add", ["d", "c"], ["t"], name="add"),
                              node("Mul", ["t", "gain"], ["o"], name="gain_it")], "body", [info("s", FLOAT, ["n"]), info("c", FLOAT, ["n"])],
                             [info("t", FLOAT, ["n"]), info("o", FLOAT, ["n"])], [tensor(np.array([0.5], np.float32), "decay")])
    return model([node("ReduceSum", ["x", "last"], ["s0"], name="start", keepdims=0),
                  node("Scan", ["s0", "x"], ["s1", "h"], name="scan", body=body, num_scan_inputs=1, scan_input_axes=[1], scan_output_axes=[1]),
                  node("MatMul", ["h", "V4"], ["z"], name="fc")],
                 [tensor(random(4, 3), "V4"), tensor(np.array([1.5], np.float32), "gain"), tensor(np.array([1]), "last")])


def double():
    """A weight of another float type behind a Cast."""
    return layers([node("Cast", ["W64"], ["W"], name="cast", to=FLOAT)],
                  [tensor(W.astype(np.float64), "W64"), tensor(B, "b"), tensor(V, "V")])


if __name__ == "__main__":
    import sys
    with open(sys.argv[2], "wb") as out:
        out.write(globals()[sys.argv[1]]().SerializeToString())
