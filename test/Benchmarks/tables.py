"""Results: lines of JSON, one for each finished unit; at the end one JSON file and one Markdown file with tables."""
import json
import statistics
import time

from peers import NAMES


def read_lines(path):
    """All records; of a unit that was measured again the last. A line that an interruption cut short is left out."""
    records = {}
    if path.exists():
        for line in path.read_text().splitlines():
            try:
                record = json.loads(line)
            except json.JSONDecodeError:
                continue
            records[key_text(record["key"])] = record
    return list(records.values())


def key_text(key):
    return " ".join(f"{name}={value}" for name, value in key.items() if value is not None and value is not False)


def one_line(record):
    if "failed" in record:
        return f"FAILED: {record['failed']}"
    if "zero" in record:
        peer = record.get("peer")
        text = f"zero {1e3 * record['zero']['step_seconds']:.1f} ms"
        if "unlimited" in record:
            text += f", {1e3 * record['unlimited']['step_seconds']:.1f} ms without a limit ({record['slowdown']:.3f})"
        return text + (f", peer {1e3 * peer['step_seconds']:.1f} ms, ratio {record['ratio']:.3f}" if peer else "")
    return ", ".join(f"{name} {value:.4g}" for name, value in record.items() if isinstance(value, (int, float)) and name != "unit_seconds")


