"""full_disk.py --bin BIN --golden DIR --work DIR: what programs leave on a disk that is full, or that nobody may write to.

Every file that a flag asks for is written to a file system in memory of its own: with room; with none; with half of what is needed, a page less
than that; and read-only. (To root, who runs this, folders without write permission are no obstacle, so the file system is read-only.) A
failure must name the file and the reason and end with exit code 3, and what lies on the disk then must be what lay there before: what an
earlier run had written stays, nothing half-written is left. Metrics, which grow, end in a whole line. Run it in a mount namespace (unshare -m).
"""
import argparse
import json
import pathlib
import subprocess
import sys

PAGE = 4096


class Disk:
    """A file system in memory at `place`."""

    def __init__(self, place, capacity, read_only=False):
        self.place, self.capacity, self.read_only = place, capacity, read_only

    def __enter__(self):
        self.place.mkdir(exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={self.capacity},nr_inodes=200", "tmpfs", self.place], check=True)
        return self

    def protect(self):
        if self.read_only:
            subprocess.run(["mount", "-o", "remount,ro", self.place], check=True)

    def files(self):
        return {str(path.relative_to(self.place)): path.read_bytes() for path in sorted(self.place.rglob("*")) if path.is_file()}

    def __exit__(self, *_):
        subprocess.run(["umount", self.place], check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for flag in ("bin", "golden", "work"):
        parser.add_argument("--" + flag, type=pathlib.Path, required=True)
    a = parser.parse_args()
    a.work.mkdir(parents=True, exist_ok=True)
    disk, program, model = a.work / "disk", a.work / "mlp.bin", a.golden / "mlp.onnx"
    compile_ = [a.bin / "zero-compile", model, "--loss=cross-entropy", "--labels=y", "--world-size=2", "--zero-stage=3"]
    train = [a.bin / "zero-run", program, "--comm=loopback", "--ranks=2", "--data", a.golden / "mlp.data.npz", "--steps=2"]
    subprocess.run([*compile_, "-o", program], check=True, stdout=subprocess.DEVNULL)
    other = a.work / "other.bin"
    module = a.work / "mlp.mlir"
    subprocess.run([a.bin / "zero-import", model, "--loss=cross-entropy", "--labels=y", "-o", module], check=True)
    # What writes, the flags, the file, and the exit code of a failure (zero-opt has mlir-opt's).
    writers = [
        ([*compile_], ["-o", disk / "x.bin"], 3),
        ([*compile_, "-o", other], ["--report", disk / "x.html"], 3),
        ([*compile_, "-o", other], ["--report", disk / "x.json"], 3),
        ([*compile_, "-o", other], ["--dump-phases", disk], 3),
        ([*compile_, "--compile-to=partition"], ["-o", disk / "x.mlir"], 3),
        ([a.bin / "zero-import", model, "--loss=cross-entropy", "--labels=y"], ["-o", disk / "x.mlir"], 3),
        ([a.bin / "zero-opt", module, "--zero-stage=2"], ["-o", disk / "x.mlir"], 1),
        ([*train], ["--trace", disk / "x.json"], 3),
        ([*train], ["--metrics", disk / "x.jsonl"], 3),
        ([*train], ["--export", disk / "x.safetensors"], 3),
        ([*train], ["--export", disk / "x.onnx"], 3),
        ([*train], ["--predict", disk / "x.npz"], 3),
    ]
    failures = runs = 0

    def check(name, right, why):
        nonlocal failures, runs
        runs += 1
        failures += not right
        if not right:
            print(f"FAILED: {name}: {why}", flush=True)

    for command, flags, code in writers:
        title = f"{command[0].name} {flags[0]} {flags[1].name}"
        with Disk(disk, 1 << 24) as roomy:
            result = subprocess.run([*command, *flags], capture_output=True, text=True)
            written = roomy.files()
            check(title, result.returncode == 0 and written and not any(".partial" in name for name in written), result.stderr)
        # Trace and dumps of the same program differ in times and paths: what a run with room wrote is only measured.
        pages = sum((len(content) + PAGE - 1) // PAGE for content in written.values())
        for room in sorted({0, pages // 2, pages - 1}):
            # An older file of metrics gives its room back, a folder is no file.
            for before in (False, True) if flags[0] not in ("--dump-phases", "--metrics") else (False,):
                name = f"{title} with {room} of {pages} pages{', over an older file' if before else ''}"
                # The filler takes the rest: a size of 0 is no limit.
                with Disk(disk, (room + 1 + before) * PAGE) as full:
                    (disk / "filler").write_bytes(b"f" * PAGE)
                    if before:
                        flags[1].write_bytes(b"older\n")
                    old = full.files()
                    result = subprocess.run([*command, *flags], capture_output=True, text=True)
                    left = full.files()
                    named = "No space left on device" in result.stderr and "cannot write '" in result.stderr
                    check(name, result.returncode == code and named, f"exit code {result.returncode}: {result.stderr}")
                    if flags[0] == "--metrics":
                        lines = left.pop(flags[1].name, b"")
                        old.pop(flags[1].name, None)
                        check(name, not lines or (lines.endswith(b"\n") and all(json.loads(line) for line in lines.splitlines())), f"half a line: {lines}")
                    if flags[0] == "--dump-phases":  # each file whole or not there
                        check(name, all(len(content) == len(written[key]) for key, content in left.items() if key in written), f"left: {list(left)}")
                        left = {key: content for key, content in left.items() if key not in written}
                    check(name, left == old, f"left: { {key: len(content) for key, content in left.items()} }")
        with Disk(disk, 1 << 24, read_only=True) as shut:
            (disk / "older").write_bytes(b"older\n")
            shut.protect()
            result = subprocess.run([*command, *flags], capture_output=True, text=True)
            check(f"{title} read-only", result.returncode == code and "Read-only file system" in result.stderr and "cannot write '" in result.stderr and
                  list(shut.files()) == ["older"], f"exit code {result.returncode}: {result.stderr}")
    print(f"{len(writers)} writers, {runs} checks, {failures} failures")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
