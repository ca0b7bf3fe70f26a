"""Trains in fp16 from a loss scale that overflows, and holds scale and skipped steps against DeepSpeed's rule.

    loss_scale.py --bin=DIR --golden=DIR --work=DIR

The rule is scale_sequences.Scaler; which steps overflow is read from `skipped_steps`. The same bits are
checked over stages, and that the loss falls in spite of the skipped steps.
"""
import json
import sys

import harness
from scale_sequences import Scaler

STEPS, RANKS = 20, 2
KEYS = ("loss", "grad_norm", "loss_scale", "skipped_steps")
# What the configuration says; each starts so high that gradients of 16 bits overflow.
RULES = (
    {"initial_scale_power": 24, "hysteresis": 1, "loss_scale_window": 4},
    {"initial_scale_power": 22, "hysteresis": 2, "loss_scale_window": 3},
    {"initial_scale_power": 22, "hysteresis": 2, "loss_scale_window": 2, "consecutive_hysteresis": True},
    {"loss_scale": 1024},
)


def expected_scales(rule, overflows):
    """The loss scale of each step."""
    scaler, scales = Scaler(rule), []
    for overflow in overflows:
        scales.append(scaler.scale)
        scaler.step(overflow)
    return scales


def main():
    a = harness.arguments(__doc__, "golden")
    failures = []

    def train(rule, stage):
        (a.work / "config.json").write_text(json.dumps({"train_micro_batch_size_per_gpu": 4, "fp16": {"enabled": True} | rule,
                                                        "zero_optimization": {"stage": stage}}))
        harness.run(a.bin / "zero-compile", a.golden / "gpt2.onnx", "--loss=cross-entropy", "--labels=y", "--config", a.work / "config.json",
                    f"--world-size={RANKS}", "-o", a.work / "compiled.bin")
        harness.run(a.bin / "zero-run", a.work / "compiled.bin", "--comm=loopback", "--data", a.golden / "gpt2.data.npz", f"--steps={STEPS}",
                    "--metrics", a.work / "m.jsonl")
        rows = harness.read_metrics(a.work / "m.jsonl")
        return [tuple(row[key] for key in KEYS) for row in rows]

    for rule in RULES:
        rows = {stage: train(rule, stage) for stage in range(4)}
        for stage in (1, 2, 3):
            if rows[stage] != rows[0]:
                failures.append(f"{rule}: stage {stage} has other numbers than stage 0")
        skipped = [row[3] for row in rows[0]]
        overflows = [now > before for before, now in zip([0] + skipped, skipped)]
        scales = [row[2] for row in rows[0]]
        if scales != expected_scales(rule, overflows):
            failures.append(f"{rule}: scales {scales}, expected {expected_scales(rule, overflows)}")
        grows = any(b > a for a, b in zip(scales, scales[1:]))
        if "loss_scale" not in rule and not (any(overflows) and grows):
            failures.append(f"{rule}: {sum(overflows)} overflows, {'a' if grows else 'no'} growth; neither rule is tested")
        if any(overflow != (row[1] is None) for overflow, row in zip(overflows, rows[0])):
            failures.append(f"{rule}: a step is skipped exactly where its norm is not finite")
        if not rows[0][-1][0] < rows[0][0][0]:
            failures.append(f"{rule}: the loss goes from {rows[0][0][0]} to {rows[0][-1][0]}")
        print(f"{rule}: {sum(overflows)} of {STEPS} steps skipped, scales {scales[0]:g} to {scales[-1]:g}, "
              f"loss {rows[0][0][0]:.4f} to {rows[0][-1][0]:.4f}", flush=True)
    for failure in failures:
        print(f"loss_scale.py: {failure}", file=sys.stderr)
    print(f"{len(RULES)} rules, {len(failures)} failures")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
