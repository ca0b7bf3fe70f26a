"""layer_errors.py FOLDER: every mistake that the builders of whole layers find, with the message that it must give.

Each case is one node; zero-import must end with status 3 and name it. x is ? x 5 x 4 floats, t the same with the steps in
front, y has an unknown second dimension, i is ? x 6 integers.
"""
import sys

import numpy as np
from onnx import TensorProto, helper

import refused
from graph import Graph

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def zeros(g, *shape):
    return g.const(np.zeros(shape, np.float32))


def cell(kind, x="t", w=(1, 12, 4), r=(1, 12, 3), more=(), **attributes):
    """A recurrent node; `more` builds its further inputs."""
    return lambda g: g.op(kind, x, zeros(g, *w), zeros(g, *r), *[build(g) if callable(build) else build for build in more],
                          outputs=2, **attributes)[0]


CASES = [
    ("direction 'sideways' is not forward, reverse or bidirectional", cell("LSTM", direction="sideways")),
    ("needs a tensor of floats of rank 3, not 'tensor<?x6xi64>'", cell("LSTM", x="i")),
    ("unrolls its steps, and their number (dimension 0 of X, 'tensor<?x5x4xf32>') is not known: give the dimension a size "
     "with --dim NAME=VALUE, and export with the batch in front (batch_first)", cell("LSTM", x="x")),
    ("unrolls 1025 steps, more than 1024",
     lambda g: cell("RNN", x=g.op("Expand", "t1", g.ints(1025, 1, 1)), w=(1, 3, 4), r=(1, 3, 3))(g)),
    ("needs known sizes of inputs and state, not X of type 'tensor<5x?x4xf32>' and R of type 'tensor<12x3xf32>'",
     cell("LSTM", r=(12, 3))),
    ("has hidden_size=7 and R of type 'tensor<1x12x3xf32>'", cell("LSTM", hidden_size=7)),
    ("W has type 'tensor<1x12x5xf32>', not 'tensor<1x12x4xf32>'", cell("LSTM", w=(1, 12, 5))),
    ("R has type 'tensor<1x11x3xf32>', not 'tensor<1x12x3xf32>'", cell("LSTM", r=(1, 11, 3))),
    ("W has type 'tensor<1x12x4xf32>', not 'tensor<2x12x4xf32>'", cell("LSTM", direction="bidirectional")),
    ("B has type 'tensor<1x23xf32>', not 'tensor<1x24xf32>'", cell("LSTM", more=[lambda g: zeros(g, 1, 23)])),
    ("sequence_lens has type 'tensor<2x2xi64>', not 'tensor<?xi32>'",
     cell("LSTM", more=["", lambda g: g.const(np.zeros((2, 2)), np.int64)])),
    ("sequence_lens has the length 6, but X has 5 steps", cell("LSTM", more=["", lambda g: g.const([2, 6], np.int32)])),
    ("initial_h has type 'tensor<1x2x4xf32>', not 'tensor<1x?x3xf32>'", cell("LSTM", more=["", "", lambda g: zeros(g, 1, 2, 4)])),
    ("initial_c has type 'tensor<1x2x4xf32>', not 'tensor<1x?x3xf32>'",
     cell("LSTM", more=["", "", "", lambda g: zeros(g, 1, 2, 4)])),
    ("P has type 'tensor<1x8xf32>', not 'tensor<1x9xf32>'", cell("LSTM", more=["", "", "", "", lambda g: zeros(g, 1, 8)])),
    ("lists 2 activations, not 3", cell("LSTM", activations=["Tanh", "Tanh"])),
    ("activation 'Cosh' is not supported", cell("RNN", w=(1, 3, 4), r=(1, 3, 3), activations=["Cosh"])),
    ("activation 'Affine' has no number in activation_alpha and no default",
     cell("RNN", w=(1, 3, 4), r=(1, 3, 3), activations=["Affine"])),
    ("activation 'ScaledTanh' has no number in activation_beta and no default",
     cell("RNN", w=(1, 3, 4), r=(1, 3, 3), activations=["ScaledTanh"], activation_alpha=[1.0])),
]


def attention(*more, q=(2, 5, 4), k=(2, 5, 4), v=(2, 5, 4), **attributes):
    heads = {} if len(q) == 4 else dict(q_num_heads=2, kv_num_heads=2)
    heads.update(attributes)
    return lambda g: g.op("Attention", *[zeros(g, *shape) for shape in (q, k, v)],
                          *[build(g) if callable(build) else build for build in more], outputs=3, **heads)[0]


def rotary(x=(2, 5, 8), cache=(9, 2), positions=lambda g: g.const(np.zeros((2, 5)), np.int64), **attributes):
    return lambda g: g.op("RotaryEmbedding", zeros(g, *x), zeros(g, *cache), zeros(g, *cache),
                          *([positions(g)] if positions else []), **attributes)


