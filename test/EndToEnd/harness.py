"""What the scripts of this folder share: their flags, how they run programs, and what programs leave behind."""
import argparse
import json
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def make_parser(documentation, *folders):
    """Takes --bin (of zero-compile and zero-run), --work (see `parse`) and a flag for each of `folders`; all are required."""
    parser = argparse.ArgumentParser(description=documentation, formatter_class=argparse.RawDescriptionHelpFormatter)
    for flag in ("bin", "work", *folders):
        parser.add_argument("--" + flag, type=lambda path: pathlib.Path(path).resolve(), required=True)
    return parser


def parse(parser):
    """The flags; the folder of --work is there, and empty."""
    a = parser.parse_args()
    shutil.rmtree(a.work, ignore_errors=True)
    a.work.mkdir(parents=True)
    return a


def arguments(documentation, *folders):
    return parse(make_parser(documentation, *folders))


def run(*command, code=0, **options):
    """What the program wrote to standard output (with stderr=subprocess.STDOUT: wherever). One that ends with another code is an error with all that it wrote."""
    command = [str(word) for word in command]
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True, **({"stderr": subprocess.PIPE} | options))
    if result.returncode != code:
        raise SystemExit(f"exit code {result.returncode}, not {code}: {' '.join(command)}\n{result.stdout[-3000:]}{(result.stderr or '')[-3000:]}")
    return result.stdout


def make_gpt(path, shapes_only=False, **sizes):
    """Writes the GPT of tools/dev/make_gpt.py: layers=4, width=512, ..."""
    run(sys.executable, ROOT / "tools/dev/make_gpt.py", *(f"--{name}={size}" for name, size in sizes.items()), *(["--shapes-only"] * shapes_only), "-o", path)


def read_metrics(path):
    return [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()]
