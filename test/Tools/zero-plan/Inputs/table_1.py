"""table_1.py ZERO_PLAN: the 54 cells of Table 1 of "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models"
(arXiv 1910.02054v3): GB of model states per device, mixed-precision Adam, K = 12.

As printed there; the column of 7.5B is rounded, those of 128B and 1T are truncated.
"""
import decimal
import subprocess
import sys

RANKS = (1, 4, 16, 64, 256, 1024)
#         stage 1, stage 2, stage 3
TABLE = {
    "7.5e9": ["120 120 120", "52.5 41.3 30", "35.6 21.6 7.5", "31.4 16.6 1.88", "30.4 15.4 0.47", "30.1 15.1 0.12"],
    "128e9": ["2048 2048 2048", "896 704 512", "608 368 128", "536 284 32", "518 263 8", "513 257 2"],
    "1e12": ["16000 16000 16000", "7000 5500 4000", "4750 2875 1000", "4187 2218 250", "4046 2054 62.5", "4011 2013 15.6"],
}

failures = cells = 0
for psi, rows in TABLE.items():
    command = [sys.argv[1], f"--model=psi:{psi}", "--zero-stage=1,2,3", "--world-size=" + ",".join(map(str, RANKS))]
    printed = {}
    for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines():
        if line.split()[0:1] and line.split()[0].isdigit():
            stage, ranks, *_, total, _ = map(int, line.split())
            printed[ranks, stage] = decimal.Decimal(total) / 10**9
    rounding = decimal.ROUND_HALF_UP if psi == "7.5e9" else decimal.ROUND_DOWN
    for ranks, row in zip(RANKS, rows):
        for stage, cell in enumerate(row.split(), 1):
            expected = decimal.Decimal(cell)
            found = printed[ranks, stage].quantize(expected, rounding)
            cells += 1
            if found != expected:
                failures += 1
                print(f"{psi} parameters, {ranks} ranks, stage {stage}: {printed[ranks, stage]} GB, the paper says {cell}")
print(f"{cells} cells, {failures} differ")
sys.exit(bool(failures))
