"""Compares the labels of constraints in ZeroOps.td, ZeroOps.cpp and invalid.mlir."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
documented = set()
for mnemonic, body in re.findall(r'Zero_Op<"(\w+)"(.*?)(?=\ndef |\Z)', (root / "dialects/Zero/ZeroOps.td").read_text(), re.S):
    documented |= {f"{mnemonic}_c{number}" for number in re.findall(r"^\s*- \(C(\d+)\)", body, re.M)}
checked = set(re.findall(r"// (\w+_c\d+)", (root / "dialects/Zero/ZeroOps.cpp").read_text()))
provoked = set(re.findall(r"^// (\w+_c\d+)", (root / "test/Dialect/Zero/invalid.mlir").read_text(), re.M))
for label in sorted(documented | checked | provoked):
    places = {"ZeroOps.td": documented, "ZeroOps.cpp": checked, "invalid.mlir": provoked}
    missing = [place for place, labels in places.items() if label not in labels]
    if missing:
        print(f"{label} is missing in {', '.join(missing)}")
if documented == checked == provoked:
    print(f"{len(documented)} constraints are documented, checked and provoked")
