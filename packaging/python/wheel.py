"""Writes a wheel that carries the program, with the same bytes for the same inputs.

usage: wheel.py BINARY VERSION PLATFORM_TAG FOLDER
"""

import base64
import hashlib
import os
import sys
import time
import zipfile
from pathlib import Path

PYTHON = Path(__file__).resolve().parent
ROOT = PYTHON.parent.parent
EPOCH = max(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), 315_532_800)
DATE = time.gmtime(EPOCH)[:6]
LEVEL = int(os.environ.get("FOREWORD_COMPRESSION_LEVEL", "9"))

METADATA = """\
Metadata-Version: 2.4
Name: foreword
Version: {version}
Summary: System-prompt engine and agent gateway
Keywords: agent,gateway,llm,prompt,prompt-cache
License-Expression: MIT OR Apache-2.0
License-File: LICENSE-APACHE
License-File: LICENSE-MIT
Classifier: Environment :: Console
Classifier: Operating System :: MacOS
Classifier: Operating System :: Microsoft :: Windows
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Rust
Classifier: Topic :: Scientific/Engineering :: Artificial Intelligence
Requires-Python: >=3.10
Description-Content-Type: text/markdown

"""

WHEEL = """\
Wheel-Version: 1.0
Generator: foreword packaging/python/wheel.py
Root-Is-Purelib: false
Tag: py3-none-{tag}
"""


def files(binary: Path, version: str, tag: str) -> dict[str, tuple[bytes, int]]:
    """The content and the mode of each file, without RECORD."""
    info, data = f"foreword-{version}.dist-info", f"foreword-{version}.data"
    found = {
        f"foreword/{path.name}": (path.read_bytes(), 0o644)
        for path in sorted((PYTHON / "foreword").iterdir())
        if path.suffix == ".py" or path.name == "py.typed"
    }
    program = "foreword.exe" if tag.startswith("win") else "foreword"
    found[f"{data}/scripts/{program}"] = (binary.read_bytes(), 0o755)
    description = (PYTHON / "README.md").read_text(encoding="utf-8")
    found[f"{info}/METADATA"] = ((METADATA.format(version=version) + description).encode(), 0o644)
    found[f"{info}/WHEEL"] = (WHEEL.format(tag=tag).encode(), 0o644)
    for licence in ("LICENSE-APACHE", "LICENSE-MIT"):
        found[f"{info}/licenses/{licence}"] = ((ROOT / licence).read_bytes(), 0o644)
    return found


def record(found: dict[str, tuple[bytes, int]], path: str) -> bytes:
    lines = []
    for name, (content, _) in sorted(found.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(content)}\n")
    return "".join([*lines, f"{path},,\n"]).encode()


def write(binary: Path, version: str, tag: str, folder: Path) -> Path:
    found = files(binary, version, tag)
    path = f"foreword-{version}.dist-info/RECORD"
    found[path] = (record(found, path), 0o644)
    target = folder / f"foreword-{version}-py3-none-{tag}.whl"
    with zipfile.ZipFile(target, "w") as wheel:
        # The metadata last, as the format recommends.
        for name in sorted(found, key=lambda name: (".dist-info/" in name, name)):
            content, mode = found[name]
            entry = zipfile.ZipInfo(name, DATE)
            entry.external_attr = (0o100000 | mode) << 16
            entry.create_system = 3
            wheel.writestr(entry, content, zipfile.ZIP_DEFLATED, LEVEL)
    return target


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    print(write(Path(sys.argv[1]), sys.argv[2], sys.argv[3], Path(sys.argv[4])))
