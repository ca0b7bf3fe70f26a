"""predict_models.py ROOT DIR: models and data for predict.test."""
import json
import pathlib
import sys

import ml_dtypes
import numpy as np
import onnx

root, folder = map(pathlib.Path, sys.argv[1:])
sys.path.insert(0, str(root / "test/Import/ONNX/Inputs"))
import models
import outputs

for name in ("plain", "mixed", "constant"):
    onnx.save(getattr(outputs, name)(), folder / f"{name}.onnx")
onnx.save(models.linear(), folder / "linear.onnx")
(folder / "batch.json").write_text(json.dumps({"train_micro_batch_size_per_gpu": 3}))
random = np.random.default_rng(1)
np.savez(folder / "plain.npz", x=np.float32([[1.5, -2, 3], [4, 5, -300]]), s=np.float32(2), nothing=np.zeros((0, 4), np.float32),
         h=np.float16([1.5, -2, 65504]), b=np.array([1.5, -2, 1e30], ml_dtypes.bfloat16))
np.savez(folder / "mixed.npz", x=random.standard_normal((7, 2, 3)).astype(np.float32), table=np.arange(6, dtype=np.float32).reshape(2, 3))
x = random.standard_normal((7, 4)).astype(np.float32)
np.savez(folder / "linear.npz", x=x, y=np.arange(7) % 3)
np.savez(folder / "linear.x.npz", x=x)
np.savez(folder / "empty.npz", x=x[:0])
