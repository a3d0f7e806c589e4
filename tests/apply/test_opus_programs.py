"""A model as a filter of OpusFilter and of OpusCleaner: by their protocols, and with the programs where they are."""

from __future__ import annotations

import abc
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from shlex import quote
from types import ModuleType
from typing import Any

import pytest
import yaml
from small_checkpoint import make_pairs

import orthoglot
from orthoglot.cli.score import ADDED
from orthoglot.errors import ConfigError

PLUGIN = Path(orthoglot.__file__).parent / "apply/opuscleaner.json"
GOOD = make_pairs(40, seed=7)
# Good ones, wrong ones, a copy, and a side without text.
PAIRS = [
    *GOOD[:30],
    *((GOOD[n][0], GOOD[n + 1][1]) for n in range(30, 38)),
    (GOOD[38][0],) * 2,
    ("", GOOD[39][1]),
]
THRESHOLD = 0.5
# The text is invented; of languages that it does not know, the identifier says nothing.
LANGUAGES = ["qaa", "qab"]
NAMED = ["--source-language", LANGUAGES[0], "--target-language", LANGUAGES[1]]


def table(pairs: Iterable[tuple[str, str]]) -> str:
    return "".join(f"{source}\t{target}\n" for source, target in pairs)


def orthoglot_command(*words: object, stdin: str) -> str:
    command = [sys.executable, "-m", "orthoglot", "-q", *map(str, words)]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def kept(models: dict[str, Path]) -> str:
    """What `orthoglot filter` keeps."""
    options = ["--model", models["plda"], "--threshold", THRESHOLD, *NAMED]
    found = orthoglot_command("filter", "-", "-o", "-", *options, stdin=table(PAIRS))
    assert 20 < len(found.splitlines()) < 38
    return found


class StandIn(metaclass=abc.ABCMeta):
    """The methods of OpusFilter's FilterABC (3.3.1) that its pipeline calls."""

    def __init__(self, name: str | None = None, workdir: str = "") -> None:
        self.name, self.workdir = name, workdir

    @abc.abstractmethod
    def score(self, pairs: Any) -> Any: ...

    @abc.abstractmethod
    def accept(self, score: Any) -> Any: ...

    def decisions(self, pairs: Any) -> Iterator[bool]:
        return map(self.accept, self.score(pairs))


def grouper(items: Iterable[Any], size: int) -> Iterator[tuple[Any, ...]]:
    rest = iter(items)
    return iter(lambda: tuple(islice(rest, size)), ())


@pytest.fixture(params=["OpusFilter", "stand-in"])
def filter_class(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The class, made from OpusFilter's own or from one with the same methods."""
    monkeypatch.delitem(sys.modules, "orthoglot.apply.opusfilter_class", raising=False)
    if request.param == "OpusFilter":
        pytest.importorskip("opusfilter", reason="the extra opusfilter is not installed")
    else:
        package, util = ModuleType("opusfilter"), ModuleType("opusfilter.util")
        package.FilterABC, package.CLEAN_HIGH = StandIn, "clean_high"  # type: ignore[attr-defined]
        util.grouper = grouper  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "opusfilter", package)
        monkeypatch.setitem(sys.modules, "opusfilter.util", util)
    from orthoglot.apply import opusfilter_class

    yield opusfilter_class.MeaningFilter
    sys.modules.pop("orthoglot.apply.opusfilter_class")
    del orthoglot.apply.opusfilter_class


def test_the_class_of_opusfilter_scores_and_chooses_as_the_commands_do(
    filter_class: Any, models: dict[str, Path], kept: str
) -> None:
    model = models["plda"]
    options = {"model": model.name, "languages": LANGUAGES, "workdir": str(model.parent)}
    made = filter_class(threshold=THRESHOLD, name="mine", **options)
    lines = orthoglot_command("score", "-", "--model", model, *NAMED, stdin=table(PAIRS)).splitlines()
    names = lines[0].split("\t")
    score, flag = map(names.index, ADDED)
    rows = [line.split("\t") for line in lines[1:]]
    expected = [-1.0 if row[flag] and row[flag][-1] != "?" else float(row[score]) for row in rows]
    found = list(made.score(iter(PAIRS)))
    assert found == pytest.approx(expected, abs=2e-6)
    assert found[-2:] == [-1.0, -1.0]
    assert [made.accept(value) for value in (-1.0, 0.4999, 0.5, 1.0)] == [False, False, True, True]
    assert table(made.filter(iter(PAIRS))) == kept
    left = list(made.filterfalse(iter(PAIRS)))
    assert sorted([*left, *made.filter(PAIRS)]) == sorted(PAIRS)
    assert (made.name, made.score_direction, list(made.filter([]))) == ("mine", "clean_high", [])


def test_the_class_refuses_what_it_does_not_know(filter_class: Any, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="treshold"):
        filter_class(treshold=0.5)
    with pytest.raises(ConfigError, match="no such folder"):
        filter_class(threshold=0.5, model="absent", workdir=str(tmp_path))
    for threshold in (-1, float("nan"), "high"):
        with pytest.raises(ConfigError, match="give a number above -1"):
            filter_class(threshold=threshold)


