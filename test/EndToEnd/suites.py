"""The sets of runs that golden.py makes.

By default few runs of gpt2, llama, cnn and vit, and over MPI: covering arrays, in which every pair of values of two factors
occurs. With --full every combination.
"""
import dataclasses
import itertools


@dataclasses.dataclass(frozen=True)
class Case:
    """One run. `bucket`, `reduce_at`, `micro_batch`: None leaves them to the defaults and the golden's global batch."""
    model: str
    variant: str = "base"
    ranks: int = 1
    stage: int = 0
    prefetch: bool = False
    comm: str = "loopback"
    bucket: int | None = None
    reduce_at: str | None = None
    micro_batch: int | None = None
    precision: str = "fp32"
    wire: str | None = None  # communication_data_type
    gradients: str | None = None  # data_types.grad_accum_dtype
    target: str = "cpu"
    deterministic: bool = False  # of a cuda program, as the next three
    fast: bool = False
    plain: bool = False  # products without epilogues
    generated: bool = False  # convolutions by generated kernels
    timing: str = ""  # of the simulated driver: serial, adversarial:SEED
    steps: int = 20  # the first ones of the golden run

    def __str__(self):
        text = f"{self.model} {self.variant} ranks={self.ranks} stage={self.stage} {self.comm}"
        text += " prefetch" if self.prefetch else ""
        text += "" if self.target == "cpu" else f" {self.target}"
        text += " deterministic" if self.deterministic else ""
        text += " fast" if self.fast else ""
        text += " plain" if self.plain else ""
        text += " generated" if self.generated else ""
        text += f" timing={self.timing}" if self.timing else ""
        text += "" if self.precision == "fp32" else f" {self.precision}"
        for name in ("bucket", "reduce_at", "micro_batch", "wire", "gradients"):
            if getattr(self, name) is not None:
                text += f" {name}={getattr(self, name)}"
        return text


FACTORS = {
    "variant": ("base", "clip", "accumulate", "sgd"),
    "ranks": (1, 2, 4),
    "stage": (0, 1, 2, 3),
    "prefetch": (False, True),
}
# Golden variants that no suite runs, and why.
SKIPPED_VARIANTS = {"warmup": "there are no learning-rate schedules yet"}
# mpi: ranks of this machine read each other in place; messages: MPI alone.
COMMS = ("loopback", "mpi", "messages")
# Of cuda programs: from GPU to GPU, and through the host.
CUDA_COMMS = ("nccl", "mpi", "loopback")
TIMINGS = ("serial", "adversarial:1", "adversarial:2", "")
BUCKETS = (None, 1000, 100000, 500000000)


def every(factors):
    """All combinations, as dictionaries."""
    return [dict(zip(factors, values)) for values in itertools.product(*factors.values())]


def pairwise(factors):
    """Few combinations in which every pair of values of two factors occurs: greedily the one with most uncovered pairs."""

    def pairs(row):
        return {(a, row[a], b, row[b]) for a, b in itertools.combinations(factors, 2)}

    rows = every(factors)
    uncovered = set().union(*(pairs(row) for row in rows))
    chosen = []
    while uncovered:
        best = max(rows, key=lambda row: len(pairs(row) & uncovered))
        chosen.append(best)
        uncovered -= pairs(best)
    return chosen


def run_all(driver, model, rows):
    """Runs each row against its golden and all of them against each other."""
    results = []
    for row in rows:
        case = Case(model, **row)
        results.append((case, driver.attempt(case)))
    driver.check_same_bits(results)
    return results


def mlp_loopback(driver, full):
    """mlp over loopback, always whole."""
    run_all(driver, "mlp", every(FACTORS))


def mlp_mpi(driver, full):
    rows = every(FACTORS) if full else pairwise(FACTORS)
    run_all(driver, "mlp", [row | {"comm": "messages" if i % 4 == 3 else "mpi"} for i, row in enumerate(rows)])


def covering(model):
    """A suite of one model: every combination, or a covering set, over both channels."""

    def suite(driver, full):
        factors = FACTORS | {"comm": COMMS}
        run_all(driver, model, every(factors) if full else pairwise(factors))

    return suite


def same_bits_mlp(driver, full):
    """Every stage, prefetch and bucket size, with clipping on; for accumulation both times of the reduction."""
    factors = {"stage": FACTORS["stage"], "prefetch": FACTORS["prefetch"], "bucket": BUCKETS}
    for ranks in (2, 4):
        run_all(driver, "mlp", [row | {"variant": "clip", "ranks": ranks} for row in every(factors)])
    rows = [{"stage": stage} for stage in FACTORS["stage"]]
    rows += [{"stage": stage, "reduce_at": "micro_batch"} for stage in (0, 1)]
    run_all(driver, "mlp", [row | {"variant": "accumulate", "ranks": 2} for row in rows])


