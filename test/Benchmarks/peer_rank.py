"""One rank of one PyTorch system: the same weights, data and optimizer as ours; writes JSON to --out.

Started by peers.py in its virtual environment. Systems: eager (no communication), ddp, zero1 (ZeroRedundancyOptimizer), fsdp2 at stages 2
and 3, deepspeed at stages 0 to 3.
"""
import argparse
import json
import os
import time
import warnings

START = time.time()
warnings.filterwarnings("ignore")


def memory(key):
    """Bytes of a line of /proc/self/status."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(key + ":"))


def sent_bytes(interface):
    with open("/proc/net/dev") as file:
        return next((int(line.split(":")[1].split()[8]) for line in file if line.strip().startswith(interface + ":")), 0)


parser = argparse.ArgumentParser(description=__doc__)
for flag in ("system", "model", "data", "out", "interface"):
    parser.add_argument("--" + flag, required=True)
for flag in ("layers", "heads", "batch", "steps", "warmup", "stage"):
    parser.add_argument("--" + flag, type=int, required=True)
parser.add_argument("--dtype", choices=["float32", "bf16"], required=True)
parser.add_argument("--adam", type=json.loads, required=True)
a = parser.parse_args()
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])

import numpy as np
import onnx
import torch
import torch.distributed as dist
import torch.nn.functional as F
from onnx import numpy_helper

torch.set_num_threads(1)
torch.set_num_interop_threads(1)
if a.system == "deepspeed":
    import logging

    import deepspeed
    from deepspeed.utils import logger
    logger.setLevel(logging.ERROR)
imported = memory("VmRSS")


class Linear(torch.nn.Linear):
    def __init__(self, weights, name):
        matrix, bias = weights[name + ".weight"], weights.get(name + ".bias")  # ONNX: input x output
        super().__init__(matrix.shape[0], matrix.shape[1], bias=bias is not None)
        with torch.no_grad():
            self.weight.copy_(torch.from_numpy(matrix.T.copy()))
            if bias is not None:
                self.bias.copy_(torch.from_numpy(bias.copy()))


class Norm(torch.nn.LayerNorm):
    def __init__(self, weights, name):
        super().__init__(weights[name + ".weight"].shape[0])
        with torch.no_grad():
            self.weight.copy_(torch.from_numpy(weights[name + ".weight"].copy()))
            self.bias.copy_(torch.from_numpy(weights[name + ".bias"].copy()))


class Embedding(torch.nn.Embedding):
    def __init__(self, weights, name):
        super().__init__(*weights[name + ".weight"].shape)
        with torch.no_grad():
            self.weight.copy_(torch.from_numpy(weights[name + ".weight"].copy()))


class Block(torch.nn.Module):
    def __init__(self, weights, name):
        super().__init__()
        self.ln1, self.ln2 = Norm(weights, name + "ln1"), Norm(weights, name + "ln2")
        self.qkv, self.proj = Linear(weights, name + "attn.qkv"), Linear(weights, name + "attn.proj")
        self.fc, self.out = Linear(weights, name + "mlp.fc"), Linear(weights, name + "mlp.proj")

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (t.reshape(batch, length, a.heads, -1).transpose(1, 2) for t in self.qkv(self.ln1(x)).split(width, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(batch, length, width))
        return x + self.out(F.gelu(self.fc(self.ln2(x)), approximate="tanh"))


class GPT(torch.nn.Module):
    def __init__(self, weights):
        super().__init__()
        self.wte, self.wpe = Embedding(weights, "wte"), Embedding(weights, "wpe")
        self.h = torch.nn.ModuleList([Block(weights, f"h.{i}.") for i in range(a.layers)])
        self.lnf, self.head = Norm(weights, "lnf"), Linear(weights, "head")

    def forward(self, tokens, labels):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        for block in self.h:
            x = block(x)
        logits = self.head(self.lnf(x)).float()
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), labels.reshape(-1))


def plain_step(model, optimizer, autocast):
    def step(x, y):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
            loss = model(x, y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.item()
    return step


def build(model):
    """The function that takes one training step and gives the rank's loss."""
    narrow = a.dtype == "bf16"
    adamw = lambda parameters: torch.optim.AdamW(parameters, fused=True, **a.adam)
    if a.system == "eager":
        return plain_step(model, adamw(model.parameters()), narrow)
    if a.system == "deepspeed":
        zero = {"stage": a.stage}
        if a.stage == 3:  # its defaults keep a small model gathered, which is another stage
            zero |= {"stage3_param_persistence_threshold": 0, "stage3_max_live_parameters": 0, "stage3_max_reuse_distance": 0}
        config = {"train_micro_batch_size_per_gpu": a.batch, "gradient_accumulation_steps": 1, "zero_optimization": zero,
                  "zero_allow_untested_optimizer": True, "steps_per_print": 10**9, "gradient_clipping": 0.0, "bf16": {"enabled": narrow}}
        engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=config, optimizer=adamw(model.parameters()))

        def step(x, y):
            loss = engine(x, y)
            engine.backward(loss)
            engine.step()
            return loss.item()
        return step
    if a.system == "fsdp2":
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
        options = {"mesh": init_device_mesh("cpu", (world,)), "reshard_after_forward": a.stage == 3}
        if narrow:
            options["mp_policy"] = MixedPrecisionPolicy(param_dtype=torch.bfloat16)
        for block in model.h:
            fully_shard(block, **options)
        fully_shard(model, **options)
        return plain_step(model, adamw(model.parameters()), False)
    from torch.nn.parallel import DistributedDataParallel
    parallel = DistributedDataParallel(model, gradient_as_bucket_view=True)
    if a.system == "ddp":
        return plain_step(parallel, adamw(model.parameters()), narrow)
    from torch.distributed.optim import ZeroRedundancyOptimizer
    return plain_step(parallel, ZeroRedundancyOptimizer(model.parameters(), optimizer_class=torch.optim.AdamW, parameters_as_bucket_view=True,
                                                        fused=True, **a.adam), narrow)


if a.system == "deepspeed":
    deepspeed.init_distributed("gloo", auto_mpi_discovery=False, rank=rank, world_size=world)
elif a.system != "eager":
    dist.init_process_group("gloo", rank=rank, world_size=world)
a.adam["betas"] = tuple(a.adam["betas"])
model = GPT({i.name: numpy_helper.to_array(i) for i in onnx.load(a.model).graph.initializer})
step = build(model)
with np.load(a.data) as arrays:
    x, y = arrays["x"], arrays["y"]
losses, seconds, sent, first = [], [], 0, None
for number in range(a.steps):
    if number == a.warmup:
        if dist.is_initialized():
            dist.barrier()
        sent = sent_bytes(a.interface)
    rows = slice((number * world + rank) * a.batch, (number * world + rank + 1) * a.batch)
    tokens, labels = torch.from_numpy(x[rows].copy()), torch.from_numpy(y[rows].copy())
    begin = time.perf_counter()
    losses.append(step(tokens, labels))
    seconds.append(time.perf_counter() - begin)
    first = first or time.time() - START
sent = (sent_bytes(a.interface) - sent) / (a.steps - a.warmup)
with open(f"{a.out}.{rank}", "w") as file:
    json.dump({"losses": losses, "step_seconds": seconds[a.warmup:], "first_step_seconds": first, "sent_bytes": sent,
               "imported_bytes": imported, "peak_bytes": memory("VmHWM"), "torch": torch.__version__,
               "deepspeed": deepspeed.__version__ if a.system == "deepspeed" else None}, file)
if dist.is_initialized():
    dist.barrier()
os._exit(0)  # what the process groups do at the end is not measured
