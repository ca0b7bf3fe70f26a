"""The parts of the benchmark. Each yields units: (key, function that measures it and gives a dictionary)."""
import contextlib
import json
import pathlib
import statistics
import tempfile

import network
import peers
from models import SIZES, Size, write_model
from processes import Failed, cores, run, run_measured, watching

RATES = ("1gbit", "200mbit")


class Bench:
    """What all parts use. `quick` makes everything tiny."""

    def __init__(self, zero, environment, limits, golden, types, quick):
        self.zero, self.environment, self.limits, self.golden, self.types, self.quick = zero, environment, limits, golden, types, quick
        self.no_namespaces = network.why_impossible()
        self.sizes = ("T",) if quick else ("S", "M")
        self.rounds = 1 if quick else 3
        self.steps, self.warmup = (4, 1) if quick else (21, 3)

    def peak(self):
        return json.loads(run(["taskset", "-c", str(cores()[0]), self.limits, "fma"], 60)["stdout"])


def check_losses(ours, theirs, dtype):
    """The largest relative difference of the losses of all steps; Failed beyond 1e-3 (float32) or 2 % (bf16): a fast wrong answer is none."""
    difference = max(abs(a - b) / abs(b) for a, b in zip(ours, theirs, strict=True))
    limit = 1e-3 if dtype == "float32" else 2e-2
    if not difference <= limit:
        raise Failed(f"the losses differ by {difference:.2g}, more than {limit:g}: {ours[-1]} and {theirs[-1]} in the last step")
    return difference


def pair(bench, size, dtype, stage, peer, rate, number):
    """Both systems after each other, the first of them by turns; over a slow network ours again where the same network has no limit."""
    steps, warmup = (bench.steps, bench.warmup) if not rate or bench.quick else (10, 2)
    world = 1 if stage is None else 2
    record = bench.peak()
    record["other_cores"] = {}

    def measure(system):
        rate_here = None if system == "unlimited" else rate
        # Peers' bytes are those of an interface of their own, and what is without a limit goes the way of what has one.
        linked = world > 1 and not bench.no_namespaces and (rate or system == "peer")
        with contextlib.ExitStack() as stack:
            link = stack.enter_context(network.Link(rate_here)) if linked else None
            watched = {}
            with watching(watched):
                if system != "peer":
                    result = bench.zero.train(size, dtype, stage or 0, world, steps, warmup, link=link, rate=rate_here)
                elif rate_here and not link:
                    raise Failed(f"no network namespaces here: {bench.no_namespaces}")
                else:
                    model, data = bench.zero.model(size), bench.zero.data(size, SIZES[size].batch * world * steps)
                    result = peers.run(bench.environment, peer, stage, SIZES[size], dtype, model, data, steps, warmup, link, bench.zero.timeout)
            record["other_cores"][system] = watched["other_cores"]
            return result

    systems = (["unlimited"] if rate else []) + ["zero"] + (["peer"] if bench.environment else [])
    results = {system: measure(system) for system in (systems if number % 2 == 0 else systems[::-1])}
    if "unlimited" in results:
        if results["unlimited"]["losses"] != results["zero"]["losses"]:
            raise Failed(f"a limit changes the losses: {results['zero']['losses']} and {results['unlimited']['losses']}")
        record["slowdown"] = results["zero"]["step_seconds"] / results["unlimited"]["step_seconds"]
        record["transfer_seconds"] = 8 * results["zero"]["sent_bytes"] / network.rate_bits(rate)
    if "peer" in results:
        record["loss_difference"] = check_losses(results["zero"]["losses"], results["peer"]["losses"], dtype)
        record["ratio"] = results["zero"]["step_seconds"] / results["peer"]["step_seconds"]
    for result in results.values():
        result["loss"] = result.pop("losses")[-1]
    return record | results


def pairs(bench, part, sizes, dtypes, stages, rates, rounds):
    for number in range(rounds):
        for rate in rates:
            for size in sizes:
                for dtype in dtypes:
                    for stage in stages:
                        for peer in peers.OF_STAGE[stage] if bench.environment else ["none"]:
                            key = {"part": part, "size": size, "dtype": dtype, "stage": stage, "peer": peer, "rate": rate, "round": number}
                            yield key, lambda k=key: pair(bench, k["size"], k["dtype"], k["stage"], k["peer"], k["rate"], k["round"])


def limits(bench):
    yield {"part": "limits"}, lambda: json.loads(run([bench.limits], 120)["stdout"])


def steps(bench):
    """Step time, memory, traffic and losses at each stage, in float32 and bf16, beside each peer of the stage; and one rank alone."""
    return pairs(bench, "steps", bench.sizes, bench.types, (0, 1, 2, 3, None), (None,), bench.rounds)


def links(bench):
    """The same over slow networks, beside the time of its bytes and a network without a limit."""
    return pairs(bench, "links", bench.sizes, ("float32",), (0, 1, 2, 3), RATES[1:] if bench.quick else RATES, 1 if bench.quick else 2)


def threads(bench):
    """One rank on one core and on two, by turns."""
    def measure(size):
        if len(cores()) < 2:
            raise Failed(f"--threads=2 needs two cores, this process may use {len(cores())}")
        record = {}
        with watching(record):
            found = {n: bench.zero.train(size, "float32", 0, 1, bench.steps, bench.warmup, threads=n) for n in (1, 2)}
        if found[1]["losses"] != found[2]["losses"]:
            raise Failed(f"two threads change the losses: {found[1]['losses']} and {found[2]['losses']}")
        return record | {"step_seconds_1": found[1]["step_seconds"], "step_seconds_2": found[2]["step_seconds"],
                         "speedup": found[1]["step_seconds"] / found[2]["step_seconds"]}
    for number in range(bench.rounds):
        for size in bench.sizes:
            yield {"part": "threads", "size": size, "round": number}, lambda s=size: measure(s)


