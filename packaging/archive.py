"""Packs a folder as .tar.gz or .zip, with the same bytes for the same files: sorted, one time, no owner.

usage: archive.py FOLDER ARCHIVE
"""

import gzip
import os
import sys
import tarfile
import time
import zipfile
from pathlib import Path

EPOCH = max(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), 315_532_800)
LEVEL = int(os.environ.get("FOREWORD_COMPRESSION_LEVEL", "9"))


def mode(path: Path) -> int:
    return 0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644


def write_tar(folder: Path, paths: list[Path], archive: Path) -> None:
    with (
        archive.open("wb") as file,
        gzip.GzipFile("", "wb", LEVEL, file, mtime=EPOCH) as stream,
        tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for path in paths:
            entry = tar.gettarinfo(str(path), path.relative_to(folder.parent).as_posix())
            entry.mtime, entry.mode = EPOCH, mode(path)
            entry.uid = entry.gid = 0
            entry.uname = entry.gname = ""
            if path.is_file():
                with path.open("rb") as content:
                    tar.addfile(entry, content)
            else:
                tar.addfile(entry)


def write_zip(folder: Path, paths: list[Path], archive: Path) -> None:
    with zipfile.ZipFile(archive, "w") as out:
        for path in paths:
            if path.is_file():
                entry = zipfile.ZipInfo(path.relative_to(folder.parent).as_posix(), time.gmtime(EPOCH)[:6])
                entry.external_attr = (0o100000 | mode(path)) << 16
                entry.create_system = 3
                out.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED, LEVEL)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    source, target = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    everything = [source, *sorted(source.rglob("*"))]
    (write_zip if target.suffix == ".zip" else write_tar)(source, everything, target)
    print(target)
