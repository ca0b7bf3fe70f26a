"""Configuration of the tests with RUN lines."""
import glob
import os
import shutil
import subprocess

import lit.formats

config.name = "zero"
config.test_format = lit.formats.ShTest(True)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.zero_binary_dir, "test")
config.environment["PATH"] = os.pathsep.join(
    [os.path.join(config.zero_binary_dir, "bin"), config.llvm_tools_dir, os.environ["PATH"]])
# mpirun as root and with more ranks than cores: what tests on small machines and in containers need.
config.environment.update({"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                           "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_btl_vader_single_copy_mechanism": "none"})
if mpirun := shutil.which("mpirun"):
    config.environment["ZERO_TEST_MPIRUN"] = mpirun
    config.environment["PATH"] = os.path.join(config.test_source_root, "Launch") + os.pathsep + config.environment["PATH"]
# Whoever runs the tests may have calibrated this machine.
config.environment["XDG_CACHE_HOME"] = os.path.join(config.test_exec_root, "no-cache")
config.substitutions.append(("%python", config.python))
config.substitutions.append(("%root", config.zero_source_dir))
config.substitutions.append(("%llvm_include", os.path.join(config.llvm_tools_dir, "..", "include")))
config.substitutions.append(("%bin", os.path.join(config.zero_binary_dir, "bin")))

# The end-to-end tests: --full of tools/dev/test, and the folder of the golden runs, which lie outside the repository.
golden = os.environ.get("ZERO_GOLDEN_DIR", os.path.join(config.zero_source_dir, "..", "shared", "golden"))
config.environment["ZERO_GOLDEN_DIR"] = os.path.abspath(golden)
config.substitutions.append(("%golden", os.path.abspath(golden)))
config.environment["ZERO_TEST_FULL"] = os.environ.get("ZERO_TEST_FULL", "0")
if config.environment["ZERO_TEST_FULL"] == "1":
    config.available_features.add("full")
if os.path.isdir(golden):
    config.available_features.add("golden")
if shutil.which("chromium"):
    config.available_features.add("chromium")
# What test/Benchmarks/run installs, several GB: its test runs where somebody has run it.
if os.path.exists(os.path.join(config.zero_source_dir, ".venv-bench", "installed.txt")):
    config.available_features.add("peers")
# Shadows and quarantines of freed memory are no part of any plan.
if config.sanitizers:
    config.available_features.add("sanitizers")
# A build of the runtime alone (tools/dev/sanitize) may have the compiler of another build beside it.
if config.compiler_enabled == "ON" or os.path.exists(os.path.join(config.zero_binary_dir, "bin", "zero-compile")):
    config.available_features.add("compiler")

# The compiler of CUDA kernels, which needs no GPU.
if config.with_cuda == "ON" and subprocess.run([config.python, "-c", "import ctypes; ctypes.CDLL('libnvrtc.so.13')"], capture_output=True).returncode == 0:
    config.available_features.add("nvrtc")
# File systems of a test's own, for root alone.
if subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True).returncode == 0:
    config.available_features.add("mounts")
# The wheel that tools/dev/demo magika fetches, with --full too.
if config.environment["ZERO_TEST_FULL"] == "1" or glob.glob(os.path.join(config.zero_binary_dir, "demo", "magika", "*.whl")):
    config.available_features.add("magika")

# The fuzz target is not part of `all`: tools/dev/test builds it, where clang has libFuzzer.
if os.path.exists(os.path.join(config.zero_binary_dir, "bin", "zero-fuzz-import")):
    config.available_features.add("fuzzer")
config.environment["ZERO_FUZZ_SECONDS"] = os.environ.get("ZERO_FUZZ_SECONDS", "60" if config.environment["ZERO_TEST_FULL"] == "1" else "20")

# The simulated CUDA libraries, where the headers of CUDA were found.
shim = os.path.join(config.test_exec_root, "CUDA", "Shim", "lib")
config.substitutions.append(("%shim", shim))
if os.path.exists(os.path.join(shim, "libcuda.so.1")):
    config.available_features.add("cuda-shim")

# Tests that make their models need the onnx package (and numpy, which it needs).
if subprocess.run([config.python, "-c", "import onnx"], capture_output=True).returncode == 0:
    config.available_features.add("onnx")
