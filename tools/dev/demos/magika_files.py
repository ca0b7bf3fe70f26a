"""Files of this machine as samples of the magika byte model, and how well its answers fit.

magika_files.py prepare WHEEL FOLDER --train N --test N --multiple M
    writes FOLDER/magika.onnx (the wheel's model with its logits as an output), FOLDER/data.npz (at most N training samples, a
    multiple of M, then test samples) and FOLDER/steps.txt (how often M)
magika_files.py report FOLDER BEFORE.npz AFTER.npz [--few-steps]
    prints the accuracy on the test samples, per type and of all; it must have risen, but after a few steps

A file's type comes from its suffix, its place or its first bytes, never from the model. Training and test samples are different
files with different contents.
"""
import argparse
import collections
import hashlib
import json
import os
import pathlib
import sys
import zipfile

import numpy as np
import onnx

MODEL = "magika/models/standard_v3_3/"
ROOTS = ["/usr/bin", "/usr/include", "/usr/lib", "/usr/share"]
SUFFIXES = {".py": "python", ".pm": "perl", ".pl": "perl", ".sh": "shell", ".cmake": "cmake", ".html": "html", ".xml": "xml",
            ".json": "json", ".m4": "m4", ".js": "javascript", ".css": "css", ".rst": "rst", ".hpp": "cpp", ".tcc": "cpp"}
# Headers: C by their place, C++ by theirs. The C++ ones are called .h as well, and fragments of them .inc and .def.
C_HEADERS = ["/usr/include/linux/", "/usr/include/asm-generic/", "/bits/", "/sys/"]
CPP_HEADERS = ["/c++/", "/include/llvm/", "/include/mlir/", "/include/clang/"]
MOST = 360  # files of a type


def type_of(path, head):
    """The file's type, or none where suffix, place and first bytes do not say it."""
    suffix = pathlib.Path(path).suffix
    if head.startswith(b"\x7fELF"):
        return "elf"
    if any(place in path for place in CPP_HEADERS):
        return "cpp" if suffix in (".h", ".hpp", ".inc", ".def", ".tcc") else None
    if suffix == ".h":
        return "c" if any(place in path for place in C_HEADERS) else None
    if head.startswith(b"#!"):
        line = head.split(b"\n", 1)[0]
        for word, name in ((b"python", "python"), (b"perl", "perl"), (b"sh", "shell")):
            if word in line:
                return name
    return SUFFIXES.get(suffix)


def sample(path, config):
    """The model's input: the first bytes and the last ones, without blanks around them, padded."""
    size, block = os.path.getsize(path), config["block_size"]
    with open(path, "rb") as file:
        begin = list(file.read(block).lstrip()[:config["beg_size"]])
        file.seek(max(0, size - block))
        end = list(file.read(block).rstrip()[-config["end_size"]:])
    pad = config["padding_token"]
    return begin + [pad] * (config["beg_size"] - len(begin)) + [pad] * (config["end_size"] - len(end)) + end


def find_files():
    """Candidates by type, in an order that is random and always the same."""
    paths = []
    for root in ROOTS:
        for folder, _, names in os.walk(root):
            paths += [os.path.join(folder, name) for name in names]
    paths.sort(key=lambda path: hashlib.sha256(path.encode("utf-8", "surrogateescape")).digest())
    found = collections.defaultdict(list)
    for path in paths:
        try:
            if os.path.islink(path) or not os.path.isfile(path) or os.path.getsize(path) < 64:
                continue
            with open(path, "rb") as file:
                name = type_of(path, file.read(64))
        except OSError:
            continue
        if name and len(found[name]) < 2 * MOST:  # some have the same contents
            found[name].append(path)
    return found


def prepare(arguments):
    folder = pathlib.Path(arguments.folder)
    with zipfile.ZipFile(arguments.wheel) as wheel:
        inner = next(name[:-len("config.min.json")] for name in wheel.namelist() if name.endswith(MODEL + "config.min.json"))
        config = json.loads(wheel.read(inner + "config.min.json"))
        model = onnx.load_from_string(wheel.read(inner + "model.onnx"))
    # The model ends in a softmax; a cross-entropy wants what goes into it.
    logits = [node for node in model.graph.node if node.op_type == "ReduceMax"][-1].input[0]
    labels = config["target_labels_space"]
    model.graph.node.append(onnx.helper.make_node("Identity", [logits], ["logits"], name="logits"))
    model.graph.output.append(onnx.helper.make_tensor_value_info("logits", onnx.TensorProto.FLOAT, ["batch", len(labels)]))
    onnx.save(model, folder / "magika.onnx")
    train, test, seen = [], [], set()
    for name, paths in sorted(find_files().items()):
        rows = []
        for path in paths:
            row = sample(path, config)
            key = hashlib.sha256(np.array(row, np.int32).tobytes()).digest()
            if key not in seen and len(rows) < MOST:
                seen.add(key)
                rows.append((row, labels.index(name)))
        if len(rows) < 40:
            continue
        test += rows[:len(rows) // 5]
        train += rows[len(rows) // 5:]
    random = np.random.default_rng(0)
    for rows, most in ((train, arguments.train), (test, arguments.test)):
        random.shuffle(rows)
        del rows[most:]
    del train[len(train) // arguments.multiple * arguments.multiple:]
    if not train or not test:
        sys.exit("magika_files: found %d training and %d test files of known type under %s" % (len(train), len(test), ", ".join(ROOTS)))
    np.savez(folder / "data.npz", bytes=np.array([row for row, _ in train + test], np.int32),
             y=np.array([label for _, label in train + test], np.int64))
    (folder / "steps.txt").write_text(str(len(train) // arguments.multiple))
    (folder / "labels.json").write_text(json.dumps({"labels": labels, "test": len(test)}))
    count = collections.Counter(labels[label] for _, label in train + test)
    print("%d files to train on, %d to test on: %s" % (len(train), len(test), ", ".join("%s %d" % item for item in sorted(count.items()))))


def report(arguments):
    folder = pathlib.Path(arguments.folder)
    about = json.loads((folder / "labels.json").read_text())
    wanted = np.load(folder / "data.npz")["y"][-about["test"]:]
    before, after = (np.load(path)["target_label"][-about["test"]:].argmax(1) == wanted for path in (arguments.before, arguments.after))
    print("%-12s %6s %8s %8s" % ("type", "files", "before", "after"))
    for label in np.unique(wanted):
        rows = wanted == label
        print("%-12s %6d %7.1f%% %7.1f%%" % (about["labels"][label], rows.sum(), 100 * before[rows].mean(), 100 * after[rows].mean()))
    print("accuracy on %d files that it was not trained on: %.1f%% before, %.1f%% after" % (
        about["test"], 100 * before.mean(), 100 * after.mean()))
    if not after.mean() > before.mean() and not arguments.few_steps:
        sys.exit("demo: the accuracy did not rise")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("prepare")
    command.add_argument("wheel")
    command.add_argument("folder")
    command.add_argument("--train", type=int, required=True)
    command.add_argument("--test", type=int, required=True)
    command.add_argument("--multiple", type=int, required=True)
    command.set_defaults(run=prepare)
    command = commands.add_parser("report")
    command.add_argument("folder")
    command.add_argument("before")
    command.add_argument("after")
    command.add_argument("--few-steps", action="store_true")
    command.set_defaults(run=report)
    arguments = parser.parse_args()
    arguments.run(arguments)


main()
