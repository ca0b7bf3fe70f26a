"""dropped_waits.py BIN WORK GOLDEN COMM [KIND]: an order that a program lacks is seen in its numbers under some timing of the simulated driver.

KIND: waits (within a section), carried (for what outlasts the update before: stage 2), early (of gathers that start in the update before).

Compiles mlp for two ranks at stage 3 (carried: 2), takes the waits of one command after another out of the program, and trains under adversarial
timings: the losses, the exported parameters or the predictions differ from the right ones under one of them at least, for four waits of five (early: half of them). The program with all of
its waits gives the same bits under each.
"""
import os
import pathlib
import subprocess
import sys

tools, work, golden = (pathlib.Path(a).resolve() for a in sys.argv[1:4])
comm = sys.argv[4]
kind = sys.argv[5] if len(sys.argv) > 5 else "waits"
EDITS = {"waits": "drop-waits", "carried": "drop-carried", "early": "hasten-early"}
SEEDS = 12
STEPS = 3


def run(*command, **environment):
    result = subprocess.run([str(word) for word in command], cwd=work, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            env={**os.environ, **environment}, timeout=120)
    return result.returncode, result.stdout


def train(program, seed):
    """The bits of a run, or its exit code where it fails."""
    code, text = run("mpirun", "-n", 2, "zero-run", program, f"--comm={comm}", "--data", golden / "mlp.data.npz", "--steps", STEPS,
                     "--export", "out.safetensors", "--predict", "out.npz", "--metrics", "out.jsonl", "--timeout-seconds", 20, "--flight-recorder=none",
                     ZERO_SHIM_TIMING=f"adversarial:{seed}", ZERO_SHIM_ON_ERROR="return")
    if code:
        return code
    losses = [line.split('"learning_rate"')[0] for line in (work / "out.jsonl").read_text().splitlines()]
    return losses, (work / "out.safetensors").read_bytes(), (work / "out.npz").read_bytes()


work.mkdir(parents=True, exist_ok=True)
(work / "config.json").write_text('{"train_micro_batch_size_per_gpu": 6, "gradient_clipping": 1.0, "zero_optimization": {"stage": ' + ("2" if kind == "carried" else "3") + ', '
                                  '"reduce_bucket_size": 3000, "allgather_bucket_size": 3000}}')
code, text = run("zero-compile", golden / "mlp.onnx", "--loss=cross-entropy", "--labels=y", "--config=config.json", "--world-size=2", "--prefetch",
                 "--target=cuda", "--deterministic", "--cuda-architectures=sm_90", "-o", "whole.bin")
if code:
    sys.exit(f"zero-compile: {text}")
right = train("whole.bin", 1)
if isinstance(right, int):
    sys.exit(f"the whole program fails with exit code {right}")
for seed in range(2, 5):
    if train("whole.bin", seed) != right:
        sys.exit(f"the whole program gives other bits under timing {seed}")
waits = run("EditProgram", "whole.bin", f"list-{kind}")[1].split("\n")
waits = [line.split() for line in waits if line]
missed = []
for section, command in waits:
    code, text = run("EditProgram", "whole.bin", "edited.bin", EDITS[kind], section, command)
    if code:
        sys.exit(text)
    seen = next((seed for seed in range(1, SEEDS + 1) if train("edited.bin", seed) != right), None)
    print(f"{section} {command}: {'seen under timing ' + str(seen) if seen else 'not seen'}", flush=True)
    if not seen:
        missed.append((section, command))
# What a wait guards may be over long before, by chance, under every timing that was tried.
# An early gather stands behind others of its queue, which wait for their own.
if not waits or len(missed) > len(waits) // (2 if kind == "early" else 5):
    sys.exit(f"{len(missed)} of {len(waits)} dropped waits are not seen: {missed}")
print(f"{len(waits) - len(missed)} of {len(waits)} dropped waits are seen")
