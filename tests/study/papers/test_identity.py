"""What `evaluate` and `collect` write into records is what the papers' tables recognise entries by."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

from orthoglot.decomposers.base import load_decomposer
from orthoglot.embeddings.store import META
from orthoglot.statistics.records import Record, read_records
from orthoglot.study.benchmarks.collect import collect
from orthoglot.study.benchmarks.collected import read_source
from orthoglot.study.benchmarks.kinds.local import RetrievalSettings
from orthoglot.study.papers.matching import Run
from orthoglot.study.papers.published import PAPERS
from orthoglot.study.report.frame import Measured
from orthoglot.study.tasks.evaluate import evaluate
from orthoglot.study.tasks.settings import EvaluationSettings

DREAM = {f"dream.{name}": 1.0 for name in ("reconstruction", "meaning", "language", "identification")}


def test_a_benchmark_keeps_its_source(tmp_path: Path) -> None:
    (tmp_path / "en-de.tsv").write_text("Hallo\tHello\n")
    about = {"kind": "local", "pivot": "en", "languages": ["de"], "licence": "none"}
    files = str(tmp_path / "{pivot}-{foreign}.tsv")
    for name, source in (("named", {"source": "tatoeba"}), ("unnamed", {})):
        (tmp_path / name).mkdir()
        collect(RetrievalSettings.model_validate({**about, "files": files, **source}), None, tmp_path / name)
    assert read_source(tmp_path / "named") == "tatoeba"
    assert read_source(tmp_path / "unnamed") == ""


def measured(world: SimpleNamespace, settings: EvaluationSettings, output: Path, method: str) -> list[Record]:
    output.mkdir()
    store = output / "store"
    shutil.copytree(world.store, store)
    meta = json.loads((store / META).read_text())
    (store / META).write_text(json.dumps(meta | {"checkpoint": "LaBSE"}))
    benchmark = output / "benchmark"
    shutil.copytree(world.benchmarks[0], benchmark)
    (benchmark / "source.txt").write_text("tatoeba\n")
    decomposers = []
    if method != "original":
        folder = output / "seed1"
        folder.mkdir()
        details = {"partners": "dream", "terms": DREAM}
        replace(load_decomposer(world.decomposer(method, 1)), details=details).save(folder)
        decomposers = [folder]
    about = {"encoder": "my own name", "identity": "abc", "method": method}
    evaluate(settings, store, world.bitext, [benchmark], decomposers, **about, output=output)
    return read_records(output / "records.jsonl")


def test_records_say_checkpoint_training_and_source(
    world: SimpleNamespace,
    settings: EvaluationSettings,
    tmp_path: Path,
) -> None:
    records = measured(world, settings, tmp_path / "one", "split by me")
    records += measured(world, settings, tmp_path / "two", "original")
    facts = next(r.facts for r in records if r.task == "tatoeba" and r.method == "split by me")
    assert (facts["checkpoint"], facts["source"]) == ("LaBSE", "tatoeba")
    assert (facts["architecture"], facts["partners"]) == ("two_head", "dream")
    assert facts["terms"] == "dream.identification=1,dream.language=1,dream.meaning=1,dream.reconstruction=1"
    run = Run(PAPERS["oracle"], Measured(records))
    assert run.encoders_of("labse") == ["my own name"]
    assert run.methods_of("my own name", "dream") == {0: "split by me"}
    assert run.methods_of("my own name", "original") == {0: "original"}
    assert run.measured.stated("source", task="heldout") == ""
