"""The recipes of docs/extend.md work as they stand there: what they add is run in a copy of the source."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from types import SimpleNamespace

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
REPORT_WITH_THE_TASK = """
import sys
from pathlib import Path

from evaluation_fixtures import SETTINGS

from orthoglot.study import config
from orthoglot.study.report.page import report
from orthoglot.study.report.sources import Sources
from orthoglot.study.tasks.evaluate import evaluate
from orthoglot.study.tasks.settings import EvaluationSettings

root, output, decomposer = map(Path, sys.argv[1:])
chosen = {"evaluation": {"tasks": ["heldout", "next-line"]}}
selected = config.load(Path("params.yaml"), {"presets": {"mini": chosen}}).selected.evaluation
assert selected.tasks == ["heldout", "next-line"]
settings = EvaluationSettings.model_validate(SETTINGS.model_dump() | {"tasks": selected.tasks})
bitext, benchmarks = [*(root / "bitext").iterdir()], [root / "benchmark"]
folders = {"original": [], "dream": [decomposer]}
for method, decomposers in folders.items():
    (output / method).mkdir(parents=True)
    about = {"encoder": "toy", "identity": "abc", "method": method, "output": output / method}
    evaluate(settings, root / "store", bitext, benchmarks, decomposers, **about)
(output / "results").mkdir()
about = {"methods": dict.fromkeys(folders), "selected": ["dream"], "licences": {}}
report(Sources([output / method for method in folders], [], bitext, "mine", settings, **about), output / "results")
"""
METHOD_WITH_THE_TERM = """
from pathlib import Path

import torch
from cases import Side, case_of

from orthoglot.study import config
from orthoglot.decomposers.base import Decomposition
from orthoglot.objectives.base import resolve


def value(*languages):
    sides = (
        Side(Decomposition(one, one, one), *[torch.zeros(1, dtype=torch.long)] * 3)
        for one in map(torch.tensor, languages)
    )
    return resolve("opposition.translations")(case_of(*sides, torch.ones(1, dtype=torch.bool), 2)).item()


method = config.load(Path("params.yaml")).methods["seed+opposition"]
assert method.terms["opposition.translations"] == 1 and method.host == "seed", method
assert value([[1.0, 0.0]], [[-1.0, 0.0]]) == 0
assert value([[1.0, 0.0]], [[1.0, 0.0]]) == 4
"""
FORMAT_AND_BENCHMARK = """
import json
from pathlib import Path

from orthoglot.study import config
from orthoglot.study.benchmarks.collect import collect
from orthoglot.study.benchmarks.collected import read_all, sentence_keys
from orthoglot.corpora.prepare import prepare
from orthoglot.study.jobs.prepare import PrepareSettings
from orthoglot.study.json_schema import catalogue_schema
from plan import Plan

params = config.load(Path("params.yaml"), {"preset": "bars"})
job = Plan(params).jobs["data/bars/bitext/en-de"]
sets, pairs = Path("out/bars"), Path("out/en-de")
sets.mkdir(parents=True)
pairs.mkdir()
collect(params.benchmarks["bars"], None, sets)
(test,) = read_all(sets)
assert (test.pair, test.source_sentences, test.target_sentences) == ("de-en", ["Baum 3!", "Haus"], ["tree", "house"])
prepare(PrepareSettings.model_validate(job.settings), pairs, [sets.name], sentence_keys([sets]))
counts = json.loads((pairs / "counts.json").read_text())
assert counts["in"] == {"bars": 40, "numbers": 100}, counts
assert counts["dropped"]["over_max_pairs"] == 50 and counts["benchmarks"] == {"bars": 1}, counts
assert {"BarSettings", "NumberSettings"} <= catalogue_schema()["$defs"].keys()
"""
NUMBERS = '''"""Numbers in two languages."""

from collections.abc import Iterator
from typing import Any, Literal

from orthoglot.formats import base
from orthoglot.study.corpora.base import Corpus
from orthoglot.text.bitext import SentencePair


class NumberSettings(Corpus):
    """Numbers."""

    kind: Literal["numbers"]
    most: int
    """How many."""

    def pair_sources(self, root: str) -> dict[str, dict[str, Any]]:
        """See `Corpus.pair_sources`."""
        return {"en-de": {"kind": "numbers", "paths": ["-"], "max_pairs": self.most}}


SETTINGS = NumberSettings


class Source(base.Source):
    """Numbers."""

    def read(self, first: str, second: str) -> Iterator[SentencePair]:
        """Numbers as sentences."""
        return (SentencePair(f"number {n}", f"Zahl {n}") for n in range(100))
'''

KIND = '''
"""Kind `letters`: how often a sentence has each letter."""

from typing import Literal

import numpy as np

from orthoglot.encoders.folder import save_card, stated
from orthoglot.encoders.kinds import Kind
from orthoglot.encoders.settings import FrozenSettings


class LettersSettings(FrozenSettings):
    kind: Literal["letters"]


class Letters:
    def __init__(self, name, languages, checkpoint):
        self.name, self.languages, self.letters, self.dim = name, tuple(languages), checkpoint, len(checkpoint)

    def encode(self, sentences, language, batch_tokens, done=None):
        return np.array([[one.count(letter) for letter in self.letters] for one in sentences], np.float32)


def make(settings, name, output):
    save_card(output, settings.model_dump(exclude={"licence"}) | {"name": name})


def load(folder, device, precision):
    return Letters(**stated(folder, "name", "languages", "checkpoint")[1])


KIND = Kind(LettersSettings, make, load, place=lambda checkpoint, revision: None)
'''
ENCODER_OF_THE_KIND = """
import sys
from pathlib import Path

