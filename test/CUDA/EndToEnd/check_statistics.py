"""check_statistics.py STATISTICS.jsonl RANKS: how a job of that many processes used the simulated GPUs."""
import json
import pathlib
import sys

rows = [json.loads(line) for line in pathlib.Path(sys.argv[1]).read_text().splitlines()]
assert len(rows) == int(sys.argv[2]), rows
for row in rows:
    # Collectives tell where they are without the host's help; weights go up from pinned memory and come back to it.
    assert row["host_functions"] == 0 and row["pageable_uploads"] == 0 and row["pageable_downloads"] == 0, row
    # A graph is launched behind what the stream still does: a step's update behind its micro-batch, and the next micro-batch before the host has
    # seen the step. (At the end of a step that is waited for, half of the launches find an idle stream.)
    assert row["graph_launches"] > 20 and row["graph_launches_behind_work"] > 0.75 * row["graph_launches"], row
print(f"{len(rows)} processes: streams go on")
