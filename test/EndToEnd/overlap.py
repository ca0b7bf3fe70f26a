"""Communication that is hidden: a GPT over loopback with links as slow as its computation.

The link is given a rate at which the bytes of a step take as long as a step without a link. Then: `exposed_comm_seconds` never exceeds a step, a
schedule with prefetch exposes less communication than one without, updated parameters of stage 2 are gathered behind the next forward pass, and
no number changes.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
STEPS = 8


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    a = parser.parse_args()
    a.work.mkdir(parents=True, exist_ok=True)
    model, data = a.work / "gpt.onnx", a.work / "tokens.npz"
    subprocess.run([sys.executable, ROOT / "tools/dev/make_gpt.py", "--layers=6", "--width=128", "--heads=4", "--sequence=64", "--vocabulary=512", "-o", model],
                   check=True, stdout=subprocess.DEVNULL)
    tokens = np.random.default_rng(1).integers(0, 512, (16 * STEPS, 65), dtype=np.int64)
    np.savez(data, x=tokens[:, :-1], y=tokens[:, 1:])

    def compile(stage, **options):
        config, program = a.work / "config.json", a.work / f"{stage}-{'-'.join(map(str, options.values()))}.bin"
        config.write_text(json.dumps({"train_micro_batch_size_per_gpu": 8, "zero_optimization": {"stage": stage} | options}))
        subprocess.run([a.bin / "zero-compile", model, "--loss=cross-entropy", "--labels=y", "--config", config, "--world-size=2",
                        "-o", program], check=True, capture_output=True)
        return program

    def run(program, rate=None):
        """The metrics of all steps, and their medians from step 3 on."""
        metrics = a.work / "metrics.jsonl"
        subprocess.run([a.bin / "zero-run", program, "--comm=loopback", "--data", data, f"--steps={STEPS}", "--metrics", metrics]
                       + ([f"--link-bytes-per-second={rate}"] if rate else []), check=True, stdout=subprocess.DEVNULL)
        rows = [json.loads(line) for line in metrics.read_text().splitlines()]
        for row in rows:
            hidden = max(row["comm_seconds"] - row["exposed_comm_seconds"], 0)
            assert row["exposed_comm_seconds"] > 0 and abs(row["comm_overlap_efficiency"] - hidden / row["comm_seconds"]) < 1e-3, row
        return rows, {key: statistics.median(row[key] for row in rows[2:]) for key in
                      ("step_seconds", "comm_seconds", "exposed_comm_seconds", "comm_overlap_efficiency")}

    without, ahead = compile(3, stage3_prefetch_bucket_size=0), compile(3, stage3_prefetch_bucket_size=10**6)
    rows, free = run(without)
    sent = sum(rows[0][key] for key in ("comm_bytes_all_gather", "comm_bytes_reduce_scatter"))
    rate = int(sent / free["step_seconds"])
    slow_rows, slow = run(without, rate)
    ahead_rows, hidden = run(ahead, rate)
    for name, numbers in (("no link", free), ("no prefetch", slow), ("prefetch", hidden)):
        print(f"{name}: " + ", ".join(f"{key} {value:.4f}" for key, value in numbers.items()), flush=True)
    bits = [[(row["loss"], row["grad_norm"]) for row in each] for each in (rows, slow_rows, ahead_rows)]
    assert bits[0] == bits[1] == bits[2], "a link changes numbers"
    wire = (sent - max(row["comm_bytes_omitted"] for row in slow_rows)) / rate
    # After each rest of a link 256 KiB pass at once.
    assert slow["comm_seconds"] > 0.5 * wire and hidden["comm_seconds"] > 0.5 * wire, "collectives are faster than the link"
    assert slow["exposed_comm_seconds"] > 0.4 * wire, "what nothing hides is not counted as exposed"
    assert hidden["exposed_comm_seconds"] < 0.9 * slow["exposed_comm_seconds"], "prefetch hides nothing"
    assert hidden["comm_overlap_efficiency"] > slow["comm_overlap_efficiency"], "prefetch hides nothing"
    print("prefetch hides communication")

    # Half of the bytes are gathers of new parameters.
    at_once, in_next_step = compile(2, overlap_comm=False), compile(2, overlap_comm=True)
    rows, free = run(at_once)
    sent = sum(rows[0][key] for key in ("comm_bytes_all_gather", "comm_bytes_reduce_scatter"))
    rate = int(sent / free["step_seconds"])
    slow_rows, slow = run(at_once, rate)
    later_rows, hidden = run(in_next_step, rate)
    for name, numbers in (("no link", free), ("this step", slow), ("next step", hidden)):
        print(f"{name}: " + ", ".join(f"{key} {value:.4f}" for key, value in numbers.items()), flush=True)
    assert bits[0] == [(row["loss"], row["grad_norm"]) for row in rows], "a stage changes numbers"
    for each in (slow_rows, later_rows):
        assert bits[0] == [(row["loss"], row["grad_norm"]) for row in each], "a link changes numbers"
        assert all(row["comm_bytes_all_gather"] == rows[0]["comm_bytes_all_gather"] for row in each), "a gather is counted in another step"
    assert hidden["exposed_comm_seconds"] < 0.95 * slow["exposed_comm_seconds"], "gathers of new parameters hide behind nothing"
    print("the next step hides gathers of new parameters")


if __name__ == "__main__":
    main()
