"""`orthoglot study plan` and `orthoglot study licences`, and the numbers of docs/data.md."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from orthoglot.cli import app
from orthoglot.errors import ConfigError
from orthoglot.study.fetching.forecast import PREPARED_SHARE

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, without_a_network: None) -> None:
    monkeypatch.chdir(tmp_path)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def printed(*arguments: str) -> str:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_plan_lists_every_pair_with_sums() -> None:
    lines = printed("plan", "--preset", "oracle").splitlines()
    assert lines[0].split()[:3] == ["corpus", "pair", "sentence"]
    (guarani,) = [line for line in lines if "en-gn" in line]
    assert guarani.split() == [
        "tatoeba-oracle",
        "en-gn",
        "225",
        "14.3",
        "kB",
        f"{14 * 1.024 * (1 + PREPARED_SHARE):.1f}",
        "kB",
        "0.00",
        "CC-BY-2.0-FR",
    ]
    found = json.loads(printed("plan", "--preset", "oracle", "--json"))
    text = [row for row in found["rows"] if not row["corpus"].startswith("benchmarks.")]
    assert len(text) == 12
    assert [row["corpus"].partition(".")[2] for row in found["rows"][12:]] == [
        "tatoeba-112",
        "sts17",
        "sts17-turkish",
        "sts17-extended",
        "code-switched",
    ]
    assert found["total"]["pairs"] == sum(row["pairs"] for row in text) == 5_500_225
    # Without fetched.lock nobody knows how large a test set is.
    assert found["total"]["download"] == sum(row["download"] or 0 for row in found["rows"])
    assert all(row["download"] is not None for row in text)
    row = found["rows"][0]
    assert row["disk"] == row["download"] + round(row["download"] * 500_000 / 1_961_119 * PREPARED_SHARE)
    assert found["total"]["unknown"] == sum(row["download"] is None for row in found["rows"])
    half = json.loads(printed("plan", "--preset", "oracle", "--json", "--megabits", "50"))
    assert half["total"]["download_hours"] == pytest.approx(2 * found["total"]["download_hours"])
    assert found["total"]["download_hours"] == pytest.approx(found["total"]["download"] * 8 / 1e8 / 3600)


def test_what_is_not_known_and_what_brings_nothing_is_said() -> None:
    output = printed("plan", "--preset", "emma-x")
    # 18 pairs of WMT, and 53 languages of CC-100
    assert "lines whose size nothing here says" in output
    assert "tatoeba-62 brings nothing" in printed("plan", "--preset", "ems-62")
    assert "brings nothing" not in output


def test_spellings_that_are_taken_and_those_left_out_are_said(tmp_path: Path) -> None:
    output = printed("plan", "--preset", "ems-62")
    assert (
        "ted2020-62 has en-zh in several spellings: en-zh 16,382, en-zh_cn 402,919, en-zh_tw 404,726."
        in output
    )
    assert "leaves out" not in output
    text = (ROOT / "params.yaml").read_text()
    changed = text.replace("corpora: {}", "corpora: {ted2020-62: {spellings: {zh: [zh_cn]}}}")
    (tmp_path / "params.yaml").write_text(changed)
    output = printed("plan", "--preset", "ems-62")
    assert (
        "ted2020-62 leaves out of en-zh: en-zh 16,382, en-zh_tw 404,726; `spellings` can name them." in output
    )
    found = json.loads(printed("plan", "--preset", "ems-62", "--json"))["rows"]
    (row,) = (one for one in found if (one["corpus"], one["pair"]) == ("ted2020-62", "en-zh"))
    assert (row["pairs"], row["archives"]) == (402_919, {"en-zh_cn": 402_919})
    assert row["left_out"] == {"en-zh": 16_382, "en-zh_tw": 404_726}


def test_a_preset_of_the_users_own_is_planned(tmp_path: Path) -> None:
    text = (ROOT / "params.yaml").read_text()
    text = text.replace(
        "\n# Changes to entries", "\n  mine: {extends: oracle, languages: [en, gn]}\n# Changes to entries"
    )
    (tmp_path / "params.yaml").write_text(text.replace("preset: demo", "preset: mine"))
    found = json.loads(printed("plan", "--json"))
    assert found["preset"] == "mine"
    assert [row["pair"] for row in found["rows"] if row["pairs"]] == ["en-gn"]
    assert list(json.loads(printed("licences", "--json"))["corpora"]) == ["tatoeba-oracle"]


def test_a_pair_that_opus_does_not_have_is_refused(tmp_path: Path) -> None:
    text = (
        (ROOT / "params.yaml").read_text().replace("corpora: {}", "corpora: {nllb-oracle: {pairs: [en-gn]}}")
    )
    (tmp_path / "params.yaml").write_text(text)
    result = run("study", "plan", "--preset", "oracle")
    assert isinstance(result.exception, ConfigError)
    assert str(result.exception) == "corpora.nllb-oracle: OPUS has no en-gn in NLLB v1; it has ay-en"


@pytest.mark.parametrize(
    ("preset", "answers"),
    [("mini", ("yes", "no", "no")), ("seed-sts", ("yes", "yes", "no")), ("ems-62", ("no", "yes", "yes"))],
)
def test_a_model_may_do_what_all_its_corpora_allow(preset: str, answers: tuple[str, str, str]) -> None:
    lines = [line for line in printed("licences", "--preset", preset).splitlines() if line.startswith("  ")]
    questions = ("commercial use", "name the sources", "share alike")
    assert lines == [f"  {asked}: {answer}" for asked, answer in zip(questions, answers, strict=True)]


def test_commercial_use_is_refused_where_it_is_forbidden_or_not_known() -> None:
    assert run("study", "licences", "--preset", "seed-sts", "--commercial").exit_code == 0
    refused = run("study", "licences", "--preset", "ems-62", "--commercial")
    assert isinstance(refused.exception, ConfigError)
    assert str(refused.exception) == (
        "presets.ems-62: commercial use: ted2020-62 forbids it; "
        "it is not known of news-commentary-62, opensubtitles-62"
    )
    unknown = run("study", "licences", "--preset", "oracle", "--commercial")
    assert str(unknown.exception) == "presets.oracle: commercial use: it is not known of nllb-oracle"
    found = json.loads(printed("licences", "--preset", "oracle", "--json"))["corpora"]
    assert found["wikimatrix-oracle"]["share_alike"] == "yes"


def test_the_page_has_the_numbers_of_the_plan() -> None:
    page = (ROOT / "docs/data.md").read_text(encoding="utf-8")
    for preset in ("oracle", "seed-qe", "seed-sts", "ems-62", "emma-x"):
        whole = json.loads(printed("plan", "--preset", preset, "--json"))["total"]
        (row,) = [line for line in page.splitlines() if line.startswith(f"| `{preset}` |")]
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        if whole["pairs"] is None:
            assert set(cells[2:]) == {"not known"}
            assert {whole[name] for name in whole if name != "unknown"} == {None}
            continue
        assert cells[2:] == [
            f"{whole['pairs']:,}",
            f"{whole['download'] / 1e9:.1f} GB",
            f"{whole['disk'] / 1e9:.1f} GB",
            f"{whole['download_hours']:.1f} h",
            f"{whole['hours']:.1f} h",
        ]
