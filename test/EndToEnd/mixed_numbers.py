"""What programs in mixed precision take and send, against the design's formulas, zero-plan and the same program in float32.

State bytes of P padded elements on N ranks (mixed: 16P, 4P + 12P/N, 2P + 14P/N, 16P/N for stages 0 to 3), collectives in the type of
the wire, zero-run's counters, and losses that are the same bits at every stage.
"""
import json
import re
import sys

import harness

STEPS = 3
# What the configuration says; bytes of a parameter, a gradient and what is sent of a gradient; zero-plan's name.
PRECISIONS = {
    "bf16": ({"bf16": {"enabled": True}}, (2, 2, 2), "mixed"),
    "fp16": ({"fp16": {"enabled": True, "initial_scale_power": 8}}, (2, 2, 2), "mixed"),
    "bf16, gradients of float32": ({"bf16": {"enabled": True}, "data_types": {"grad_accum_dtype": "fp32"}}, (2, 4, 2), "bf16-grad32"),
    "bf16, sent in fp16": ({"bf16": {"enabled": True}, "communication_data_type": "fp16"}, (2, 2, 2), None),
    "bf16, sent in float32": ({"bf16": {"enabled": True}, "communication_data_type": "fp32"}, (2, 2, 4), None),
}


def table(report, title):
    rows = report.split(title)[1].split("\n\n")[0].splitlines()[1:]
    return {name: int(number) for name, number in re.findall(r"^  (.*?) +(\d+)$", "\n".join(rows), re.M)}


class Checker:
    def __init__(self):
        self.count = self.failures = 0

    def equal(self, what, found, expected):
        self.count += 1
        if found != expected:
            self.failures += 1
            print(f"{what}: {found}, expected {expected}")


def main():
    a = harness.arguments(__doc__, "golden")
    check = Checker()

    def compile_model(model, stage, ranks, accumulation, keys):
        config = a.work / "config.json"
        config.write_text(json.dumps({"train_micro_batch_size_per_gpu": 4 // accumulation, "gradient_accumulation_steps": accumulation,
                                      "zero_optimization": {"stage": stage, "reduce_bucket_size": 50000}} | keys))
        return harness.run(a.bin / "zero-compile", a.golden / f"{model}.onnx", "--loss=cross-entropy", "--labels=y", "--config", config,
                   f"--world-size={ranks}", "-o", a.work / "compiled.bin")

    for model, ranks, accumulation in (("mlp", 3, 1), ("mlp", 2, 2), ("gpt2", 2, 1)):
        floats = {stage: table(compile_model(model, stage, ranks, accumulation, {}), "bytes sent per rank and step") for stage in range(4)}
        for precision, (keys, (parameter, gradient, wire), plan) in PRECISIONS.items():
            losses = {}
            for stage in range(4):
                case = f"{model}, {precision}, {ranks} ranks, stage {stage}, accumulation {accumulation}"
                report = compile_model(model, stage, ranks, accumulation, keys)
                psi = int(re.search(r"\((\d+) elements with padding\)", report).group(1))
                owned = psi // ranks
                states, sent = table(report, "state bytes per rank"), table(report, "bytes sent per rank and step")
                check.equal(f"{case}: parameters", states["parameters"], parameter * (owned if stage == 3 else psi))
                check.equal(f"{case}: gradients", states["gradients"], gradient * (owned if stage >= 2 else psi))
                check.equal(f"{case}: optimizer", states["optimizer"], 12 * (owned if stage >= 1 else psi))
                if plan == "mixed":
                    check.equal(f"{case}: states", states["total"], [16 * psi, 4 * psi + 12 * owned, 2 * psi + 14 * owned, 16 * owned][stage])
                check.equal(f"{case}: reduce_scatter", sent["reduce_scatter"], floats[stage]["reduce_scatter"] * wire // 4)
                # At stage 0 sums are gathered, above it parameters.
                check.equal(f"{case}: all_gather", sent["all_gather"], floats[stage]["all_gather"] * (parameter if stage else gradient) // 4)
                if plan:
                    planned = harness.run(a.bin / "zero-plan", f"--model=psi:{psi}", f"--precision={plan}", f"--world-size={ranks}", f"--zero-stage={stage}",
                                  f"--gradient-accumulation-steps={accumulation}").splitlines()[-1].split()
                    check.equal(f"{case}: zero-plan", list(map(int, planned[2:6])), [states[kind] for kind in ("parameters", "gradients", "optimizer", "total")])
                    if stage < 3:  # a dead gather is not in the formula
                        check.equal(f"{case}: zero-plan's traffic", int(planned[6]), sent["all_gather"] + sent["reduce_scatter"])
                harness.run(a.bin / "zero-run", a.work / "compiled.bin", "--comm=loopback", "--data", a.golden / f"{model}.data.npz", f"--steps={STEPS}",
                    "--metrics", a.work / "m.jsonl")
                rows = harness.read_metrics(a.work / "m.jsonl")
                for kind in ("all_gather", "reduce_scatter", "control"):
                    check.equal(f"{case}: {kind} counted", {row[f"comm_bytes_{kind}"] for row in rows}, {sent[kind]})
                losses[stage] = [(row["loss"], row["grad_norm"]) for row in rows]
            for stage in (1, 2, 3):
                # With accumulation a sum of micro-batches is rounded where it is kept: equal where they are reduced alike.
                if accumulation == 1 or stage != 2:
                    check.equal(f"{case}: losses of stage {stage}", losses[stage], losses[stage - 1])
    print(f"{check.count} numbers, {check.failures} failures")
    sys.exit(bool(check.failures))


if __name__ == "__main__":
    main()
