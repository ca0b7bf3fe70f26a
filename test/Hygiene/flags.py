"""flags.py ROOT BIN: help, default and test of every flag, pass option and configuration key, as the tools themselves list them."""
import pathlib
import re
import subprocess
import sys

root, tools = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
TOOLS = ("zero-import", "zero-compile", "zero-run", "zero-dump", "zero-plan")
# What every program of its kind has, and no test of ours need use.
COMMON = {"--help", "--help-list", "--version", "--color"}
DEFAULT = re.compile(r"default|required|repeatable", re.I)
faults = []


def read_tests():
    parts = []
    for path in sorted((root / "test").rglob("*")):
        if path.is_file() and path.suffix in (".mlir", ".test", ".py", ".cpp") and "Hygiene" not in path.relative_to(root).parts:
            parts.append(path.read_text(errors="replace"))
    return "\n".join(parts)


def flags_of(tool):
    """Name -> help, from --help: a flag starts its line, its text may go on below."""
    output = subprocess.run([tools / tool, "--help"], capture_output=True, text=True).stdout
    found, name = {}, None
    for line in output.splitlines():
        start = re.match(r"\s+(?:-\w,\s*)?(--?[a-z][\w-]*)(?:[= ]\S+)?\s*(.*)", line)
        if start:
            name = start.group(1)
            found[name] = start.group(2).lstrip("- ")
        elif name and line.startswith("        "):
            found[name] += " " + line.strip()
        else:
            name = None
    return found


tests = read_tests()
flags = options = keys = 0
for tool in TOOLS:
    if not (tools / tool).exists():
        continue
    for name, text in flags_of(tool).items():
        if name in COMMON:
            continue
        flags += 1
        if len(text.split()) < 3:
            faults.append(f"{tool} {name}: help says only '{text}'")
        if not DEFAULT.search(text):
            faults.append(f"{tool} {name}: help names no default, nor that it is required or repeatable: '{text}'")
        if not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", tests):
            faults.append(f"{tool} {name}: no test uses it")

for table in sorted(root.glob("include/zero/**/Passes.td")):
    for name, text in re.findall(r'(?:Option|ListOption)<"\w+",\s*"([\w-]+)",(?:[^<>]|<[^<>]*>)*?"((?:[^"\\]|\\.)+)"\s*>', table.read_text()):
        options += 1
        if len(text.split()) < 2:
            faults.append(f"{table.relative_to(root)} {name}: help says only '{text}'")
        if not re.search(rf"(?<![\w-]){re.escape(name)}(?:=|\s|'|$)", tests):
            faults.append(f"{table.relative_to(root)} {name}: no test sets it")

output = subprocess.run([tools / "zero-compile", "--help-config"], capture_output=True, text=True).stdout
for path, text, default in re.findall(r"^  (\S+)\n      (.*)\n      default: (.*)$", output, re.M):
    keys += 1
    if len(text.split()) < 2 or not default:
        faults.append(f"key {path}: '{text}', default '{default}'")
    if not re.search(rf"\b{path.rpartition('.')[2]}\b", tests):
        faults.append(f"key {path}: no test sets it")
if not keys:
    faults.append("zero-compile --help-config lists no key")

print("\n".join(faults) if faults else f"{flags} flags, {options} pass options, {keys} keys, as they should be")
sys.exit(bool(faults))
