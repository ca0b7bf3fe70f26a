"""The benchmark's models: decoder, pre-LN, GELU, learned positions, untied head; their data, configurations and operations."""
import dataclasses
import json
import pathlib
import subprocess
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
ADAM = {"lr": 1e-3, "betas": [0.9, 0.95], "eps": 1e-8, "weight_decay": 0.1}


@dataclasses.dataclass(frozen=True)
class Size:
    layers: int
    width: int
    heads: int
    sequence: int
    batch: int  # of a rank
    vocabulary: int

    @property
    def block_elements(self):
        return 12 * self.width**2 + 13 * self.width

    @property
    def parameters(self):
        return self.layers * self.block_elements + (2 * self.vocabulary + self.sequence + 2) * self.width

    @property
    def flops(self):
        """Of one rank's step: 6 a matrix weight and token, and the scores of attention as a full square, as they are usually counted."""
        tokens = self.batch * self.sequence
        weights = 12 * self.layers * self.width**2 + self.vocabulary * self.width
        return 6 * weights * tokens + 12 * self.layers * self.sequence * self.width * tokens


SIZES = {
    "S": Size(layers=4, width=256, heads=4, sequence=128, batch=8, vocabulary=4096),
    "M": Size(layers=6, width=512, heads=8, sequence=256, batch=4, vocabulary=8192),
    "T": Size(layers=2, width=64, heads=2, sequence=32, batch=2, vocabulary=256),  # to try the benchmark itself
}


def write_model(size, folder, shapes_only=False):
    """model.onnx in `folder`, unless it is there."""
    path = folder / "model.onnx"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, ROOT / "tools/dev/make_gpt.py", "-o", path]
        for name in ("layers", "width", "heads", "sequence", "vocabulary"):
            command += ["--" + name, str(getattr(size, name))]
        subprocess.run(command + ["--shapes-only"] * shapes_only, check=True, stdout=subprocess.DEVNULL)
    return path


def write_data(size, samples, folder):
    """data.npz: a chain of tokens that can be learned (next = 5 x + 7 + noise of two bits), the same for every system."""
    path = folder / f"data-{samples}.npz"
    if not path.exists():
        random = np.random.default_rng(7)
        tokens = np.empty((samples, size.sequence + 1), dtype=np.int64)
        tokens[:, 0] = random.integers(0, size.vocabulary, samples)
        for t in range(size.sequence):
            tokens[:, t + 1] = (5 * tokens[:, t] + 7 + random.integers(0, 4, samples)) % size.vocabulary
        np.savez(path, x=tokens[:, :-1], y=tokens[:, 1:])
    return path


def configuration(size, stage, dtype):
    """The DeepSpeed-shaped configuration: buckets of one matrix of a block, and of little else, so that the last reductions and first gathers
    of a step, which nothing hides, are short; stage 3 gathers up to one block and one table ahead."""
    config = {"train_micro_batch_size_per_gpu": size.batch, "gradient_accumulation_steps": 1,
              "zero_optimization": {"stage": stage, "reduce_bucket_size": 3 * size.width**2},
              "optimizer": {"type": "AdamW", "params": ADAM}}
    if stage == 3:
        config["zero_optimization"]["stage3_prefetch_bucket_size"] = size.block_elements + (size.vocabulary + size.sequence) * size.width + 4096
    if dtype == "bf16":
        config["bf16"] = {"enabled": True}
    return json.dumps(config)
