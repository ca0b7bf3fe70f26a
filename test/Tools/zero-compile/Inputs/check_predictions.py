"""The predicted step of a report is that of the metrics of its program, or shorter than over a slow network by about what is sent."""
import json
import sys

report = json.load(open(sys.argv[1]))
timeline = report["timeline"]
if sys.argv[2].startswith("--slower="):
    slow = json.load(open(sys.argv[2].split("=")[1]))["timeline"]
    # With frames and headers: 1514 bytes of a link carry 1448.
    wire = report["traffic"]["total_bytes"] / slow["rates"]["link_bytes_per_second"] * 1e9 * 1514 / 1448
    assert slow["rates"]["link_bytes_per_second"] == 1e6 and timeline["rates"]["link_bytes_per_second"] == 0
    assert slow["step_ns"] > timeline["step_ns"] and slow["exposed_communication_ns"] > timeline["exposed_communication_ns"]
    # All of the wire's time and all of the computing bound it on both sides.
    assert wire <= slow["step_ns"] <= wire + timeline["step_ns"], (wire, slow["step_ns"], timeline["step_ns"])
else:
    rows = [json.loads(line) for line in open(sys.argv[2])]
    assert len(rows) == 2
    for row in rows:
        assert abs(row["predicted_step_seconds"] * 1e9 / timeline["step_ns"] - 1) < 1e-4, (row, timeline["step_ns"])
