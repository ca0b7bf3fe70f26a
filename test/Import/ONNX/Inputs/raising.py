"""raising.py FOLDER [NAME...]: subgraphs as exporters write them, trained with and without raising.

Each model is imported and differentiated twice, once without `nn-raise-composites`; loss and gradients by the
reference interpreter must agree, and the remarks must be the ones that the case names. Comments say which exporter
writes which form (TorchScript-based: `torch.onnx.export(dynamo=False)`; torch.export-based: `dynamo=True`).
"""
import math
import os
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper

from graph import Graph

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
BATCH, TIME, HEADS, SIZE = 2, 6, 4, 8
WIDTH = HEADS * SIZE
LOWEST = float(np.finfo(np.float32).min)


class Case(Graph):
    """A model with input x (batch x time x width), input mask (batch x time, integers) and one output."""

    def __init__(self, opset):
        super().__init__(opset)
        self.random = np.random.default_rng(1)
        self.weights = 0

    def number(self, value):
        return self.const(value, np.float32)

    def parameter(self, *shape, scale=0.3):
        self.weights += 1
        return self.weight(scale * self.random.standard_normal(shape), "w%d" % self.weights)

    def linear(self, x, inputs, outputs):
        return self.op("Add", self.op("MatMul", x, self.parameter(inputs, outputs)), self.parameter(outputs))

    def reshape(self, x, *shape):
        return self.op("Reshape", x, self.ints(*shape))

    def transpose(self, x, *perm):
        return self.op("Transpose", x, perm=list(perm))

    def squeeze(self, x, axis):
        return self.op("Squeeze", x, self.ints(axis)) if self.opset >= 13 else self.op("Squeeze", x, axes=[axis])

    def unsqueeze(self, x, *axes):
        return self.op("Unsqueeze", x, self.ints(*axes)) if self.opset >= 13 else self.op("Unsqueeze", x, axes=list(axes))

    def mean(self, x, axis):
        if self.opset >= 18:
            return self.op("ReduceMean", x, self.ints(axis), keepdims=1)
        return self.op("ReduceMean", x, axes=[axis], keepdims=1)

    def heads(self, x, count=HEADS):
        return self.transpose(self.reshape(self.linear(x, WIDTH, count * SIZE), -1, TIME, count, SIZE), 0, 2, 1, 3)

    def merge(self, x):
        return self.linear(self.reshape(self.transpose(x, 0, 2, 1, 3), -1, TIME, WIDTH), WIDTH, 5)

    def attend(self, mask_scores, v=None, q=None, k=None, guard=False):
        """Scores q k^T / sqrt(size), what `mask_scores` makes of them, softmax, values, heads merged."""
        q, k, v = q or self.heads("x"), k or self.heads("x"), v or self.heads("x")
        scores = self.op("Div", self.op("MatMul", q, self.transpose(k, 0, 1, 3, 2)), self.number(math.sqrt(SIZE)))
        p = self.op("Softmax", mask_scores(scores), axis=-1)
        if guard:
            p = self.op("Where", self.op("IsNaN", p), self.number(0), p)
        return self.merge(self.op("MatMul", p, v))

    def padding(self):
        """batch x 1 x 1 x time: true where a key counts."""
        return self.op("Cast", self.unsqueeze("mask", 1, 2), to=TensorProto.BOOL)

    def causal(self):
        """time x time: true where a key is not later."""
        t = self.op("Range", self.const(0, np.int64), self.const(TIME, np.int64), self.const(1, np.int64))
        return self.op("LessOrEqual", self.unsqueeze(t, 0), self.unsqueeze(t, 1))


# ---- Attention ----------------------------------------------------------------------------------------------------

