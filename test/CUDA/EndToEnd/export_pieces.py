"""export_pieces.py WORK ROOT: parameters of several pieces come back whole from GPUs, of one rank and of ranks that hold a part each.

Steps of learning rate 0 change nothing: what is exported is what the model had, bit by bit.
"""
import json
import pathlib
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

work = pathlib.Path(sys.argv[1]).resolve()
sys.path.insert(0, str(pathlib.Path(sys.argv[2]) / "test/EndToEnd"))
from golden import read_safetensors

work.mkdir(parents=True, exist_ok=True)
PIECE = 4 << 20  # Executor::kReadBytes
IN, OUT = 1031, 3271  # 13.5 MB: no whole number of pieces, on a rank neither

random = np.random.default_rng(7)
weights = {"w": random.normal(0, 0.01, (IN, OUT)).astype(np.float32), "b": random.normal(size=OUT).astype(np.float32)}
graph = helper.make_graph(
    [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Add", ["p", "b"], ["y"])], "linear",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", IN])], [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", OUT])],
    [numpy_helper.from_array(array, name) for name, array in weights.items()])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), work / "linear.onnx")
np.savez(work / "data.npz", x=random.normal(size=(4, IN)).astype(np.float32), t=np.zeros((4, OUT), np.float32))


def run(*command):
    done = subprocess.run([str(word) for word in command], cwd=work, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
    if done.returncode:
        raise SystemExit(f"{command[0]}: exit code {done.returncode}: {done.stdout[-600:]}")


for ranks, stage in ((1, 0), (2, 0), (2, 3)):
    config = {"train_micro_batch_size_per_gpu": 2, "zero_optimization": {"stage": stage},
              "optimizer": {"type": "AdamW", "params": {"lr": 0.0, "weight_decay": 0.0}}}
    (work / "config.json").write_text(json.dumps(config))
    run("zero-compile", "linear.onnx", "--loss=mse", "--labels=t", "--config=config.json", f"--world-size={ranks}", "--target=cuda", "--cuda-architectures=sm_90",
        "-o", "program.bin")
    run("zero-run", "program.bin", "--comm=loopback", "--data=data.npz", "--steps=1", "--export=out.safetensors")
    exported = read_safetensors(work / "out.safetensors")
    held = sum(array.nbytes for array in weights.values()) // (ranks if stage == 3 else 1)
    assert held > PIECE and held % PIECE, held
    for name, array in weights.items():
        there = np.asarray(exported[name]).reshape(array.shape)
        if not np.array_equal(there.view(np.uint32), array.view(np.uint32)):
            raise SystemExit(f"{ranks} ranks, stage {stage}: '{name}' is other than it was in {np.count_nonzero(there != array)} places")
    print(f"{ranks} ranks, stage {stage}: {held / PIECE:.1f} pieces as they were", flush=True)
