"""make_fuzz_corpus.py FOLDER: the seeds of the fuzz target: for every operator the smallest of ONNX's own node tests, and the
models of the tests of functions and control flow. The folder is kept in the repository; this script made it."""
import os
import sys

import onnx
from onnx.backend.test.case.node import collect_testcases

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "test", "Import", "ONNX", "Inputs"))
import control_flow
import functions
import small_models

LARGEST = 3000  # bytes: seeds are small


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    smallest = {}
    for case in collect_testcases(""):
        name = case.model.graph.node[-1].op_type
        data = case.model.SerializeToString(deterministic=True)
        # The expanded forms of functions are other operators' tests.
        if "expanded" not in case.name and len(data) < min(LARGEST, len(smallest.get(name, b"x" * LARGEST))):
            smallest[name] = data
    seeds = {"op_" + name: data for name, data in smallest.items()}
    for family, cases in (("function", functions.AGREE), ("function_bad", functions.REFUSE), ("flow", control_flow.AGREE),
                          ("flow_bad", control_flow.REFUSE), ("model", small_models.MODELS)):
        for name, case in cases.items():
            if name == "explodes":  # takes seconds, which is what it tests
                continue
            model = case[0] if isinstance(case, tuple) else case
            seeds[family + "_" + name] = model.SerializeToString(deterministic=True)
    for name, data in seeds.items():
        if len(data) < LARGEST:
            with open(os.path.join(folder, name + ".onnx"), "wb") as f:
                f.write(data)


main()
