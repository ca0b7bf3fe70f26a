"""Trains the model of tools/dev/make_gpt.py in PyTorch eager: the same weights, data and optimizer; prints JSON.

Run by step_time.py in an environment that has torch, numpy and onnx.
"""
import argparse
import json
import statistics
import time

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from onnx import numpy_helper


def forward(w, tokens, layers, heads):
    batch, length = tokens.shape
    x = F.embedding(tokens, w["wte.weight"]) + w["wpe.weight"]
    width = x.shape[-1]
    for i in range(layers):
        p = f"h.{i}."
        y = F.layer_norm(x, (width,), w[p + "ln1.weight"], w[p + "ln1.bias"])
        qkv = y @ w[p + "attn.qkv.weight"] + w[p + "attn.qkv.bias"]
        q, k, v = (t.reshape(batch, length, heads, -1).transpose(1, 2) for t in qkv.split(width, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(batch, length, width)
        x = x + y @ w[p + "attn.proj.weight"] + w[p + "attn.proj.bias"]
        y = F.layer_norm(x, (width,), w[p + "ln2.weight"], w[p + "ln2.bias"])
        y = F.gelu(y @ w[p + "mlp.fc.weight"] + w[p + "mlp.fc.bias"], approximate="tanh")
        x = x + y @ w[p + "mlp.proj.weight"] + w[p + "mlp.proj.bias"]
    x = F.layer_norm(x, (width,), w["lnf.weight"], w["lnf.bias"])
    return x @ w["head.weight"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("data")
    parser.add_argument("--layers", type=int, required=True)
    parser.add_argument("--heads", type=int, required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--warmup", type=int, default=3)
    a = parser.parse_args()
    torch.set_num_threads(1)
    weights = {i.name: torch.nn.Parameter(torch.from_numpy(numpy_helper.to_array(i).copy())) for i in onnx.load(a.model).graph.initializer}
    data = np.load(a.data)
    optimizer = torch.optim.AdamW(weights.values(), lr=1e-3, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1)
    losses, seconds = [], []
    for step in range(a.steps):
        start = time.perf_counter()
        rows = slice(step * a.batch, (step + 1) * a.batch)
        x, y = torch.from_numpy(data["x"][rows]), torch.from_numpy(data["y"][rows])
        logits = forward(weights, x, a.layers, a.heads)
        loss = F.cross_entropy(logits.view(-1, logits.shape[-1]), y.view(-1))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        seconds.append(time.perf_counter() - start)
    print(json.dumps({"torch": torch.__version__, "losses": losses, "step_seconds": statistics.median(seconds[a.warmup:])}))


if __name__ == "__main__":
    main()
