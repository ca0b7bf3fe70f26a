"""training.py WORK OLD: golden mlp on two and three ranks through every --comm of a program for GPUs, on the simulated driver.

Losses and exported parameters of --deterministic over NCCL, through the host (mpi, loopback) and at all stages are the same bits, in 16 bits too; sent
bytes are those that zero-compile printed; a rank that is killed or stopped ends the job with one line, also where the libraries are those of OLD, whose NCCL cannot stop a communicator without freeing it.
"""
import hashlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

WORK = pathlib.Path(sys.argv[1])
OLD = sys.argv[2]
GOLDEN = pathlib.Path(os.environ["ZERO_GOLDEN_DIR"])
STEPS = 3


def run(command, code=0, **environment):
    result = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, env=os.environ | environment)
    if result.returncode != code:
        sys.exit(f"exit code {result.returncode}, not {code}: {' '.join(map(str, command))}\n{result.stdout[-3000:]}")
    return result.stdout


def compile_program(name, stage, *flags, ranks=2, precision=None):
    """What the compiler says that each rank sends in a step."""
    expected = json.loads((GOLDEN / "mlp.json").read_text())
    config = WORK / f"{name}.json"
    config.write_text(json.dumps({"train_micro_batch_size_per_gpu": expected["global_batch"] // ranks, "gradient_clipping": 1.0,
                                  "optimizer": {"type": "AdamW", "params": expected["adamw"]}, "zero_optimization": {"stage": stage}} | (precision or {})))
    said = run(["zero-compile", GOLDEN / "mlp.onnx", "--target=cuda", "--cuda-architectures=sm_90", "--loss=cross-entropy", "--labels=y", "--config", config,
                f"--world-size={ranks}", "-o", WORK / f"{name}.bin", *flags])
    sent = said[said.index("bytes sent per rank and step"):]
    return {key: int(re.search(rf"{key} +(\d+)", sent).group(1)) for key in ("all_gather", "reduce_scatter", "control") if key in sent}


def train(name, comm, ranks=2):
    metrics, export = WORK / f"{name}-{comm}.jsonl", WORK / f"{name}-{comm}.safetensors"
    command = ["zero-run", WORK / f"{name}.bin", "--data", GOLDEN / "mlp.data.npz", "--steps", STEPS, "--metrics", metrics, "--export", export, f"--comm={comm}"]
    run(command if comm == "loopback" else ["mpirun", "-n", ranks, *command])
    rows = [json.loads(line) for line in metrics.read_text().splitlines()]
    bits = hashlib.sha256(repr([(row["loss"], row["grad_norm"]) for row in rows]).encode() + export.read_bytes()).hexdigest()
    return rows, bits


def check_bits_and_bytes():
    seen = {}
    for stage in range(4):
        name = f"stage{stage}"
        sent = compile_program(name, stage, "--deterministic")
        for comm in ("nccl", "mpi", "loopback") if stage in (0, 3) else ("nccl",):
            rows, bits = train(name, comm)
            seen.setdefault(bits, []).append(f"{name} {comm}")
            for row in rows:
                for key, count in sent.items():
                    if row[f"comm_bytes_{key}"] != count:
                        sys.exit(f"{name} {comm}: {row[f'comm_bytes_{key}']} bytes of {key} were sent, the compiler said {count}")
    if len(seen) != 1:
        sys.exit(f"not the same bits: {list(seen.values())}")
    print(f"{len(next(iter(seen.values())))} deterministic runs have the same bits, and send what was printed")


def check_orders():
    """NCCL's own sums: of two ranks in float32 there is one order, of three there are others, and in 16 bits it rounds in between."""
    bf16 = {"bf16": {"enabled": True}}
    for ranks, name, precision in ((2, "float32", None), (3, "float32", None), (2, "bf16", bf16), (3, "bf16", bf16),
                                   (3, "bf16 kept in float32", bf16 | {"data_types": {"grad_accum_dtype": "fp32"}})):
        file = f"{name.replace(' ', '-')}-{ranks}"
        compile_program(file, 2, "--deterministic", ranks=ranks, precision=precision)
        compile_program(file + "-plain", 2, ranks=ranks, precision=precision)
        _, host = train(file, "loopback", ranks)
        _, deterministic = train(file, "nccl", ranks)
        _, plain = train(file + "-plain", "nccl", ranks)
        if deterministic != host:
            sys.exit(f"{ranks} ranks, {name}: NCCL with --deterministic gives other bits than the host")
        print(f"{ranks} ranks, {name}: NCCL's own sums give {'the same' if plain == host else 'other'} bits")


