"""fuzz.py CORPUS FOLDER: first every seed once, then new inputs for ZERO_FUZZ_SECONDS; a finding stays in FOLDER."""
import os
import shutil
import subprocess
import sys


def run(*arguments):
    environment = dict(os.environ, ASAN_SYMBOLIZER_PATH=shutil.which("llvm-symbolizer-22") or shutil.which("llvm-symbolizer") or "")
    return subprocess.run(["zero-fuzz-import", "-timeout=60", "-rss_limit_mb=2048", "-malloc_limit_mb=512", *arguments],
                          capture_output=True, text=True, env=environment)


def main():
    corpus, folder = sys.argv[1], sys.argv[2]
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    seconds = os.environ["ZERO_FUZZ_SECONDS"]
    seeds = sorted(os.path.join(corpus, name) for name in os.listdir(corpus))
    for what, arguments in (("the corpus", ["-artifact_prefix=%s/" % folder, *seeds]),
                            ("%s seconds" % seconds, ["-artifact_prefix=%s/" % folder, "-max_total_time=" + seconds, "-max_len=8192", "-seed=1",
                                                      "-print_final_stats=1", os.path.join(folder, "new"), corpus])):
        os.makedirs(os.path.join(folder, "new"), exist_ok=True)
        result = run(*arguments)
        if result.returncode:
            sys.exit("%s: exit code %d; the input is in %s\n%s" % (what, result.returncode, folder, result.stderr[-6000:]))
        done = [line for line in result.stderr.splitlines() if "number_of_executed_units" in line]
        print("%s: no finding%s" % (what, done and " in %s inputs" % done[0].split()[-1] or ""))


main()
