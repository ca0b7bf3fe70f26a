"""A run of 1,000 steps shows no growth of memory: the resident size of zero-run after 100 steps and at the end.

Samples /proc/PID/status (VmRSS) while the run goes on; growth above 1 MiB after the first tenth fails.
"""
import json
import pathlib
import re
import subprocess
import sys
import time

import harness

STEPS, ALLOWED_KIB = 1000, 1024


def resident_kib(pid):
    match = re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())
    return int(match.group(1)) if match else None


def main():
    a = harness.arguments(__doc__)
    model, data, config, metrics = (a.work / n for n in ("blocks.onnx", "blocks.npz", "config.json", "metrics.jsonl"))
    # Wide enough that a step takes a few milliseconds: there must be time to look.
    harness.run(sys.executable, harness.ROOT / "test/EndToEnd/Inputs/make_blocks.py", model, data, f"--samples={STEPS * 8}", "--width=256", "--hidden=512")
    config.write_text(json.dumps({"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 2, "zero_optimization": {"stage": 3}}))
    harness.run(a.bin / "zero-compile", model, "--loss=mse", "--labels=y", "--config", config, "--world-size=2", "--prefetch", "-o",
                a.work / "compiled.bin")
    metrics.unlink(missing_ok=True)
    process = subprocess.Popen([a.bin / "zero-run", a.work / "compiled.bin", "--comm=loopback", "--data", data, f"--steps={STEPS}", "--metrics", metrics],
                               stdout=subprocess.DEVNULL)
    samples = []
    while process.poll() is None:
        done = metrics.read_text().count("\n") if metrics.exists() else 0
        try:
            size = resident_kib(process.pid)
        except FileNotFoundError:
            break
        if done >= STEPS // 10 and size:
            samples.append((done, size))
        time.sleep(0.02)
    steps = metrics.read_text().count("\n")
    if process.wait() or steps != STEPS:
        sys.exit(f"zero-run ended with {process.returncode} after {steps} of {STEPS} steps")
    if len(samples) < 2 or samples[-1][0] - samples[0][0] < STEPS // 2:
        sys.exit(f"too few looks at the process: {samples}")
    growth = samples[-1][1] - samples[0][1]
    print(f"{samples[0][1]} KiB after {samples[0][0]} steps, {samples[-1][1]} KiB after {samples[-1][0]}: {'steady' if growth <= ALLOWED_KIB else 'grown'}")
    sys.exit(growth > ALLOWED_KIB)


if __name__ == "__main__":
    main()