def compile_time(bench):
    """Seconds and memory of zero-compile."""
    def measure(model, *flags):
        return run_measured([bench.zero.bin / "zero-compile", model, "--loss=cross-entropy", "--labels=y", *flags], bench.zero.timeout)

    def golden():
        model = pathlib.Path(bench.golden) / "llama.onnx"
        if not model.exists():
            raise Failed(f"'{model}' is not there; ZERO_GOLDEN_DIR names its folder")
        return measure(model, "--zero-stage=3", "--world-size=2", "-o", bench.zero.work / "llama.bin")

    def huge():
        size = Size(96, 12288, 96, 2048, 1, 50257) if not bench.quick else Size(4, 12288, 96, 2048, 1, 50257)
        model = write_model(size, bench.zero.work / f"shapes-{size.layers}", shapes_only=True)
        return {"parameters": size.parameters} | measure(model, "--zero-stage=3", "--world-size=1024", "--plan-only")

    for size in bench.sizes:
        yield {"part": "compile", "model": size}, lambda s=size: measure(bench.zero.model(s), "--zero-stage=3", "--world-size=2", "-o",
                                                                        bench.zero.work / "compile.bin")
    yield {"part": "compile", "model": "llama"}, golden
    yield {"part": "compile", "model": "175B, shapes only"}, huge


def start(bench):
    """From the start of zero-run to its first step, beside the time to read the program once."""
    def measure(size, world):
        found = [bench.zero.train(size, "float32", 3, world, 1, 0) for _ in range(3)]
        program = bench.zero.compile(size, "float32", 3, world)["program"]
        read = run(["python3", "-c", "import sys, time\nbegin = time.perf_counter()\nopen(sys.argv[1], 'rb').read()\n"
                                     "print(time.perf_counter() - begin)", program], 60)["stdout"]
        return {"start_seconds": statistics.median(f["start_seconds"] for f in found), "read_seconds": float(read),
                "program_bytes": program.stat().st_size}
    for size in bench.sizes:
        for world in (1, 2):
            yield {"part": "start", "size": size, "ranks": world}, lambda s=size, w=world: measure(s, w)


def layers(bench):
    """Cost as work grows: time of a step, of the compiler and its memory over the number of layers."""
    def measure(count):
        size = Size(count, *((32, 2, 32, 1, 64) if bench.quick else (128, 4, 64, 1, 256)))
        name = f"layers-{count}{'-quick' if bench.quick else ''}"
        SIZES[name] = size
        model = bench.zero.model(name)
        compiled = run_measured([bench.zero.bin / "zero-compile", model, "--loss=cross-entropy", "--labels=y", "--zero-stage=3", "--world-size=2",
                                 "-o", bench.zero.work / "layers.bin"], bench.zero.timeout)
        trained = bench.zero.train(name, "float32", 3, 2, bench.steps, bench.warmup)
        commands = sum(len(s["commands"]) for s in bench.zero.compile(name, "float32", 3, 2)["report"]["timeline"]["sections"])
        return {"commands": commands, "compile_seconds": compiled["seconds"], "compile_peak_rss_bytes": compiled["peak_rss_bytes"],
                "step_seconds": trained["step_seconds"]}
    for count in (2, 4) if bench.quick else (2, 4, 8, 16, 32, 64, 96):
        yield {"part": "layers", "layers": count}, lambda c=count: measure(c)


def roofline(bench):
    """What each group of commands of a step of one rank takes (CPU time of the core that computes, in the trace), moves and computes."""
    def measure(size, dtype):
        record = bench.peak()
        commands = {(section["name"], c["command"]): c for section in bench.zero.compile(size, dtype, 0, 1)["report"]["timeline"]["sections"]
                    for c in section["commands"]}
        with tempfile.TemporaryDirectory(prefix="zero-bench-") as name, watching(record):
            trace = pathlib.Path(name) / "trace.json"
            bench.zero.train(size, dtype, 0, 1, 4 if bench.quick else 8, 1, trace=trace)
            events = json.loads(trace.read_text())["traceEvents"]
        runs = {}
        for event in events:
            if event["ph"] == "X" and event.get("args", {}).get("section"):
                runs.setdefault((event["args"]["section"], event["args"]["command"]), []).append(event["args"])
        groups = {}
        for place, times in runs.items():
            command = commands[place]
            generated = command["kind"] in ("fused", "update")
            group = groups.setdefault(command["kernel"] if generated else command["kind"],
                                      {"commands": 0, "seconds": 0.0, "predicted_seconds": 0.0, "bytes": 0, "flops": 0, "title": command["title"] if generated else ""})
            group["commands"] += 1
            group["seconds"] += statistics.median(each["cpu_us"] for each in times[1:]) * 1e-6
            group["predicted_seconds"] += times[0]["predicted_us"] * 1e-6
            group["bytes"] += command["read_bytes"] + command["written_bytes"]
            group["flops"] += command["flops"]
        record["groups"] = dict(sorted(groups.items(), key=lambda item: -item[1]["seconds"]))
        record["step_seconds"] = sum(group["seconds"] for group in groups.values())
        return record
    for size in bench.sizes:
        for dtype in bench.types:
            yield {"part": "roofline", "size": size, "dtype": dtype}, lambda s=size, d=dtype: measure(s, d)


PARTS = {"limits": limits, "compile": compile_time, "start": start, "layers": layers, "threads": threads, "roofline": roofline,
         "steps": steps, "links": links}