def sdpa_causal(g):
    """torch.export-based F.scaled_dot_product_attention(is_causal=True): sqrt(scale) on q and on k, k transposed through
    three dimensions, the mask from Trilu of a constant."""
    root = math.sqrt(1 / math.sqrt(SIZE))
    q, k, v = (g.heads("x") for _ in range(3))
    k3 = g.transpose(g.reshape(k, -1, TIME, SIZE), 0, 2, 1)
    k4 = g.reshape(k3, -1, HEADS, SIZE, TIME)
    ones = g.op("Trilu", g.op("Expand", g.const(True), g.ints(TIME, TIME)) if g.opset >= 20 else g.op(
        "Cast", g.op("ConstantOfShape", g.ints(TIME, TIME), value=onnx.numpy_helper.from_array(np.array([1], np.int64))),
        to=TensorProto.BOOL), upper=0)
    mask = g.op("Where", ones, g.number(0), g.number(float("-inf")))
    scores = g.op("Add", g.op("MatMul", g.op("Mul", q, g.number(root)), g.op("Mul", k4, g.number(root))), mask)
    return g.merge(g.op("MatMul", g.op("Softmax", scores, axis=-1), v))


def sdpa_padded(g):
    """F.scaled_dot_product_attention with a boolean mask of batch x 1 x 1 x time, guarded against rows without a key."""
    def masked(scores):
        return g.op("Add", scores, g.op("Where", g.padding(), g.number(0), g.number(LOWEST)))
    return g.attend(masked, guard=True)


def sdpa_padded_causal(g):
    """The same with a causal mask joined to it, as decoders of transformers make it."""
    def masked(scores):
        seen = g.op("And", g.padding(), g.causal())
        return g.op("Add", scores, g.op("Where", seen, g.number(0), g.number(LOWEST)))
    return g.attend(masked)


def masked_fill(low):
    """scores.masked_fill(~tril, low): nanoGPT and its like. The buffer is a constant here."""
    def build(g):
        hidden = g.const(np.triu(np.ones((1, 1, TIME, TIME), bool), 1))
        return g.attend(lambda scores: g.op("Where", hidden, g.number(low), scores))
    return build


def masked_fill_padded(low):
    """scores.masked_fill(mask == 0, low) with a mask per sample; rows without a key give the mean of the values and no
    gradient to the scores."""
    def build(g):
        def masked(scores):
            hidden = g.op("Equal", g.unsqueeze("mask", 1, 2), g.const(0, np.int64))
            return g.op("Where", hidden, g.number(low), scores)
        return g.attend(masked)
    return build


def two_masks(g):
    """A causal mask of -inf and, outside it, one for padding."""
    def masked(scores):
        scores = g.op("Where", g.causal(), scores, g.number(float("-inf")))
        return g.op("Add", scores, g.op("Where", g.padding(), g.number(0), g.number(-1e9)))
    return g.attend(masked)


def additive(g):
    """BERT: (1 - mask) * lowest, added."""
    def masked(scores):
        m = g.op("Cast", g.unsqueeze("mask", 1, 2), to=FLOAT)
        return g.op("Add", scores, g.op("Mul", g.op("Sub", g.number(1), m), g.number(LOWEST)))
    return g.attend(masked)


def alibi(g):
    """A bias per head that grows with the distance, and a causal mask that is selected."""
    def masked(scores):
        t = g.op("Cast", g.op("Range", g.const(0, np.int64), g.const(TIME, np.int64), g.const(1, np.int64)), to=FLOAT)
        slopes = g.const(2.0 ** -np.arange(HEADS).reshape(1, HEADS, 1, 1), np.float32)
        scores = g.op("Add", scores, g.op("Mul", slopes, t))
        return g.op("Where", g.causal(), scores, g.number(float("-inf")))
    return g.attend(masked)


def grouped(g):
    """Two keys and values for four heads: repeat_kv (expand between unsqueeze and reshape)."""
    def repeat(x):
        x = g.op("Expand", g.unsqueeze(x, 2), g.ints(1, 2, 2, TIME, SIZE))
        return g.reshape(x, -1, HEADS, TIME, SIZE)
    k, v = (repeat(g.heads("x", 2)) for _ in range(2))
    return g.attend(lambda scores: scores, v=v, k=k)


