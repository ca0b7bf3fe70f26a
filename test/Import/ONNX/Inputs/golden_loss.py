"""golden_loss.py NAME GOLDEN FOLDER MODULE.mlir: the first loss of a golden run by the reference interpreter.

Runs nn-forward on the module (bound to the golden batch) and compares loss_sum / count with the JSON's first loss.
"""
import json
import os
import subprocess
import sys

import numpy as np

name, golden, folder, module = sys.argv[1:]
os.makedirs(folder, exist_ok=True)
record = json.load(open(os.path.join(golden, name + ".json")))
batch = record["global_batch"]
files = []
data = np.load(os.path.join(golden, name + ".data.npz"))
for key in data.files:
    path = os.path.join(folder, key + ".bin")
    data[key][:batch].tofile(path)
    files.append("%s=%s" % (key, path))
lines = subprocess.run(["nn-forward", module, *files], capture_output=True, text=True, check=True).stdout.splitlines()
loss_sum, count = (float(line.split("[")[1].rstrip("]")) for line in lines[:2])
want = record["variants"]["base"]["loss"][0]
got = loss_sum / count
if abs(got - want) > 1e-6 * abs(want):
    sys.exit("%s: loss %.9g, not %.9g" % (name, got, want))
print("%s: the first loss is %.9g (%d labels)" % (name, got, count))
