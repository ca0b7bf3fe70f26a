"""Plans of GPTs given by shapes alone: a model of 175 billion parameters, and how time and memory grow with the number of ops.

Growth is compared between plans of one run, in processor time; the only absolute bounds are those that the project promises for the large model.
"""
import os
import re
import subprocess
import sys
import tempfile

import harness

LARGE = {"width": 12288, "heads": 96, "sequence": 2048, "vocabulary": 50257}
SMALL = {"width": 128, "heads": 4, "sequence": 128, "vocabulary": 512}


def make(work, layers, sizes):
    path = work / f"gpt-{layers}-{sizes['width']}.onnx"
    harness.make_gpt(path, shapes_only=True, layers=layers, **sizes)
    return path


def plan(zero_compile, path, *flags):
    """The report, wall-clock seconds, processor seconds and bytes of memory of one compilation."""
    with tempfile.TemporaryFile("w+") as report:
        begin = os.times().elapsed
        process = subprocess.Popen([zero_compile, path, "--loss=cross-entropy", "--labels=y", "--plan-only", *flags], stdout=report,
                                   stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = os.times().elapsed - begin
        if process.returncode:
            raise SystemExit(f"planning {path} failed with exit code {process.returncode}")
        report.seek(0)
        return report.read(), seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def count_parameters(layers, width, heads, sequence, vocabulary):
    block = 4 * width * width + 4 * width + 8 * width * width + 5 * width + 4 * width  # attention, MLP, two norms
    return layers * block + (2 * vocabulary + sequence + 2) * width


def check(what, holds):
    print(("" if holds else "FAILED: ") + what)
    return 0 if holds else 1


def main():
    a = harness.arguments(__doc__)
    zero_compile = a.bin / "zero-compile"
    failures = 0

    report, seconds, _, memory = plan(zero_compile, make(a.work, 96, LARGE), "--zero-stage=3", "--world-size=1024")
    elements, padded = map(int, re.search(r"with (\d+) elements in \d+ buckets \((\d+) elements with padding\)", report).groups())
    states = dict(re.findall(r"^  (\w+) +(\d+)$", report.split("state bytes per rank")[1].split("\n\n")[0], re.M))
    failures += check(f"96 layers of width 12288: {elements} parameters", elements == count_parameters(96, **LARGE))
    failures += check(f"on 1024 ranks at stage 3: {states['total']} bytes of states", int(states["total"]) * 1024 == 16 * padded)
    failures += check("planned in less than 60 s and 4 GiB", seconds < 60 and memory < 4 << 30)
    print(f"({seconds:.1f} s, {memory / 2**20:.0f} MiB)")

    # Alike but for sizes: nothing may be in proportion to parameters.
    _, _, _, small = plan(zero_compile, make(a.work, 96, SMALL), "--zero-stage=3", "--world-size=1024")
    failures += check(f"memory does not depend on sizes (factor {memory / small:.2f} for {elements // count_parameters(96, **SMALL)} times the parameters)",
                      memory < 1.5 * small)

    # Four times the ops: linear would be 4, quadratic 16. The least of three runs, as other processes disturb.
    for flags in (["--zero-stage=3"], ["--zero-stage=3", "--prefetch"], ["--zero-stage=0"]):
        runs = {layers: [plan(zero_compile, make(a.work, layers, LARGE), "--world-size=1024", *flags) for _ in range(3)] for layers in (2, 24, 96)}
        seconds = {layers: min(run[2] for run in of) for layers, of in runs.items()}
        memory = {layers: min(run[3] for run in of) for layers, of in runs.items()}
        failures += check(f"{' '.join(flags)}: 2, 24, 96 layers take {seconds[2]:.2f}, {seconds[24]:.2f}, {seconds[96]:.2f} s of a processor "
                          f"and {memory[2] >> 20}, {memory[24] >> 20}, {memory[96] >> 20} MiB",
                          seconds[96] < 9 * seconds[24] < 9 * 12 * seconds[2] and memory[96] < 3 * memory[24])
    print("planning grows with ops alone" if not failures else f"{failures} failures")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
