"""Checks the metrics, traces and exported parameters that tiny-program.test wrote."""
import json
import pathlib
import struct
import sys

folder = pathlib.Path(sys.argv[1])
keys = ["step", "loss", "grad_norm", "learning_rate", "step_seconds", "predicted_step_seconds", "samples_per_second", "comm_bytes_all_gather",
        "comm_bytes_reduce_scatter", "comm_bytes_control", "comm_bytes_omitted", "comm_seconds", "exposed_comm_seconds", "comm_overlap_efficiency",
        "peak_device_bytes", "peak_gathered_elements",
        "process_bytes", "peak_process_bytes", "peak_resident_bytes", "device", "skipped_steps"]
exact = ["step", "loss", "grad_norm", "learning_rate", "comm_bytes_all_gather", "comm_bytes_reduce_scatter", "comm_bytes_control",
         "peak_device_bytes", "peak_gathered_elements", "device", "skipped_steps"]
runs = [[json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()] for name in ("loopback", "mpi")]
for steps in runs:
    assert [list(step) for step in steps] == [keys] * 6, steps
    assert [step["step"] for step in steps] == [1, 2, 3, 4, 5, 6]
    for step in steps:
        assert step["learning_rate"] == 0.5
        assert step["device"] == "x86-64-v3"  # the only kernels that it has
        assert step["comm_bytes_all_gather"] == step["comm_bytes_reduce_scatter"] == 256
        assert step["comm_bytes_control"] == 24 * 8 + 4 + 8
        assert step["comm_bytes_omitted"] == 0  # nothing is sent where memory is shared
        assert step["process_bytes"] > 0 and step["peak_resident_bytes"] > step["peak_process_bytes"] > 0
        total, exposed = step["comm_seconds"], step["exposed_comm_seconds"]
        assert exposed > 0 and total > 0, step
        assert abs(step["comm_overlap_efficiency"] - max(total - exposed, 0) / total) < 1e-3, step
        assert step["step_seconds"] > 0 and step["samples_per_second"] > 0
assert [[step[key] for key in exact] for step in runs[0]] == [[step[key] for key in exact] for step in runs[1]]

for name in ("trace", "mpi-trace"):
    events = json.loads((folder / f"{name}.json").read_text())["traceEvents"]
    spans = [event for event in events if event["ph"] == "X"]
    assert {event["pid"] for event in spans} == {0, 1}
    assert {event["tid"] for event in spans} == {0, 1, 2}
    assert {"descend", "all_gather b0 (w.first and 1 more)", "reduce_scatter b0 (w.first and 1 more)", "control_sum loss_sum"} <= {
        event["name"] for event in spans}
    assert len(spans) == 2 * 6 * 12, len(spans)

data = (folder / "mpi.safetensors").read_bytes()
size = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8:8 + size])
assert size % 8 == 0 and list(header) == ["w.first", "w.second"], header
assert header["w.first"] == {"dtype": "F32", "shape": [2, 32], "data_offsets": [0, 256]}
assert header["w.second"] == {"dtype": "F32", "shape": [2, 31], "data_offsets": [256, 504]}
assert len(data) == 8 + size + 504
