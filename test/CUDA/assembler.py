"""assembler.py BIN GOLDEN [REPORT.json]: compiles the golden models with --target=cuda by the real NVRTC and reads what each kernel takes.

A kernel that spills registers is an error. With REPORT.json the numbers of all kernels are kept there.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

tools, golden = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
MODELS = ("mlp", "cnn", "gpt2", "llama", "vit")
ARCHITECTURES = {"sm_80", "sm_90", "sm_100"}
CONFIGS = {"float32": {}, "bf16": {"bf16": {"enabled": True}}, "fp16": {"fp16": {"enabled": True}}}
faults, everything = [], []

with tempfile.TemporaryDirectory() as work:
    work = pathlib.Path(work)
    for model in MODELS:
        for precision, keys in CONFIGS.items():
            if precision == "fp16" and model != "mlp":  # its kernels are bf16's with another type, and the loss scale's
                continue
            config, program, report = work / "config.json", work / "compiled.bin", work / "report.json"
            config.write_text(json.dumps({"gradient_clipping": 0.5, **keys}))
            done = subprocess.run([tools / "zero-compile", golden / f"{model}.onnx", "--loss=cross-entropy", "--labels=y", "--world-size=2", "--zero-stage=3",
                                   "--target=cuda", f"--config={config}", f"--cuda-report={report}", "-o", program],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            where = f"{model} in {precision}"
            if done.returncode:
                faults.append(f"{where}: exit code {done.returncode}\n{done.stdout[-3000:]}")
                continue
            kernels = json.loads(report.read_text())["kernels"]
            if kernels is None:
                faults.append(f"{where}: the assembler says nothing of its kernels")
                continue
            dump = subprocess.run([tools / "zero-dump", program], stdout=subprocess.PIPE, text=True).stdout
            generated = {line.split()[1].rstrip(":") for line in dump.splitlines() if line.startswith("kernel ")}
            for name in generated:
                missing = ARCHITECTURES - {use["architecture"] for use in kernels if use["kernel"] == name}
                if missing:
                    faults.append(f"{where}: kernel {name} is not reported for {', '.join(sorted(missing))}")
            for use in kernels:
                everything.append({"model": model, "precision": precision, "generated": use["kernel"] in generated, **use})
                if use["spill_bytes"]:
                    faults.append(f"{where}: kernel {use['kernel']} spills {use['spill_bytes']} bytes on {use['architecture']} with {use['registers']} registers")

if len(sys.argv) > 3:
    pathlib.Path(sys.argv[3]).write_text(json.dumps(everything, indent=1))
if faults:
    print("\n".join(faults))
    sys.exit(1)
largest = max(everything, key=lambda use: use["registers"])
print(f"{len(everything)} kernels, {sum(use['generated'] for use in everything)} of them generated: none spills, at most {largest['registers']} registers "
      f"({largest['kernel']} of {largest['model']} in {largest['precision']} on {largest['architecture']})")
