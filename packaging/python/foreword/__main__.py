"""Runs the program in place of this interpreter: `python -m foreword`."""

import os
import subprocess
import sys

from foreword import find_foreword_bin


def main() -> None:
    program = find_foreword_bin()
    if os.name == "nt":
        # Windows can't replace a process.
        sys.exit(subprocess.run([program, *sys.argv[1:]], check=False).returncode)
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
