"""A GPT of 23 million parameters, whose embedding alone (33 MB) exceeds the cache, trains on two ranks at every stage to the same bits."""
import json
import sys

import numpy as np

import harness

STEPS = 3


def main():
    a = harness.arguments(__doc__)
    model, data, config = a.work / "gpt.onnx", a.work / "data.npz", a.work / "config.json"
    harness.make_gpt(model, layers=2, width=512, heads=8, sequence=32, vocabulary=16384)
    tokens = np.random.default_rng(1).integers(0, 16384, (2 * STEPS, 33), dtype=np.int64)
    np.savez(data, x=tokens[:, :-1], y=tokens[:, 1:])
    outcomes, peaks = [], []
    for stage in range(4):
        config.write_text(json.dumps({"train_micro_batch_size_per_gpu": 1, "gradient_clipping": 0.5, "zero_optimization": {"stage": stage}}))
        harness.run(a.bin / "zero-compile", model, "--loss=cross-entropy", "--labels=y", "--config", config, "--world-size=2", "--prefetch", "-o",
                    a.work / "compiled.bin")
        harness.run(a.bin / "zero-run", a.work / "compiled.bin", "--comm=loopback", "--data", data, f"--steps={STEPS}", "--metrics", a.work / "m.jsonl")
        rows = harness.read_metrics(a.work / "m.jsonl")
        outcomes.append([(r["loss"], r["grad_norm"]) for r in rows])
        peaks.append(rows[0]["peak_device_bytes"])
        print(f"stage {stage}: losses {' '.join(str(r['loss']) for r in rows)}, {peaks[-1]} bytes")
    same = len(outcomes[0]) == STEPS and np.isfinite(outcomes).all() and all(o == outcomes[0] for o in outcomes)
    print("same bits at every stage" if same else "the stages differ")
    sys.exit(not same)


if __name__ == "__main__":
    main()
