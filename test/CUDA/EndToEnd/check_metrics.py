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
        # The simulated driver's context alone takes some of it.
        assert row["other_device_bytes"] > 1 << 20, row
        assert row["exposed_comm_seconds"] is None and row["comm_overlap_efficiency"] is None, row
        assert row["comm_seconds"] > 0, row
        assert row["comm_bytes_all_gather"] > 0 and row["comm_bytes_reduce_scatter"] > 0, row
print(f"{steps} steps: bytes are the report's, the GPU holds more, waits of streams are not said")
