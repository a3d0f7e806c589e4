"""Whether two workspaces hold the same results, to the bit, whatever code made them.

    python tests/support/same_run.py BEFORE AFTER

Compares every file of data/, models/, embeddings/, evaluations/ and results/, without receipts. Digests of code
(`trained_code`, `code`, `maker`, `orthoglot:VERSION`) count as equal: they change with code, results need not.
Records may hold their facts side by side or, as they once did, in one text; each number and fact is compared.
Prints the files that differ, and ends with status 1 if there are any.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

FOLDERS = ("data", "models", "embeddings", "evaluations", "results")
CODE = re.compile(rb"trained_code:[0-9a-f]+|orthoglot:[0-9.a-z]+|\"(?:code|maker)\": ?\"[0-9a-f]+\"")


def files(workspace: Path) -> dict[str, Path]:
    """The result files of a workspace by their name in it."""
    return {
        str(path.relative_to(workspace)): path
        for folder in FOLDERS
        for path in sorted((workspace / folder).rglob("*"))
        if path.is_file() and path.parent.name != "receipt" and not path.name.startswith(".")
    }


def content(path: Path) -> bytes | list[dict[str, Any]]:
    """The bytes of a result, or its records, without digests of code."""
    if path.name == "records.jsonl":
        return [facts_apart(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
    if path.name == "records.parquet":
        table = pd.read_parquet(path).astype(object)
        return [facts_apart(row) for row in table.where(table.notna(), None).to_dict("records")]
    if path.suffix == ".parquet":
        return CODE.sub(b"", pd.read_parquet(path).to_json(orient="split", double_precision=15).encode())
    return CODE.sub(b"", path.read_bytes())


def facts_apart(row: Mapping[Hashable, Any]) -> dict[str, Any]:
    """What a record states, by name, in either form; what it does not state is left out."""
    stated = {str(name): value for name, value in row.items() if value is not None}
    for part in stated.pop("signature", "").split("|"):
        name, colon, fact = part.partition(":")
        if name == "metric":
            assert fact == stated["metric"], row
        elif colon:
            stated[{"encoder": "identity"}.get(name, name)] = fact
    return {name: value for name, value in stated.items() if name not in ("trained_code", "orthoglot")}


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