def grouped_interleaved(g):
    """repeat_interleave before the heads are moved outside, as Meta's llama does it."""
    def repeat(x):
        x = g.reshape(g.linear(x, WIDTH, 2 * SIZE), -1, TIME, 2, SIZE)
        x = g.op("Expand", g.unsqueeze(x, 3), g.ints(1, TIME, 2, 2, SIZE))
        return g.transpose(g.reshape(x, -1, TIME, HEADS, SIZE), 0, 2, 1, 3)
    k, v = (repeat("x") for _ in range(2))
    return g.attend(lambda scores: scores, v=v, k=k)


def one_key(g):
    """One key and value for all heads (multi-query), expanded in place."""
    k, v = (g.op("Expand", g.heads("x", 1), g.ints(1, HEADS, TIME, SIZE)) for _ in range(2))
    return g.attend(lambda scores: scores, v=v, k=k)


def merged_heads(mask):
    """nn.MultiheadAttention: time first, batch and heads in one dimension, three-dimensional products."""
    def build(g):
        x = g.transpose("x", 1, 0, 2)
        def split(x):
            # torch.unflatten, as the TorchScript-based exporter counts its dimension: (-1 + rank) mod rank.
            y = g.linear(x, WIDTH, WIDTH)
            end = g.op("Mod", g.op("Add", g.ints(3), g.const(-1, np.int64)), g.ints(3))
            shape = g.op("Concat", g.op("Slice", g.op("Shape", y), g.ints(0), end), g.ints(HEADS, SIZE), axis=0)
            y = g.reshape(g.op("Reshape", y, shape), TIME, BATCH * HEADS, SIZE)
            return g.transpose(y, 1, 0, 2)
        q, k, v = (split(x) for _ in range(3))
        q = g.op("Mul", q, g.number(1 / math.sqrt(SIZE)))
        scores = g.op("MatMul", q, g.transpose(k, 0, 2, 1))
        if mask == "padded":
            wide = g.op("Expand", g.padding(), g.ints(BATCH, HEADS, 1, TIME))
            hidden = g.op("Not", g.reshape(wide, BATCH * HEADS, 1, TIME))
            scores = g.op("Add", scores, g.op("Where", hidden, g.number(float("-inf")), g.number(0)))
        elif mask == "causal":
            scores = g.op("Add", scores, g.op("Where", g.causal(), g.number(0), g.number(float("-inf"))))
        o = g.op("MatMul", g.op("Softmax", scores, axis=-1), v)
        o = g.linear(g.reshape(g.transpose(o, 1, 0, 2), TIME * BATCH, WIDTH), WIDTH, 5)
        return g.transpose(g.reshape(o, TIME, BATCH, 5), 1, 0, 2)
    return build


def softmax_unflattened(g):
    """Products in three dimensions, the mask and softmax in four (OPT, BART)."""
    q, k, v = (g.reshape(g.heads("x"), BATCH * HEADS, TIME, SIZE) for _ in range(3))
    scores = g.reshape(g.op("MatMul", q, g.transpose(k, 0, 2, 1)), BATCH, HEADS, TIME, TIME)
    scores = g.op("Add", scores, g.op("Where", g.padding(), g.number(0), g.number(LOWEST)))
    p = g.reshape(g.op("Softmax", scores, axis=-1), BATCH * HEADS, TIME, TIME)
    return g.merge(g.reshape(g.op("MatMul", p, v), BATCH, HEADS, TIME, SIZE))


def trained_bias(g):
    """A position bias that is trained (T5) has a gradient: left alone."""
    return g.attend(lambda scores: g.op("Add", scores, g.parameter(1, HEADS, TIME, TIME)))


def soft_capped(g):
    """tanh between the product and softmax (Gemma 2): left alone."""
    return g.attend(lambda scores: g.op("Mul", g.op("Tanh", g.op("Div", scores, g.number(30))), g.number(30)))


def weights_read(g):
    """The probabilities are read otherwise too: left alone."""
    q, k, v = (g.heads("x") for _ in range(3))
    p = g.op("Softmax", g.op("MatMul", q, g.transpose(k, 0, 1, 3, 2)), axis=-1)
    o = g.merge(g.op("MatMul", p, v))
    return g.op("Add", o, g.op("MatMul", g.mean(g.squeeze(g.mean(p, 1), 1), 2), g.parameter(1, 5)))


