"""ONNX's node tests as folders of files: model.onnx, and for each data set the arrays to bind, the data and what must come out.

The onnx package makes the cases (models, inputs, expected outputs) when it is asked; that takes seconds, so they are kept in a
folder named after its version. What an input is for is read off the graph: inputs that only shapes, axes, sizes or counts depend on,
and integers that these depend on too, are bound (--bind-input); the others are data.
"""
import collections
import dataclasses
import hashlib
import pathlib
import pickle
import re
import shutil
import warnings

import numpy as np
import onnx

# Inputs of operators that say shapes, axes, sizes or counts, by index.
SHAPE_INPUTS = {
    "Reshape": {1}, "Expand": {1}, "Slice": {1, 2, 3, 4}, "Pad": {1, 3}, "Tile": {1}, "TopK": {1}, "Resize": {1, 2, 3},
    "Upsample": {1}, "Squeeze": {1}, "Unsqueeze": {1}, "OneHot": {1}, "Range": {0, 1, 2}, "ConstantOfShape": {0}, "Split": {1},
    "CumSum": {1}, "CumProd": {1}, "Trilu": {1}, "Dropout": {1, 2}, "If": {0}, "AffineGrid": {1}, "CenterCropPad": {1}, "Col2Im": {1, 2},
    "MaxUnpool": {2}, "STFT": {1, 3}, "DFT": {1, 2}, "HannWindow": {0}, "HammingWindow": {0}, "BlackmanWindow": {0},
    "MelWeightMatrix": {0, 1, 2, 3, 4}, "NonMaxSuppression": {2}, "SequenceAt": {1}, "SequenceInsert": {2}, "SequenceErase": {1},
    "SplitToSequence": {1}, "Loop": {0, 1},
}
for _kind in ("Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "LogSum", "LogSumExp", "SumSquare"):
    SHAPE_INPUTS["Reduce" + _kind] = {1}

# Their values are shapes whatever they are computed from.
SHAPES_ALONE = {"Shape", "Size"}

TYPE_NAMES = {value: name for name, value in onnx.TensorProto.DataType.items()}


def is_refused_type(number):
    name = TYPE_NAMES.get(number, str(number))
    return name not in ("FLOAT", "FLOAT16") and re.match(r"(STRING|FLOAT\d|U?INT[24]$|COMPLEX)", name) is not None


@dataclasses.dataclass
class Case:
    name: str
    folder: pathlib.Path
    operators: list  # of the model's nodes, the one under test first
    opset: int
    rtol: float
    atol: float
    bound: list  # names of bound inputs
    data_sets: int
    exotic: str  # the first type of the model that is string, float8, int4, complex ..; empty where there is none

    @property
    def operator(self):
        return self.operators[0]


def attribute_graphs(node):
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            yield attribute.g
        yield from attribute.graphs


def all_nodes(nodes):
    for node in nodes:
        yield node
        for graph in attribute_graphs(node):
            yield from all_nodes(graph.node)


def bound_inputs(model):
    """Inputs that only shapes, axes, sizes or counts depend on, and integers that these depend on too."""
    graph = model.graph
    functions = {(f.domain, f.name): f for f in model.functions}
    readers = collections.defaultdict(list)

    def add(nodes, rename):
        for node in nodes:
            inner = functions.get((node.domain, node.op_type))
            if inner is not None:
                prefix = f"{id(node)}:"
                names = dict(zip(inner.input, [rename(i) for i in node.input]))
                names.update(zip(inner.output, [rename(o) for o in node.output]))
                add(inner.node, lambda name, names=names, prefix=prefix: names.get(name, prefix + name) if name else "")
                continue
            outputs = [rename(o) for o in node.output]
            for index, name in enumerate(node.input):
                if name:
                    readers[rename(name)].append((node.op_type, index, outputs))
            for body in attribute_graphs(node):  # what a branch reads is data of the node that holds it
                for inside in all_nodes(body.node):
                    for name in inside.input:
                        if name:
                            readers[rename(name)].append((node.op_type, -1, outputs))

    add(graph.node, lambda name: name)
    results = {output.name for output in graph.output}
    known = {}

    def verdict(name):
        """(read as data, read as a shape)"""
        if name in known:
            return known[name]
        known[name] = (False, False)
        data, shape = name in results, False
        for operator, index, outputs in readers[name]:
            if index in SHAPE_INPUTS.get(operator, ()):
                shape = True
            elif operator not in SHAPES_ALONE:
                for output in outputs:
                    below = verdict(output)
                    data, shape = data or below[0], shape or below[1]
        known[name] = (data, shape)
        return known[name]

    def says_shapes(value):
        data, shape = verdict(value.name)
        # Integers that are computed with besides (the sizes of a grid) say shapes nevertheless.
        return shape and (not data or value.type.tensor_type.elem_type == onnx.TensorProto.INT64)

    return [i.name for i in graph.input if says_shapes(i)]


def element_types(model):
    """Numbers of the element types that the model names."""
    def of_type(proto):
        kind = proto.WhichOneof("value")
        if kind == "tensor_type":
            return [proto.tensor_type.elem_type]
        if kind == "sequence_type":
            return of_type(proto.sequence_type.elem_type)
        if kind == "optional_type":
            return of_type(proto.optional_type.elem_type)
        return []

    types = []
    for value in [*model.graph.input, *model.graph.output, *model.graph.value_info]:
        types += of_type(value.type)
    types += [tensor.data_type for tensor in model.graph.initializer]
    for node in all_nodes([*model.graph.node, *(n for f in model.functions for n in f.node)]):
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.TENSOR:
                types.append(attribute.t.data_type)
            if node.op_type in ("Cast", "CastLike", "QuantizeLinear") and attribute.name in ("to", "output_dtype"):
                types.append(attribute.i)
    return types


def to_array(value):
    """What data_sets hold: arrays or TensorProto; anything else (sequences, optionals) is None."""
    if isinstance(value, onnx.TensorProto):
        value = onnx.numpy_helper.to_array(value)
    return np.asarray(value) if isinstance(value, (np.ndarray, np.generic)) else None


def write_case(test, folder):
    model = test.model
    opsets = {o.domain: o.version for o in model.opset_import}
    names = [i.name for i in model.graph.input]
    bound = bound_inputs(model)
    folder.mkdir()
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    for number, (inputs, outputs) in enumerate(test.data_sets):
        arrays = {name: to_array(value) for name, value in zip(names, inputs)}
        for index, name in enumerate(bound):
            if arrays.get(name) is not None:
                np.save(folder / f"bound{number}.{index}.npy", np.ascontiguousarray(arrays[name]).reshape(arrays[name].shape))
        data = {name: array for name, array in arrays.items() if array is not None and name not in bound}
        plain = {name: np.ascontiguousarray(array).reshape(array.shape) for name, array in data.items()
                 if array.dtype.kind in "biufV" or array.dtype.name == "bfloat16"}
        np.savez(folder / f"data{number}.npz", **{"file." + k if k == "file" else k: v for k, v in plain.items()})
        expected = [(output.name, to_array(value)) for output, value in zip(model.graph.output, outputs)]
        (folder / f"expected{number}.pickle").write_bytes(pickle.dumps(expected))
    exotic = next((TYPE_NAMES.get(t, str(t)).lower() for t in element_types(model) if is_refused_type(t)), "")
    operators = [("" if n.domain in ("", "ai.onnx") else n.domain + ".") + n.op_type for n in model.graph.node] or ["none"]
    # An expanded case is named after the operator that was expanded.
    return Case(test.name, folder, operators, opsets.get("", opsets.get("ai.onnx", 0)), test.rtol, test.atol, bound,
                len(test.data_sets), exotic)


def load(cache):
    """All cases; made anew where the folder is not that of this package and this script."""
    stamp = hashlib.sha256(pathlib.Path(__file__).read_bytes() + onnx.__version__.encode()).hexdigest()[:16]
    folder = pathlib.Path(cache) / f"cases-{onnx.__version__}-{stamp}"
    index = folder / "index.pickle"
    if not index.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from onnx.backend.test.loader import load_model_tests
            tests = load_model_tests(kind="node")
        made = [write_case(test, folder / test.name) for test in sorted(tests, key=lambda test: test.name)]
        index.write_bytes(pickle.dumps(made))
    return pickle.loads(index.read_bytes())
