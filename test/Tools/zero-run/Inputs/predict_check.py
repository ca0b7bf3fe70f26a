"""predict_check.py NAME DIR: compares predictions with NumPy."""
import pathlib
import sys

import ml_dtypes
import numpy as np

name, folder = sys.argv[1], pathlib.Path(sys.argv[2])


def same(got, want, exactly=True):
    want = np.asarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape, (got.dtype, got.shape, want.dtype, want.shape)
    assert got.tobytes() == want.tobytes() if exactly else np.allclose(got, want, rtol=1e-5), (got, want)


def plain():
    data, out = np.load(folder / "plain.npz"), np.load(folder / "plain.out.npz")
    x, s = data["x"], data["s"]
    assert out.files == ["y", "t", "big", "half", "brain", "whole", "none", "x", "w"], out.files
    same(out["y"], x * s)
    same(out["t"], s)
    same(out["big"], x > s)
    same(out["half"], data["h"])
    same(out["brain"], np.array([1.5, -2, 1e30], ml_dtypes.bfloat16).astype(np.float32))
    same(out["whole"], x.astype(np.int16))
    same(out["none"], np.zeros((0, 4), np.float32))
    same(out["x"], x)
    same(out["w"], np.float32([5, 7]))


def mixed():
    data, out = np.load(folder / "mixed.npz"), np.load(folder / "mixed.out.npz")
    y = data["x"] + data["table"]
    same(out["y"], y)
    same(out["rows"], y.reshape(-1, 3))
    same(out["minus"], -data["table"])
    same(out["total"], y[:3].sum(dtype=np.float32), exactly=False)  # of the first micro-batch


def constant():
    same(np.load(folder / "constant.out.npz")["y"], -np.arange(3, dtype=np.float32))


def linear():
    x, before, after = np.load(folder / "linear.npz")["x"], np.load(folder / "before.npz")["z"], np.load(folder / "after.npz")["z"]
    weights = np.arange(12, dtype=np.float32).reshape(4, 3), np.arange(3, dtype=np.float32)
    same(before, x @ weights[0] + weights[1], exactly=False)
    assert after.shape == before.shape and not np.array_equal(before, after)
    raw = (folder / "w.safetensors").read_bytes()
    import json
    size = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:8 + size])
    trained = {k: np.frombuffer(raw[8 + size + v["data_offsets"][0]:8 + size + v["data_offsets"][1]], np.float32).reshape(v["shape"])
               for k, v in header.items() if k != "__metadata__"}
    same(after, x @ trained["w"] + trained["b"], exactly=False)


globals()[name]()
