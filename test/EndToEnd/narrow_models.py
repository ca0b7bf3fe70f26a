"""A model whose parameters have 16 bits trains in mixed precision as one of float32 with the same weights does: the same bits at every stage.

    narrow_models.py --bin=DIR --golden=DIR --work=DIR

The golden MLP, its weights rounded to 16 bits; spelled with them as float32, and as they are, between casts. With masters of float32 both start from
the same numbers, and take the same steps. The model of 16 bits gets its parameters back, of 16 bits.
"""
import json
import sys

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import harness

STEPS = 6
TYPES = {"bf16": (ml_dtypes.bfloat16, TensorProto.BFLOAT16), "fp16": (np.float16, TensorProto.FLOAT16)}


def write_models(golden, work, precision):
    narrow, element = TYPES[precision]
    wide = onnx.load(golden / "mlp.onnx")
    for tensor in wide.graph.initializer:
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(narrow).astype(np.float32), tensor.name))
    onnx.save(wide, work / "wide.onnx")
    graph = wide.graph
    for tensor in graph.initializer:
        values = numpy_helper.to_array(tensor).astype(narrow)
        tensor.CopyFrom(helper.make_tensor(tensor.name, element, values.shape, values.tobytes(), raw=True))
    graph.node[0].input[0], graph.node[-1].output[0] = "x16", "logits16"
    del graph.value_info[:]
    graph.node.insert(0, helper.make_node("Cast", ["x"], ["x16"], name="to_16", to=element))
    graph.node.append(helper.make_node("Cast", ["logits16"], ["logits"], name="to_32", to=TensorProto.FLOAT))
    onnx.save(wide, work / "narrow.onnx")


def main():
    a = harness.arguments(__doc__, "golden")
    failures = []

    def train(precision, model, stage):
        (a.work / "config.json").write_text(json.dumps({
            "train_micro_batch_size_per_gpu": 4, "gradient_clipping": 1.0, precision: {"enabled": True}, "zero_optimization": {"stage": stage},
            "optimizer": {"type": "AdamW", "params": {"lr": 1e-3, "weight_decay": 0.1}}}))
        harness.run(a.bin / "zero-compile", a.work / f"{model}.onnx", "--loss=cross-entropy", "--labels=y", "--config", a.work / "config.json",
                    "--world-size=2", "-o", a.work / "compiled.bin")
        harness.run(a.bin / "zero-run", a.work / "compiled.bin", "--comm=loopback", "--data", a.golden / "mlp.data.npz", f"--steps={STEPS}",
                    "--metrics", a.work / "m.jsonl", "--export", a.work / "out.onnx")
        exported = {tensor.name: tensor for tensor in onnx.load(a.work / "out.onnx").graph.initializer}
        return [(row["loss"], row["grad_norm"]) for row in harness.read_metrics(a.work / "m.jsonl")], exported

    for precision, (narrow, element) in TYPES.items():
        write_models(a.golden, a.work, precision)
        wide, masters = train(precision, "wide", 0)
        for stage in range(4):
            losses, parameters = train(precision, "narrow", stage)
            if losses != wide:
                failures.append(f"{precision}, stage {stage}: {losses}, of the model in float32 {wide}")
            for name, tensor in parameters.items():
                expected = numpy_helper.to_array(masters[name]).astype(narrow)
                if tensor.data_type != element or tensor.raw_data != expected.tobytes():
                    failures.append(f"{precision}, stage {stage}: '{name}' is not its master, rounded")
    for failure in failures:
        print(failure)
    print(f"{len(failures)} failures")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
