"""A GPT of 23 million parameters, whose embedding alone (33 MB) exceeds the cache, trains on two ranks at every stage to the same bits."""
import argparse
import json
import pathlib
import subprocess
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
STEPS = 3


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    a = parser.parse_args()
    a.work.mkdir(parents=True, exist_ok=True)
    model, data, config = a.work / "gpt.onnx", a.work / "data.npz", a.work / "config.json"
    subprocess.run([sys.executable, ROOT / "tools/dev/make_gpt.py", "--layers=2", "--width=512", "--heads=8", "--sequence=32", "--vocabulary=16384",
                    "-o", model], check=True)
    tokens = np.random.default_rng(1).integers(0, 16384, (2 * STEPS, 33), dtype=np.int64)
    np.savez(data, x=tokens[:, :-1], y=tokens[:, 1:])
    outcomes, peaks = [], []
    for stage in range(4):
        config.write_text(json.dumps({"train_micro_batch_size_per_gpu": 1, "gradient_clipping": 0.5, "zero_optimization": {"stage": stage}}))
        subprocess.run([a.bin / "zero-compile", model, "--loss=cross-entropy", "--labels=y", "--config", config, "--world-size=2", "--prefetch", "-o",
                        a.work / "compiled.bin"], check=True, capture_output=True)
        subprocess.run([a.bin / "zero-run", a.work / "compiled.bin", "--comm=loopback", "--data", data, f"--steps={STEPS}", "--metrics", a.work / "m.jsonl"],
                       check=True, capture_output=True)
        rows = [json.loads(line) for line in (a.work / "m.jsonl").read_text().splitlines()]
        outcomes.append([(r["loss"], r["grad_norm"]) for r in rows])
        peaks.append(rows[0]["peak_device_bytes"])
        print(f"stage {stage}: losses {' '.join(str(r['loss']) for r in rows)}, {peaks[-1]} bytes")
    same = len(outcomes[0]) == STEPS and np.isfinite(outcomes).all() and all(o == outcomes[0] for o in outcomes)
    print("same bits at every stage" if same else "the stages differ")
    sys.exit(not same)


if __name__ == "__main__":
    main()
