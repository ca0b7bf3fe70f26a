"""The ONNX files that ship in Python wheels: each takes a training step, or is refused for the reason that stands here.

wheel_models.py FOLDER [--precision=bf16|fp16] [NAME...]: downloads the wheels into FOLDER/wheels once (no package is installed), compiles each model (those
whose path contains a NAME) and runs one step on random data. Prints a table; ends with 1 if a line is not as it should be.
"""
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import zipfile

import numpy as np
import onnx

WHEELS = ["magika==1.0.3", "silero-vad==6.2.3", "rapidocr-onnxruntime==1.4.4", "rapidocr==3.10.0"]
LIGHT = pathlib.Path(onnx.__file__).parent / "backend/test/data/light"
TYPES = {"f32": np.float32, "i32": np.int32, "i64": np.int64, "i1": np.bool_}


class Model:
    """What a model needs to be trained: flags, inputs bound to zeros or to a number; or the reason why it is refused."""

    def __init__(self, path, *flags, batch=2, refused=None, **bound):
        self.path, self.flags, self.batch, self.refused, self.bound = path, list(flags), batch, refused, bound


STATE = np.zeros((2, 2, 128), np.float32)
RATE = np.array(16000, np.int64)
VAD = "silero_vad/data/silero_vad"
# Files whose weights are Constant nodes: the names of what their authors trained.
VAD_WEIGHTS = r"--train-constants=.*(reparam_conv|decoder\.rnn|decoder\.2)\.(weight|bias).*"
PADDLE_WEIGHTS = r"--train-constants=.*(\.[wb]_0|_weights|_scale|_offset)"
MODELS = [
    Model("magika/models/standard_v3_3/model.onnx", "--loss=mse"),
    Model(VAD + ".onnx", "--loss=mse:output", VAD_WEIGHTS, "--dim=input.0=2", "--dim=input.1=576", sr=RATE, state=STATE),
    Model(VAD + "_16k_op15.onnx", "--loss=mse:output", "--dim=batch=2", "--dim=sequence=512", sr=RATE, state=STATE),
    # Its sequence, which is in front, is that of the LSTM.
    Model(VAD + "_16k_sequence.onnx", "--loss=mse:speech_probs", "--dim=sequence_length=8", batch=8, h=STATE[:1, :1], c=STATE[:1, :1]),
    Model(VAD + "_half.onnx", "--loss=mse:output", "--dim=batch=2", "--dim=sequence=512", state=STATE),
    Model(VAD + "_op18_ifless.onnx", "--loss=mse:output", "--dim=batch=2", "--dim=sequence=576", sr=RATE, state=STATE),
    Model(VAD + "_openvino_16k.onnx", "--loss=mse:output", VAD_WEIGHTS, batch=1, state=STATE[:, :1]),
    Model("rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx", "--loss=mse", PADDLE_WEIGHTS, "--dim=p2o.DynamicDimension.1=64",
          "--dim=p2o.DynamicDimension.2=64"),
    Model("rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx", "--loss=mse", PADDLE_WEIGHTS, "--dim=x.2=48",
          "--dim=p2o.DynamicDimension.1=64"),
    Model("rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx", "--loss=mse", PADDLE_WEIGHTS, "--dim=x.2=48", "--dim=x.3=96"),
    Model("rapidocr/models/PP-OCRv6_det_small.onnx", "--loss=mse", "--dim=DynamicDimension.1=64", "--dim=DynamicDimension.2=64"),
    Model("rapidocr/models/PP-OCRv6_rec_small.onnx", "--loss=mse", "--dim=DynamicDimension.1=64"),
    Model("rapidocr/models/ch_ppocr_mobile_v2.0_cls_mobile.onnx", "--loss=mse", PADDLE_WEIGHTS, "--dim=x.2=48", "--dim=x.3=96"),
]
# Their weights are outputs of ConstantOfShape; two have scales of norms among these.
for light in ("bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50", "shufflenet", "squeezenet", "vgg19", "zfnet512"):
    ones = {"densenet121": ["--init=ones:.*bn_w_0"], "inception_v2": ["--init=ones:.*sc_w_0"]}.get(light, [])
    MODELS.append(Model("light_%s.onnx" % light, "--loss=mse", "--init=kaiming:.*_w_0", *ones, batch=1))


