"""Cases of Attention and RotaryEmbedding for operators.py; as a script: where an Attention becomes nn.attention.

layers.py FOLDER
"""
import os
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper

from graph import Graph

FLOAT, DOUBLE, BOOL = TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.BOOL


def projections(g, heads=4, groups=2, size=3, value_size=3, four=True, x="x", keys="y"):
    """Q, K and V of ? x 5 x 4 inputs, with the heads in front or flat."""
    result = []
    for index, (source, count, width) in enumerate([(x, heads, size), (keys, groups, size), (keys, groups, value_size)]):
        weight = g.const(np.cos(np.arange(4 * count * width) * (index + 1)).reshape(4, count * width), np.float32)
        flat = g.op("MatMul", source, weight)
        split = g.op("Reshape", flat, g.ints(0, 0, count, width))
        result.append(g.op("Transpose", split, perm=[0, 2, 1, 3]) if four else flat)
    return result


def attention(g):
    all_heads = projections(g)
    flat = projections(g, four=False)
    heads = dict(q_num_heads=4, kv_num_heads=2)
    short = [g.op("Slice", t, g.ints(0), g.ints(3), g.ints(2)) for t in all_heads]
    square = np.arange(25).reshape(5, 5)
    some = g.const(square % 3 != 1, np.bool_)
    rowless = g.const((square % 3 != 1) & (np.arange(5)[:, None] != 2), np.bool_)
    added = g.const(np.where(square % 4 == 3, -np.inf, np.sin(square)), np.float32)
    batch_mask = g.op("Unsqueeze", g.op("Less", "y", g.const(0.25, np.float32)), g.ints(1))  # ? x 1 x 5 x 4
    g.case("plain", g.op("Attention", *all_heads))
    g.case("flat", g.op("Attention", *flat, **heads))
    g.case("scale", g.op("Attention", *flat, scale=0.25, **heads))
    g.case("value size", g.op("Attention", *projections(g, value_size=2)))
    g.case("value size flat", g.op("Attention", *projections(g, value_size=2, four=False), **heads))
    g.case("causal", g.op("Attention", *all_heads, is_causal=1))
    g.case("causal fewer queries", g.op("Attention", short[0], *all_heads[1:], is_causal=1))
    g.case("causal fewer keys", g.op("Attention", all_heads[0], *short[1:], is_causal=1))
    for name, mask in [("bool", some), ("bool without a row", rowless), ("float", added), ("short", batch_mask)]:
        for causal in (0, 1):
            g.case("mask %s %d" % (name, causal), g.op("Attention", *all_heads, mask, is_causal=causal))
            g.case("mask %s softcap %d" % (name, causal), g.op("Attention", *all_heads, mask, is_causal=causal, softcap=1.5))
    for mode in range(4):
        if mode == 0:
            outputs = g.op("Attention", *all_heads, rowless, outputs=4, qk_matmul_output_mode=mode)
        else:
            outputs = g.op("Attention", *all_heads, rowless, outputs=4, qk_matmul_output_mode=mode, softcap=2.0)
        g.case("scores mode %d" % mode, outputs[3] if mode != 2 else g.op("Clip", outputs[3], g.const(-9, np.float32)))
    for causal in (0, 1):
        outputs = g.op("Attention", *flat, "", all_heads[1], all_heads[2], outputs=3, is_causal=causal, **heads)
        for output, what in zip(outputs, ["past", "key", "value"]):
            g.case("%s %d" % (what, causal), output)
        g.case("past short %d" % causal, g.op("Attention", short[0], *all_heads[1:], "", short[1], short[2], outputs=3, is_causal=causal)[0])
    g.case("double", g.op("Attention", *all_heads, some, softmax_precision=DOUBLE))
    if g.opset >= 24:
        lengths = g.op("Add", g.op("ReduceSum", g.op("Cast", g.op("Less", "y", g.const(0.0, np.float32)), to=TensorProto.INT64),
                                   g.ints(1, 2), keepdims=0), g.const(-8, np.int64))
        lengths = g.op("Max", g.op("Min", lengths, g.const(5, np.int64)), g.const(0, np.int64))
        for causal in (0, 1):
            g.case("lengths %d" % causal, g.op("Attention", *all_heads, "", "", "", lengths, is_causal=causal))
            g.case("lengths mask %d" % causal, g.op("Attention", *all_heads, some, "", "", lengths, is_causal=causal))
    if g.opset >= 25:
        g.case("window left", g.op("Attention", *all_heads, left_window_size=1, is_causal=1))
        g.case("window both", g.op("Attention", *all_heads, some, left_window_size=1, right_window_size=2))
        g.case("window past", g.op("Attention", *all_heads, "", all_heads[1], all_heads[2], left_window_size=3, outputs=3)[0])


