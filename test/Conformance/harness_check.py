"""Checks the harness on models and outcomes made by hand."""
import pathlib
import pickle
import tempfile

import numpy as np
from onnx import TensorProto, helper

import cases
import run
import suite


def model(nodes, inputs, outputs):
    info = helper.make_tensor_value_info
    return helper.make_model(helper.make_graph(nodes, "g", [info(i, TensorProto.INT64, [2]) for i in inputs],
                                               [info(o, TensorProto.INT64, [2]) for o in outputs]))


def check_binding():
    node = helper.make_node
    # A shape, also through arithmetic and where it is computed with besides, is bound; data is not.
    assert cases.bound_inputs(model([node("Reshape", ["x", "s"], ["y"])], "xs", "y")) == ["s"]
    assert cases.bound_inputs(model([node("Neg", ["s"], ["t"]), node("Expand", ["x", "t"], ["y"])], "xs", "y")) == ["s"]
    assert cases.bound_inputs(model([node("Reshape", ["x", "s"], ["y"]), node("Neg", ["s"], ["z"])], "xs", "yz")) == ["s"]
    # Of data that only their own shape is read from, nothing needs to be known.
    assert cases.bound_inputs(model([node("Shape", ["x"], ["t"]), node("Reshape", ["d", "t"], ["y"])], "xd", "y")) == []
    # Through a function of the model.
    inner = helper.make_function("my", "F", ["a", "b"], ["c"], [helper.make_node("Tile", ["a", "b"], ["c"])],
                                 [helper.make_opsetid("", 17)])
    outer = model([node("F", ["x", "s"], ["y"], domain="my")], "xs", "y")
    outer.functions.append(inner)
    assert cases.bound_inputs(outer) == ["s"]


def case(name="test_x", opset=20, exotic="", operators=("Reshape",), folder=pathlib.Path()):
    return cases.Case(name, folder, list(operators), opset, 1e-3, 1e-7, [], 1, exotic)


def check_categories():
    assert run.categorise(case(opset=24), "operator 'X' is not supported") == "opset above 23"
    assert run.categorise(case(exotic="float8e4m3fn"), "element type FLOAT8E4M3FN is not supported") == "type float8"
    assert run.categorise(case(exotic="string"), "no") == "type string"
    assert run.categorise(case(), "node 'n': pads (input 1) must be constant") == "shape depends on data"
    assert run.categorise(case(), "input 'x' has no shape of known rank") == "sequences and optionals at the door"
    assert run.categorise(case(), "operator 'X' is not supported") == "unsupported"
    assert run.first_reason("zero-compile: remark: r\nzero-compile: error: at 'm/model.onnx': a\nzero-compile: note: b\n") == "a | b"


def check_comparison():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "expected0.pickle").write_bytes(pickle.dumps([("y", np.float32([1, np.nan]))]))

        def compare(array, name="y"):
            np.savez(folder / "out.npz", **{name: array})
            return run.compare(case(folder=folder), 0, folder / "out.npz")

        assert compare(np.float32([1.0001, np.nan])) == ""
        assert "Not equal to tolerance" in compare(np.float32([1.01, np.nan]))
        assert "of type float64, not float32" in compare(np.float64([1, np.nan]))
        assert "has the shape (1, 2), not (2,)" in compare(np.float32([[1, np.nan]]))
        assert "'y' is not there" in compare(np.float32([1]), "z")


def check_suite():
    def outcome(kind, category="", **options):
        return run.Outcome(case(**options), kind, category, "why")

    floor, groups, exceptions = suite.FLOOR, suite.MUST_PASS, suite.EXCEPTIONS
    try:
        suite.FLOOR, suite.MUST_PASS, suite.EXCEPTIONS = 1, ["Reshape$"], {"test_known": "why"}
        assert suite.check([outcome("passed")]) == []
        assert suite.check([outcome("passed"), outcome("refused", "opset above 23")]) == []
        assert suite.check([outcome("passed"), outcome("refused", "unsupported", name="test_known")]) == []
        assert suite.check([outcome("passed"), outcome("refused", "unsupported", operators=("Other",))]) == []
        assert suite.check([outcome("passed"), outcome("refused", "unsupported")]) == ["test_x must pass and is refused: why"]
        assert suite.check([outcome("refused", "type string")]) == ["0 cases passed, at least 1 must"]
    finally:
        suite.FLOOR, suite.MUST_PASS, suite.EXCEPTIONS = floor, groups, exceptions


check_binding()
check_categories()
check_comparison()
check_suite()
print("the harness judges right")
