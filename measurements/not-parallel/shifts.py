"""Which corpora of the catalogue have runs of pairs that are not parallel: writes measurements/not-parallel/shifts.csv.

python measurements/not-parallel/shifts.py [CORPUS ...] reads every corpus that has addresses or packages, see
`orthoglot.text.shifts`.
"""

from __future__ import annotations

import csv
import logging
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from orthoglot.errors import ConfigError, DataError, OfflineError
from orthoglot.formats.sources import read_source
from orthoglot.languages import parse_pair
from orthoglot.study import config
from orthoglot.study.corpora.base import parsed
from orthoglot.study.corpora.patterns import here
from orthoglot.study.fetching import files
from orthoglot.study.fetching.lock import CACHE, LOCK
from orthoglot.text.bitext import LeftOut
from orthoglot.text.shifts import Run, without_runs

RECORD = Path("measurements/not-parallel/shifts.csv")
# Each other entry of these texts has a part of the same files.
CORPORA = (
    "tico19-all",
    "mafand",
    "multi30k",
    "tanaka",
    "stsb",
    "americasnlp",
    "bible",
    "bible-public-domain",
    "nllb-seed",
    "localisation-all",
)


def main(names: list[str]) -> None:
    """Judge each language pair of the corpora; one row for a pair without runs, and one for each run."""
    corpora = config.load(Path("params.yaml")).corpora
    rows: list[list[object]] = []
    with TemporaryDirectory() as folder:
        for name in names or CORPORA:
            corpus = corpora[name]
            try:
                addresses = corpus.addresses(lambda *_: True)
                files.fetch(addresses, Path(folder), Path(folder) / "parts", lock=LOCK, cache=CACHE)
            except (ConfigError, DataError, OfflineError) as error:
                logging.warning("%s: not judged: %s", name, error)
                continue
            for pair, described in corpus.pair_sources("").items():
                paths = [here(path, folder) for path in described.get("paths", [])]
                source = parsed({**described, "name": name, "max_pairs": 0, "paths": paths})
                runs: list[Run] = []
                count = sum(
                    not isinstance(item, LeftOut) or item.reason in ("shifted", "unrelated")
                    for item in without_runs(read_source(source, *parse_pair(pair)), runs)
                )
                found = [
                    [run.start + 1, run.stop, "none" if run.offset is None else run.offset] for run in runs
                ]
                rows += [[name, pair, count, *cells] for cells in found or [["", "", ""]]]
                logging.info("%s %s: %d units, %s", name, pair, count, "; ".join(map(str, runs)) or "no run")
    with RECORD.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["corpus", "pair", "units", "first unit", "last unit", "translation at"])
        table.writerows(rows)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    main(sys.argv[1:])