def rotary(form):
    """q cos + rotate_half(q) sin on queries and keys whose heads are outside, before attention moves them inside."""
    def build(g):
        half = SIZE // 2
        angles = np.arange(TIME)[:, None] * 100.0 ** (-np.arange(half) / half)
        tables = [g.const(f(np.concatenate([angles, angles], 1)), np.float32) for f in (np.cos, np.sin)]
        def rotate(x):
            low, high = (g.op("Slice", x, g.ints(a), g.ints(b), g.ints(3)) for a, b in ((0, half), (half, SIZE)))
            if form == "turned":  # the other way round: not what a rotation by sine is
                turned = g.op("Concat", high, g.op("Neg", low), axis=-1)
            elif form == "interleaved":
                even, odd = (g.unsqueeze(g.op("Slice", x, g.ints(a), g.ints(SIZE), g.ints(3), g.ints(2)), 4) for a in (0, 1))
                turned = g.reshape(g.op("Concat", g.op("Neg", odd), even, axis=-1), -1, HEADS, TIME, SIZE)
            else:
                turned = g.op("Concat", g.op("Neg", high), low, axis=-1)
            return g.op("Add", g.op("Mul", x, tables[0]), g.op("Mul", turned, tables[1]))
        return g.attend(lambda scores: scores, q=rotate(g.heads("x")), k=rotate(g.heads("x")))
    return build


# ---- Norms and activations ----------------------------------------------------------------------------------------

def layer_norm(form):
    """nn.LayerNorm below opset 17 (TorchScript-based) and its relatives."""
    def build(g):
        x = g.linear("x", WIDTH, 16)
        centred = g.op("Sub", x, g.mean(x, -1))
        square = g.op("Mul", centred, centred) if form == "rsqrt" else g.op("Pow", centred, g.number(2))
        variance = g.op("Add", g.mean(square, -1), g.number(1e-5))
        if form == "rsqrt":  # x * (rsqrt(var) * scale)
            inverse = g.op("Reciprocal", g.op("Sqrt", variance))
            y = g.op("Mul", centred, g.op("Mul", inverse, g.parameter(16)))
        elif form == "power":
            y = g.op("Mul", g.op("Mul", g.parameter(16), centred), g.op("Pow", variance, g.number(-0.5)))
        else:
            y = g.op("Div", centred, g.op("Sqrt", variance))
            if form != "bare":
                y = g.op("Mul", y, g.parameter(16))
        if form == "biased":
            y = g.op("Add", y, g.parameter(16))
        return g.linear(y, 16, 5)
    return build


def channels(g):
    """The norm over the channels of an image (ConvNeXt): mean over axis 1, weights of c x 1 x 1."""
    x = g.reshape(g.linear("x", WIDTH, 16), -1, TIME, 4, 4)
    centred = g.op("Sub", x, g.mean(x, 1))
    variance = g.mean(g.op("Pow", centred, g.number(2)), 1)
    y = g.op("Div", centred, g.op("Sqrt", g.op("Add", variance, g.number(1e-6))))
    scale, bias = (g.unsqueeze(g.parameter(TIME), 1, 2) for _ in range(2))
    return g.linear(g.reshape(g.op("Add", g.op("Mul", scale, y), bias), -1, TIME, 16), 16, 5)


def rms_norm(g):
    """No mean is taken off: stays in primitives, which fuse."""
    x = g.linear("x", WIDTH, 16)
    y = g.op("Mul", x, g.op("Reciprocal", g.op("Sqrt", g.op("Add", g.mean(g.op("Pow", x, g.number(2)), -1), g.number(1e-6)))))
    return g.linear(g.op("Mul", g.parameter(16), y), 16, 5)


def unbiased_variance(g):
    """torch.var divides by n - 1: no layer norm."""
    x = g.linear("x", WIDTH, 16)
    centred = g.op("Sub", x, g.mean(x, -1))
    variance = g.op("Mul", g.mean(g.op("Mul", centred, centred), -1), g.number(16 / 15))
    return g.linear(g.op("Div", centred, g.op("Sqrt", g.op("Add", variance, g.number(1e-5)))), 16, 5)