def same_bits(model):
    """The same for another model, channels included."""

    def suite(driver, full):
        factors = {"stage": FACTORS["stage"], "prefetch": FACTORS["prefetch"], "bucket": BUCKETS, "comm": COMMS}
        for ranks in (2, 4) if full else (2,):
            rows = every(factors) if full else pairwise(factors)
            run_all(driver, model, [row | {"variant": "clip", "ranks": ranks} for row in rows])

    return suite


def mixed_precision(precision):
    """16-bit parameters: near the float32 curve, and the same bits over stages, prefetch, buckets and channels."""

    def suite(driver, full):
        for model in ("mlp", "cnn", "gpt2", "llama", "vit"):
            factors = {"stage": FACTORS["stage"], "prefetch": FACTORS["prefetch"], "comm": COMMS}
            if full:
                rows = every(factors | {"variant": FACTORS["variant"], "ranks": FACTORS["ranks"], "bucket": BUCKETS[:2]})
            else:
                rows = pairwise(factors) if model == "gpt2" else [{"stage": s, "prefetch": s % 2 == 0} for s in FACTORS["stage"]]
                rows = [row | {"variant": "clip", "ranks": 2, "bucket": (None, 1000)[row["stage"] % 2]} for row in rows]
                rows += [{"variant": "accumulate", "ranks": 2, "stage": stage} for stage in (2, 3)]
                rows += [{"variant": "sgd", "ranks": 4, "stage": stage} for stage in (0, 3)] if model == "mlp" else []
            run_all(driver, model, [row | {"precision": precision} for row in rows])
        # Gradients of other types on the wire and in memory; with one micro-batch and with several.
        types = {"wire": (None, "fp32", "bf16"), "gradients": (None, "fp32"), "stage": FACTORS["stage"], "variant": ("clip", "accumulate")}
        rows = every(types) if full else [row for row in every(types) if (row["wire"] == "fp32") != (row["gradients"] == "fp32")]
        if precision == "fp16" and not full:  # plans are those of bf16 with another type: each stage once with each pair of types
            rows = [row for row in rows if (row["variant"] == "accumulate") == (row["stage"] >= 2)]
        run_all(driver, "mlp", [row | {"precision": precision, "ranks": 2} for row in rows])
        if precision == "bf16":
            run_all(driver, "mlp", [{"stage": stage, "wire": "bf16", "ranks": 2} for stage in FACTORS["stage"]])

    return suite


def three_ranks(driver, full):
    """Odd counts: mlp against its golden (12 = 3 x 4); gpt2 with micro-batch 2 against one rank with micro-batch 6."""
    run_all(driver, "mlp", [row | {"ranks": 3} for row in every(FACTORS | {"ranks": (3,)})])
    reference = driver.attempt(Case("gpt2", micro_batch=6), lambda case, result: "the reference of the next")
    if reference is None:
        return
    results = []
    stages = [(s, p, c) for s in (0, 1, 2, 3) for p in (False, True) for c in COMMS] if full else \
        [(0, False, "loopback"), (2, False, "mpi"), (3, True, "loopback")]
    for stage, prefetch, comm in stages:
        case = Case("gpt2", ranks=3, micro_batch=2, stage=stage, prefetch=prefetch, comm=comm)
        results.append((case, driver.attempt(case, lambda _, result: driver.compare_with_run(result, reference))))
    driver.check_same_bits(results)


def cuda(model, steps=20, variants=FACTORS["variant"], comms=CUDA_COMMS, timings=TIMINGS):
    """Programs for GPUs on the simulated driver: PyTorch's curve, and the same bits over stages, channels, prefetch and timings."""

    def suite(driver, full):
        both = {"target": "cuda", "deterministic": True, "steps": steps}
        alone = every({"timing": TIMINGS if full else ("adversarial:1",), "variant": variants, "ranks": (1,)})
        factors = {"stage": FACTORS["stage"], "prefetch": FACTORS["prefetch"], "ranks": (2,),
                   "comm": CUDA_COMMS if full else comms, "timing": TIMINGS if full else timings}
        rows = every(factors | {"variant": variants}) if full else [row | {"variant": variants[0]} for row in pairwise(factors)]
        if not full:
            rows += [{"stage": stage, "variant": "accumulate", "ranks": 2, "comm": "nccl"} for stage in (2, 3)]
        run_all(driver, model, [row | both for row in alone + rows])
        # NCCL's own order of sums.
        run_all(driver, model, [{"target": "cuda", "steps": steps, "variant": variants[0], "ranks": 2, "stage": stage, "comm": "nccl"} for stage in (0, 3)])

    return suite


