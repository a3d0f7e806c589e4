"""Whether two workspaces hold the same results, to the bit, whatever code made them.

    python tests/support/same_run.py BEFORE AFTER

Compares every file of data/, models/, embeddings/, evaluations/ and results/, without receipts. Digests of code
(`trained_code`, `code`, `orthoglot:VERSION`) count as equal, as they change with code that makes the same results.
Prints the files that differ, and ends with status 1 if there are any.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pandas as pd

FOLDERS = ("data", "models", "embeddings", "evaluations", "results")
CODE = re.compile(rb"trained_code:[0-9a-f]+|orthoglot:[0-9.a-z]+|\"code\": \"[0-9a-f]{16}\"")


def files(workspace: Path) -> dict[str, Path]:
    """The result files of a workspace by their name in it."""
    return {
        str(path.relative_to(workspace)): path
        for folder in FOLDERS
        for path in sorted((workspace / folder).rglob("*"))
        if path.is_file() and path.parent.name != "receipt" and not path.name.startswith(".")
    }


def content(path: Path) -> bytes:
    """The bytes of a result without digests of code."""
    if path.suffix == ".parquet":
        return CODE.sub(b"", pd.read_parquet(path).to_json(orient="split", double_precision=15).encode())
    return CODE.sub(b"", path.read_bytes())


def main() -> None:
    before, after = (files(Path(folder)) for folder in sys.argv[1:3])
    lines = [f"only in one: {name}" for name in sorted(before.keys() ^ after.keys())]
    lines += [
        f"differs: {name}"
        for name in sorted(before.keys() & after.keys())
        if content(before[name]) != content(after[name])
    ]
    print("\n".join(lines) or f"{len(before)} files, all equal")
    sys.exit(bool(lines))


if __name__ == "__main__":
    main()
