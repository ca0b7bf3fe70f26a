"""Gathered parameters at stage 3: how many elements are alive, in the schedule and while it runs.

In phase `schedule`, read as text: at every op that computes, the buckets between start and release are at most those between their wait and their release (which
stand at the first and behind the last use) and the elements of `stage3_prefetch_bucket_size`. The largest number alive in a step is what the executor counts
(`peak_gathered_elements`). Where each block is a bucket and the prefetch is d blocks, 1 + d blocks are alive at most, and with enough of them as many.
"""
import json
import pathlib
import re
import sys

import numpy as np

import harness


def read_schedule(text):
    """For each function: (alive, needed, blocks alive) at each op that computes, and the largest number of elements alive."""
    elements = {name: int(size) for name, size in re.findall(r"zero\.bucket @(\w+) on @\w+ \{.*?elements = (\d+)", text)}
    blocks = dict(re.findall(r'zero\.bucket @(\w+) on @\w+ \{block = "([^"]*)"', text))
    functions = {}
    for function in re.split(r"\n  func\.func ", text)[1:]:
        name = re.match(r"(?:private )?@(\w+)", function)[1]
        held, waited, where, most, points = {}, set(), {}, 0, []
        released = set(re.findall(r"zero\.release (%[\w#]+)", function))
        gathers = dict((wait[1], wait[0]) for wait in re.findall(r"(%\w+) = zero\.wait (%\w+) : !zero\.future<!zero\.full<@\w+>>", function))
        for line in function.splitlines()[1:]:
            if start := re.search(r"(%\w+) = zero\.all_gather_start .*!zero\.future<!zero\.full<@(\w+)>>", line):
                if gathers.get(start[1]) in released:  # else a state that stays
                    held[start[1]] = start[2]
                    most = max(most, sum(elements[b] for b in held.values()))
            elif wait := re.search(r"(%\w+) = zero\.wait (%\w+) : !zero\.future<!zero\.full<", line):
                where[wait[1]] = wait[2]
                waited.add(wait[2])
            elif release := re.search(r"zero\.release (%\w+)", line):
                held.pop(where[release[1]])
                waited.discard(where[release[1]])
            elif re.search(r"nn\.|zero\.(update|sum_squares)", line):
                points.append((sum(elements[b] for b in held.values()), sum(elements[b] for f, b in held.items() if f in waited),
                               len({blocks[b] for b in held.values() if re.fullmatch(r"h\.\d+", blocks[b])})))
        assert not held, f"@{name} releases not {held}"
        functions[name] = (points, most)
    return functions


def main():
    parser = harness.make_parser(__doc__)
    parser.add_argument("--golden", type=pathlib.Path)
    a = harness.parse(parser)
    width = 64
    # Each parameter is a multiple of 64 elements: only the bucket is padded, to a multiple of 64 for each of the 2 ranks.
    block = -(-(12 * width * width + 13 * width) // 128) * 128
    gpt, data = a.work / "gpt.onnx", a.work / "data.npz"
    harness.make_gpt(gpt, layers=8, width=width, heads=4, sequence=16, vocabulary=64)
    tokens = np.random.default_rng(1).integers(0, 64, (16, 17), dtype=np.int64)
    np.savez(data, x=tokens[:, :-1], y=tokens[:, 1:])
    cases = [("gpt", gpt, data, block, d * block, d, steps) for d in (0, 1, 2, 3) for steps in (1, 2)]
    cases += [("gpt", gpt, data, block // 4, prefetch, None, 2) for prefetch in (block // 3, 2 * block)]
    if a.golden:
        cases += [(name, a.golden / f"{name}.onnx", a.golden / f"{name}.data.npz", 20000, prefetch, None, 2) for name in ("mlp", "cnn", "gpt2", "vit", "llama")
                  for prefetch in (0, 5000, 50000, 10**7)]
    failures = 0
    for name, model, samples, bucket, prefetch, d, steps in cases:
        (a.work / "config.json").write_text(json.dumps({
            "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": steps,
            "zero_optimization": {"stage": 3, "reduce_bucket_size": bucket, "stage3_prefetch_bucket_size": prefetch}}))
        harness.run(a.bin / "zero-compile", model, "--loss=cross-entropy", "--labels=y", "--config", a.work / "config.json", "--world-size=2",
                    "--dump-phases", a.work / "dump", "-o", a.work / "compiled.bin")
        schedule = read_schedule((a.work / "dump/4-schedule.mlir").read_text())
        harness.run(a.bin / "zero-run", a.work / "compiled.bin", "--comm=loopback", "--data", samples, "--steps=2", "--metrics", a.work / "m.jsonl")
        counted = harness.read_metrics(a.work / "m.jsonl")[-1]["peak_gathered_elements"]
        most = max(peak for function, (_, peak) in schedule.items() if function != "predict")
        ahead = max(alive - needed for points, _ in schedule.values() for alive, needed, _ in points)
        blocks = max(count for points, _ in schedule.values() for _, _, count in points)
        bad = ahead > prefetch or counted != most or counted == 0 or (d is not None and blocks != 1 + d)
        failures += bad
        print(f"{'FAILED: ' if bad else ''}{name}, prefetch {prefetch}{'' if d is None else f' = {d} blocks: {blocks} blocks alive'}: {most} elements alive, "
              f"{counted} counted, {ahead} ahead of their use", flush=True)
    print(f"{len(cases)} programs, {failures} failures")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
