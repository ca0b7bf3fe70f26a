"""Zero's side of the benchmark: compiling the models and running the programs, one core per rank."""
import json
import pathlib
import statistics
import tempfile

from models import SIZES, configuration, write_data, write_model
from network import rate_bits
from processes import Failed, cores, run


class Zero:
    """`bin` holds the tools, `work` models and programs; `calibration` is the file of zero-compile --calibrate, or None."""

    def __init__(self, bin, work, calibration, timeout):
        self.bin, self.work, self.calibration, self.timeout = pathlib.Path(bin), pathlib.Path(work), calibration, timeout
        self.compiled = {}
        self.run_flags = None

    def model(self, size):
        return write_model(SIZES[size], self.work / size)

    def data(self, size, samples):
        self.model(size)
        return write_data(SIZES[size], samples, self.work / size)

    def compile(self, size, dtype, stage, world, rate=None):
        """{program, report, seconds}; once in each run of the benchmark."""
        key = (size, dtype, stage, world, rate)
        if key not in self.compiled:
            folder = self.work / size
            name = f"{dtype}-stage{stage}-ranks{world}" + (f"-{rate}" if rate else "")
            config, program, report = folder / f"{name}.config.json", folder / f"{name}.bin", folder / f"{name}.report.json"
            model = self.model(size)
            config.write_text(configuration(SIZES[size], stage, dtype))
            command = [self.bin / "zero-compile", model, "--loss=cross-entropy", "--labels=y", "--config", config, f"--world-size={world}",
                       f"--report={report}", "-o", program]
            if self.calibration:
                command.append(f"--calibration={self.calibration}")
            if rate:
                command.append(f"--link-bytes-per-second={int(rate_bits(rate) / 8)}")
            seconds = run(command, self.timeout)["seconds"]
            self.compiled[key] = {"program": program, "report": json.loads(report.read_text()), "seconds": seconds}
        return self.compiled[key]

    def limits_links(self):
        """Whether zero-run itself can slow loopback down, where the system has no namespaces."""
        if self.run_flags is None:
            self.run_flags = run([self.bin / "zero-run", "--help"], self.timeout)["stdout"]
        return "--link-bytes-per-second" in self.run_flags

    def train(self, size, dtype, stage, world, steps, warmup, link=None, rate=None, threads=1, trace=None):
        """One run: seconds of a step, losses, bytes, memory. `link`: a network.Link that is up; `rate` without one: loopback, slowed down by
        zero-run. Several ranks without either: mpirun inside this machine."""
        compiled = self.compile(size, dtype, stage, world, rate)
        data = self.data(size, SIZES[size].batch * world * steps)
        with tempfile.TemporaryDirectory(prefix="zero-bench-") as name:
            metrics = pathlib.Path(name) / "metrics.jsonl"
            command = [self.bin / "zero-run", compiled["program"], "--data", data, "--steps", steps, "--metrics", metrics, "--flight-recorder",
                       "none"] + ([f"--threads={threads}"] if threads > 1 else []) + ([f"--trace={trace}"] if trace else [])
            use = [str(core) for core in cores()]
            if world == 1:
                command = ["taskset", "-c", ",".join(use[:threads])] + command
            elif rate and not link:
                if not self.limits_links():
                    raise Failed("this system has no network namespaces, and zero-run no --link-bytes-per-second")
                command += ["--comm=loopback", f"--link-bytes-per-second={int(rate_bits(rate) / 8)}"]
            else:
                rank = pathlib.Path(name) / "rank"
                rank.write_text(f"#!/bin/bash\ncores=({' '.join(use)})\n"
                                'exec taskset -c ${cores[$((OMPI_COMM_WORLD_RANK % ${#cores[@]}))]} "$@"\n')
                rank.chmod(0o755)
                command = (link.mpirun() if link else ["mpirun"]) + ["--bind-to", "none", "-np", world, rank] + command
            seconds = run(command, self.timeout)["seconds"]
            rows = [json.loads(line) for line in metrics.read_text().splitlines()]
        timed = rows[warmup:]
        median = lambda key: statistics.median(r[key] for r in timed) if all(key in r for r in timed) else None
        return {"system": "zero", "step_seconds": median("step_seconds"), "losses": [r["loss"] for r in rows],
                "first_step_seconds": seconds - sum(r["step_seconds"] for r in rows[1:]), "start_seconds": seconds - sum(r["step_seconds"] for r in rows),
                "sent_bytes": sum(timed[-1][f"comm_bytes_{kind}"] for kind in ("all_gather", "reduce_scatter", "control")),
                "exposed_comm_seconds": median("exposed_comm_seconds"), "predicted_step_seconds": median("predicted_step_seconds"),
                "arena_bytes": timed[-1]["peak_device_bytes"], "peak_bytes": timed[-1]["peak_process_bytes"],
                # Without pages of other ranks, which VmHWM counts where they were read.
                "own_bytes": max(r["process_bytes"] for r in rows),
                "peak_total_bytes": timed[-1]["peak_resident_bytes"]}
