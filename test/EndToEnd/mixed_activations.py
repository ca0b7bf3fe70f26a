"""Mixed precision keeps 16 bits between ops: the activations at the peak take about half of what they take in float32.

    mixed_activations.py --bin=DIR --root=DIR --work=DIR

A GPT whose norms and GELU leave intermediate values of 32 bits that a backward pass might keep.
"""
import json
import re

import harness


def main():
    a = harness.arguments(__doc__, "root")
    harness.make_gpt(a.work / "gpt.onnx", shapes_only=True, layers=3, width=256, heads=4, sequence=128, vocabulary=1024)
    bytes_of = {}
    for precision in ("fp32", "bf16", "fp16"):
        keys = {} if precision == "fp32" else {precision: {"enabled": True}}
        (a.work / "config.json").write_text(json.dumps({"train_micro_batch_size_per_gpu": 8} | keys))
        table = harness.run(a.bin / "zero-compile", a.work / "gpt.onnx", "--loss=cross-entropy", "--labels=y", "--config", a.work / "config.json",
                            "--world-size=1", "--plan-only")
        bytes_of[precision] = int(re.search(r"^  activations +(\d+)$", table, re.M).group(1))
    shares = {precision: bytes_of[precision] / bytes_of["fp32"] for precision in ("bf16", "fp16")}
    for precision, share in shares.items():
        print(f"{precision}: {share:.3f} of float32's activations, {'as' if share <= 0.52 else 'more than'} allowed")


if __name__ == "__main__":
    main()
