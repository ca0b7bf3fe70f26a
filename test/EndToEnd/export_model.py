"""zero-run --export=FILE.onnx: the input model with trained weights and nothing else changed.

Usage: export_model.py WORK golden | places. Each model is trained for two steps on two ranks at stage 3 and exported both ways;
the exported model passes onnx.checker, its weights are the .safetensors' bit by bit, and all else is the input's.
"""
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
import parameter_models as models
import harness
from golden import read_safetensors

RANKS, STEPS, BATCH = 2, 2, 2
GOLDEN = ("mlp", "cnn", "gpt2", "llama", "vit", "gpt2_optimized")


def run(work, *command, code=0):
    return harness.run(*command, code=code, cwd=work, stderr=subprocess.STDOUT)


def check(what, condition):
    if not condition:
        raise SystemExit("failed: " + what)


def train(work, data, out):
    run(work, "zero-run", "compiled.bin", "--comm=loopback", f"--data={data}", f"--steps={STEPS}", f"--export={out}")


def tensors(model):
    """Every tensor of a model by its place in it, with what the importer calls it."""
    found = {}
    used = {value.name for value in [*model.graph.initializer, *model.graph.input]} | {name for node in model.graph.node for name in node.output}

    def graph(part, path, prefixes, owner=None):
        for tensor in part.initializer:
            names = [p + tensor.name for p in prefixes]
            # Inside a node's graph: its own name if that is free, else with the node's in front.
            if owner is not None and tensor.name in used:
                names = [owner + "/" + tensor.name]
            used.add(names[0])
            found[path + ("init", tensor.name)] = (tensor, names)
        nodes(part.node, path, prefixes)

    def nodes(list_of_nodes, path, prefixes):
        for index, node in enumerate(list_of_nodes):
            for attribute in node.attribute:
                if attribute.type == onnx.AttributeProto.TENSOR:
                    found[path + (index, attribute.name)] = (attribute.t, [p + node.output[0] for p in prefixes])
                if attribute.type == onnx.AttributeProto.GRAPH:
                    graph(attribute.g, path + (index, attribute.name), prefixes, node.name)

    graph(model.graph, (), [""])
    for index, function in enumerate(model.functions):
        calls = [node.name + "/" for node in model.graph.node if node.op_type == function.name]
        nodes(function.node, ("function", index), calls)
    return found


def compare(name, before, after, trained):
    """`after` is `before` with the trained weights."""
    onnx.checker.check_model(after, full_check=True)
    left = dict(trained)
    for tensor, names in tensors(after).values():
        for key in names:
            if key in trained:
                values = numpy_helper.to_array(tensor)
                check(f"{name}: '{key}' has shape {values.shape}", values.shape == trained[key].shape)
                check(f"{name}: '{key}' differs", values.tobytes() == trained[key].tobytes())
                left.pop(key, None)
    check(f"{name}: {sorted(left)} are not in the exported model", not left)
    one, other = onnx.ModelProto(), onnx.ModelProto()
    one.CopyFrom(before), other.CopyFrom(after)
    for model in (one, other):
        for tensor, _ in tensors(model).values():
            for field in ("raw_data", "float_data", "double_data", "external_data", "data_location"):
                tensor.ClearField(field)
    check(f"{name}: more than weights changed", one.SerializeToString(deterministic=True) ==
          other.SerializeToString(deterministic=True))
    untrained = {place: tensor for place, (tensor, names) in tensors(before).items() if not set(names) & set(trained)}
    new = tensors(after)
    for place, tensor in untrained.items():
        check(f"{name}: the untrained {place} changed", numpy_helper.to_array(new[place][0]).tobytes() == numpy_helper.to_array(
            tensor).tobytes())


def export(work, name, data, flags):
    """Compiles and trains WORK/NAME.onnx; gives the model as exported and the parameters by name."""
    log = run(work, "zero-compile", name + ".onnx", f"--world-size={RANKS}", "--zero-stage=3", "--config=config.json", *flags)
    check(f"{name}: no remark", "--export" not in log)
    train(work, data, "trained.safetensors")
    train(work, data, "trained.onnx")
    return onnx.load(os.path.join(work, "trained.onnx")), read_safetensors(pathlib.Path(work) / "trained.safetensors")


