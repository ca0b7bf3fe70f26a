"""Golden models with every access to shared memory checked; and with a barrier left out of their kernels, which is to be found.

usage: shared_memory.py BIN SHIM WORK MODEL[:bf16] ...
       shared_memory.py BIN SHIM WORK --drop=N MODEL"""
import json
import os
import subprocess
import sys

GOLDEN = os.environ["ZERO_GOLDEN_DIR"]


def train(bin, shim, work, model, drop=None):
    """None, or the line that says what was found."""
    name, _, element = model.partition(":")
    environment = dict(os.environ, ZERO_CUDA_LIBRARY_PATH=shim, ZERO_SHIM_CHECK="shared")
    if drop:
        environment["ZERO_SHIM_DROP_BARRIER"] = str(drop)
    config, program = os.path.join(work, "config.json"), os.path.join(work, "compiled.bin")
    with open(config, "w") as file:
        json.dump({"train_micro_batch_size_per_gpu": 2, "optimizer": {"type": "AdamW", "params": {"lr": 1e-3}}, **({element: {"enabled": True}} if element else {})}, file)
    subprocess.run([os.path.join(bin, "zero-compile"), f"{GOLDEN}/{name}.onnx", "--loss=cross-entropy", "--labels=y", "--world-size=1", f"--config={config}",
                    "--target=cuda", "--cuda-architectures=sm_90", "--cuda-convolutions=generated", "-o", program], check=True, env=environment, stdout=subprocess.DEVNULL)
    for timing in ("serial", "adversarial:1"):
        run = subprocess.run([os.path.join(bin, "zero-run"), program, "--data", f"{GOLDEN}/{name}.data.npz", "--steps", "1"],
                             env=dict(environment, ZERO_SHIM_TIMING=timing), capture_output=True, text=True)
        if run.returncode == 86:
            return run.stderr.strip().splitlines()[-1]
        assert run.returncode == 0, run.stderr
    return None


def main():
    bin, shim, work, *models = sys.argv[1:]
    os.makedirs(work, exist_ok=True)
    drop = int(models.pop(0).removeprefix("--drop=")) if models[0].startswith("--drop=") else None
    for model in models:
        print(f"{model}: {train(bin, shim, work, model, drop) or 'no race'}", flush=True)


main()
