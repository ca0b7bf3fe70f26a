"""Step time of a GPT on one core beside PyTorch eager's: the same weights, data and optimizer, in turn, medians and their ratio.

Installs PyTorch into a virtual environment of its own (.venv-bench) unless --python names one that has torch, numpy and onnx.
Prints both losses too: a fast wrong answer is no answer.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
SIZES = {
    "S": dict(layers=4, width=256, heads=4, sequence=128, batch=8, vocabulary=4096),
    "M": dict(layers=6, width=512, heads=8, sequence=256, batch=4, vocabulary=8192),
    "T": dict(layers=2, width=64, heads=2, sequence=32, batch=2, vocabulary=256),
}


def torch_python(given):
    if given:
        return given
    venv = ROOT / ".venv-bench"
    python = venv / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    if subprocess.run([python, "-c", "import torch, numpy, onnx"], capture_output=True).returncode:
        print("installing PyTorch into", venv, flush=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "torch", "numpy", "onnx"], check=True)
    return python


def make_inputs(size, steps, folder):
    c = SIZES[size]
    model, data, config = folder / "model.onnx", folder / "data.npz", folder / "config.json"
    subprocess.run([sys.executable, ROOT / "tools/dev/make_gpt.py", "--layers", str(c["layers"]), "--width", str(c["width"]), "--heads",
                    str(c["heads"]), "--sequence", str(c["sequence"]), "--vocabulary", str(c["vocabulary"]), "-o", model], check=True)
    random = np.random.default_rng(7)
    tokens = random.integers(0, c["vocabulary"], (c["batch"] * steps, c["sequence"] + 1), dtype=np.int64)
    np.savez(data, x=tokens[:, :-1], y=tokens[:, 1:])
    config.write_text(json.dumps({
        "train_micro_batch_size_per_gpu": c["batch"],
        "optimizer": {"type": "AdamW", "params": {"lr": 1e-3, "betas": [0.9, 0.95], "eps": 1e-8, "weight_decay": 0.1}}}))
    return c, model, data, config


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=SIZES, default="S")
    parser.add_argument("--steps", type=int, default=15)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--core", default="0", help="the core both are pinned to")
    parser.add_argument("--python", help="a Python with torch, numpy and onnx")
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/bin")
    a = parser.parse_args()
    python = torch_python(a.python)
    # The library settings of some machines slow NumPy's and PyTorch's BLAS down; neither side gets them.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("OPENBLAS_")} | {"OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        c, model, data, config = make_inputs(a.size, a.steps, folder)
        subprocess.run([a.bin / "zero-compile", model, "--loss=cross-entropy", "--labels=y", "--config", config, "--world-size=1", "-o",
                        folder / "compiled.bin"], check=True, stdout=subprocess.DEVNULL)
        pin = ["taskset", "-c", a.core]
        ours, theirs = [], []
        for _ in range(a.rounds):
            metrics = folder / "metrics.jsonl"
            subprocess.run(pin + [a.bin / "zero-run", folder / "compiled.bin", "--data", data, "--steps", str(a.steps), "--metrics", metrics],
                           check=True, stdout=subprocess.DEVNULL, env=environment)
            rows = [json.loads(line) for line in metrics.read_text().splitlines()]
            ours.append(statistics.median(r["step_seconds"] for r in rows[3:]))
            result = subprocess.run(pin + [python, ROOT / "test/Benchmarks/torch_gpt.py", model, data, "--layers", str(c["layers"]), "--heads",
                                           str(c["heads"]), "--batch", str(c["batch"]), "--steps", str(a.steps)],
                                    check=True, capture_output=True, text=True, env=environment)
            torch = json.loads(result.stdout)
            theirs.append(torch["step_seconds"])
        difference = max(abs(r["loss"] - t) / abs(t) for r, t in zip(rows, torch["losses"]))
        n = 12 * c["layers"] * c["width"] ** 2 + c["vocabulary"] * c["width"]
        tokens = c["batch"] * c["sequence"]
        flops = 6 * n * tokens + 12 * c["layers"] * c["sequence"] * c["width"] * tokens
        print(f"model {a.size}: {c}, {flops / 1e9:.1f} GFLOP a step, one core, float32, {a.rounds} rounds of {a.steps} steps")
        print(f"  zero            {1e3 * statistics.median(ours):8.1f} ms   {flops / statistics.median(ours) / 1e9:6.1f} GFLOP/s")
        print(f"  PyTorch {torch['torch']:7.7s} {1e3 * statistics.median(theirs):8.1f} ms   {flops / statistics.median(theirs) / 1e9:6.1f} GFLOP/s")
        print(f"  ratio zero / PyTorch, round by round: {' '.join(f'{o / t:.3f}' for o, t in zip(ours, theirs))}")
        print(f"  largest relative difference of the losses: {difference:.1e}")


if __name__ == "__main__":
    main()