FOUR = dict(q=(2, 4, 5, 3), k=(2, 2, 5, 3), v=(2, 2, 5, 3))
CASES += [
    ("Q, K and V need floats of rank 3 or 4, input 1 has type 'tensor<2x5x2x2xf32>'", attention(k=(2, 5, 2, 2))),
    ("q_num_heads=3 does not divide dimension 2 of 'tensor<2x5x4xf32>'", attention(q_num_heads=3)),
    ("kv_num_heads=0 does not divide dimension 2 of 'tensor<2x5x4xf32>'", attention(kv_num_heads=0)),
    ("needs known heads, not those of 'tensor<5x?x4x1xf32>'",
     lambda g: g.op("Attention", *[g.op("Unsqueeze", "t", g.ints(3))] * 3)),
    ("Q, K and V do not fit: as batch x heads x length x size they are 'tensor<2x2x5x2xf32>', 'tensor<2x2x5x2xf32>' and "
     "'tensor<2x2x6x2xf32>'", attention(v=(2, 6, 4))),
    ("Q has 4 heads, which the 3 of K do not divide", attention(**dict(FOUR, k=(2, 3, 5, 3), v=(2, 3, 5, 3)))),
    ("the cache of types 'tensor<2x2x7x2xf32>' and 'tensor<2x2x6x2xf32>' does not fit keys and values of types "
     "'tensor<2x2x5x2xf32>' and 'tensor<2x2x5x2xf32>'",
     attention("", lambda g: zeros(g, 2, 2, 7, 2), lambda g: zeros(g, 2, 2, 6, 2))),
    ("input 5 is missing", attention("", lambda g: zeros(g, 2, 2, 7, 2))),
    ("qk_matmul_output_mode=4 is not 0, 1, 2 or 3", attention(qk_matmul_output_mode=4)),
    ("softmax_precision is 'i64', which is no float type", attention(softmax_precision=INT64)),
    ("attn_mask of type 'tensor<5x5xi64>' fits no scores of 'tensor<2x2x5x5xf32>'",
     attention(lambda g: g.const(np.zeros((5, 5)), np.int64))),
    ("attn_mask of type 'tensor<4x5xf32>' fits no scores of 'tensor<2x2x5x5xf32>'", attention(lambda g: zeros(g, 4, 5))),
    ("attn_mask of type 'tensor<5x6xf32>' has more keys than the 5 there are", attention(lambda g: zeros(g, 5, 6))),
    ("nonpad_kv_seqlen has type 'tensor<3xi64>', not 'tensor<2xi64>'", attention("", "", "", lambda g: g.ints(1, 2, 3))),
    ("has nonpad_kv_seqlen and past_key, which exclude each other",
     attention("", lambda g: zeros(g, 2, 2, 7, 2), lambda g: zeros(g, 2, 2, 7, 2), lambda g: g.ints(1, 2))),
    ("has window sizes -2 and -1, which are not -1 or more", attention(left_window_size=-2)),
    ("needs known numbers of queries and keys for its mask, not those of 'tensor<5x1x?x4xf32>' and 'tensor<5x1x?x4xf32>'",
     lambda g: g.op("Attention", *["t"] * 3, q_num_heads=1, kv_num_heads=1, is_causal=1)),
    ("needs floats of rank 3 or 4, not 'tensor<5x8xf32>'", rotary(x=(5, 8), num_heads=2)),
    ("needs known heads, not those of 'tensor<5x?x4x2xf32>'",
     lambda g: g.op("RotaryEmbedding", g.op("Reshape", g.op("Concat", "t", "t", axis=2), g.ints(5, -1, 4, 2)), zeros(g, 9, 1),
                    zeros(g, 9, 1), g.const(np.zeros((5, 4)), np.int64))),
    ("num_heads=3 does not divide dimension 2 of 'tensor<2x5x8xf32>'", rotary(num_heads=3)),
    ("num_heads=0 does not divide dimension 2 of 'tensor<2x5x8xf32>'", rotary()),
    ("rotates 3 of 4 elements in pairs", rotary(num_heads=2, rotary_embedding_dim=3)),
    ("cos_cache has type 'tensor<9x3xf32>', not 'tensor<9x2xf32>'", rotary(num_heads=2, cache=(9, 3))),
    ("cos_cache has type 'tensor<9x2xf32>', not 'tensor<2x5x2xf32>'", rotary(num_heads=2, positions=None)),
    ("position_ids has type 'tensor<5xi64>', not 'tensor<2x5xi64>'",
     rotary(num_heads=2, positions=lambda g: g.ints(0, 1, 2, 3, 4))),
    ("cos_cache gives positions of type 'tensor<2x4x2xf32>' for 'tensor<2x5x8xf32>'",
     rotary(num_heads=2, positions=lambda g: g.const(np.zeros((2, 4)), np.int64))),
]


def build(case, _):
    g = Graph(25)
    g.nodes.append(helper.make_node("Transpose", ["x"], ["t"], name="turn", perm=[1, 0, 2]))
    g.nodes.append(helper.make_node("Slice", ["t", g.ints(0), g.ints(1), g.ints(0)], ["t1"], name="first"))
    output = case(g)
    g.nodes[-1].name = "wrong"
    return g, output, "wrong'"


refused.check(sys.argv[1], CASES, 25, build)
