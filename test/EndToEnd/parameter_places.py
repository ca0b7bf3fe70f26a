"""Trains networks whose parameters lie in unusual places or have unusual sizes: 3 ranks as threads, stages 0 to 3 with equal
bits, and against the same network spelled plainly. Usage: parameter_places.py WORK"""
import hashlib
import json
import os
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
import parameter_models as models
import harness
from golden import read_safetensors

STEPS, RANKS, BATCH = 4, 3, 2


def run(work, *command):
    return harness.run(*command, cwd=work, stderr=subprocess.STDOUT)


def train(work, name, model, flags=(), stages=(0, 1, 2, 3)):
    """The log of the compilation and the trained parameters, equal over the stages."""
    with open(os.path.join(work, name + ".onnx"), "wb") as file:
        file.write(model.SerializeToString())
    with open(os.path.join(work, "config.json"), "w") as file:
        json.dump({"train_micro_batch_size_per_gpu": BATCH, "optimizer": {
            "type": "AdamW", "params": {"lr": 0.01, "weight_decay": 0.1}}}, file)
    digests = {}
    for stage in stages:
        log = run(work, "zero-compile", name + ".onnx", "--loss=cross-entropy", "--labels=y", "--config=config.json",
                  f"--world-size={RANKS}", f"--zero-stage={stage}", "-o", name + ".bin", *flags)
        run(work, "zero-run", name + ".bin", "--comm=loopback", "--data=data.npz", f"--steps={STEPS}",
            "--metrics=metrics.jsonl", "--export=trained.safetensors")
        with open(os.path.join(work, "metrics.jsonl")) as file:
            losses = [json.loads(line)["loss"] for line in file]
        import pathlib
        parameters = read_safetensors(pathlib.Path(work) / "trained.safetensors")
        digest = hashlib.sha256(json.dumps(losses).encode())
        for key in sorted(parameters):
            digest.update(key.encode() + parameters[key].tobytes())
        digests.setdefault(digest.hexdigest(), []).append(stage)
    if len(digests) != 1:
        raise SystemExit(f"{name}: the stages {list(digests.values())} differ")
    return log, parameters


def check(what, condition):
    if not condition:
        raise SystemExit("failed: " + what)


def same(what, a, b, exact=True):
    check(f"{what}: {sorted(a)} and {sorted(b)}", sorted(a) == sorted(b))
    for key in a:
        equal = np.array_equal(a[key], b[key]) if exact else np.allclose(a[key], b[key], 1e-5, 1e-6)
        check(f"{what}: '{key}' differs", a[key].shape == b[key].shape and equal)


def main():
    work = sys.argv[1]
    os.makedirs(work, exist_ok=True)
    random = np.random.default_rng(7)
    samples = STEPS * RANKS * BATCH
    np.savez(os.path.join(work, "data.npz"), x=random.standard_normal((samples, 4)).astype(np.float32),
             y=random.integers(0, 3, samples))

    _, plain = train(work, "plain", models.initializers())
    check("the plain network learns", not np.array_equal(plain["W"], models.W))
    _, found = train(work, "constants", models.constants(), ["--train-constants=W|b|V"])
    same("Constant nodes against initializers", found, plain)
    _, found = train(work, "views", models.views())
    same("behind views", {"W": found["Wt"].T, "b": found["b0"], "V": found["V"]}, plain, exact=False)

    _, zeros = train(work, "zeros", models.initializers(np.zeros_like(models.B)))
    _, found = train(work, "filled", models.filled(), ["--init=zeros:b"])
    same("ConstantOfShape against zeros", found, zeros)
    _, found = train(work, "again", models.initializers(), ["--init=zeros:b"])
    same("an initializer made zero", found, zeros)
    _, one = train(work, "drawn", models.initializers(), ["--init=normal:0.1", "--init=zeros:b"], stages=(3,))
    _, two = train(work, "drawn", models.initializers(), ["--init=normal:0.1", "--init=zeros:b"], stages=(0,))
    same("the same seed", one, two)
    _, two = train(work, "drawn", models.initializers(), ["--init=normal:0.1", "--init=zeros:b", "--init-seed=1"], stages=(3,))
    check("another seed", not np.array_equal(one["W"], two["W"]))

    _, found = train(work, "empty", models.empty(), ["--train=none|rows|b|V"])
    check("the empty parameter is there", found["none"].shape == (0, 7))
    same("joined with an empty one", {"W": found["rows"], "b": found["b"], "V": found["V"]}, plain, exact=False)
    _, found = train(work, "scalar", models.scalar(), ["--train=factor"])
    check("the 0-d parameter is trained", found["factor"].shape == () and found["factor"] != np.float32(1.5))
    _, found = train(work, "small", models.small())
    check("small parameters are trained", found["one"] != np.float32(1.25) and not np.array_equal(
        found["two"], models.random(2)))
    _, found = train(work, "shared", models.shared())
    check("the shared weight is one", sorted(found) == ["S", "V"])
    log, found = train(work, "unused", models.unused())
    check("unused weights are named", all(f"weight '{key}' is not trained: the loss does not depend on it" in log
                                          for key in ("side", "alone", "sized")))
    same("with unused weights", {"W": found["flat"].reshape(4, 7), "b": found["b"], "V": found["V"]}, plain, exact=False)
    log, found = train(work, "no_gradient", models.no_gradient())
    check("the warning names it", "no gradient reaches, so these weights are not trained: 'steps'" in log)
    check("it is not updated", sorted(found) == ["V", "W", "b0"])
    log, found = train(work, "padding_row", models.padding_row(), ["--freeze=frozen"])
    before, rows = models.random(5, 3), found["words"]
    check("the padding row gets weight decay alone", np.allclose(rows[1], before[1] * (1 - 0.01 * 0.1) ** STEPS, 1e-6, 0))
    check("other rows are trained", not np.allclose(rows[[0, 2]], before[[0, 2]] * (1 - 0.01 * 0.1) ** STEPS, 1e-3, 0))
    check("without padding_idx the row is trained", not np.allclose(found["types"][1], models.random(5, 3, seed=1)[1], 1e-3, 0))
    log, found = train(work, "detached", models.detached())
    check("what is detached everywhere is not trained", "no gradient reaches, so these weights are not trained: 'types'" in log and sorted(found) == ["frozen", "words"])
    _, found = train(work, "equal", models.equal())
    check("equal bytes are no tie", not np.array_equal(found["A"], found["B"]))
    print("parameters are where they are")


if __name__ == "__main__":
    main()