def rotary(g):
    angles = np.arange(21).reshape(7, 3) * 0.3
    cosine, sine = g.const(np.cos(angles), np.float32), g.const(np.sin(angles), np.float32)
    narrow = [g.const(f(angles[:, :1]), np.float32) for f in (np.cos, np.sin)]
    flat = projections(g, heads=2, size=6, four=False)[0]
    heads = projections(g, heads=2, size=6)[0]
    positions = g.op("Mod", g.op("Abs", g.op("Slice", "i", g.ints(0), g.ints(5), g.ints(1))), g.const(7, np.int64))
    rows = [g.op("Gather", cache, positions) for cache in (cosine, sine)]
    for interleaved in (0, 1):
        attributes = dict(interleaved=interleaved)
        g.case("heads %d" % interleaved, g.op("RotaryEmbedding", heads, cosine, sine, positions, **attributes))
        g.case("flat %d" % interleaved, g.op("RotaryEmbedding", flat, cosine, sine, positions, num_heads=2, **attributes))
        g.case("rows %d" % interleaved, g.op("RotaryEmbedding", heads, *rows, **attributes))
        g.case("rows flat %d" % interleaved, g.op("RotaryEmbedding", flat, *rows, num_heads=2, **attributes))
        g.case("part %d" % interleaved, g.op("RotaryEmbedding", heads, *narrow, positions, rotary_embedding_dim=2, **attributes))


# What becomes nn.attention: (expected, further inputs, attributes); q is ? x 4 x 5 x 3, k and v ? x 2 x 5 x 3.
COMPOSITE = [
    (True, [], {}),
    (True, [], dict(is_causal=1)),
    (True, ["mask"], {}),
    (True, ["mask"], dict(is_causal=1)),
    (True, [], dict(softmax_precision=FLOAT)),
    (False, ["bias"], {}),  # a trained bias needs its gradient
    (False, [], dict(softcap=2.0)),
    (False, [], dict(softmax_precision=DOUBLE)),
]


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for index, (expected, more, attributes) in enumerate(COMPOSITE):
        g = Graph(23)
        g.weight(np.zeros((1, 4, 5, 5)), "bias")
        g.weight(np.ones((1,)), "w")
        q, k, v = projections(g)
        output = g.op("Attention", g.op("Mul", q, "w"), k, v, *more, **attributes)
        inputs = [helper.make_tensor_value_info(n, FLOAT, ["batch", 5, 4]) for n in "xy"]
        inputs.append(helper.make_tensor_value_info("mask", BOOL, ["batch", 1, 5, 5]))
        graph = helper.make_graph(g.nodes, "g", inputs, [helper.make_tensor_value_info(output, FLOAT, None)], initializer=g.constants)
        path = os.path.join(folder, "%d.onnx" % index)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10), path)
        text = subprocess.run(["zero-import", path, "--loss=mse", "--labels=t"], capture_output=True, text=True, check=True).stdout
        if ("nn.attention" in text) != expected or ("nn.softmax" in text) == expected:
            sys.exit("case %d %s: nn.attention is %sexpected" % (index, attributes, "" if expected else "not "))
    print("%d cases are what they should be" % len(COMPOSITE))


if __name__ == "__main__":
    main()
