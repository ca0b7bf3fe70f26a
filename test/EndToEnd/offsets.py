"""How close arenas are to the least that any assignment of offsets could need, and that no two buffers that live together share bytes.

Read from phase `plan` as text, by own rules: a buffer lives from its first to its last access in a section, what a collective touches until the program waits
for it, an output to the end of section predict; what a gather that starts in the update fills lives there, too, behind the last command that writes what
it or one before it gathers. The bound is the largest sum of bytes, rounded up to 64, that live at one command.
"""
import collections
import itertools
import json
import os
import pathlib
import re
import sys

import harness

LIMIT = 1.03


def split(line):
    """Names of the buffers that a command reads, and of those that it writes."""
    names = lambda text: [quoted or plain for quoted, plain in re.findall(r'<@(?:"([^"]+)"|([\w.$-]+)), \d+, \d+', text)]
    start = re.search(r" writes \[| to <|plan\.zero ", line).start()
    return names(line[:start]), names(line[start:])


def measure(path):
    """(kind, arena bytes, least bytes, pairs of buffers that clash) of each arena."""
    arenas, buffers, lives = {}, {}, collections.defaultdict(dict)
    outputs, early, section, lengths, written = [], [], None, {}, {}
    for line in path.read_text().splitlines():
        if match := re.search(r"plan\.arena @(\w+) .*memory_kind (\w+)>.*size_bytes = (\d+)", line):
            arenas[match[1]] = (match[2], int(match[3]))
        elif match := re.search(r'plan\.buffer @(?:"([^"]+)"|([\w.$-]+)) in @(\w+) \{(.*)\}', line):
            number = {key: int(value) for key, value in re.findall(r"(offset|size_bytes) = (\d+)", match[4])}
            buffers[match[1] or match[2]] = (match[3], number["offset"], -(-number["size_bytes"] // 64) * 64, bool(re.search(r", state\b|\bstate,", match[4])))
        elif match := re.search(r"plan\.section @(\w+)", line):
            section, lengths[match[1]] = match[1], 0
        elif section and re.match(r"\s+plan\.(dispatch|collective|copy|zero) ", line):
            index = lengths[section]
            lengths[section] += 1
            awaited = re.search(r"awaited_at = (\d+)", line)
            last = max(index, int(awaited[1]) - 1) if awaited else index
            sources, targets = split(line)
            for name in targets:
                written[section, name] = index + 1
            if "early = array<i64" in line:
                early.append((sources, targets))
                index = 0  # of this section it has all that came before
            for name, plain, size in re.findall(r'<@(?:"([^"]+)"|([\w.$-]+)), \d+, (\d+)', line):
                if int(size):
                    first, before = lives[name or plain].get(section, (index, index))
                    lives[name or plain][section] = (first, max(before, last))
        elif match := re.search(r'plan\.output .* at <@(?:"([^"]+)"|([\w.$-]+))', line):
            outputs.append(match[1] or match[2])
    for name in outputs:
        if "predict" in lives[name]:
            lives[name]["predict"] = (lives[name]["predict"][0], lengths["predict"] - 1)
    first = 0
    for sources, targets in early:
        first = max([first] + [written.get(("update", name), 0) for name in sources])
        if first < lengths["update"]:
            for name in targets:
                lives[name]["update"] = (first, lengths["update"] - 1)
    for arena, (kind, size) in arenas.items():
        states = sum(b[2] for b in buffers.values() if b[0] == arena and b[3])
        most, clashes = 0, 0
        for section, length in lengths.items():
            begins, ends = collections.defaultdict(list), collections.defaultdict(list)
            for name, (where, offset, size_here, state) in buffers.items():
                if where == arena and not state and section in lives[name] and size_here:
                    begins[lives[name][section][0]].append((offset, offset + size_here))
                    ends[lives[name][section][1] + 1].append((offset, offset + size_here))
            alive, total = set(), 0
            for at in range(length):
                for one in ends[at]:
                    alive.remove(one)
                    total -= one[1] - one[0]
                for one in begins[at]:
                    clashes += sum(one[0] < other[1] and other[0] < one[1] for other in alive) + (one[0] < states)
                    alive.add(one)
                    total += one[1] - one[0]
                most = max(most, total)
        yield kind, size, states + most, clashes


def list_golden(folder):
    """(name, model, samples, ranks, stage, prefetch, micro-batches, bucket): each model with every stage, prefetch and accumulation, and by turns every number of ranks and bucket."""
    ranks, buckets = itertools.cycle((2, 4, 8, 3, 4, 2, 3, 8)), itertools.cycle((50000, 4000, 500000000))
    for model in sorted(folder.glob("*.onnx")):
        for stage, prefetch in ((0, 0), (1, 0), (2, 0), (3, 0), (3, 5000), (3, 20000), (3, 50000000)):
            for steps in (1, 2):
                yield model.stem, model, 4, next(ranks), stage, prefetch, steps, next(buckets)
    # Gathers that start early fill most of what lives there.
    for world in (2, 3, 4, 8):
        for model in ("mlp", "cnn"):
            yield model, folder / f"{model}.onnx", 4, world, 3, 20000, 1, 4000


def list_gpts(folder, layers, full):
    """Each number of layers wide and narrow with every stage, prefetch and bucket; the largest with every one wide or narrow, in turns, unless `full`."""
    ranks, turns = itertools.cycle((2, 4, 8)), itertools.count()
    for count in layers:
        for width, heads, sequence, vocabulary, batch in ((768, 12, 1024, 50257, 2), (128, 4, 128, 256, 8)):
            path = folder / f"gpt{count}-{width}.onnx"
            harness.make_gpt(path, shapes_only=True, layers=count, width=width, heads=heads, sequence=sequence, vocabulary=vocabulary)
            block = 12 * width * width
            for stage, prefetch, steps, bucket in ((0, 0, 1, block), (1, 0, 2, 2 * width * width), (2, 0, 2, block), (3, 0, 1, block), (3, 2 * block, 2, block),
                                                   (3, 6 * block, 1, 2 * width * width), (3, block, 1, 20 * block)):
                ours = next(turns)
                if count >= 48 and not full and (ours % 7 + ours // 7 + (count >= 96)) % 2:
                    continue
                yield f"gpt of {count} layers, width {width}", path, batch, next(ranks), stage, prefetch, steps, bucket + 20 * width


def main():
    parser = harness.make_parser(__doc__)
    parser.add_argument("--golden", type=pathlib.Path)
    parser.add_argument("--layers", type=int, nargs="*", default=[2, 3, 6, 12, 24, 48, 96])
    a = harness.parse(parser)
    cases = list(list_golden(a.golden) if a.golden else list_gpts(a.work, a.layers, os.environ.get("ZERO_TEST_FULL") == "1"))
    failures, worst = 0, 0
    for name, path, batch, ranks, stage, prefetch, steps, bucket in cases:
        (a.work / "config.json").write_text(json.dumps({
            "train_micro_batch_size_per_gpu": batch, "gradient_accumulation_steps": steps,
            "zero_optimization": {"stage": stage, "reduce_bucket_size": bucket, "stage3_prefetch_bucket_size": prefetch}}))
        harness.run(a.bin / "zero-compile", path, "--loss=cross-entropy", "--labels=y", "--config", a.work / "config.json", f"--world-size={ranks}",
                    "--plan-only", "--dump-phases", a.work / "dump")
        for kind, size, least, clashes in measure(a.work / "dump/5-plan.mlir"):
            worst = max(worst, size / least)
            bad = clashes or size > LIMIT * least or size < least
            failures += bool(bad)
            print(f"{'FAILED: ' if bad else ''}{name}, {ranks} ranks, stage {stage}, prefetch {prefetch}, buckets of {bucket}, accumulation {steps}, {kind}: {size} bytes, least {least}, "
                  f"factor {size / least:.4f}{f', {clashes} buffers clash' if clashes else ''}", flush=True)
    print(f"{len(cases)} plans, {failures} failures, the worst factor is {worst:.4f}")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
