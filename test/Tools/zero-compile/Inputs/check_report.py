"""Compiles golden models with --report and checks that what the report says is consistent, equal to what zero-compile prints, and equal to what
zero-run counts."""
import argparse
import json
import math
import os
import re
import subprocess

parser = argparse.ArgumentParser()
for flag in ("bin", "work", "golden", "root"):
    parser.add_argument("--" + flag, required=True)
arguments = parser.parse_args()
os.makedirs(arguments.work, exist_ok=True)


def path(name):
    return os.path.join(arguments.work, name)


def check(what, found, expected):
    if found != expected:
        raise SystemExit(f"{what}: {found}, expected {expected}")


def compile_model(model, config, world_size, *flags):
    with open(path("config.json"), "w") as file:
        json.dump(config, file)
    command = [os.path.join(arguments.bin, "zero-compile"), os.path.join(arguments.golden, model + ".onnx"), "--loss=cross-entropy",
               "--labels=y", "--config", path("config.json"), f"--world-size={world_size}", "--report=" + path("report.json"), *flags]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    with open(path("report.json")) as file:
        return printed, file.read()


def table(printed, title):
    rows = printed.split(title)[1].split("\n\n")[0].splitlines()[1:]
    return {name: int(number) for name, number in re.findall(r"^  (.*?) +(\d+)$", "\n".join(rows), re.M)}


def check_memory(run, report, printed):
    arena, = report["memory"]["arenas"]
    peak, rows = arena["peak"], arena["live_bytes_by_class"]
    classes = dict(zip(report["content_classes"], arena["bytes_by_class"]))
    shown = table(printed, "device bytes per rank at the peak")
    check(run + ": the arena", arena["arena_bytes"], shown["total"])
    check(run + ": classes", classes, {name: shown[name] for name in classes})
    check(run + ": sum of the classes", sum(classes.values()), arena["arena_bytes"])
    check(run + ": saved", arena["saved_by_reuse_bytes"], shown["saved by reuse"])
    buffers = sum(b["bytes"] for b in peak["largest_buffers"]) + peak["other_buffer_bytes"]
    check(run + ": buffers and gaps at the peak", buffers + peak["gap_bytes"], arena["arena_bytes"])
    check(run + ": what is alive at the peak", sum(rows[peak["section"]][peak["command"]]), buffers)
    check(run + ": the peak", buffers, max(sum(row) for section in rows.values() for row in section))
    for b in peak["largest_buffers"]:
        if b["first_command"] != -1 and not b["first_command"] <= peak["command"] <= b["last_command"]:
            raise SystemExit(f"{run}: {b} is not alive at the peak")
    sizes = [b["bytes"] for b in peak["largest_buffers"]]
    check(run + ": largest first", sizes, sorted(sizes, reverse=True))
    for section in report["timeline"]["sections"]:
        check(run + f": rows of {section['name']}", len(rows[section["name"]]), len(section["commands"]))
        if section["name"] == peak["section"]:
            check(run + ": title of the peak", peak["title"], section["commands"][peak["command"]]["title"])


def check_traffic(run, report, printed):
    traffic, shown, ranks = report["traffic"], table(printed, "bytes sent per rank and step"), report["world_size"]
    for name in ("all_gather", "reduce_scatter", "control", "total"):
        check(run + f": {name}", traffic[name + "_bytes"], shown[name])
    by_kind = {}
    for each in traffic["collectives"]:
        by_kind[each["kind"]] = by_kind.get(each["kind"], 0) + each["bytes"]
    check(run + ": collectives", [by_kind.get(k, 0) for k in ("all_gather", "reduce_scatter", "control_sum")],
          [traffic[k + "_bytes"] for k in ("all_gather", "reduce_scatter", "control")])
    check(run + ": axes", sum(axis["bytes"] for axis in traffic["axes"]), traffic["total_bytes"])
    parameters = sum(p["all_gather_bytes_all_ranks"] + p["reduce_scatter_bytes_all_ranks"] for p in traffic["parameters"])
    check(run + ": parameters and padding, over ranks", parameters + traffic["padding_bytes_all_ranks"],
          ranks * (traffic["all_gather_bytes"] + traffic["reduce_scatter_bytes"]))
    wire = sum(s["runs_per_step"] * c["wire_bytes"] for s in report["timeline"]["sections"] for c in s["commands"])
    check(run + ": commands", wire, traffic["total_bytes"])