def gelu(form):
    """Both formulas in the associations that exporters and model files have."""
    def build(g):
        x = g.linear("x", WIDTH, 16)
        half, one = g.number(0.5), g.number(1)
        erf = lambda x: g.op("Add", g.op("Erf", g.op("Div", x, g.number(math.sqrt(2)))), one)
        k = g.number(math.sqrt(2 / math.pi))
        if form == "torchscript":  # (x * (1 + erf)) * 0.5
            y = g.op("Mul", g.op("Mul", x, erf(x)), half)
        elif form == "written":  # x * 0.5 * (1 + erf)
            y = g.op("Mul", g.op("Mul", x, half), erf(x))
        elif form == "inside":  # x * (0.5 + 0.5 erf)
            y = g.op("Mul", x, g.op("Add", half, g.op("Mul", half, g.op("Erf", g.op("Mul", x, g.number(math.sqrt(0.5)))))))
        elif form == "gpt2":  # 0.5 * x * (1 + tanh(k * (x + 0.044715 * x^3)))
            cubic = g.op("Add", x, g.op("Mul", g.number(0.044715), g.op("Pow", x, g.number(3))))
            y = g.op("Mul", g.op("Mul", half, x), g.op("Add", one, g.op("Tanh", g.op("Mul", k, cubic))))
        elif form == "fast":  # 0.5 * x * (1 + tanh(x * k * (1 + 0.044715 * x * x)))
            inner = g.op("Add", one, g.op("Mul", g.op("Mul", g.number(0.044715), x), x))
            y = g.op("Mul", g.op("Mul", half, x), g.op("Add", one, g.op("Tanh", g.op("Mul", g.op("Mul", x, k), inner))))
        elif form == "quick":  # x * sigmoid(1.702 x)
            y = g.op("Mul", x, g.op("Sigmoid", g.op("Mul", g.number(1.702), x)))
        elif form == "almost":  # another constant
            y = g.op("Mul", g.op("Mul", x, half), g.op("Add", g.op("Erf", g.op("Div", x, g.number(1.4))), one))
        return g.linear(y, 16, 5)
    return build


def own_loss(form):
    """A loss that the model computes: log-softmax, an element each by position and label, a sum. The labels are `mask`."""
    def build(g):
        classes = 5
        logits = g.linear("x", WIDTH, classes)
        p = g.op("LogSoftmax", logits, axis=-1)
        position = g.op("Range", g.const(0, np.int64), g.const(BATCH * TIME, np.int64), g.const(1, np.int64))
        start = g.op("Mul", g.reshape(position, BATCH, TIME), g.const(classes, np.int64))
        if form == "columns":  # by another position: not the label's own
            position = g.transpose(g.reshape(position, TIME, BATCH), 1, 0)
            start = g.op("Mul", position, g.const(classes, np.int64))
        loss = g.op("Neg", g.op("Gather", g.reshape(p, -1), g.op("Add", start, "mask"), axis=0))
        if form == "ignored":
            ignored = g.op("Equal", "mask", g.const(0, np.int64))
            loss = g.op("Where", ignored, g.number(0), loss)
            loss = g.op("Mul", loss, g.op("Where", ignored, g.number(0), g.number(1)))
        elif form == "weighted":
            loss = g.op("Mul", loss, g.op("Gather", g.const(np.arange(1, 6), np.float32), "mask", axis=0))
        return g.op("Div", g.op("ReduceSum", loss, keepdims=0), g.number(3))
    return build