def golden(work):
    folder = os.environ["ZERO_GOLDEN_DIR"]
    for name in GOLDEN:
        target = os.path.join(work, name + ".onnx")
        if not os.path.exists(target):
            os.symlink(os.path.join(folder, name + ".onnx"), target)
        after, trained = export(work, name, os.path.join(folder, name + ".data.npz"), ["--loss=cross-entropy", "--labels=y"])
        before = onnx.load(target)
        compare(name, before, after, trained)
        changed = [tensor.name for tensor in before.graph.initializer
                   if tensor.name in trained and not np.array_equal(numpy_helper.to_array(tensor), trained[tensor.name])]
        check(f"{name}: {len(changed)} of {len(trained)} weights were trained", len(changed) == len(trained))
        check_predictions(work, name, os.path.join(folder, name + ".data.npz"))


def check_predictions(work, name, data):
    """onnxruntime on the exported model gives the program's own outputs."""
    run(work, "zero-run", "compiled.bin", "--comm=loopback", f"--data={data}", f"--steps={STEPS}", "--export=trained.onnx",
        "--predict=predicted.npz")
    predicted, arrays = np.load(os.path.join(work, "predicted.npz")), np.load(data)
    session = onnxruntime.InferenceSession(os.path.join(work, "trained.onnx"), providers=["CPUExecutionProvider"])
    inputs, outputs = session.get_inputs(), [output.name for output in session.get_outputs()]
    check(f"{name}: outputs {sorted(predicted)}", sorted(predicted) == sorted(outputs))
    size = inputs[0].shape[0]
    size = size if isinstance(size, int) else RANKS * BATCH
    for first in range(0, len(arrays["x"]) - size + 1, size):
        results = session.run(outputs, {inputs[0].name: arrays["x"][first:first + size]})
        for key, result in zip(outputs, results):
            ours = predicted[key][first:first + size]
            worst = np.abs(ours - result).max()
            check(f"{name}: output '{key}' differs by {worst}", np.allclose(ours, result, rtol=1e-5, atol=1e-5))


def typed():
    """Weights as lists of numbers, and a large table that is not trained."""
    weights = [helper.make_tensor(key, TensorProto.FLOAT, value.shape, value.flatten().tolist())
               for key, value in (("W", models.W), ("b", models.B), ("V", models.V))]
    table = numpy_helper.from_array(models.random(4, 4, seed=5).repeat(100, axis=0), "table")
    return models.model([helper.make_node("Constant", [], ["some"], name="some", value_ints=[3, 2, 1, 0]),
                         helper.make_node("Gather", ["table", "some"], ["rows"], name="rows"),
                         helper.make_node("MatMul", ["x", "rows"], ["mixed"], name="mix"),
                         helper.make_node("Gemm", ["mixed", "W", "b"], ["h"], name="fc1"),
                         helper.make_node("MatMul", ["h", "V"], ["z"], name="fc2")], [*weights, table])


def write(work, name, model, **options):
    onnx.save(model, os.path.join(work, name + ".onnx"), **options)


