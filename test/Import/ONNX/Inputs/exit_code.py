"""exit_code.py CODE COMMAND...: succeeds if the command ends with this exit status; passes its messages on."""
import subprocess
import sys

code = subprocess.run(sys.argv[2:]).returncode
sys.exit(0 if code == int(sys.argv[1]) else "exit status %d, not %s" % (code, sys.argv[1]))
