"""The GPT of tools/dev/gpu-check in PyTorch on one GPU: prints JSON with the time of a step and the memory it takes."""
import argparse
import json
import statistics
import time

import torch
import torch.nn.functional as F

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--mode", choices=["eager", "compile"], required=True)
parser.add_argument("--size", type=json.loads, required=True, help="layers, width, heads, sequence, batch, vocabulary as JSON")
parser.add_argument("--steps", type=int, required=True)
parser.add_argument("--warmup", type=int, required=True)
a = parser.parse_args()
layers, width, heads, sequence, batch, vocabulary = (a.size[key] for key in ("layers", "width", "heads", "sequence", "batch", "vocabulary"))


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.qkv, self.proj = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.fc, self.out = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = (part.reshape(b, t, heads, -1).transpose(1, 2) for part in self.qkv(self.ln1(x)).split(width, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, width))
        return x + self.out(F.gelu(self.fc(self.ln2(x)), approximate="tanh"))


class GPT(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = torch.nn.Embedding(vocabulary, width), torch.nn.Embedding(sequence, width)
        self.h = torch.nn.ModuleList([Block() for _ in range(layers)])
        self.lnf, self.head = torch.nn.LayerNorm(width), torch.nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens, labels):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.h:
            x = block(x)
        return F.cross_entropy(self.head(self.lnf(x)).float().view(-1, vocabulary), labels.reshape(-1))


torch.manual_seed(0)
# The states of ours: parameters of 16 bits with float32 masters and moments are what autocast over float32 parameters comes nearest to.
model = GPT().cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
run = torch.compile(model) if a.mode == "compile" else model
tokens = torch.randint(0, vocabulary, (batch, sequence + 1), device="cuda")
times = []
for step in range(a.steps):
    torch.cuda.synchronize()
    begin = time.perf_counter()
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = run(tokens[:, :-1], tokens[:, 1:])
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    torch.cuda.synchronize()
    if step >= a.warmup:
        times.append(time.perf_counter() - begin)
print(json.dumps({"step_seconds": statistics.median(times), "peak_bytes": torch.cuda.max_memory_allocated(), "torch": torch.__version__}))