def check_lost_rank(kind, libraries=os.environ["ZERO_CUDA_LIBRARY_PATH"]):
    """Rank 1 is stopped or killed in the middle of training."""
    recorder = WORK / f"records-{kind}"
    command = ["mpirun", "--mca", "orte_abort_on_non_zero_status", "0", "-n", 2, "zero-run", WORK / "stage3.bin", "--data", GOLDEN / "mlp.data.npz", "--epochs", 1000000,
               "--timeout-seconds=5", f"--flight-recorder={recorder}"]
    job = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                           env=os.environ | {"ZERO_CUDA_LIBRARY_PATH": libraries})
    for line in job.stdout:
        if line.startswith("step 10/"):
            break
    children = subprocess.run(["pgrep", "-P", str(job.pid), "zero-run"], capture_output=True, text=True).stdout.split()
    victim = next(int(pid) for pid in children if b"OMPI_COMM_WORLD_RANK=1\0" in pathlib.Path(f"/proc/{pid}/environ").read_bytes())
    begin = time.monotonic()
    os.kill(victim, signal.SIGSTOP if kind == "stop" else signal.SIGKILL)
    said = job.stdout.read()
    job.wait()
    lines = [line for line in said.splitlines() if line.startswith("zero-run: ")]
    state = "is stopped" if kind == "stop" else "has ended"
    pattern = (rf"zero-run: rank 0: step \d+: \w+: \w+ \S+ ?(\(.*\))?: (timed out after 5 s, still waiting|waited in vain) for rank 1 \(in step \d+, .*; process {victim} {state}\); "
               rf"rank 0 arrived; the last collectives of each rank are in '{re.escape(str(recorder))}'")
    if len(lines) != 1 or not re.fullmatch(pattern, lines[0]):
        sys.exit(f"{kind}: unexpected: {lines or said[-2000:]}")
    if time.monotonic() - begin > 30:
        sys.exit(f"{kind}: the job took {time.monotonic() - begin:.0f} s to end")
    records = json.loads((recorder / "rank-0.json").read_text())["entries"]
    # A channel does one collective after another, and each channel stops at the one that wants rank 1: what is open is the newest of its channel.
    newest = {entry["channel"]: entry for entry in records}
    left_open = [entry for entry in records if entry["state"] == "started"]
    if not left_open or not all(entry is newest[entry["channel"]] and entry["bytes"] for entry in left_open):
        sys.exit(f"{kind}: the flight recorder says {records[-6:]}")
    print(f"{kind}: one line, and a flight record")


def check_error(libraries=os.environ["ZERO_CUDA_LIBRARY_PATH"]):
    """An error that NCCL finds in a collective of a replayed graph."""
    recorder = WORK / "records-error"
    said = run(["mpirun", "-n", 2, "zero-run", WORK / "stage3.bin", "--data", GOLDEN / "mlp.data.npz", "--epochs", 1000, f"--flight-recorder={recorder}"], 4,
               ZERO_SHIM_NCCL_FAIL="1:60", ZERO_CUDA_LIBRARY_PATH=libraries)
    lines = [line for line in said.splitlines() if line.startswith("zero-run: ")]
    pattern = (r"zero-run: rank 1: step [4-9]: \w+: \w+ \S+ ?(\(.*\))?: the exchange of NCCL failed: unhandled system error \(.*\): injected by ZERO_SHIM_NCCL_FAIL; "
               rf"the last collectives of each rank are in '{re.escape(str(recorder))}'")
    if len(lines) != 1 or not re.fullmatch(pattern, lines[0]):
        sys.exit(f"an error of NCCL: unexpected: {lines or said[-2000:]}")
    print("an error of NCCL: one line, and a flight record")


check_bits_and_bytes()
check_orders()
check_error()
for kind in ("stop", "kill"):
    check_lost_rank(kind)
check_error(OLD)
check_lost_rank("kill", OLD)
