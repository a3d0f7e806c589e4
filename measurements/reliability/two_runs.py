"""Say how far two runs of one preset agree, made on two machines: which files to the bit, numbers by how much.

    tar -cf run.tar data models embeddings evaluations results     # in the repository of each machine
    python measurements/reliability/two_runs.py A B  # two folders, a run.tar unpacked in each

"absolute" is the largest difference of two numbers, "relative" the same as a share: of the largest number of an array,
or of the larger one of two numbers that stand alone. "other" counts what else differs: texts, whole numbers, files of
other formats. Exit status 1 if a file is in one run alone; if that is a receipt, the jobs are not the same.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from safetensors.numpy import load_file

FOLDERS = "data", "models", "embeddings", "evaluations", "results"


def read(file: Path) -> Any:
    """Arrays, numbers and texts, as they are nested in the file; of other formats the bytes."""
    if file.suffix in (".npy", ".npz", ".safetensors"):
        return load_file(file) if file.suffix == ".safetensors" else np.load(file)
    if file.suffix == ".jsonl":
        return [*map(json.loads, file.read_text(encoding="utf-8").splitlines())]
    return json.loads(file.read_bytes()) if file.suffix == ".json" else file.read_bytes()


def differences(a: Any, b: Any, metric: str = "") -> Iterator[tuple[str, float, float, int]]:
    """Of each part its metric, if it is a number of a record, and "absolute", "relative" and "other" of the module."""
    if isinstance(a, list) and isinstance(b, list):
        a, b = dict(enumerate(a)), dict(enumerate(b))
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        for name in a.keys() | b.keys():
            yield from differences(a.get(name), b.get(name), a.get("metric", metric))
        return
    x, y = np.asarray(a), np.asarray(b)
    if x.dtype.kind == y.dtype.kind == "f" and x.shape == y.shape:
        gap, largest = (np.nanmax(np.abs(one), initial=0.0) for one in (x.astype(float) - y, [x, y]))
        yield metric, gap, gap / largest if gap else 0.0, int((np.isnan(x) != np.isnan(y)).sum())
    else:
        yield "", 0.0, 0.0, int(not np.array_equal(x, y))


def main() -> None:
    """Read the command line, print two tables: by kind of file, and by metric of the evaluations' records."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("runs", type=Path, nargs=2, metavar="FOLDER")
    a, b = parser.parse_args().runs
    names = [{f.relative_to(run) for top in FOLDERS for f in (run / top).rglob("[!.]*")} for run in (a, b)]
    sys.stdout.writelines(f"in one run alone: {file}\n" for file in sorted(names[0] ^ names[1]))
    rows = []
    for file in sorted(names[0] & names[1]):
        if (a / file).is_file() and file.parent.name != "receipt":  # it has the digests of the other files
            kind = " ".join([file.parts[0], *file.parts[2:-1][:1], file.suffix])
            same = (a / file).read_bytes() == (b / file).read_bytes()
            rows += [(file, kind, same, *part) for part in differences(read(a / file), read(b / file))]
    most = {"equal": "sum", "absolute": "max", "relative": "max", "other": "sum"}
    parts = pd.DataFrame(rows, columns=["file", "kind", "equal", "metric", *list(most)[1:]])
    files = parts.groupby(["kind", "file"]).agg({**most, "equal": "min"})
    records = parts[(parts["metric"] != "") & parts["kind"].str.startswith("evaluations")]
    records = records.assign(equal=records["absolute"] == 0)
    for table, by in ((files, "kind"), (records, "metric")):
        groups = table.assign(all=1).groupby(by).agg({"all": "sum", **most})
        sys.stdout.write(f"\n{groups.to_string(float_format='{:.2g}'.format)}\n")
    sys.exit(names[0] != names[1])


if __name__ == "__main__":
    main()
