"""zero-dump --parameter of every parameter and rank of a compiled model: what ranks own is the whole, once; places lie in their buffers and do not overlap;
values are the model's."""
import re
import subprocess
import sys

import numpy
import onnx
import onnx.numpy_helper

bin_, golden, work, model = sys.argv[1:5]


def dump(program, *flags):
    return subprocess.run([bin_ + "/zero-dump", program, *flags], check=True, stdout=subprocess.PIPE, text=True).stdout


weights = {t.name: onnx.numpy_helper.to_array(t) for t in onnx.load(f"{golden}/{model}.onnx").graph.initializer}
count = 0
for stage, ranks in ((0, 2), (1, 3), (2, 2), (3, 3)):
    program = f"{work}/{model}.{stage}.bin"
    subprocess.run([bin_ + "/zero-compile", f"{golden}/{model}.onnx", "--loss=cross-entropy", "--labels=y", f"--world-size={ranks}", f"--zero-stage={stage}",
                    "-o", program], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    buffers = {name: (int(at), int(at) + int(size)) for name, at, size in re.findall(r"^buffer (%\S+) at (\d+), (\d+) bytes", dump(program, "--buffers"), re.M)}
    places = [[] for _ in range(ranks)]
    for name in re.findall(r"^  (\S+) at \d+: ", dump(program, "--buffers"), re.M):
        value = weights[name].astype(numpy.float64).ravel()
        held = {"parameter": [], "gradient": [], "exp_avg": []}
        for rank in range(ranks):
            text = dump(program, "--parameter=" + name, f"--rank={rank}")
            for role, first, last, begin, end, buffer in re.findall(r"^  (\w+): elements \[(\d+), (\d+)\) in bytes \[(\d+), (\d+)\) of arena device \((%\S+)\)$", text, re.M):
                first, last, begin, end = map(int, (first, last, begin, end))
                assert end - begin == 4 * (last - first) and buffers[buffer][0] <= begin < end <= buffers[buffer][1], text
                places[rank].append((begin, end))
                if role in held:
                    held[role].append((first, last))
            low, high, mean = map(float, re.search(r"^values as compiled: min (\S+), max (\S+), mean (\S+);", text, re.M).groups())
            assert numpy.allclose([low, high, mean], [value.min(), value.max(), value.mean()], rtol=1e-5, atol=1e-9), text
            first = [float(v) for v in re.search(r"^values as compiled: .*; first (.*)$", text, re.M).group(1).replace(" ...", "").split()]
            assert numpy.allclose(first, value[:6], rtol=1e-5) and len(first) == min(6, value.size), text
            mine = re.search(r"^values that rank \d+ owns: min (\S+), max (\S+),", text, re.M)
            if mine and stage == 3:
                part = value[held["parameter"][-1][0]:held["parameter"][-1][1]]
                assert numpy.allclose([float(v) for v in mine.groups()], [part.min(), part.max()], rtol=1e-5), text
        # The reduced gradient is the owned range, also where the rank keeps a whole buffer for its own contributions, and at stage 0 where
        # it is gathered behind the norm only.
        for role, sharded in (("parameter", stage >= 3), ("gradient", stage >= 1), ("exp_avg", stage >= 1)):
            whole = [(0, value.size)]
            if sharded or (role == "gradient" and held[role] != whole * ranks):  # neighbours, from the first element to the last
                assert held[role][0][0] == 0 and held[role][-1][1] == value.size and all(a[1] == b[0] for a, b in zip(held[role], held[role][1:])), (name, role, held)
            else:
                assert held[role] == whole * ranks, (name, role, held)
        count += 1
    for ranges in places:
        ranges.sort()
        assert all(a[1] <= b[0] for a, b in zip(ranges, ranges[1:])), f"stage {stage}: two states share bytes"
print(f"{count} places and values of {model} are right")