CASES = {
    "sdpa_causal": (sdpa_causal, 18, ["nn.attention: 4 heads, causal"]),
    "sdpa_causal_20": (sdpa_causal, 20, ["nn.attention: 4 heads, causal"]),
    "sdpa_padded": (sdpa_padded, 18, ["nn.attention: 4 heads, masked"]),
    "sdpa_padded_causal": (sdpa_padded_causal, 14, ["nn.attention: 4 heads, masked"]),
    "masked_fill_inf": (masked_fill(float("-inf")), 17, ["nn.attention: 4 heads, causal"]),
    "masked_fill_lowest": (masked_fill(LOWEST), 13, ["nn.attention: 4 heads, causal"]),
    "masked_fill_1e9": (masked_fill(-1e9), 13, ["nn.attention: 4 heads, causal"]),
    "masked_fill_1e4": (masked_fill(-1e4), 13, ["nn.attention: 4 heads, causal"]),
    "masked_fill_100": (masked_fill(-100), 13, []),
    "masked_fill_padded": (masked_fill_padded(LOWEST), 13, ["nn.attention: 4 heads, masked, rows without an entry apart"]),
    "masked_fill_padded_1e4": (masked_fill_padded(-1e4), 13,
                               ["nn.attention: 4 heads, masked, rows without an entry apart"]),
    "two_masks": (two_masks, 18, ["nn.attention: 4 heads, causal and masked"]),
    "additive": (additive, 13, ["nn.attention: 4 heads, masked"]),
    "alibi": (alibi, 18, ["nn.attention: 4 heads, causal and masked"]),
    "grouped": (grouped, 18, ["nn.attention: 4 heads in 2 groups"]),
    "grouped_interleaved": (grouped_interleaved, 18, ["nn.attention: 4 heads in 2 groups"]),
    "one_key": (one_key, 18, ["nn.attention: 4 heads in 1 group"]),
    "merged_heads": (merged_heads(""), 18, ["nn.attention: 4 heads"]),
    "merged_heads_padded": (merged_heads("padded"), 18, ["nn.attention: 4 heads, masked"]),
    "merged_heads_causal": (merged_heads("causal"), 18, ["nn.attention: 4 heads, causal"]),
    "softmax_unflattened": (softmax_unflattened, 18, ["nn.attention: 4 heads, masked"]),
    "rotary": (rotary("half"), 18, ["a rotation of pairs", "a rotation of pairs", "nn.attention: 4 heads"]),
    "rotary_turned": (rotary("turned"), 18, ["nn.attention: 4 heads"]),
    "rotary_interleaved": (rotary("interleaved"), 18, ["nn.attention: 4 heads"]),
    "trained_bias": (trained_bias, 18, []),
    "soft_capped": (soft_capped, 18, []),
    "weights_read": (weights_read, 18, []),
    "layer_norm_biased": (layer_norm("biased"), 16, ["nn.layer_norm"]),
    "layer_norm_scaled": (layer_norm("scaled"), 18, ["nn.layer_norm: without bias"]),
    "layer_norm_bare": (layer_norm("bare"), 18, ["nn.layer_norm: without scale and bias"]),
    "layer_norm_rsqrt": (layer_norm("rsqrt"), 12, ["nn.layer_norm: without bias"]),
    "layer_norm_power": (layer_norm("power"), 13, ["nn.layer_norm: without bias"]),
    "layer_norm_channels": (channels, 13, ["nn.layer_norm"]),
    "rms_norm": (rms_norm, 18, []),
    "unbiased_variance": (unbiased_variance, 18, []),
    "gelu_torchscript": (gelu("torchscript"), 13, ["nn.gelu: none"]),
    "gelu_written": (gelu("written"), 13, ["nn.gelu: none"]),
    "gelu_inside": (gelu("inside"), 13, ["nn.gelu: none"]),
    "gelu_gpt2": (gelu("gpt2"), 18, ["nn.gelu: tanh"]),
    "gelu_fast": (gelu("fast"), 18, ["nn.gelu: tanh"]),
    "gelu_quick": (gelu("quick"), 18, []),
    "own_loss": (own_loss("plain"), 18, ["nn.cross_entropy"]),
    "own_loss_ignored": (own_loss("ignored"), 18, ["nn.cross_entropy: with labels that do not count"]),
    "own_loss_weighted": (own_loss("weighted"), 18, []),
    "own_loss_columns": (own_loss("columns"), 18, []),
    "gelu_almost": (gelu("almost"), 18, []),
}
# Padding that leaves the second sample no key at all: what rows without an entry give must not change either. Beside a
# causal mask of -inf, and where -inf hides, such rows are NaN: there each sample keeps a key.
KEEPS_A_KEY = {"two_masks", "merged_heads_padded"}


