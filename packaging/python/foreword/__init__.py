"""The path of the `foreword` program that this package has installed."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

__all__ = ["find_foreword_bin"]


def find_foreword_bin() -> str:
    """Return the path of the program. Raises FileNotFoundError if it is missing."""
    name = "foreword" + (sysconfig.get_config_var("EXE") or "")
    searched = []
    for folder in _folders():
        path = folder / name
        if path.is_file():
            return str(path)
        searched.append(str(folder))
    raise FileNotFoundError(f"`{name}` is in none of: {', '.join(searched)}; install the package again")


def _folders() -> Iterator[Path]:
    # Of this interpreter or virtual environment.
    yield Path(sysconfig.get_path("scripts"))
    # Of the system's interpreter, whose packages a virtual environment may use.
    yield Path(sysconfig.get_path("scripts", vars={"base": sys.base_prefix}))
    # Of `pip install --user`.
    yield Path(sysconfig.get_path("scripts", scheme=sysconfig.get_preferred_scheme("user")))
    packages = Path(__file__).resolve().parent.parent
    # Of `pip install --target`.
    yield packages / "bin"
    # Of `pip install --prefix`: PREFIX/lib/pythonX.Y/site-packages, or PREFIX\Lib\site-packages.
    yield packages.parents[1 if os.name == "nt" else 2] / ("Scripts" if os.name == "nt" else "bin")
