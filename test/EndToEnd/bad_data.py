"""Runs a small program on data with one fault each.

    bad_data.py --bin=DIR --work=DIR

FAULTS: name of the fault, what it does to the arrays (or to the file that holds them), and the message.
"""
import os
import re
import subprocess
import time

import numpy as np
import onnx
from onnx import TensorProto, helper

import harness

RANKS, BATCH, WORDS, CLASSES, SAMPLES = 2, 2, 10, 3, 16


def write_model(path):
    """logits = sum over 4 words of table[ids] * x, by classes; labels t."""
    values = lambda name, *shape: helper.make_tensor(name, TensorProto.FLOAT, shape, np.random.default_rng(1).normal(size=np.prod(shape)))
    info = helper.make_tensor_value_info
    nodes = [helper.make_node("Gather", ["table", "ids"], ["rows"]), helper.make_node("ReduceSum", ["rows", "axis"], ["sum"], keepdims=0),
             helper.make_node("Mul", ["sum", "x"], ["logits"])]
    graph = helper.make_graph(nodes, "g", [info("ids", TensorProto.INT64, ("n", 4)), info("x", TensorProto.FLOAT, ("n", CLASSES))],
                              [info("logits", TensorProto.FLOAT, ("n", CLASSES))],
                              [values("table", WORDS, CLASSES), helper.make_tensor("axis", TensorProto.INT64, [1], [1])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)


def arrays():
    generator = np.random.default_rng(2)
    return {"ids": generator.integers(0, WORDS, (SAMPLES, 4)), "x": generator.normal(size=(SAMPLES, CLASSES)).astype(np.float32),
            "t": generator.integers(0, CLASSES, SAMPLES)}


def put(array, place, value):
    def change(data):
        data[array][place] = value
    return change


def replace(array, function):
    def change(data):
        data[array] = function(data[array])
    return change


FAULTS = [
    ("label-too-large", put("t", 5, CLASSES), r"array 't': holds 3 at \[5\], outside \[0, 3\) and not the ignored -100"),
    ("label-negative", put("t", 5, -1), r"array 't': holds -1 at \[5\], outside \[0, 3\) and not the ignored -100"),
    ("index-too-large", put("ids", (15, 3), WORDS), r"array 'ids': holds 10 at \[15, 3\], outside \[0, 10\)"),
    ("index-far-below", put("ids", (0, 0), -WORDS - 1), r"array 'ids': holds -11 at \[0, 0\], outside \[0, 10\)"),
    ("too-few", lambda data: data.update({name: array[:3] for name, array in data.items()}), r"has 3 samples, one step takes 4"),
    ("unequal", replace("t", lambda t: t[:-1]), r"array 't': has 15 samples, the others have 16"),
    ("missing", lambda data: data.pop("x"), r"has no array 'x'; it has 'ids', 't'"),
    ("type", replace("x", lambda x: x.astype(np.float64)), r"array 'x': is of type float64, the model takes float32"),
    ("integer-type", replace("t", lambda t: t.astype(np.int32)), r"array 't': is of type int32, the model takes int64"),
    ("shape", replace("ids", lambda ids: ids[:, :3]), r"array 'ids': has samples of shape 3, the model takes 4"),
    ("rank", replace("x", lambda x: x[:, :, None]), r"array 'x': has samples of shape 3 x 1, the model takes 3"),
]
FILES = [
    ("cut-off", lambda path: os.truncate(path, path.stat().st_size // 2), r"it is no zip archive, or cut off"),
    ("empty", lambda path: os.truncate(path, 0), r"it is no zip archive: it has 0 bytes"),
    ("folder", lambda path: (path.unlink(), path.mkdir()), r"is not a file"),
    ("pipe", lambda path: (path.unlink(), os.mkfifo(path)), r"is not a file"),
    ("gone", lambda path: path.unlink(), r"cannot open '.*': No such file or directory"),
]


class Driver:
    def __init__(self, arguments):
        self.bin, self.work = arguments.bin, arguments.work
        self.runs = 0
        write_model(self.work / "net.onnx")
        harness.run(self.bin / "zero-compile", self.work / "net.onnx", "--loss=cross-entropy", "--labels=t", f"--world-size={RANKS}",
                    "--config", self.config(), "-o", self.work / "compiled.bin")

    def config(self):
        path = self.work / "config.json"
        path.write_text(f'{{"train_micro_batch_size_per_gpu": {BATCH}, "zero_optimization": {{"stage": 3}}}}')
        return path

    def start(self, mpi, *flags):
        command = ["mpirun", "-n", str(RANKS)] * mpi + [self.bin / "zero-run", self.work / "compiled.bin", "--timeout-seconds=20",
                                                        *flags] + ["--comm=loopback"] * (not mpi)
        self.runs += 1
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.work)

    def expect(self, name, job, message):
        out, err = job.communicate(timeout=120)
        assert job.returncode == 3, (name, job.returncode, out, err)
        said = [line for line in err.splitlines() if line.startswith("zero-run: ")]
        assert len(said) == 1 and re.search(message, said[0]), (name, message, err)

    def check(self, name, data, message):
        for mpi in (False, True):
            self.expect(name, self.start(mpi, "--data", data), message)

    def check_changes(self, shorter):
        """A file that is changed while it is read."""
        for mpi in (False, True):
            data = self.work / "changing.npz"
            np.savez(data, **arrays())
            job = self.start(mpi, "--data", data, "--epochs=1000000000")
            while not job.stdout.readline().startswith("step "):
                pass
            if shorter:
                os.truncate(data, 100)
            else:
                time.sleep(0.05)  # clocks of file systems tick
                with data.open("r+b") as file:
                    file.write(b"x")
            size = r"it had \d+ bytes, now it has 100" if shorter else r"its \d+ bytes were written anew"
            self.expect("changing", job, rf"rank [01]: step \d+: '.*changing.npz' has changed since it was opened: {size}")


def main():
    driver = Driver(harness.arguments(__doc__))
    np.savez(driver.work / "good.npz", **arrays())
    for mpi in (False, True):
        assert driver.start(mpi, "--data", driver.work / "good.npz").wait() == 0
    for name, change, message in FAULTS:
        data = arrays()
        change(data)
        np.savez(driver.work / f"{name}.npz", **data)
        driver.check(name, driver.work / f"{name}.npz", message)
    for name, change, message in FILES:
        path = driver.work / f"{name}.npz"
        np.savez(path, **arrays())
        change(path)
        driver.check(name, path, message)
    driver.check_changes(shorter=True)
    driver.check_changes(shorter=False)
    print(f"{driver.runs} runs, as they should be")


main()
