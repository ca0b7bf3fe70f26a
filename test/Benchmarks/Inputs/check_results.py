"""Checks results.json and results.md of a tiny run; --interrupt instead takes the last record away and leaves half a line, as an interruption does."""
import json
import pathlib
import sys

folder = pathlib.Path(sys.argv[1])
if "--interrupt" in sys.argv:
    lines = folder / "results.jsonl"
    records = lines.read_text().splitlines()
    lines.write_text("\n".join(records[:-1]) + "\n" + records[-1][:40] + "\n")
    sys.exit()
results = json.loads((folder / "results.json").read_text())
assert results["format"] == "zero-benchmark" and results["machine"]["cores"] >= 1 and results["machine"]["cpu"]
for record in results["records"]:
    assert "failed" not in record, record
runs = [r for r in results["records"] if r["key"]["part"] in ("steps", "links")]
# One rank sends nothing; two ranks half of the parameters twice (stages 0 to 2) and, at stage 3, once more but for dead gathers.
sent = {}
for record in runs:
    zero = record["zero"]
    assert zero["step_seconds"] > 0 and zero["predicted_step_seconds"] > 0 and zero["peak_total_bytes"] > zero["peak_bytes"] > zero["arena_bytes"], record
    assert zero["exposed_comm_seconds"] is not None, record
    if record["key"]["part"] == "links":
        assert record["slowdown"] == zero["step_seconds"] / record["unlimited"]["step_seconds"], record
        assert record["transfer_seconds"] == zero["sent_bytes"] / 25e6 and record["unlimited"]["sent_bytes"] == zero["sent_bytes"], record
    sent.setdefault(record["key"]["stage"], set()).add(zero["sent_bytes"])
assert sent[None] == {0}
assert all(len(each) == 1 for each in sent.values()), sent  # the same over any link
assert max(sent[s].copy().pop() for s in (0, 1, 2)) < sent[3].copy().pop(), sent
if "--peers" in sys.argv:
    assert len(runs) == 9
    for record in runs:
        assert record["loss_difference"] < 1e-5 and record["ratio"] > 0, record
        assert record["peer"]["peak_total_bytes"] > record["peer"]["peak_bytes"] > 0, record
for record in results["records"]:
    if record["key"]["part"] == "roofline":
        groups, total = record["groups"], results["flops"][record["key"]["size"]]
        assert all(g["commands"] > 0 and g["seconds"] > 0 and g["bytes"] > 0 for g in groups.values()), record
        assert 0.5 * total < groups["matmul"]["flops"] <= total, (groups["matmul"], total)
        assert any(name.startswith("group_") for name in groups) and any(name.startswith("update_") for name in groups), groups
text = (folder / "results.md").read_text()
assert results["machine"]["cpu"] in text and "say nothing about speed" in text and "## Not measured" not in text and ("## Roofline: T float32" in text) == any(
    record["key"]["part"] == "roofline" for record in results["records"])
