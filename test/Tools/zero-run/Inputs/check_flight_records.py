"""check_flight_records.py DIR RANKS: the files of the flight recorder of a job of the tiny program that lost its last rank."""
import json
import pathlib
import sys

folder, ranks = pathlib.Path(sys.argv[1]), int(sys.argv[2])
assert sorted(path.name for path in folder.iterdir()) == [f"rank-{rank}.json" for rank in range(ranks)], list(folder.iterdir())
files = [json.loads((folder / f"rank-{rank}.json").read_text()) for rank in range(ranks)]
for rank, file in enumerate(files):
    entries = file["entries"]
    assert file["version"] == 1 and file["rank"] == rank and file["world_size"] == ranks, file
    assert len(entries) == min(64, file["collectives"]), len(entries)
    assert [entry["number"] for entry in entries] == list(range(file["collectives"] - len(entries) + 1, file["collectives"] + 1))
    for entry in entries:
        assert (entry["state"] == "completed") == (entry["duration_nanoseconds"] is not None), entry
        assert entry["kind"] in ("all_gather", "reduce_scatter", "control_sum", "broadcast") and entry["bytes"] > 0, entry
        if entry["kind"] in ("all_gather", "reduce_scatter") and entry["channel"]:
            assert entry["label"] == "b0" and entry["parameter"] == "w.first" and entry["section"] == "micro_first", entry
            assert entry["bytes"] == 256 and entry["step"] > 0, entry
        if entry["kind"] == "control_sum":
            assert entry["label"] in ("sum_squares", "loss_sum", "label_count") and entry["section"] == "update", entry
        assert entry["begin_unix_nanoseconds"] > 1.6e18, entry

# The survivor's open collective, on its channel, is the one that the lost rank never completed.
open_ones = [entry for entry in files[0]["entries"] if entry["state"] == "started"]
assert open_ones, files[0]["entries"][-5:]
for entry in open_ones:
    theirs = [e for e in files[1]["entries"] if e["channel"] == entry["channel"]]
    assert not any(e["sequence"] > entry["sequence"] for e in theirs), (entry, theirs[-1])