from orthoglot.study import config
from orthoglot.encoders.folder import load_encoder
from orthoglot.study.jobs.pretrain import make_encoder
from orthoglot.study.pretraining.inputs import Inputs, RunOptions

folder = Path(sys.argv[1])
folder.mkdir()
settings = config.load(Path("params.yaml")).encoders["ab"]
make_encoder(settings, "ab", Inputs([]), RunOptions("cpu", Path("state")), folder)
encoder = load_encoder(folder)
assert encoder.encode(["abba", "cab"], "en", 100).tolist() == [[2, 2], [1, 1]]
try:
    config.load(Path("params.yaml"), {"encoders": {"ab": {"max_token": 3}}})
except config.ConfigError as error:
    assert str(error).endswith("unknown key 'encoders.ab.max_token'; nearest known: max_tokens"), error
"""


def recipe(heading: str) -> str:
    """The text of a section of the page."""
    page = (ROOT / "docs/extend.md").read_text(encoding="utf-8")
    return page.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def follow(text: str, folder: Path) -> None:
    """Do in a checkout what a recipe says: write its files, add its entries, change params.yaml."""
    block = r"[^\n]*:\n\n    ```(?:python|yaml)\n((?:    .*\n|\n)+?)    ```\n"
    files = re.findall(rf"(?m)^\d\. `(src/\S+\.py)`{block}", text)
    entries = re.findall(rf"(?m)^\d\. .* in `(\w+)` of `(src/\S+\.py)`{block}", text)
    assert files
    for name, content in files:
        (folder / name).write_text(dedent(content))
    for name, path, entry in entries:
        code = (folder / path).read_text()
        start = re.search(rf"(?m)^{name}\b.*= \{{\n", code)
        assert start, f"{path} has no {name}"
        (folder / path).write_text(code[: start.end()] + dedent(entry) + code[start.end() :])
    params = folder / "params.yaml"
    values = yaml.safe_load(params.read_text())
    for content in re.findall(rf"(?m)^\d\. `params.yaml`{block}", text):
        values |= yaml.safe_load(dedent(content))
    params.write_text(yaml.safe_dump(values))


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of what the recipes change."""
    for name in ("src", "catalogue"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "params.yaml", tmp_path)
    return tmp_path


def run(checkout: Path, script: str, *arguments: Path) -> None:
    """Run Python in a checkout, with its source."""
    path = os.pathsep.join(map(str, [checkout / "src", checkout / "workflow", ROOT / "tests/support"]))
    command = [sys.executable, "-c", script, *map(str, arguments)]
    result = subprocess.run(
        command, cwd=checkout, env={**os.environ, "PYTHONPATH": path}, text=True, capture_output=True
    )
    assert result.returncode == 0, result.stderr


def test_a_file_adds_a_corpus_format_and_a_file_a_benchmark(checkout: Path) -> None:
    shutil.copytree(ROOT / "workflow", checkout / "workflow", ignore=shutil.ignore_patterns("__pycache__"))
    (checkout / "src/orthoglot/study/corpora/kinds/numbers.py").write_text(NUMBERS)
    follow(recipe("A new corpus format"), checkout)
    follow(recipe("A new benchmark kind"), checkout)
    (checkout / "texts.bars").write_text("".join(f"tree {n}|Baum {n}\n" for n in range(40)))
    (checkout / "de.bars").write_text("Baum 3!|tree\nHaus|house\n")
    params = checkout / "params.yaml"
    values = yaml.safe_load(params.read_text())
    values["corpora"]["numbers"] = {"kind": "numbers", "most": 50}
    values["presets"]["bars"] = {
        "extends": "mini",
        "corpora": ["numbers", "bars"],
        "benchmarks": ["bars"],
        "encoders": ["me5-small-4bit"],
        "ablations": [],
    }
    params.write_text(yaml.safe_dump(values))
    run(checkout, FORMAT_AND_BENCHMARK)


def test_a_task_that_is_added_as_the_page_says_is_in_the_report(
    checkout: Path, world: SimpleNamespace
) -> None:
    follow(recipe("A new task, step by step"), checkout)
    run(checkout, REPORT_WITH_THE_TASK, world.root, checkout / "out", world.decomposer("dream", 1))
    page = (checkout / "out/results/report.html").read_text()
    assert "Translation or the line before" in page
    assert "nearer to their translation than to that of the line before?" in page
    records = map(json.loads, (checkout / "out/dream/records.jsonl").read_text().splitlines())
    values = {
        one["view"]: one["value"] for one in records if (one["task"], one["subset"]) == ("next-line", "all")
    }
    assert values["meaning"] > 95
    assert 35 < values["language"] < 65


def test_a_loss_term_that_is_added_as_the_page_says_is_computed(checkout: Path) -> None:
    follow(recipe("A new loss term, step by step"), checkout)
    run(checkout, METHOD_WITH_THE_TERM)


def test_a_kind_of_encoder_is_added_with_one_file(checkout: Path) -> None:
    (checkout / "src/orthoglot/encoders/kinds/letters.py").write_text(KIND)
    params = checkout / "params.yaml"
    entry = {"ab": {"kind": "letters", "checkpoint": "ab", "licence": "none"}}
    params.write_text(yaml.safe_dump(yaml.safe_load(params.read_text()) | {"encoders": entry}))
    run(checkout, ENCODER_OF_THE_KIND, checkout / "made")