def build(name):
    make, opset, _ = CASES[name]
    g = Case(opset)
    out = make(g)
    g.nodes.append(helper.make_node("Identity", [out], ["y"], name="out"))
    inputs = [helper.make_tensor_value_info("x", FLOAT, ["batch", TIME, WIDTH])]
    if any("mask" in node.input for node in g.nodes):
        inputs.append(helper.make_tensor_value_info("mask", INT64, ["batch", TIME]))
    shape = [] if name.startswith("own_loss") else ["batch", TIME, 5]
    graph = helper.make_graph(g.nodes, "g", inputs, [helper.make_tensor_value_info("y", FLOAT, shape)],
                              initializer=g.constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def run(*command):
    return subprocess.run(command, capture_output=True, text=True)


def evaluate(path, files):
    done = run("nn-forward", path, "--function=micro", *files)
    if done.returncode:
        sys.exit(path + ": " + done.stderr)
    return [np.array(eval(line[line.index("["):], {"nan": np.nan, "inf": np.inf})) for line in done.stdout.splitlines()]


def check(name, folder):
    """What is wrong, or nothing."""
    path = os.path.join(folder, name)
    onnx.save(build(name), path + ".onnx")
    loss = ["--loss=output"] if name.startswith("own_loss") else ["--loss=mse", "--labels=t"]
    done = run("zero-import", path + ".onnx", *loss, "-o", path + ".mlir")
    if done.returncode:
        return done.stderr
    before = ["--nn-bind-batch=micro-batch=%d" % BATCH, "--nn-fold-constants", "--canonicalize", "--cse"]
    after = ["--canonicalize", "--cse", "--nn-build-backward", "--canonicalize", "--cse"]
    for kind, raising in (("plain", []), ("raised", ["--nn-raise-composites=remarks"])):
        done = run("zero-opt", path + ".mlir", *before, *raising, *after, "-o", "%s.%s.mlir" % (path, kind))
        if done.returncode:
            return done.stderr
    found = [line.split("raised to ")[1].strip() for line in done.stderr.splitlines() if "raised to " in line]
    if found != CASES[name][2]:
        return "found %s, expected %s" % (found, CASES[name][2])
    random = np.random.default_rng(2)
    mask = np.array([[1, 1, 1, 1, 0, 0], [1 if name in KEEPS_A_KEY else 0, 0, 0, 0, 0, 0]], np.int64)
    arrays = {"x": random.standard_normal((BATCH, TIME, WIDTH)).astype(np.float32), "mask": mask,
              "t": random.standard_normal((BATCH, TIME, 5)).astype(np.float32)}
    files = []
    for key, array in arrays.items():
        array.tofile(path + "." + key)
        files.append("%s=%s.%s" % (key, path, key))
    plain, raised = (evaluate("%s.%s.mlir" % (path, kind), files) for kind in ("plain", "raised"))
    if len(plain) != len(raised):
        return "%d and %d results" % (len(plain), len(raised))
    for index, (a, b) in enumerate(zip(plain, raised)):
        # The gradient of a key's bias is rounding alone.
        distance = np.max(np.abs(a - b))
        if not distance < 5e-6 + 2e-5 * np.max(np.abs(a)):
            return "result %d differs by %.1e: %s and %s" % (index, distance, a.flat[:4], b.flat[:4])
    if any(not np.all(np.isfinite(a)) for a in raised):
        return "a result is not finite"
    return ""


def main():
    folder, names = sys.argv[1], sys.argv[2:] or list(CASES)
    os.makedirs(folder, exist_ok=True)
    failures = 0
    for name in names:
        problem = check(name, folder)
        failures += bool(problem)
        print("%s: %s" % (name, problem or "ok"))
    sys.exit(bool(failures))


main()
