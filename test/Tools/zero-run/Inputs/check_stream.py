"""The stream that --device=trace shows, against the commands of zero-dump: the same order, every wait after its record, every buffer at its own place, and bytes
that change their buffer said to do so."""
import re
import subprocess
import sys

stream, dump = (subprocess.run(c, check=True, stdout=subprocess.PIPE, text=True).stdout
                for c in (["zero-run", sys.argv[1], "--device=trace"], ["zero-dump", sys.argv[1], "--commands", "--buffers"]))
buffers = {n: (int(at), int(at) + int(size)) for n, at, size in re.findall(r"^buffer %(\S+) at (\d+), (\d+) bytes", dump, re.M)}
arena = int(re.search(r"^arena device (\d+) bytes$", stream, re.M).group(1))
runs = re.findall(r"^(\w+) runs (\w+) (\d+): (.*?)(?:, sends \d+ bytes)?(?:; (?:reads|writes) .*)?$", stream, re.M)
for section in dict.fromkeys(run[1] for run in runs):
    body = re.search(rf"^{section}:\n((?:  .*\n)*)", dump, re.M).group(1)
    expected = re.findall(r"^  (\d+) \[(\w+)\] (.*?): [(#%]", body, re.M)
    found = [(number, queue, title) for queue, name, number, title in runs if name == section]
    assert found == expected, [pair for pair in zip(found, expected) if pair[0] != pair[1]][:3]
    waits = len(re.findall(r" after e\d+", body))
    assert len(re.findall(rf"^\w+ waits for {section}\.e\d+$", stream, re.M)) == waits, section
recorded, owner, reuses = set(), {}, 0
for line in stream.splitlines():
    if match := re.match(r"\w+ records (\S+)$", line):
        recorded.add(match.group(1))
    if match := re.match(r"\w+ waits for (\S+)$", line):
        assert match.group(1) in recorded, line
    if " runs " not in line:
        continue
    reads, _, writes = line.partition("; writes ")
    for text, writing in ((reads, False), (writes, True)):
        for name, begin, end, over in re.findall(r"%(\S+) device\[(\d+), (\d+)\)((?: (?:over|and) %[^\s,]+)*)", text):
            begin, end = int(begin), int(end)
            assert buffers[name][0] <= begin < end <= buffers[name][1] <= arena, line
            # Buffers begin at multiples of 64 bytes: cells of that size have one holder.
            before = list(dict.fromkeys(owner[c] for c in range(begin // 64, (end + 63) // 64) if owner.get(c, name) != name))
            said = re.findall(r"%([^\s,]+)", over)
            assert sorted(said) == (sorted(before) if writing else []), (line, said, before)
            reuses += len(said)
            owner.update((c, name) for c in range(begin // 64, (end + 63) // 64))
assert reuses > 10
print(f"{len(runs)} commands in order, bytes used again are said")
