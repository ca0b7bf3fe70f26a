"""check_metrics.py REPORT.json METRICS.jsonl...: what the metrics of a program for GPUs say."""
import json
import pathlib
import sys

report = json.loads(pathlib.Path(sys.argv[1]).read_text())
steps = 0
for path in sys.argv[2:]:
    for line in pathlib.Path(path).read_text().splitlines():
        row = json.loads(line)
        steps += 1
        assert row["peak_device_bytes"] == sum(arena["arena_bytes"] for arena in report["memory"]["arenas"]), row
        # The simulated driver's context, cuBLASLt and communicators take multiples of 8 MiB. The rest: what arenas of whole pages take beyond the plan's
        # bytes, and small ones beside the plan (of marks, and of what kernels tell the host).
        assert row["other_device_bytes"] > (16 << 30) // 64 and 0 < row["other_device_bytes"] % (8 << 20) < 1 << 20, row
        # Marks on the compute stream around its waits, and on the others around their collectives.
        assert 0 < row["comm_seconds"] <= 1.5 * row["step_seconds"], row
        assert 0 <= row["exposed_comm_seconds"] <= 1.5 * row["step_seconds"], row
        assert 0 <= row["comm_overlap_efficiency"] <= 1, row
        assert row["comm_bytes_all_gather"] > 0 and row["comm_bytes_reduce_scatter"] > 0, row
print(f"{steps} steps: bytes are the report's, the GPU holds more, waits of streams are measured")