def _table(title, columns, rows):
    if not rows:
        return ""
    lines = ["", f"## {title}", "", "| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]) + "\n"


def _number(value, form, scale=1.0):
    return "-" if value is None else format(value * scale, form)


def _median(records, *path):
    values = []
    for record in records:
        for name in path:
            record = record.get(name) if record else None
        if record is not None:
            values.append(record)
    return statistics.median(values) if values else None


def _pairs(records, part, flops):
    """One row for each configuration and peer, medians over the rounds."""
    groups = {}
    for record in records:
        key = record["key"]
        if key["part"] == part:
            groups.setdefault((key["size"], key["dtype"], key["rate"], key["stage"], key["peer"]), []).append(record)
    rows = []
    for (size, dtype, rate, stage, peer), found in sorted(groups.items(), key=str):
        good = [r for r in found if "failed" not in r]
        what = [size, dtype] + ([rate] if part == "links" else []) + ["one rank" if stage is None else stage, NAMES.get(peer, "-")]
        if not good:
            rows.append(what + ["failed: " + found[-1]["failed"].replace("|", "/")] + [""] * (13 if part == "links" else 10))
            continue
        ours, predicted = _median(good, "zero", "step_seconds"), _median(good, "zero", "predicted_step_seconds")
        peak = _median(good, "fma_f32_gflops" if dtype == "float32" else "fma_bf16_gflops")
        unlimited = [_number(_median(good, "unlimited", "step_seconds"), ".1f", 1e3), _number(_median(good, "slowdown"), ".3f"),
                     _number(_median(good, "transfer_seconds"), ".0f", 1e3)]
        rows.append(what + [_number(ours, ".1f", 1e3)] + (unlimited if part == "links" else []) + [
            _number(_median(good, "peer", "step_seconds"), ".1f", 1e3), _number(_median(good, "ratio"), ".3f"),
            _number(flops[size] / ours / peak / 1e9 if peak else None, ".0f", 100),
            _number(predicted / ours - 1 if predicted else None, "+.1f", 100), _number(_median(good, "zero", "exposed_comm_seconds"), ".1f", 1e3),
            f"{_number(_median(good, 'zero', 'sent_bytes'), '.2f', 1e-6)} / {_number(_median(good, 'peer', 'sent_bytes'), '.2f', 1e-6)}",
            f"{_number(_median(good, 'zero', 'peak_bytes'), '.0f', 2**-20)} / {_number(_median(good, 'peer', 'peak_bytes'), '.0f', 2**-20)}",
            f"{_number(_median(good, 'zero', 'peak_total_bytes'), '.0f', 2**-20)} / {_number(_median(good, 'peer', 'peak_total_bytes'), '.0f', 2**-20)}",
            _number(_median(good, "loss_difference"), ".1e"), max((max(r["other_cores"].values()) for r in good), default=0)])
    columns = (["model", "type"] + (["link"] if part == "links" else []) + ["stage", "peer", "Zero ms"] +
               (["without a limit ms", "times as long", "bytes / rate ms"] if part == "links" else []) + ["peer ms", "ratio", "% of FMA peak", "predicted %",
               "exposed ms", "MB sent Zero / peer", "peak MiB Zero / peer", "total MiB Zero / peer", "loss difference", "other cores"])
    return columns, rows


def _markdown(records, machine, flops):
    text = (f"# Benchmark\n\n{machine['cpu']}, {machine['cores']} cores{' of a virtual machine' if machine['virtual'] else ''}, "
            f"{', '.join(machine['caches'])}, {machine['memory_bytes'] / 2**30:.1f} GiB, {machine['system']}, Linux {machine['kernel']}; commit "
            f"{machine['commit'][:12]}{' with changes' if machine['uncommitted_changes'] else ''}; {time.strftime('%Y-%m-%d')}.\n\n"
            "Two ranks, one pinned core each; medians of rounds in which both systems run after each other. Peak: VmHWM beyond the entry of main, "
            "of PyTorch beyond its imports. `predicted %`: what zero-compile predicted, beside what was measured. `other cores`: what other "
            "processes used meanwhile, in cores (more than 0.08: disturbed).\n")
    if any(record["key"].get("quick") for record in records):
        text += "\n**Tiny sizes (--quick): these numbers say nothing about speed.**\n"

    def of(part):
        return [r for r in records if r["key"]["part"] == part and "failed" not in r]

    text += _table("Limits", ["what", "value"], [[k, v] for r in of("limits") for k, v in r.items() if k not in ("key", "time", "unit_seconds")])
    for part, title in (("steps", "Step time, memory, traffic"), ("links", "Slow networks")):
        text += _table(title, *_pairs(records, part, flops))
    threads = {}
    for record in of("threads"):
        threads.setdefault(record["key"]["size"], []).append(record)
    text += _table("Threads: one rank on two cores", ["model", "one thread ms", "two threads ms", "speed-up"],
                   [[size, _number(_median(r, "step_seconds_1"), ".1f", 1e3), _number(_median(r, "step_seconds_2"), ".1f", 1e3),
                     _number(_median(r, "speedup"), ".2f")] for size, r in threads.items()])
    for record in of("roofline"):
        peak = record["fma_f32_gflops" if record["key"]["dtype"] == "float32" else "fma_bf16_gflops"]
        text += _table(f"Roofline: {record['key']['size']} {record['key']['dtype']}, one rank, {1e3 * record['step_seconds']:.1f} ms of commands",
                       ["group", "commands", "ms", "predicted ms", "% of the step", "MB", "GB/s", "GFLOP/s", "% of FMA peak", "what"],
                       [[name, g["commands"], _number(g["seconds"], ".2f", 1e3), _number(g["predicted_seconds"], ".2f", 1e3),
                         _number(g["seconds"] / record["step_seconds"], ".2f", 100),
                         _number(g["bytes"], ".1f", 1e-6), _number(g["bytes"] / g["seconds"], ".1f", 1e-9), _number(g["flops"] / g["seconds"], ".1f", 1e-9),
                         _number(g["flops"] / g["seconds"] / peak if peak else None, ".1f", 1e-7), g["title"].replace("|", "/")]
                        for name, g in record["groups"].items() if g["seconds"] >= 1e-3 * record["step_seconds"]])
    text += _table("Compile time", ["model", "seconds", "peak MiB"],
                   [[r["key"]["model"], _number(r["seconds"], ".2f"), _number(r["peak_rss_bytes"], ".0f", 2**-20)] for r in of("compile")])
    text += _table("Start to first step", ["model", "ranks", "seconds", "to read the program", "program MB"],
                   [[r["key"]["size"], r["key"]["ranks"], _number(r["start_seconds"], ".3f"), _number(r["read_seconds"], ".3f"),
                     _number(r["program_bytes"], ".0f", 1e-6)] for r in of("start")])
    text += _table("Layers", ["layers", "commands", "step ms", "ms a layer", "compile s", "compile MiB"],
                   [[r["key"]["layers"], r["commands"], _number(r["step_seconds"], ".2f", 1e3),
                     _number(r["step_seconds"] / r["key"]["layers"], ".3f", 1e3), _number(r["compile_seconds"], ".2f"),
                     _number(r["compile_peak_rss_bytes"], ".0f", 2**-20)] for r in of("layers")])
    failed = [r for r in records if "failed" in r]
    text += _table("Not measured", ["what", "why"], [[key_text(r["key"]), r["failed"].replace("|", "/")] for r in failed])
    return text


def write(folder, records, machine):
    from models import SIZES
    flops = {name: size.flops for name, size in SIZES.items()}
    (folder / "results.json").write_text(json.dumps({"format": "zero-benchmark", "format_version": 1, "machine": machine, "flops": flops,
                                                     "records": records}, indent=1) + "\n")
    (folder / "results.md").write_text(_markdown(records, machine, flops))
