"""Trains a small network on data in which one step is not finite, with each --on-nan.

    on_nan.py --bin=DIR --work=DIR

What a skipped step must leave: exactly the bits of a run over data without its samples, parameters and optimizer state alike (a later step
reads the state). What a stopped run says: the step, and the rank or the parameter.
"""
import json
import subprocess

import numpy as np
import onnx
from onnx import TensorProto, helper

import harness

RANKS, BATCH, STEPS, BAD = 2, 2, 5, 3  # BAD: the step whose data are not finite, from 1


def write_model(path):
    """logits = relu(x a) b, with a loss over labels; or, as `linear`, y = x w with a squared error."""
    generator = np.random.default_rng(1)
    weight = lambda name, *shape: helper.make_tensor(name, TensorProto.FLOAT, shape, generator.normal(0, 0.5, np.prod(shape)))
    tensor = lambda name, *shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    nodes = [helper.make_node("MatMul", ["x", "a"], ["h"]), helper.make_node("Relu", ["h"], ["r"]),
             helper.make_node("MatMul", ["r", "b"], ["logits"])]
    graph = helper.make_graph(nodes, "g", [tensor("x", "n", 6)], [tensor("logits", "n", 3)], [weight("a", 6, 8), weight("b", 8, 3)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path / "net.onnx")
    w = weight("w", 6, 3)
    w.float_data[:3] = [0, 0, 0]
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", [tensor("x", "n", 6)], [tensor("y", "n", 3)], [w])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path / "linear.onnx")


def strict(text):
    def refuse(word):
        raise AssertionError(f"{word} is no JSON")
    return json.loads(text, parse_constant=refuse)


class Driver:
    def __init__(self, arguments):
        self.bin, self.work = arguments.bin, arguments.work
        write_model(self.work)
        self.runs = 0

    def compile(self, model, loss, stage, optimizer, accumulation=1, keys=None):
        folder = self.work / f"{model}-{stage}-{optimizer}-{accumulation}-{self.runs}"
        folder.mkdir()
        params = {"lr": 1e-2} | ({"momentum": 0.9} if optimizer == "SGD" else {})
        (folder / "config.json").write_text(json.dumps({
            "train_micro_batch_size_per_gpu": BATCH, "gradient_accumulation_steps": accumulation, "gradient_clipping": 1.0,
            "optimizer": {"type": optimizer, "params": params}, "zero_optimization": {"stage": stage}} | (keys or {})))
        harness.run(self.bin / "zero-compile", self.work / f"{model}.onnx", f"--loss={loss}", "--labels=t", "--config",
                    folder / "config.json", f"--world-size={RANKS}", "-o", folder / "compiled.bin")
        return folder

    def run(self, folder, data, *flags, mpi=False, code=0):
        """One run: its exported bytes (where it succeeds), its metrics, what it printed."""
        for name in ("out.safetensors", "m.jsonl"):
            (folder / name).unlink(missing_ok=True)
        command = ["mpirun", "-n", str(RANKS)] * mpi + [self.bin / "zero-run", folder / "compiled.bin", "--data", data, "--metrics",
                                                         folder / "m.jsonl", "--export", folder / "out.safetensors", *flags]
        result = subprocess.run(command + ["--comm=loopback"] * (not mpi), capture_output=True, text=True, timeout=120)
        assert result.returncode == code, (code, result.returncode, result.stdout, result.stderr)
        self.runs += 1
        rows = [strict(line) for line in (folder / "m.jsonl").read_text().splitlines()]
        return (folder / "out.safetensors").read_bytes() if code == 0 else None, rows, result.stdout, result.stderr


def labelled(accumulation, bad_rank=None, skip=None, bad=np.nan):
    """Samples and labels in the order of the steps; those of step `skip` left out, and of BAD made `bad` for one rank."""
    per_step = RANKS * BATCH * accumulation
    generator = np.random.default_rng(7)
    x = generator.normal(size=(STEPS * per_step, 6)).astype(np.float32)
    t = generator.integers(0, 3, STEPS * per_step)
    if bad_rank is not None:
        x[(BAD - 1) * per_step + bad_rank * BATCH + 1, 2] = bad
    keep = np.arange(len(x)) // per_step != (skip or 0) - 1
    return {"x": x[keep], "t": t[keep]}


def check_labelled(driver, stage, optimizer, accumulation):
    folder = driver.compile("net", "cross-entropy", stage, optimizer, accumulation)
    save = lambda name, arrays: np.savez(folder / name, **arrays)
    save("good.npz", labelled(accumulation))
    save("without.npz", labelled(accumulation, skip=BAD))
    for rank in range(RANKS):
        save(f"bad{rank}.npz", labelled(accumulation, bad_rank=rank))
    save("inf.npz", labelled(accumulation, bad_rank=0, bad=np.inf))
    # inf - inf is a NaN with a sign, which nobody is told.
    assert f"step {BAD}/{BAD}  loss nan  " in driver.run(folder, folder / "inf.npz", "--on-nan=skip", f"--steps={BAD}")[2]
    good, rows, _, _ = driver.run(folder, folder / "good.npz")
    assert [row["skipped_steps"] for row in rows] == [0] * STEPS and not any("non_finite" in row for row in rows)
    assert driver.run(folder, folder / "good.npz", "--on-nan=ignore")[0] == good, "--on-nan changes bits of finite runs"
    without = driver.run(folder, folder / "without.npz")[0]
    before = driver.run(folder, folder / "good.npz", f"--steps={BAD - 1}")[0]

    for mpi in (False, True):
        for rank in range(RANKS):
            data = folder / f"bad{rank}.npz"
            bits, rows, out, _ = driver.run(folder, data, "--on-nan=skip", mpi=mpi)
            assert bits == without, "a skipped step left something"
            assert [row["skipped_steps"] for row in rows] == [0] * (BAD - 1) + [1] * (STEPS - BAD + 1), rows
            assert rows[BAD - 1]["loss"] is None and rows[BAD - 1]["non_finite"]["loss"] == "nan", rows[BAD - 1]
            assert f"note: 1 of {STEPS} steps were skipped, the first was step {BAD}: the loss is nan on rank {rank}\n" in out, out
            assert f"step {STEPS}/{STEPS}" in out and "  skipped 1  " in out, out
            assert driver.run(folder, data, "--on-nan=skip", f"--steps={BAD}", mpi=mpi)[0] == before, "the update was applied"
            _, rows, _, err = driver.run(folder, data, mpi=mpi, code=1)
            said = [line for line in err.splitlines() if line.startswith("zero-run: ")]
            assert said == [f"zero-run: step {BAD}: the loss is nan on rank {rank}; nothing was updated (--on-nan=skip goes on "
                            "without such steps)"], err
            assert len(rows) == BAD and rows[-1]["loss"] is None, rows
        bits, rows, _, _ = driver.run(folder, folder / "bad0.npz", "--on-nan=ignore", mpi=mpi)
        assert [row["loss"] is None for row in rows] == [step >= BAD for step in range(1, STEPS + 1)], rows
        assert rows[-1]["skipped_steps"] == 0 and bits != without


def check_all_skipped(driver, keys, said):
    """A job of which no step was applied has failed, and exports nothing."""
    folder = driver.compile("net", "cross-entropy", 3, "AdamW", keys=keys)
    data = labelled(1)
    data["x"][::BATCH, 0] = np.nan
    np.savez(folder / "all.npz", **data)
    for mpi in (False, True):
        _, rows, out, err = driver.run(folder, folder / "all.npz", "--on-nan=skip", mpi=mpi, code=1)
        lines = [line for line in err.splitlines() if line.startswith("zero-run: ")]
        assert lines == [f"zero-run: all {STEPS} steps were skipped, and nothing was trained; the first was step 1: the loss is nan on "
                         f"ranks 0, 1{said}"], err
        assert [row["skipped_steps"] for row in rows] == list(range(1, STEPS + 1)), rows
        assert not (folder / "out.safetensors").exists()
    one = driver.run(folder, folder / "all.npz", "--on-nan=skip", "--steps=1", code=1)[3]
    assert "zero-run: the only step was skipped, and nothing was trained; the first was step 1: the loss is nan" in one, one


def check_gradient(driver, stage):
    """A finite loss with a gradient that is none: the parameter is named."""
    folder = driver.compile("linear", "mse", stage, "AdamW")
    generator = np.random.default_rng(3)
    samples = RANKS * BATCH
    x = generator.normal(size=(2 * samples, 6)).astype(np.float32)
    y = generator.normal(size=(2 * samples, 3)).astype(np.float32)
    x[:, 0] = 0  # nothing is learnt from it: its weights stay 0
    np.savez(folder / "one.npz", x=x[:samples], t=y[:samples])
    before = driver.run(folder, folder / "one.npz")[0]
    x[samples + 1, 0], y[samples + 1, 0] = 1e25, 1e18  # the squared error is 1e36, its gradient 1e43
    np.savez(folder / "bad.npz", x=x, t=y)
    assert driver.run(folder, folder / "bad.npz", "--on-nan=skip")[0] == before, "the update was applied"
    _, rows, _, err = driver.run(folder, folder / "bad.npz", code=1)
    assert "zero-run: step 2: the gradient norm is inf, the gradient of 'w' is not finite; nothing was updated" in err, err
    assert rows[1]["loss"] > 1e34 and rows[1]["grad_norm"] is None and rows[1]["non_finite"] == {"grad_norm": "inf"}, rows


def check_mixed(driver, stage, accumulation):
    """Parameters of 16 bits: a step is skipped without a flag; with fp16 the loss scale says when to stop."""
    def compile_for(keys):
        folder = driver.compile("net", "cross-entropy", stage, "AdamW", accumulation, keys)
        np.savez(folder / "without.npz", **labelled(accumulation, skip=BAD))
        np.savez(folder / "bad.npz", **labelled(accumulation, bad_rank=1))
        return folder

    for keys in ({"bf16": {"enabled": True}}, {"fp16": {"enabled": True, "initial_scale_power": 8}}):
        folder = compile_for(keys)
        bits, rows, out, _ = driver.run(folder, folder / "bad.npz")
        assert bits == driver.run(folder, folder / "without.npz")[0], f"{keys}: a skipped step left something"
        assert [row["skipped_steps"] for row in rows] == [0] * (BAD - 1) + [1] * (STEPS - BAD + 1), rows
        assert f"the first was step {BAD}: the loss is nan on rank 1" in out, out
        # With a hysteresis of 2 one skipped step leaves the loss scale as it is.
        assert [row.get("loss_scale") for row in rows] == [256 if "fp16" in keys else None] * STEPS, rows
        assert ("  loss_scale 256  skipped 1  " in out) == ("fp16" in keys), out
        if "bf16" in keys:
            _, rows, _, err = driver.run(folder, folder / "bad.npz", "--on-nan=stop", code=1)
            assert len(rows) == BAD and "nothing was updated" in err, err
            assert driver.run(folder, folder / "bad.npz", "--on-nan=ignore")[1][-1]["loss"] is None
        else:
            # A smaller scale may help, so that training goes on.
            assert driver.run(folder, folder / "bad.npz", "--on-nan=stop")[0] == bits
            result = subprocess.run([driver.bin / "zero-run", folder / "compiled.bin", "--comm=loopback", "--data", folder / "bad.npz",
                                     "--on-nan=ignore"], capture_output=True, text=True)
            assert result.returncode == 3 and "zero-run: --on-nan=ignore would update with gradients that overflowed: " in result.stderr, result.stderr

    # The scale falls at once, and at its least --on-nan=stop stops.
    for least, stops in ((64, False), (256, True)):
        folder = compile_for({"fp16": {"enabled": True, "initial_scale_power": 8, "hysteresis": 1, "min_loss_scale": least}})
        _, rows, _, err = driver.run(folder, folder / "bad.npz", "--on-nan=stop", code=int(stops))
        if stops:
            assert len(rows) == BAD and f"step {BAD}: the loss is nan on rank 1, at the least loss scale, 256; nothing was updated" in err, err
        else:
            assert [row["loss_scale"] for row in rows] == [256] * BAD + [128] * (STEPS - BAD), rows
    folder = compile_for({"fp16": {"enabled": True, "loss_scale": 32}})  # which nothing changes
    assert "at the least loss scale, 32" in driver.run(folder, folder / "bad.npz", "--on-nan=stop", code=1)[3]


def main():
    driver = Driver(harness.arguments(__doc__))
    for stage, optimizer, accumulation in ((0, "AdamW", 1), (1, "SGD", 1), (2, "AdamW", 2), (3, "AdamW", 1)):
        check_labelled(driver, stage, optimizer, accumulation)
    for stage in (0, 3):
        check_gradient(driver, stage)
    check_all_skipped(driver, {}, "")
    check_all_skipped(driver, {"fp16": {"enabled": True, "initial_scale_power": 9, "hysteresis": 1, "min_loss_scale": 0.5}},
                      "; the loss scale of the last one was 32, and it can fall to 0.5: take more steps, or a smaller "
                      "'fp16.initial_scale_power'")
    for stage, accumulation in ((0, 1), (2, 2), (3, 1)):
        check_mixed(driver, stage, accumulation)
    print(f"{driver.runs} runs, as they should be")


main()
