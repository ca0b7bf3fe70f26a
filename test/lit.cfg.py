"""Configuration of the tests with RUN lines."""
import os

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
config.substitutions.append(("%python", config.python))
config.substitutions.append(("%root", config.zero_source_dir))
config.substitutions.append(("%bin", os.path.join(config.zero_binary_dir, "bin")))