def places(work):
    random = np.random.default_rng(7)
    samples = STEPS * RANKS * BATCH
    np.savez(os.path.join(work, "data.npz"), x=random.standard_normal((samples, 4)).astype(np.float32),
             y=random.integers(0, 3, samples))
    loss = ["--loss=cross-entropy", "--labels=y"]

    def one(name, model, *flags, before=None):
        after, trained = export(work, name, "data.npz", [*loss, *flags])
        compare(name, before or model, after, trained)
        check_predictions(work, name, os.path.join(work, "data.npz"))
        return after, trained

    for name, flags in (("initializers", ()), ("views", ()), ("shared", ()), ("unused", ()), ("small", ()), ("no_gradient", ()),
                        ("empty", ("--train=none|rows|b|V",)), ("scalar", ("--train=factor|rows|b|V",))):
        model = getattr(models, name)()
        write(work, name, model)
        one(name, model, *flags)
    write(work, "typed", typed())
    after, _ = one("typed", typed())
    check("numbers are raw now", all(t.raw_data and not t.float_data for t in after.graph.initializer))

    # Constant nodes, one of them a list of floats, which becomes a tensor.
    write(work, "constants", models.constants())
    plain = models.constants()
    for node in plain.graph.node:
        if node.name == "make_b":
            node.CopyFrom(models.constant("b", models.B))
            node.attribute[0].t.ClearField("name")
    one("constants", None, "--train-constants=.*", before=plain)

    # A ConstantOfShape becomes a Constant of the same name and output.
    write(work, "filled", models.filled())
    plain = models.filled()
    for node in plain.graph.node:
        if node.name == "fill":
            made = models.constant("b", models.B)
            made.name = "fill"
            made.attribute[0].t.ClearField("name")
            node.CopyFrom(made)
    one("filled", None, "--init=zeros:b", before=plain)

    # External data go into the model.
    write(work, "external", models.initializers(), save_as_external_data=True, location="external.bin", size_threshold=0)
    check("the weights are outside", os.path.getsize(os.path.join(work, "external.bin")) > 0)
    after, _ = one("external", models.initializers())
    check("the exported model is self-contained", not any(t.external_data for t in after.graph.initializer))

    # Values that the model does not have.
    write(work, "shapes", models.shapes_only())
    one("shapes", models.initializers(), "--init=normal:0.1")

    write(work, "inputs", models.inputs())
    plain = models.initializers()
    for value in models.inputs().graph.input[1:]:
        plain.graph.input.append(value)
    one("inputs", None, "--init=normal:0.1:W|b|V", before=plain)

    write(work, "function", models.function())
    _, trained = one("function", models.function(), "--train-constants=.*")
    check(f"the function's weight is {sorted(trained)}", sorted(trained) == ["V", "first/w"])
    write(work, "function_twice", models.function_twice())
    _, trained = one("function_twice", models.function_twice(), "--train-constants=.*")
    check(f"one weight of two calls is {sorted(trained)}", sorted(trained) == ["V", "first/w"])
    write(work, "branch", models.branch())
    _, trained = one("branch", models.branch(), "--train-constants=.*")
    check(f"a branch's weight is {sorted(trained)}", sorted(trained) == ["V", "w"])

    for name, names in (("branches_of_one_name", ["V", "w"]), ("loops", ["V4", "l2/w", "w"]), ("scan", ["V4", "decay", "gain"])):
        model = getattr(models, name)()
        write(work, name, model)
        _, trained = one(name, model)
        check(f"{name}: trained are {sorted(trained)}", sorted(trained) == names)

    # By way of a .mlir, from another folder; the file gone, and changed.
    write(work, "plain", models.initializers())
    os.makedirs(os.path.join(work, "sub"), exist_ok=True)
    run(work, "zero-import", "plain.onnx", *loss, "-o", "sub/plain.mlir")
    run(work, "zero-compile", "sub/plain.mlir", f"--world-size={RANKS}", "--compile-to=backward", "-o", "backward.mlir")
    run(work, "zero-compile", "backward.mlir", f"--world-size={RANKS}")
    train(work, "data.npz", "trained.onnx")
    onnx.checker.check_model(onnx.load(os.path.join(work, "trained.onnx")))
    compiled = {}
    write(work, "numbers", typed())
    run(work, "zero-import", "numbers.onnx", *loss, "-o", "numbers.mlir")
    with open(os.path.join(work, "numbers.onnx"), "ab") as file:
        file.write(b"\x32\x01x")  # a doc_string
    compiled["changed"] = run(work, "zero-compile", "numbers.mlir", f"--world-size={RANKS}")
    error = run(work, "zero-run", "compiled.bin", "--comm=loopback", "--data=data.npz", "--export=t.onnx", code=3)
    check(f"a changed model is named: {error}", "when 'compiled.bin' was compiled, the model 'numbers.onnx' was not the one that "
          "was imported; compile it again" in error and "step" not in error)
    os.remove(os.path.join(work, "numbers.onnx"))
    write(work, "numbers2", typed())
    run(work, "zero-import", "numbers2.onnx", *loss, "-o", "numbers2.mlir")
    compiled["gone"] = run(work, "zero-compile", "numbers.mlir", f"--world-size={RANKS}", code=3)
    check("a table in the model is gone with it", "cannot open 'numbers.onnx'" in compiled["gone"])
    check(f"a remark says so: {compiled['changed']}", "remark: " in compiled["changed"] and
          "zero-run --export=FILE.onnx will not be possible: the model 'numbers.onnx' was not the one that was imported"
          in compiled["changed"])


def main():
    work, what = os.path.abspath(sys.argv[1]), sys.argv[2]
    os.makedirs(work, exist_ok=True)
    with open(os.path.join(work, "config.json"), "w") as file:
        json.dump({"train_micro_batch_size_per_gpu": BATCH, "optimizer": {
            "type": "AdamW", "params": {"lr": 0.01}}}, file)
    golden(work) if what == "golden" else places(work)
    print(what + ": exported models are the inputs with trained weights")


if __name__ == "__main__":
    main()