def download(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for wheel in WHEELS:
        name, version = wheel.replace("-", "_").split("==")
        if list(folder.glob("%s-%s-*.whl" % (name, version))):
            continue
        command = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps", "-d", str(folder), wheel]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode:
            sys.exit("cannot download %s: %s" % (wheel, result.stderr.strip()))
    for wheel in folder.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if name.endswith(".onnx") and archive.getinfo(name).file_size and not (folder / name).exists():
                    archive.extract(name, folder)


def run(*command):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True)


def refusal(result):
    lines = [line for line in result.stderr.splitlines() if re.search(r"(error|note): ", line)]
    return " ".join(lines) or "status %d" % result.returncode


def train(path, model, folder, precision):
    """What came of one step: (whether it trained, a text)."""
    flags = [*model.flags, "--labels=y"]
    for name, value in model.bound.items():
        np.save(folder / (name + ".npy"), value)
        flags.append("--bind-input=%s=%s" % (name, folder / (name + ".npy")))
    imported = run("zero-import", path, *flags, "-o", folder / "model.mlir")
    if imported.returncode:
        return False, refusal(imported)
    signature = next(line for line in open(folder / "model.mlir") if "func.func @forward" in line)
    random = np.random.default_rng(0)
    data = {}
    for shape, kind, name in re.findall(r'tensor<([^>]*)> \{nn\.role = #nn\.role<(input|label) "([^"]*)">', signature):
        *sizes, element = shape.split("x")
        sizes = [model.batch if size == "?" else int(size) for size in sizes]
        if element in ("f32",):
            data[name] = random.random(sizes, np.float32)
        else:
            data[name] = random.integers(0, 2, sizes).astype(TYPES[element])
    np.savez(folder / "data.npz", **data)
    (folder / "config.json").write_text(json.dumps({"train_micro_batch_size_per_gpu": model.batch, "zero_optimization": {"stage": 1},
                                                    "optimizer": {"type": "AdamW", "params": {"lr": 0.0001}}} | precision))
    compiled = run("zero-compile", path, *flags, "--config", folder / "config.json", "--world-size=1", "-o", folder / "compiled.bin")
    if compiled.returncode:
        return False, refusal(compiled)
    ran = run("zero-run", folder / "compiled.bin", "--data", folder / "data.npz", "--steps=1", "--metrics", folder / "metrics.jsonl")
    if ran.returncode:
        return False, refusal(ran) if "error" in ran.stderr else ran.stderr.strip()
    row = json.loads(open(folder / "metrics.jsonl").readline())
    if row["loss"] is None or row["grad_norm"] is None:
        return False, "the step is not finite: %s" % row["non_finite"]
    text = "loss %.5g, grad_norm %.5g, %s" % (row["loss"], row["grad_norm"], re.search(r"parameters: .* elements", compiled.stdout).group(0))
    return math.isfinite(row["loss"]) and 0 < row["grad_norm"] < math.inf, text


def main():
    folder, names, precision = pathlib.Path(sys.argv[1]), sys.argv[2:], {}
    for flag in [name for name in names if name.startswith("--precision=")]:
        names.remove(flag)
        # A start below which no gradient of these models overflows.
        precision = {"bf16": {"bf16": {"enabled": True}}, "fp16": {"fp16": {"enabled": True, "initial_scale_power": 4}}}[flag.split("=")[1]]
    wheels = folder / "wheels"
    download(wheels)
    found = sorted(path for path in wheels.rglob("*.onnx")) + sorted(LIGHT.glob("*.onnx"))
    bad = 0
    for path in found:
        name = str(path.relative_to(wheels) if path.is_relative_to(wheels) else path.name)
        if names and not any(part in name for part in names):
            continue
        model = next((model for model in MODELS if name.endswith(model.path)), None)
        if not model:
            ok, text = False, "it has no line in the table"
        else:
            trained, text = train(path, model, folder, precision)
            ok = trained if model.refused is None else not trained and model.refused in text
        bad += not ok
        print("%s %s: %s" % ("     " if ok else "WRONG", name, text[:1000]), flush=True)
    sys.exit(1 if bad else 0)


main()