def check_timeline(run, report):
    timeline, flops, kinds = report["timeline"], report["flops"], {}
    check(run + ": marked", timeline["uncalibrated"], True)
    for section in timeline["sections"]:
        free = {}
        for number, command in enumerate(section["commands"]):
            check(run + ": number", command["command"], number)
            if command["start_ns"] < free.get(command["queue"], 0):
                raise SystemExit(f"{run}: {command} starts before its queue is free")
            free[command["queue"]] = command["start_ns"] + command["duration_ns"]
            kinds[command["kind"]] = kinds.get(command["kind"], 0) + section["runs_per_step"] * command["flops"]
            # Who reads a title finds the node, the parameter or what is summed, not the kernel alone and not the file.
            if command["title"] in (command["kernel"], command["kind"]) or report["model"] in command["title"]:
                raise SystemExit(f"{run}: command {number} of {section['name']} has no name of the user's: {command}")
        check(run + f": {section['name']} ends", section["duration_ns"], max(free.values(), default=0))
    # Gathers of an update run on into the next step: then it takes less than its sections after each other, and as long as any queue is busy.
    one_by_one = sum(s["runs_per_step"] * s["duration_ns"] for s in timeline["sections"])
    busy = {}
    for section in timeline["sections"]:
        for command in section["commands"]:
            busy[command["queue"]] = busy.get(command["queue"], 0) + section["runs_per_step"] * command["duration_ns"]
    if not any(c["kind"] == "all_gather" for s in timeline["sections"] if s["name"] == "update" for c in s["commands"]):
        check(run + ": a step takes", timeline["step_ns"], one_by_one)
    elif not max(busy.values()) <= timeline["step_ns"] <= one_by_one:
        raise SystemExit(f"{run}: a step takes {timeline['step_ns']}, its queues are busy for {busy}, its sections take {one_by_one}")
    check(run + ": operations by kind", {k["kind"]: k["step"] for k in flops["kinds"]}, {k: n for k, n in kinds.items() if n})
    check(run + ": operations", sum(kinds.values()), flops["step"])
    check(run + ": kinds", [sum(k[key] for k in timeline["kinds"]) for key in ("flops", "wire_bytes")], [flops["step"], report["traffic"]["total_bytes"]])
    busy = sum(s["runs_per_step"] * c["duration_ns"] for s in timeline["sections"] for c in s["commands"])
    check(run + ": time of all kinds", sum(k["duration_ns"] for k in timeline["kinds"]), busy)
    sent = sum(s["runs_per_step"] * c["duration_ns"] for s in timeline["sections"] for c in s["commands"] if c["wire_bytes"])
    check(run + ": time of collectives", sum(c["duration_ns"] for c in report["traffic"]["collectives"]), sent)
    check(run + ": sections", sum(s["runs_per_step"] * s["flops"] for s in flops["sections"]), flops["step"])


def check_keys(run, value, documented):
    """Every key is in the description of the format."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in documented:
                raise SystemExit(f"{run}: key '{key}' is not described in PlanReport.h")
            if key not in ("config", "live_bytes_by_class"):
                check_keys(run, inner, documented)
    elif isinstance(value, list):
        for inner in value:
            check_keys(run, inner, documented)


def check_counters(run, report, model, binary):
    """What zero-run counts in a step."""
    subprocess.run([os.path.join(arguments.bin, "zero-run"), binary, "--comm=loopback", "--data", os.path.join(arguments.golden, model + ".data.npz"),
                    "--steps=2", "--metrics=" + path("metrics.jsonl")], check=True, stdout=subprocess.DEVNULL)
    with open(path("metrics.jsonl")) as file:
        for metrics in map(json.loads, file):
            for kind in ("all_gather", "reduce_scatter", "control"):
                check(run + f": counted {kind}", metrics["comm_bytes_" + kind], report["traffic"][kind + "_bytes"])
            check(run + ": allocated", metrics["peak_device_bytes"], report["memory"]["arenas"][0]["arena_bytes"])


with open(os.path.join(arguments.root, "include/zero/Analysis/PlanReport.h")) as file:
    documented = set(re.findall(r"\w+", "".join(line for line in file if line.startswith("//"))))
    documented |= {name + "_bytes" for name in documented}  # parameters_bytes, ...
runs = 0
for model in ("mlp", "cnn", "gpt2", "vit"):
    for ranks, stage, accumulation in ((1, 0, 1), (2, 0, 2), (2, 1, 1), (4, 2, 2), (2, 3, 1), (3, 3, 2)):
        if model != "gpt2" and (ranks, stage) in ((2, 0), (2, 1)):
            continue
        run = f"{model}, {ranks} ranks, stage {stage}, accumulation {accumulation}"
        config = {"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": accumulation, "gradient_clipping": 1.0,
                  "optimizer": {"type": "AdamW", "params": {"lr": 1e-3}}, "zero_optimization": {"stage": stage, "reduce_bucket_size": 50000}}
        printed, text = compile_model(model, config, ranks, "-o", path("compiled.bin"))
        report = json.loads(text)
        check(run + ": same bytes without the program", compile_model(model, config, ranks, "--plan-only")[1], text)
        check(run + ": what was compiled", [report[k] for k in ("world_size", "zero_stage", "micro_batch", "accumulation_steps")],
              [ranks, stage, 2, accumulation])
        check(run + ": elements", sum(math.prod(p["shape"]) for b in report["parameters"]["buckets"] for p in b["parameters"]),
              report["parameters"]["elements"])
        check_keys(run, report, documented)
        check_memory(run, report, printed)
        check_traffic(run, report, printed)
        check_timeline(run, report)
        shown = table(printed, "state bytes per rank")
        check(run + ": states", {k: report["states"]["actual"][k + "_bytes"] for k in shown}, shown)
        check(run + ": formula", report["states"]["formula"], report["states"]["actual"])
        if model == "gpt2":
            # Every weight of a product meets each token in three products; the tied embedding in the head.
            weights = sum(p["elements"] for b in report["parameters"]["buckets"] for p in b["parameters"]
                          if len(p["shape"]) == 2 and not p["name"].endswith("wpe.weight"))
            products = next(k["step"] for k in report["flops"]["kinds"] if k["kind"] == "matmul")
            check(run + ": products", products, 6 * weights * 64 * 2 * accumulation)
        check_counters(run, report, model, path("compiled.bin"))
        runs += 1
print(f"{runs} reports add up")
