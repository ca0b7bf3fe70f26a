"""diagnostics.py ROOT [ALLOWED]: every diagnostic that the sources can give is expected by a test.

A diagnostic is a statement with one of STARTS; it is expected where a test holds WORDS words in a row of one of its texts (a whole text
where it is shorter), without quotes, escapes, line breaks and what expectations leave out ({{...}}, .*). ALLOWED lists those that cannot be provoked, one a line, with the reason:

    lib/Room/File.cpp | piece of the text | why no test can provoke it
"""
import pathlib
import re
import sys

STARTS = (r"\b(?:emitOpError|emitError|emitWarning|emitRemark|mlir::emitError)\(|\bStatus::(?:badInput|wrongUsage|programFailed|communication)\("
          r"|\bStatus\(ErrorCode::\w+|\breturn (?:refuse|fail|fault|wrong|damaged|corrupt|unsupported|error)\(")
LITERAL = r'"((?:[^"\\\n]|\\.)*)"'
SHORTEST = 8  # characters of a text that says something
WORDS = 4


def statements(text):
    """The statements with a diagnostic: their offset and text up to the semicolon outside of strings."""
    for start in re.finditer(STARTS, text):
        end, depth = start.start(), 0
        while end < len(text):
            if text[end] == '"':
                end = re.compile(LITERAL).match(text, end).end() if re.compile(LITERAL).match(text, end) else end + 1
                continue
            if text[end] == ";" and depth <= 0:
                break
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        yield start.start(), text[start.start():end]


def plain(text):
    return re.sub(r"\s+", " ", re.sub(r"\\[\"'n]|[\"'`\\]", "", text)).strip()


def pieces(statement):
    """The texts of a statement: adjacent literals are one."""
    statement = re.sub(r'"\s*\n\s*"', "", statement)
    return [plain(literal) for literal in re.findall(LITERAL, statement)]


def windows(piece):
    """What of a text a test may hold: WORDS words in a row, between its {0} and its ends."""
    for part in re.split(r"\{\d+\}", piece):
        words = part.split(" ")
        for first in range(max(1, len(words) - WORDS + 1)):
            window = " ".join(words[first:first + WORDS]).strip(" ;:,.()")
            if len(window) >= SHORTEST:
                yield window


def strip_comments(text):
    return re.sub(r"^\s*//.*$", "", text, flags=re.M)


def read_tests(root):
    parts = []
    for path in sorted((root / "test").rglob("*")):
        if path.suffix in (".mlir", ".test", ".cpp", ".py", ".h", ".txt") and "Hygiene" not in path.relative_to(root).parts:
            text = path.read_text(errors="replace")
            parts.append(plain(re.sub(r'"\s*\n\s*f?"', "", text)))
    return "\n".join(parts)


def main():
    root = pathlib.Path(sys.argv[1])
    allowed = []
    if len(sys.argv) > 2:
        for line in pathlib.Path(sys.argv[2]).read_text().splitlines():
            if line and not line.startswith("#"):
                file, piece, reason = (part.strip() for part in line.split(" | "))
                allowed.append([file, plain(piece), reason, 0])
    tests = read_tests(root)
    # Regular expressions in expectations stand for anything.
    tests += "\n" + re.sub(r"\{\{.*?\}\}|\.\*", " ", tests)
    count, faults = 0, []
    for folder in ("dialects", "lib", "tools"):
        for path in sorted((root / folder).rglob("*.cpp")) + sorted((root / folder).rglob("*.h")):
            source, name = strip_comments(path.read_text()), str(path.relative_to(root))
            for _, statement in statements(source):
                texts = [text for text in pieces(statement) if any(windows(text))]
                if not texts:
                    continue
                count += 1
                piece = max(texts, key=len)
                if any(window in tests for text in texts for window in windows(text)):
                    continue
                entry = next((entry for entry in allowed if entry[0] == name and entry[1] in piece), None)
                if entry:
                    entry[3] += 1
                else:
                    faults.append(f"{name}: no test expects '{piece}'")
    faults += [f"{file}: '{piece}' is allowed to be without a test and needs not be" for file, piece, _, used in allowed if not used]
    print("\n".join(faults) if faults else f"{count} diagnostics, as they should be")
    sys.exit(bool(faults))


main()
