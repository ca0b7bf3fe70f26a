"""Reads every #include of the tree against layers.txt and foreign.txt; prints each edge that is not allowed."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
here = pathlib.Path(__file__).parent


def table(path):
    rows = []
    for line in path.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            left, right = line.rsplit(":", 1)
            rows.append((left.split(), right.split()))
    return rows


layers = table(here / "layers.txt")
foreign = table(here / "foreign.txt")
room_of_folder = {folder: folders[-1] for folders, _ in layers for folder in folders}
allowed = {folders[-1]: set(targets) for folders, targets in layers}
unknown = [t for targets in allowed.values() for t in targets if t not in room_of_folder]


def room(path):
    best = max((f for f in room_of_folder if path == f or path.startswith(f + "/")), key=len, default=None)
    return best and room_of_folder[best]


errors = [f"layers.txt: '{t}' is not a room" for t in unknown]
sources = [p for d in ("dialects", "include", "lib", "tools") for p in (root / d).rglob("*") if "tools/dev/" not in p.as_posix() and p.suffix in (".h", ".cpp", ".inc", ".cu")]
count = 0
for source in sorted(sources):
    path = source.relative_to(root).as_posix()
    own = room(path)
    if own is None:
        errors.append(f"{path}: lies in no room of layers.txt")
        continue
    for number, line in enumerate(source.read_text(errors="replace").splitlines(), 1):
        match = re.match(r'\s*#\s*include\s*[<"]([^>"]+)[>"]', line)
        if not match:
            continue
        count += 1
        header = match.group(1)
        for prefixes, folders in foreign:
            if any(header.startswith(p) for p in prefixes) and not any(path.startswith(f) for f in folders):
                errors.append(f"{path}:{number}: {header} may be included from {' '.join(folders)} only")
        target = "include/" + header if header.startswith("zero/") else header if header.startswith(("dialects/", "lib/")) else None
        if target is None:
            continue
        other = room(target)
        if other and other != own and other not in allowed[own] and not any(header.startswith(p) for ps, fs in foreign for p in ps):
            errors.append(f"{path}:{number}: {own} may not include {header} of {other}")
print("\n".join(errors) if errors else f"{count} includes of {len(sources)} files keep to the layers")
sys.exit(bool(errors))