def cuda_tf32(driver, full):
    """Products whose operands are rounded to TF32: near the float32 curve, not on it, and the same bits over stages and channels."""
    for model in ("gpt2", "vit") if full else ("gpt2",):
        both = {"target": "cuda", "deterministic": True, "steps": 4, "variant": "clip", "ranks": 2}
        rows = [{"stage": stage, "comm": comm, "precision": "tf32"} for stage, comm in ((0, "nccl"), (2, "mpi"), (3, "nccl"))]
        results = run_all(driver, model, [row | both for row in rows])
        driver.check_differ(results, run_all(driver, model, [both | {"comm": "nccl"}])[0])


def cuda_fast(driver, full):
    """Sums in any order: PyTorch's curve whatever the order, and other bits in another one; without --fast one order alone."""
    timings = ("serial", "adversarial:1", "adversarial:2")
    for ranks, stage in ((1, 0), (2, 3)):
        both = {"target": "cuda", "steps": 4, "variant": "clip", "ranks": ranks, "stage": stage, "comm": "nccl"}
        fast = [Case("gpt2", **both, fast=True, timing=timing) for timing in timings]
        results = [(case, driver.attempt(case)) for case in fast]
        driver.check_differ(results[1:], results[0])
        plain = run_all(driver, "gpt2", [both | {"timing": timing} for timing in timings])
        driver.check_differ(results, plain[0])
    driver.attempt(Case("gpt2", target="cuda", fast=True, precision="bf16", steps=4, timing="adversarial:1"))


def cuda_epilogues(driver, full):
    """Products with what follows them beside products alone: PyTorch's curve, and the same bits over stages, of both."""
    for model in ("gpt2", "vit"):
        for precision in ("fp32", "bf16", "fp16") if full or model == "gpt2" else ("fp32",):
            both = {"target": "cuda", "deterministic": True, "steps": 4, "variant": "clip", "ranks": 2, "comm": "nccl", "precision": precision}
            fused = run_all(driver, model, [both | {"stage": stage} for stage in ((0, 1, 2, 3) if full else (0, 3))])
            driver.check_differ(run_all(driver, model, [both | {"plain": True, "stage": stage} for stage in ((0, 3) if full else (0,))]), fused[0])


def cuda_convolutions(driver, full):
    """Convolutions by cuDNN beside generated ones: PyTorch's curve, and the same bits over stages and timings, of both and in each precision."""
    for precision in ("fp32", "bf16", "fp16", "tf32"):
        both = {"target": "cuda", "deterministic": True, "steps": 3, "variant": "clip", "ranks": 2, "precision": precision}
        rows = [{"stage": stage, "comm": comm, "timing": timing} for stage, comm, timing in ((0, "nccl", "serial"), (3, "nccl", "adversarial:1"), (2, "mpi", "adversarial:2"))]
        cudnn = run_all(driver, "cnn", [row | both for row in rows])
        if full or precision in ("fp32", "tf32"):
            driver.check_differ(run_all(driver, "cnn", [both | {"generated": True, "comm": "nccl"}]), cudnn[0])
    for timing in ("serial", "adversarial:1"):
        driver.attempt(Case("cnn", target="cuda", fast=True, steps=3, variant="clip", timing=timing))


SUITES = {
    "cuda-mlp": cuda("mlp"),
    "cuda-gpt2": cuda("gpt2", steps=4, variants=("clip", "accumulate")),
    "cuda-llama": cuda("llama", steps=3, variants=("clip", "accumulate"), comms=("nccl", "mpi"), timings=TIMINGS[:2]),
    "cuda-vit": cuda("vit", steps=3, variants=("clip", "accumulate"), comms=("nccl", "mpi"), timings=TIMINGS[:2]),
    "cuda-cnn": cuda("cnn", steps=3, variants=("clip", "accumulate"), comms=("nccl", "mpi"), timings=TIMINGS[:2]),
    "cuda-tf32": cuda_tf32,
    "cuda-fast": cuda_fast,
    "cuda-epilogues": cuda_epilogues,
    "cuda-convolutions": cuda_convolutions,
    "mlp-loopback": mlp_loopback,
    "mlp-mpi": mlp_mpi,
    "cnn": covering("cnn"),
    "gpt2": covering("gpt2"),
    "llama": covering("llama"),
    "vit": covering("vit"),
    "same-bits-mlp": same_bits_mlp,
    "same-bits-cnn": same_bits("cnn"),
    "same-bits-gpt2": same_bits("gpt2"),
    "same-bits-llama": same_bits("llama"),
    "same-bits-vit": same_bits("vit"),
    "three-ranks": three_ranks,
    "bf16": mixed_precision("bf16"),
    "fp16": mixed_precision("fp16"),
}
