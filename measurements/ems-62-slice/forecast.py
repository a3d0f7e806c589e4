"""The constants of `orthoglot.study.fetching.forecast`, measured on archives that were fetched for a preset.

    python measurements/ems-62-slice/forecast.py ems-62 data/ems-62/opus

prepares every language pair of which archives are there, with the preset's filters and splits and without benchmarks,
one after the other in this process, and prints pairs, seconds, and sizes by script and in all; then what a limit takes
that draws one pair of each. CPU time counts, as preparation has one thread and other work may share the machine.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from orthoglot import catalogue
from orthoglot.corpora.prepare import prepare
from orthoglot.formats.sources import read_source
from orthoglot.languages import parse_pair, script
from orthoglot.study import config
from orthoglot.study.corpora.kinds.opus import OpusSettings
from orthoglot.study.jobs.prepare import PrepareSettings


def drawing(settings: PrepareSettings) -> float:
    """CPU seconds that it takes to draw a pair from each source, and nothing more."""
    before = time.process_time()
    for source in settings.sources:
        limited = source.model_copy(update={"max_pairs": 1})
        for _ in read_source(limited, *parse_pair(settings.pair)):
            pass
    return time.process_time() - before


def main() -> None:
    """Prepare, and print the table."""
    parser = argparse.ArgumentParser(
        description="Measure how fast text is prepared, and how large it becomes."
    )
    parser.add_argument("preset")
    parser.add_argument("folder", type=Path, help="with CORPUS/PAIR.zip, as the rule fetch makes it")
    arguments = parser.parse_args()
    params = config.load(catalogue.file_of(None))
    preset = params.presets[arguments.preset]
    sources: dict[str, list[dict[str, object]]] = defaultdict(list)
    for name, corpus in params.corpora_of(arguments.preset).items():
        if isinstance(corpus, OpusSettings):
            for pair, source in corpus.pair_sources(str(arguments.folder / name)).items():
                if all(Path(path).is_file() for path in source["paths"]):
                    sources[pair].append({"name": name, **source})
    # pairs, CPU seconds, seconds, CPU seconds of drawing, bytes of the archives, bytes of the prepared files
    measured: dict[str, np.ndarray] = defaultdict(lambda: np.zeros(6))
    for pair, found in sources.items():
        settings = PrepareSettings.model_validate(
            {"pair": pair, "sources": found, "cleaning": preset.cleaning, "splits": preset.splits}
        )
        with TemporaryDirectory() as output:
            before = time.process_time(), time.perf_counter()
            prepare(settings, Path(output))
            seconds = time.process_time() - before[0], time.perf_counter() - before[1]
            pairs = sum(json.loads(Path(output, "counts.json").read_text())["in"].values())
            prepared = sum(path.stat().st_size for path in Path(output).iterdir())
        archives = sum(Path(path).stat().st_size for one in settings.sources for path in one.paths)
        row = pairs, *seconds, drawing(settings), archives, prepared
        for group in (script(parse_pair(pair)[1]), "all"):
            measured[group] += row
    head = (
        "Script",
        "Pairs",
        "s of CPU",
        "s",
        "Pairs/s of CPU",
        "Drawn from, pairs/s of CPU",
        "Prepared over archives",
    )
    sys.stdout.write(f"| {' | '.join(head)} |\n{'|---' * len(head)}|\n")
    for group, row in sorted(measured.items(), key=lambda one: one[1][0]):
        pairs, cpu, wall, drawn, archives, prepared = row
        rates = f"{pairs / cpu:,.0f} | {pairs / drawn:,.0f} | {prepared / archives:.2f}"
        sys.stdout.write(f"| {group} | {pairs:,.0f} | {cpu:.1f} | {wall:.1f} | {rates} |\n")


if __name__ == "__main__":
    main()
