"""Every mutant of compiled golden programs gets the right verdict (zero-mutate.cpp), and exchanged commands the same bits.

    mutants.py verdicts    each event, wait, release, collective, update and record taken out of plans and schedules, numbers changed,
                           commands and waits exchanged
    mutants.py timing      plans with exchanged commands, run with every command of every rank delayed at random: the bits of the
                           plan as compiled, run without delays

By default few programs and a sample of each kind of mutant; with ZERO_TEST_FULL=1 all models, stages and mutants.
"""
import argparse
import collections
import hashlib
import itertools
import json
import os
import pathlib
import re
import subprocess

MODELS = ("mlp", "cnn", "gpt2", "llama", "vit")
# What the configuration says of types.
PRECISIONS = {"f32": {}, "bf16": {"bf16": {"enabled": True}}, "fp16": {"fp16": {"enabled": True, "initial_scale_power": 8}},
              "bf16-grad32": {"bf16": {"enabled": True}, "data_types": {"grad_accum_dtype": "fp32"}},
              "bf16-wire32": {"bf16": {"enabled": True}, "communication_data_type": "fp32"}}
# model, ranks, stage, accumulation, prefetch, precision
FEW = [("mlp", 2, stage, 1 + stage % 2, stage == 3, "f32") for stage in range(4)] + \
      [("cnn", 2, 1, 1, False, "f32"), ("gpt2", 2, 3, 2, True, "f32"), ("gpt2", 2, 0, 1, False, "f32"), ("llama", 2, 2, 1, False, "f32"),
       ("vit", 3, 3, 1, True, "f32"), ("mlp", 2, 2, 1, False, "fp16"), ("mlp", 3, 1, 2, False, "bf16-grad32"),
       ("gpt2", 2, 3, 1, True, "bf16"), ("gpt2", 2, 0, 2, False, "bf16-wire32"), ("mlp", 1, 0, 1, False, "f32"), ("gpt2", 1, 0, 2, False, "fp16")]
SAMPLE = 12


class Driver:
    def __init__(self, arguments):
        self.bin, self.golden, self.work = (pathlib.Path(p) for p in (arguments.bin, arguments.golden, arguments.work))
        self.full = os.environ.get("ZERO_TEST_FULL") == "1"

    def call(self, *command, **environment):
        done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env={**os.environ, **environment})
        if done.returncode:
            raise SystemExit(f"{' '.join(str(word) for word in command)}\n{done.stdout[-3000:]}")
        return done.stdout

    def compile(self, model, ranks, stage, accumulation, prefetch, precision):
        """The folder with compiled.bin and the dumps."""
        folder = self.work / f"{model}-{ranks}-{stage}-{accumulation}-{prefetch}-{precision}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.json").write_text(json.dumps({
            "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": accumulation, "gradient_clipping": 1.0,
            "optimizer": {"type": "AdamW", "params": {"lr": 1e-3}},
            "zero_optimization": {"stage": stage, "reduce_bucket_size": 50000,
                                  "stage3_prefetch_bucket_size": 100000 if prefetch else 0}} | PRECISIONS[precision]))
        self.call(self.bin / "zero-compile", self.golden / f"{model}.onnx", "--loss=cross-entropy", "--labels=y", "--config",
                  folder / "config.json", f"--world-size={ranks}", f"--dump-phases={folder}", "-o", folder / "compiled.bin")
        return folder

    def programs(self, few=FEW):
        if not self.full:
            return few
        return list(itertools.product(MODELS, (1,), (0,), (1, 2), (False,), ("f32", "bf16", "fp16"))) + \
            list(itertools.product(MODELS, (2, 3), range(4), (1, 2), (False, True), ("f32",))) + \
            list(itertools.product(("mlp", "gpt2"), (2, 3), range(4), (1, 2), (True,), [name for name in PRECISIONS if name != "f32"]))

    def verdicts(self):
        counts = collections.defaultdict(lambda: [0, 0])
        for program in self.programs():
            folder = self.compile(*program)
            # One rank has nothing to wait for or to exchange: no schedule, and of its plan updates and records.
            for phase in ("4-schedule", "5-plan") if program[1] > 1 else ("5-plan",):
                sample = [] if self.full else [f"--sample={SAMPLE}"]
                output = self.call(self.bin / "zero-mutate", folder / f"{phase}.mlir", *sample)
                for kind, mutants, refused in re.findall(r"^(.*?) +(\d+) mutants +(\d+) refused +0 judged wrong$", output, re.M):
                    count = counts[phase[2:] + ", " + kind]
                    count[0] += int(mutants)
                    count[1] += int(refused)
        for kind, (mutants, refused) in sorted(counts.items()):
            print(f"{kind:60} {mutants:6} mutants {refused:6} refused")
        print(f"{len(self.programs())} programs, all {sum(mutants for mutants, _ in counts.values())} verdicts right")

    def digest(self, model, ranks, binary, seed):
        """Of losses, norms and trained parameters."""
        metrics, export = binary.with_suffix(".jsonl"), binary.with_suffix(".safetensors")
        self.call(self.bin / "zero-run", binary, "--data", self.golden / f"{model}.data.npz", "--steps=5", "--comm=loopback",
                  f"--ranks={ranks}", "--metrics", metrics, "--export", export, ZERO_TEST_DELAY_SEED=str(seed))
        rows = [json.loads(line) for line in metrics.read_text().splitlines()]
        assert len(rows) == 5
        numbers = repr([(row["loss"], row["grad_norm"]) for row in rows])
        return hashlib.sha256(numbers.encode() + export.read_bytes()).hexdigest()

    def timing(self):
        runs = exchanges = 0
        for program in self.programs(FEW[::2]):
            model, ranks = program[:2]
            if ranks == 1:
                continue
            folder = self.compile(*program)
            expected = self.digest(model, ranks, folder / "compiled.bin", 0)
            for seed in (1, 2) if self.full else (1,):
                shuffled = folder / "shuffled.mlir"
                exchanges += int(self.call(self.bin / "zero-mutate", folder / "5-plan.mlir", f"--shuffle={shuffled}",
                                           f"--seed={seed}").split()[0])
                self.call(self.bin / "zero-compile", shuffled, "-o", folder / "shuffled.bin")
                for binary in ("compiled.bin", "shuffled.bin"):
                    if self.digest(model, ranks, folder / binary, seed) != expected:
                        raise SystemExit(f"{folder / binary}: other bits with delays of seed {seed}")
                    runs += 1
        print(f"{runs} delayed runs, {exchanges} exchanged commands: the same bits")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("verdicts", "timing"))
    for flag in ("bin", "golden", "work"):
        parser.add_argument("--" + flag, required=True)
    arguments = parser.parse_args()
    getattr(Driver(arguments), arguments.what)()


main()
