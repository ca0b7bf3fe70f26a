"""Bytes on the wire: what the runtime counts = what zero-compile prints = the sum over the program, and the closed forms.

The closed forms (design: reduce_at = step 2P, stage 2 with A micro-batches (A+1)P, stage 3 3AP, all x (N-1)/N, P the padded parameter
bytes) hold on the model of make_blocks.py: every bucket is read in both passes but the first layer's, whose input needs no gradient.
Its data are float, so the first block's fc1 is read by the forward pass alone; its fc2 by both: one bucket, two gathers.
"""
import json
import re
import sys

import harness


def main():
    a = harness.arguments(__doc__)
    model, data, config = a.work / "blocks.onnx", a.work / "blocks.npz", a.work / "config.json"
    harness.run(sys.executable, harness.ROOT / "test/EndToEnd/Inputs/make_blocks.py", model, data, "--samples=96")
    failures = runs = 0
    for ranks in (2, 3, 4):
        for stage in range(4):
            for steps, reduce_at in ((1, None), (3, None), (3, "micro_batch")):
                zero = {"stage": stage} | ({"reduce_at": reduce_at} if reduce_at else {})
                config.write_text(json.dumps({"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": steps, "zero_optimization": zero}))
                common = [model, "--loss=mse", "--labels=y", "--config", config, f"--world-size={ranks}"]
                table = harness.run(a.bin / "zero-compile", *common, "--dump-phases", a.work / "phases", "-o", a.work / "compiled.bin")
                harness.run(a.bin / "zero-run", a.work / "compiled.bin", "--comm=loopback", "--data", data, "--steps=2", "--metrics", a.work / "m.jsonl")
                counted = harness.read_metrics(a.work / "m.jsonl")
                printed = dict(re.findall(r"^  (all_gather|reduce_scatter|control) +(\d+)$", table.split("bytes sent")[1], re.M))
                program = dict.fromkeys(("all_gather", "reduce_scatter", "control_sum"), 0)
                section = None
                for line in (a.work / "phases/5-plan.mlir").read_text().splitlines():
                    if match := re.search(r"plan.section @(\w+)", line):
                        section = match.group(1)
                    if section == "predict":  # no part of a step
                        continue
                    if match := re.search(r"plan.collective +(\w+) .*wire_bytes = (\d+)", line):
                        program[match.group(1)] += int(match.group(2)) * (steps - 1 if section == "micro_next" else 1)
                padded = sum(int(m) for m in re.findall(r"zero.bucket @\w+ on @dp \{.*?elements = (\d+)", (a.work / "phases/4-schedule.mlir").read_text())) * 4
                if stage == 3:
                    factor = 3 * steps
                elif stage == 2 or reduce_at == "micro_batch":
                    factor = steps + 1
                else:
                    factor = 2
                expected = factor * padded * (ranks - 1) // ranks
                # At stage 0 an all-reduce gathers as often as it reduces.
                if stage == 0:
                    expected = 2 * (steps if reduce_at == "micro_batch" else 1) * padded * (ranks - 1) // ranks
                elements = int(re.search(r"parameters: \d+ with (\d+) elements", table).group(1)) * 4
                runs += 1
                case = f"ranks={ranks} stage={stage} accumulation={steps} reduce_at={reduce_at}"
                for row in counted:
                    for kind, name in (("all_gather", "all_gather"), ("reduce_scatter", "reduce_scatter"), ("control", "control_sum")):
                        if not row[f"comm_bytes_{kind}"] == int(printed[kind]) == program[name]:
                            failures += 1
                            print(f"{case}: {kind}: counted {row[f'comm_bytes_{kind}']}, printed {printed[kind]}, program {program[name]}")
                    total = row["comm_bytes_all_gather"] + row["comm_bytes_reduce_scatter"]
                    if total != expected:
                        failures += 1
                        print(f"{case}: {total} bytes, the closed form says {expected}")
                print(f"{case}: {total} bytes sent, {total * ranks / (ranks - 1) / padded:.3f} P; with (N-1)/N {total / padded:.3f} P, "
                      f"of the parameters without padding {total / elements:.3f} P")
    print(f"{runs} runs, {failures} failures")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
