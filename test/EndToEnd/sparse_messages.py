"""Zeros that are no part of a message: rows of an embedding table whose tokens are not in a batch.

A GPT whose table has a bucket of its own, on two ranks: read in place, by messages of MPI, over loopback with a link, and on a simulated GPU through
the host where there is one (--shim). No number and no counter of sent bytes changes; at stage 2 `comm_bytes_omitted` is what the tokens of rank 0 leave
untouched of the rows that rank 1 owns, less a bit for each 64 bytes; at stage 0 sums of both ranks leave out less. The compiler counts on no more than that, and on most of it.
"""
import json
import os

import numpy as np

import harness

STEPS, BATCH, SEQUENCE, WIDTH, VOCABULARY = 3, 2, 32, 64, 4096
CHUNK, BLOCK = 65024, 64  # kCollectiveChunkBytes, SparseMessage::kBlockBytes


def omitted_rows(tokens):
    """Bytes left out of the message to rank 1: the gradient of its half of the table, where rank 0 met `tokens`."""
    touched = np.zeros(VOCABULARY, bool)
    touched[tokens] = True
    half = np.repeat(touched[VOCABULARY // 2:], WIDTH * 4 // BLOCK)
    chunks = [half[at:at + CHUNK // BLOCK] for at in range(0, len(half), CHUNK // BLOCK)]
    return sum(int((~chunk).sum()) * BLOCK - (len(chunk) + 7) // 8 for chunk in chunks)


def main():
    parser = harness.make_parser(__doc__)
    parser.add_argument("--shim", help="the folder of the simulated driver's libraries")
    a = harness.parse(parser)
    model, data, config = a.work / "gpt.onnx", a.work / "tokens.npz", a.work / "config.json"
    harness.make_gpt(model, layers=1, width=WIDTH, heads=2, sequence=SEQUENCE, vocabulary=VOCABULARY)
    tokens = np.random.default_rng(1).integers(0, VOCABULARY, (2 * BATCH * STEPS, SEQUENCE + 1), dtype=np.int64)
    np.savez(data, x=tokens[:, :-1], y=tokens[:, 1:])
    expected = [omitted_rows(tokens[2 * BATCH * step:2 * BATCH * step + BATCH, :-1]) for step in range(STEPS)]

    def compile(stage, *flags):
        program = a.work / f"{stage}{''.join(flags)}.bin"
        config.write_text(json.dumps({"train_micro_batch_size_per_gpu": BATCH, "zero_optimization": {"stage": stage, "reduce_bucket_size": VOCABULARY * WIDTH}}))
        harness.run(a.bin / "zero-compile", model, "--loss=cross-entropy", "--labels=y", "--config", config, "--world-size=2", "-o", program,
                    f"--report={a.work / 'report.json'}", *flags)
        return program

    def run(*command):
        """What each step says: what no way of sending may change, and the bytes left out."""
        metrics = a.work / "metrics.jsonl"
        harness.run(*command, "--data", data, f"--steps={STEPS}", "--metrics", metrics)
        rows = harness.read_metrics(metrics)
        return ([[row[key] for key in ("loss", "grad_norm", "comm_bytes_all_gather", "comm_bytes_reduce_scatter", "comm_bytes_control")] for row in rows],
                [row["comm_bytes_omitted"] for row in rows])

    for stage in (2, 0):
        program = compile(stage)
        mpirun = ("mpirun", "-n", 2, a.bin / "zero-run", program)
        in_place, nothing = run(*mpirun)
        messages, omitted = run(*mpirun, "--shared-memory=off")
        slow, omitted_slow = run(a.bin / "zero-run", program, "--comm=loopback", "--link-bytes-per-second=100000000")
        assert nothing == [0] * STEPS, nothing
        assert messages == in_place and slow == in_place, (in_place, messages, slow)
        assert omitted == omitted_slow, (omitted, omitted_slow)
        for bytes, least in zip(omitted, expected):
            # At stage 0 the sum, in which rows of both ranks are touched, is gathered too.
            factor = (1, 1.02) if stage else (1.9, 2)
            assert factor[0] * least <= bytes <= factor[1] * least, (stage, bytes, least)
        report = json.loads((a.work / "report.json").read_text())
        foreseen = sum(section["runs_per_step"] * command["omitted_bytes"] for section in report["timeline"]["sections"] for command in section["commands"])
        assert 0.75 * max(omitted) <= foreseen <= min(omitted), (stage, foreseen, omitted)
        print(f"stage {stage}: {sum(omitted) / sum(row[2] + row[3] for row in in_place):.2f} of the bytes are zeros that are not sent")
    if a.shim:
        os.environ["ZERO_CUDA_LIBRARY_PATH"] = a.shim
        program = compile(2, "--target=cuda", "--cuda-architectures=sm_90")
        _, omitted = run("mpirun", "-n", 2, a.bin / "zero-run", program, "--comm=mpi")
        # A step's first micro-batch may run in the step before.
        assert sum(expected) <= sum(omitted) <= 1.02 * sum(expected), (omitted, expected)
        print("the same through the host of GPUs")


if __name__ == "__main__":
    main()
