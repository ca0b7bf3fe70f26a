"""passes.py ROOT: every pass of every Passes.td has a class, a file and a test of its name, and IR before and after in its description."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
faults, count = [], 0


def camel(words):
    """zero-insert-release -> ZeroInsertRelease; the dialect NN is written in capitals."""
    return "".join("NN" if word == "nn" else word.capitalize() for word in words.split("-"))


for table in sorted(root.glob("include/zero/**/Passes.td")):
    room = table.parent.relative_to(root / "include/zero")
    text = table.read_text()
    entries = list(re.finditer(r"def (\w+)\s*:\s*Pass<\"([\w-]+)\"", text))
    for entry, following in zip(entries, entries[1:] + [None]):
        definition, name = entry.groups()
        body = text[entry.start():following.start() if following else None]
        count += 1
        fault = lambda what: faults.append(f"{name}: {what}")
        if definition != camel(name):
            fault(f"class {definition} should be {camel(name)}")
        # Files leave out the dialect, but where two meet.
        words = name.split("-")[0 if "to" in name.split("-") else 1:]
        source, test = f"lib/{room}/{camel('-'.join(words))}.cpp", f"test/{room}/{'-'.join(words)}.mlir"
        if not (root / source).exists():
            fault(f"no file {source}")
        elif not re.search(rf"\b{name}\b", (root / source).read_text().partition("\n")[0]):
            fault(f"the first line of {source} does not name it")
        if not (root / test).exists():
            fault(f"no test {test}")
        elif not re.search(rf"--{name}\b|\({name}\b|\b{name}\(|[,{{]{name}\b", (root / test).read_text()):
            fault(f"{test} does not run it")
        if "let summary" not in body:
            fault("no summary")
        for word in ("Input:", "Output:"):
            if word not in body:
                fault(f"description has no '{word}'")
        for example in re.findall(r"\(\* example: (\S+) \*\)", body):
            if not (root / example).exists():
                fault(f"example '{example}' does not exist")

print("\n".join(faults) if faults else f"{count} passes, as they should be")
sys.exit(bool(faults))
