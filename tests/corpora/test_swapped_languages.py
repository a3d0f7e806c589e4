"""Codes of two languages that are given in the wrong order."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from typer.testing import CliRunner

from orthoglot.cli import app
from orthoglot.corpora import swapped_languages
from orthoglot.corpora.swapped_languages import warn_if_swapped

ENGLISH = [
    "The train to the coast leaves at half past seven every morning.",
    "She has lived in the old house by the river for twenty years.",
    "Nobody knows why the museum was closed on Saturday.",
    "We should write to the council about the broken lights.",
]
DUTCH = [
    "De trein naar de kust vertrekt elke ochtend om half acht.",
    "Zij woont al twintig jaar in het oude huis aan de rivier.",
    "Niemand weet waarom het museum op zaterdag gesloten was.",
    "Wij zouden de gemeente over de kapotte lampen moeten schrijven.",
]
SERBIAN = [
    "Воз за обалу полази сваког јутра у пола осам.",
    "Нико не зна зашто је музеј у суботу био затворен.",
    "Она већ двадесет година живи у старој кући поред реке.",
]


@pytest.mark.parametrize(
    ("texts", "languages", "warned"),
    [
        ((ENGLISH, DUTCH), ("nl", "en"), True),
        ((ENGLISH, DUTCH), ("en", "nl"), False),
        ((DUTCH, DUTCH), ("en", "nl"), False),  # one side alone is wrong: not swapped
        ((ENGLISH[:1] + DUTCH, ENGLISH + DUTCH[:1]), ("en", "nl"), True),
        ((ENGLISH, DUTCH), ("nl", None), False),
        ((ENGLISH, DUTCH), ("nl", "gn"), False),  # the identifier does not know Guarani
        ((ENGLISH, DUTCH), ("bs", "sr"), False),  # and does not tell these apart
        (([], []), ("nl", "en"), False),
        ((ENGLISH + ["", "123", "!!!"] * 4, SERBIAN + ["", "123", "!!!"] * 4), ("sr", "en"), True),
    ],
)
def test_it_warns_where_each_text_seems_to_be_in_the_language_of_the_other(
    texts: tuple[list[str], list[str]],
    languages: tuple[str, str],
    warned: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert warn_if_swapped(texts, languages) is warned
    said = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert bool(said) is warned
    assert not said or said[0].startswith(
        f"the source seems to be in {languages[1]}, and the target in {languages[0]}: "
    )


def test_a_long_text_is_looked_at_in_its_whole_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(swapped_languages, "MOST", 4)
    assert warn_if_swapped((ENGLISH + DUTCH[:1] * 2, DUTCH * 3), ("nl", "en"))
    assert not warn_if_swapped((ENGLISH[:1] + DUTCH * 5, DUTCH), ("nl", "en"))


@pytest.mark.parametrize("command", ["mine", "align"])
@pytest.mark.parametrize(("codes", "warned"), [(("nl", "en"), True), (("en", "nl"), False)])
def test_commands_warn_before_they_open_a_model(
    command: str, codes: tuple[str, str], warned: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (model := tmp_path / "model").mkdir()
    (model / "encoder.json").write_text("no encoder")
    for name, text in (("a", ENGLISH), ("b", DUTCH)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "text.txt").write_text("\n".join(text) + "\n", encoding="utf-8")
    texts = [tmp_path / name / ("text.txt" if command == "mine" else "") for name in ("a", "b")]
    words = ["-o", tmp_path / "pairs.tsv", "--model", model, "--source-language", codes[0]]
    done = CliRunner().invoke(app, [command, *map(str, [*texts, *words]), "--target-language", codes[1]])
    assert done.exit_code == 1
    assert ("swapped?" in caplog.text) is warned


@pytest.mark.parametrize("command", ["mine", "align", "calibrate"])
def test_a_language_part_finds_no_translations(command: str) -> None:
    done = CliRunner().invoke(app, [command, "a", "b", "-o", "c", "--part", "language"])
    assert done.exit_code == 2
    assert "'language' is not one of 'sentence', 'meaning'" in " ".join(done.output.replace("│", " ").split())
