"""Over budget: every setting that zero-compile says it tried is compiled by itself, and must take the bytes that were said."""
import json
import os
import re
import subprocess
import sys

bin_, golden, work = sys.argv[1:4]
os.makedirs(work, exist_ok=True)
compiled = os.path.join(work, "compiled.bin")


def compile_model(world_size, config, *flags):
    path = os.path.join(work, "config.json")
    with open(path, "w") as file:
        json.dump(config, file)
    return subprocess.run([os.path.join(bin_, "zero-compile"), os.path.join(golden, "gpt2.onnx"), "--loss=cross-entropy", "--labels=y", "--config", path,
                           f"--world-size={world_size}", *flags], capture_output=True, text=True)


def total(run):
    return int(re.search(r"^  total +(\d+)$", run.stdout, re.M).group(1))


def with_setting(config, text):
    """The configuration and world size of a line such as `world size 4, train_micro_batch_size_per_gpu 1 (a step of ...)`."""
    config, world_size = json.loads(json.dumps(config)), 2
    for part in re.sub(r" \(.*", "", text).split(", "):
        name, value = part.rsplit(" ", 1)
        if name == "world size":
            world_size = int(value)
        elif name == "bf16.enabled":
            config["bf16"] = {"enabled": value == "true"}
        elif name.startswith("zero_optimization."):
            config["zero_optimization"][name.split(".")[1]] = int(value)
        else:
            config[name] = int(value)
    return world_size, config


tried = fitting = narrow = 0
for stage, prefetch in ((0, 0), (1, 50000000), (3, 50000000)):
    config = {"train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 1, "optimizer": {"type": "SGD", "params": {"lr": 0.1, "momentum": 0.9}},
              "zero_optimization": {"stage": stage, "stage3_prefetch_bucket_size": prefetch, "reduce_bucket_size": 50000}}
    whole = total(compile_model(2, config, "--plan-only"))
    for budget in (whole, whole - 1, whole // 2, 1000):
        if os.path.exists(compiled):
            os.remove(compiled)
        run = compile_model(2, config, f"--memory-budget-bytes={budget}", "-o", compiled, "--report=" + compiled + ".json")
        fits = budget >= whole
        if (run.returncode, os.path.exists(compiled), os.path.exists(compiled + ".json")) != ((0, True, True) if fits else (1, False, False)):
            raise SystemExit(f"stage {stage}, budget {budget} of {whole}: exit {run.returncode}, {run.stderr}")
        if fits:
            os.remove(compiled + ".json")
            continue
        assert f"takes {whole} device bytes per rank, {whole - budget} more than --memory-budget-bytes={budget}" in run.stderr, run.stderr
        listed = re.search(r"largest at the peak.*\n((?: +\d+  .*\n)+?)tried", run.stderr).group(1)
        assert sum(map(int, re.findall(r"^ +(\d+)", listed, re.M))) == whole, run.stderr
        assert not re.search(r"(\w+) of \1", listed), run.stderr
        lines = re.findall(r"^ +(\d+)  (fits|too large): (.*)$", run.stderr, re.M)
        assert lines and ("none of these fits" in run.stderr) == all(kind == "too large" for _, kind, _ in lines), run.stderr
        assert len(lines) <= 18 and len({text for *_, text in lines}) == len(lines), run.stderr
        for said, kind, text in lines:
            assert (int(said) <= budget) == (kind == "fits"), run.stderr
            # Below stage 3 nothing is gathered ahead of its use.
            assert stage == 3 or text != "zero_optimization.stage3_prefetch_bucket_size 0", run.stderr
            if budget == 1000:
                tried += 1
                narrow += text.endswith("bf16.enabled true")
                found = total(compile_model(*with_setting(config, text), "--plan-only"))
                assert found == int(said), f"{text}: {found}, said was {said}"
            fitting += kind == "fits"
assert narrow == 6, narrow  # alone and with all that makes it smaller
print(f"{tried} settings take what was said, {fitting} fit")
