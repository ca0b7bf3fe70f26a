"""A trace beside the report of the same plan: every event is a command that the report knows by that name, with the time that it predicts there."""
import collections
import json
import sys

report, trace, ranks, steps = json.load(open(sys.argv[1])), json.load(open(sys.argv[2])), int(sys.argv[3]), int(sys.argv[4])
sections = {s["name"]: s for s in report["timeline"]["sections"]}
queues, seen, measured = {}, collections.Counter(), collections.Counter()
for event in trace["traceEvents"]:
    if event["ph"] == "M":
        if event["name"] == "thread_name":
            queues[event["tid"]] = event["args"]["name"]
        continue
    place = event["args"]
    command = sections[place["section"]]["commands"][place["command"]]
    assert event["name"] == command["title"], (event, command)
    assert event["cat"] == (command["kernel"] or command["kind"]), (event, command)
    assert queues[event["tid"]] == command["queue"], (event, command)
    assert abs(place["predicted_us"] - command["duration_ns"] / 1000) < 1e-3, (event, command)
    seen[event["pid"], place["section"], place["command"]] += 1
    measured[place["section"]] += event["dur"]
for section in sections.values():
    for command in section["commands"]:
        for rank in range(ranks):
            runs = seen.pop((rank, section["name"], command["command"]), 0)
            assert runs == steps * section["runs_per_step"], (section["name"], command, runs)
assert not seen and all(measured[s["name"]] > 0 for s in sections.values() if s["runs_per_step"])
print(f"{len(sections)} sections: measured beside predicted under the same names")