def test_opusfilter_runs_the_class_that_the_page_configures(
    models: dict[str, Path], kept: str, tmp_path: Path
) -> None:
    program = shutil.which("opusfilter", path=str(Path(sys.executable).parent))
    if program is None or not find_spec("opusfilter"):
        pytest.skip("the extra opusfilter is not installed")
    page = (Path(__file__).parents[2] / "docs/mine.md").read_text(encoding="utf-8")
    configuration = yaml.safe_load(page.split("```yml\n")[1].split("```")[0])
    configuration["common"]["output_directory"] = str(tmp_path)
    (step,) = configuration["steps"]
    shutil.copytree(models["plda"], tmp_path / "my-model", symlinks=True)
    (chosen,) = step["parameters"]["filters"]
    assert chosen["MeaningFilter"]["model"] == "my-model"
    assert chosen["MeaningFilter"]["languages"] == ["en", "nl"]
    chosen["MeaningFilter"]["languages"] = LANGUAGES
    for side, name in enumerate(step["parameters"]["inputs"]):
        (tmp_path / name).write_text("".join(f"{pair[side]}\n" for pair in PAIRS))
    (tmp_path / "filters.yaml").write_text(yaml.safe_dump(configuration))
    done = subprocess.run([program, tmp_path / "filters.yaml"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    written = [(tmp_path / name).read_text().splitlines() for name in step["parameters"]["outputs"]]
    assert table(zip(*written, strict=True)) == kept


@pytest.fixture
def with_orthoglot(tmp_path: Path) -> dict[str, str]:
    """An environment whose PATH has the command."""
    command = tmp_path / "bin/orthoglot"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {quote(sys.executable)} -m orthoglot "$@"\n')
    command.chmod(0o755)
    return os.environ | {"PATH": f"{command.parent}:{os.environ['PATH']}"}


def plugin_command(**values: object) -> str:
    """The command as OpusCleaner 0.7.1 makes it of a filter's JSON (`filter_format_command`)."""
    plugin = json.loads(PLUGIN.read_text())
    given = {name: one["default"] for name, one in plugin["parameters"].items()} | values
    return "; ".join([f"{name}={quote(str(value))}" for name, value in given.items()] + [plugin["command"]])


def test_the_plug_in_of_opuscleaner_is_a_pipe(
    models: dict[str, Path], kept: str, tmp_path: Path, with_orthoglot: dict[str, str]
) -> None:
    def run(stdin: str, **values: object) -> subprocess.CompletedProcess[str]:
        command = plugin_command(**values)
        return subprocess.run(
            command, shell=True, input=stdin, capture_output=True, text=True, env=with_orthoglot, cwd=tmp_path
        )

    # A name with a blank, a quote and a command of the shell stays a name.
    odd = tmp_path / "my 'model'; $(touch broken)"
    odd.symlink_to(models["plda"])
    languages = {"SRCLANG": LANGUAGES[0], "TGTLANG": LANGUAGES[1]}
    done = run(table(PAIRS), MODEL=odd, THRESHOLD=THRESHOLD, **languages)
    assert (done.returncode, done.stdout) == (0, kept), done.stderr
    assert not (tmp_path / "broken").exists()
    # Without a line feed at the end the last pair counts as well.
    first = kept.splitlines(keepends=True)[0]
    assert run(first.rstrip("\n"), MODEL=odd, THRESHOLD=THRESHOLD, **languages).stdout == first
    # What an earlier filter left nothing of is no error; what is no model is.
    assert (run("").returncode, run("").stdout) == (0, "")
    failed = run(table(PAIRS), MODEL=tmp_path / "absent")
    assert failed.returncode != 0
    assert "no such folder" in failed.stderr


def test_opuscleaner_runs_the_plug_in(
    models: dict[str, Path], kept: str, tmp_path: Path, with_orthoglot: dict[str, str]
) -> None:
    program = shutil.which("opuscleaner-clean")
    if program is None:
        pytest.skip("no opuscleaner-clean on the PATH; its pydantic 1 needs an environment of its own")
    (tmp_path / "filters").mkdir()
    shutil.copy(PLUGIN, tmp_path / "filters/orthoglot.json")
    languages = dict(zip(("SRCLANG", "TGTLANG"), LANGUAGES, strict=True))
    values = {"THRESHOLD": THRESHOLD, "MODEL": str(models["plda"]), **languages}
    step = {"filter": "orthoglot", "parameters": values, "language": None}
    (tmp_path / "pipeline.json").write_text(json.dumps({"version": 1, "files": [], "filters": [step]}))
    done = subprocess.run(
        [program, "--input", "-", "pipeline.json", "en", "gn"],
        input=table(PAIRS), capture_output=True, text=True, env=with_orthoglot, cwd=tmp_path,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, kept), done.stderr
