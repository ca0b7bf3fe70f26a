"""What zero-compile says of golden models, against the design's formulas: state bytes, the peak, copies."""
import json
import re

import harness


def compile_model(a, model, world_size, stage, accumulation):
    """The report of one compilation and its phase `plan`."""
    config, dump = a.work / "config.json", a.work / "dump"
    config.write_text(json.dumps({"train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": accumulation,
                                  "optimizer": {"type": "AdamW", "params": {"lr": 1e-3}},
                                  "zero_optimization": {"stage": stage, "reduce_bucket_size": 50000}}))
    report = harness.run(a.bin / "zero-compile", a.golden / f"{model}.onnx", "--loss=cross-entropy", "--labels=y", "--config", config,
                         f"--world-size={world_size}", f"--dump-phases={dump}", "-o", a.work / "compiled.bin")
    return report, (dump / "5-plan.mlir").read_text()


def table(report, title):
    """The rows under a title: name -> bytes."""
    rows = report.split(title)[1].split("\n\n")[0].splitlines()[1:]
    numbers = re.findall(r"^  (.*?) +(\d+)$", "\n".join(rows), re.M)
    return {name: int(number) for name, number in numbers}


def check(what, found, expected):
    if found != expected:
        raise SystemExit(f"{what}: {found}, expected {expected}")


def main():
    a = harness.arguments(__doc__, "golden")
    plans = 0
    for model in ("mlp", "gpt2", "gpt2_optimized", "cnn", "vit", "llama"):
        for n in (1, 2, 4) if model == "mlp" else (2,):
            for stage in range(4):
                for accumulation in (1, 2):
                    run = f"{model}, {n} ranks, stage {stage}, accumulation {accumulation}"
                    report, plan = compile_model(a, model, n, stage, accumulation)
                    psi = int(re.search(r"\((\d+) elements with padding\)", report).group(1))
                    expected = [16 * psi, 8 * psi + 8 * psi // n, 4 * psi + 12 * psi // n, 16 * psi // n][stage]
                    check(run + ": state bytes", table(report, "state bytes per rank")["total"], expected)
                    peak = table(report, "device bytes per rank at the peak")
                    total, _ = peak.pop("total"), peak.pop("saved by reuse")
                    check(run + ": sum of the classes", sum(peak.values()), total)
                    arenas = re.findall(r"plan.arena @\w+ .*memory_kind (\w+)>.*size_bytes = (\d+)", plan)
                    printed = re.findall(r"^(\w+) bytes per rank at the peak", report, re.M)
                    check(run + ": arenas", arenas, [(kind, str(table(report, kind + " bytes per rank at the peak")["total"])) for kind in printed])
                    plans += 1
                    if model not in ("vit", "llama"):  # which rearrange patches and halves of rotated vectors
                        check(run + ": copies", plan.count("plan.copy") + plan.count('"strided_copy"'), 0)
                    sent = table(report, "bytes sent per rank and step")
                    buckets = sent["all_gather"] + sent["reduce_scatter"]
                    check(run + ": sum of the traffic", buckets + sent["control"], sent["total"])
                    if stage < 2:  # reduced and gathered once a step
                        check(run + ": traffic", buckets, 2 * psi * 4 * (n - 1) // n)
    print(f"the numbers of {plans} plans are the design's")


main()
