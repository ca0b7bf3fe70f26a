"""The memory of processes that train: after step 2, beyond what they had at the entry of main, within 5 % + 16 MiB of their arenas.

Over loopback one process has the arenas of all ranks; over MPI each has its own, and `process_bytes` is that of the largest. The model's arena is far
larger than the 16 MiB.
"""
import argparse
import json
import pathlib
import subprocess
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
MIB = 1 << 20


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    a = parser.parse_args()
    a.work.mkdir(parents=True, exist_ok=True)
    model, data, config, program, metrics = (a.work / n for n in ("gpt.onnx", "data.npz", "config.json", "compiled.bin", "m.jsonl"))
    subprocess.run([sys.executable, ROOT / "tools/dev/make_gpt.py", "--layers=4", "--width=512", "--heads=8", "--sequence=64", "--vocabulary=8192", "-o", model],
                   check=True, stdout=subprocess.DEVNULL)
    tokens = np.random.default_rng(1).integers(0, 8192, (24, 65), dtype=np.int64)
    np.savez(data, x=tokens[:, :-1], y=tokens[:, 1:])
    failures = 0
    for ranks, stage, steps, prefetch, comm in ((1, 0, 1, 0, "loopback"), (2, 3, 2, 10**7, "loopback"), (3, 2, 1, 0, "loopback"), (2, 0, 2, 0, "mpi"),
                                                (2, 3, 1, 10**7, "mpi"), (2, 1, 1, 0, "mpi")):
        config.write_text(json.dumps({"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": steps,
                                      "zero_optimization": {"stage": stage, "reduce_bucket_size": 5000000, "stage3_prefetch_bucket_size": prefetch}}))
        subprocess.run([a.bin / "zero-compile", model, "--loss=cross-entropy", "--labels=y", "--config", config, f"--world-size={ranks}", "-o", program],
                       check=True, capture_output=True)
        launch = ["mpirun", "-n", str(ranks)] if comm == "mpi" else []
        subprocess.run([*launch, a.bin / "zero-run", program, f"--comm={comm}", "--data", data, "--steps=2", "--metrics", metrics], check=True,
                       stdout=subprocess.DEVNULL)
        row = json.loads(metrics.read_text().splitlines()[1])
        arena = row["peak_device_bytes"] * (ranks if comm == "loopback" else 1)
        beyond = row["process_bytes"] - arena
        bad = not 0 <= beyond <= 0.05 * arena + 16 * MIB
        failures += bad
        print(f"{'FAILED: ' if bad else ''}{comm}, {ranks} ranks, stage {stage}, accumulation {steps}, prefetch {prefetch}: arenas of {arena} bytes, "
              f"{beyond / MIB:.1f} MiB more in the process ({100 * beyond / arena:.2f} %)", flush=True)
    print("processes take what was planned" if not failures else f"{failures} failures")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
