"""Filters of OpusFilter decide as OpusFilter decides, and nothing else in its configuration is run."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from cleaned import clean

from orthoglot.corpora.cleaning import Cleaner
from orthoglot.corpora.opus_filter import read_filters
from orthoglot.corpora.prepare import PrepareSettings, prepare
from orthoglot.corpora.settings import CleaningSettings
from orthoglot.errors import ConfigError
from orthoglot.text.bitext import SentencePair, read_lines, write_pairs

LENGTH = {"LengthFilter": {"unit": "word", "min_length": 2, "max_length": 6}}
LONG_WORDS = {"LongWordFilter": {"threshold": 15}}
SCRIPTS = {"CharacterScoreFilter": {"scripts": ["Latin", "Cyrillic"], "thresholds": [0.9, 0.9]}}
PAIRS = [
    SentencePair("One sentence.", "Одно предложение."),
    SentencePair("Short", "Коротко"),
    SentencePair("Another sentence with far too many words in it", "Ещё одно предложение"),
    SentencePair("A pneumonoultramicroscopic word", "Длинное слово"),
    SentencePair("In another script", "V drugoy pismennosti"),
    SentencePair("One sentence!", "Одно предложение"),
    SentencePair("A known sentence", "Знакомое предложение"),
    SentencePair("The same words", "The same words"),
]
REASONS = {"LengthFilter": 2, "LongWordFilter": 1, "CharacterScoreFilter": 2}


def configuration(folder: Path, *filters: Any) -> str:
    parameters = {"inputs": ["a", "b"], "outputs": ["c", "d"], "filters": [*filters]}
    steps = [{"type": "filter", "parameters": parameters}]
    (folder / "filters.yaml").write_text(
        yaml.safe_dump({"common": {"output_directory": "."}, "steps": steps})
    )
    return str(folder / "filters.yaml")


def test_its_filters_judge_in_place_of_ours_and_benchmarks_and_duplicates_go(tmp_path: Path) -> None:
    pytest.importorskip("opusfilter", reason="the extra opusfilter is not installed")
    settings = CleaningSettings(
        opusfilter=configuration(tmp_path, LENGTH, LONG_WORDS, SCRIPTS), min_characters=99, max_characters=99
    )
    counts: Counter[str] = Counter()
    kept = list(clean(PAIRS, settings, "en", "ru", {"aknownsentence": ("set",)}, counts))
    assert +counts == Counter({**REASONS, "kept": 1, "duplicate": 1, "benchmark": 1})
    assert kept == PAIRS[:1]


def test_what_is_kept_is_what_opusfilter_writes(tmp_path: Path, more_data: Path) -> None:
    pytest.importorskip("opusfilter", reason="the extra opusfilter is not installed")
    from opusfilter.opusfilter import OpusFilter

    sides = [[*read_lines(more_data / f"l10n_scratch/l10n.{code}.tsv.gz")][:800] for code in ("de", "ru")]
    pairs = [SentencePair(*pair) for pair in zip(*sides, strict=True) if all(pair)]
    ratio = {"LengthRatioFilter": {"unit": "char", "threshold": 2}}
    marks = {"NonZeroNumeralsFilter": {"threshold": 0.5}}
    file = configuration(tmp_path, LENGTH, ratio, SCRIPTS, marks)
    settings = CleaningSettings(opusfilter=file, drop_duplicates=False)
    counts: Counter[str] = Counter()
    tidied = [
        *clean(
            pairs,
            CleaningSettings(max_ratio=1e9, drop_copies=False, drop_duplicates=False),
            "de",
            "ru",
            {},
            counts,
        )
    ]
    for name, side in zip("ab", zip(*tidied, strict=True), strict=True):
        (tmp_path / name).write_text("".join(f"{sentence}\n" for sentence in side))
    whole = yaml.safe_load(Path(file).read_text()) | {"common": {"output_directory": str(tmp_path)}}
    OpusFilter(whole).execute_steps()
    written = [(tmp_path / name).read_text().splitlines() for name in "cd"]
    counts.clear()
    kept = list(clean(tidied, settings, "de", "ru", {}, counts))
    assert kept == [*zip(*written, strict=True)]
    assert 0 < len(kept) < len(tidied)
    assert counts.total() == len(tidied)


def test_languages_stand_for_their_names_and_text_alone_has_one(tmp_path: Path) -> None:
    pytest.importorskip("opusfilter", reason="the extra opusfilter is not installed")
    expressions = {"RegExpFilter": {"regexps": ["^{source} ", "^{target} "], "accept_match": True}}
    file = configuration(tmp_path, {"LengthFilter": {"name": "short", **LENGTH["LengthFilter"]}}, expressions)
    first, second = read_filters(file, ("en", "ru"))
    assert (first.reason, second.reason) == ("LengthFilter.short", "RegExpFilter")
    assert first.scores((["two words"], ["one"])) == [[2, 1]]
    assert second.accepts(second.scores((["en word"] * 2, ["ru word", "de word"]))).tolist() == [True, False]
    counts: Counter[str] = Counter()
    settings = CleaningSettings(opusfilter=file)
    lines = ["en word", "en", "ru word", "en  word.", "en words"]
    found, _ = Cleaner(settings, ("en", ""), {}, counts).sentences(lines)
    assert found == ["en word", "en word.", "en words"]
    assert counts == Counter({"LengthFilter.short": 1, "RegExpFilter": 1})


def test_a_prepared_folder_counts_by_filter(tmp_path: Path) -> None:
    pytest.importorskip("opusfilter", reason="the extra opusfilter is not installed")
    write_pairs(tmp_path / "x.tsv.gz", PAIRS)
    settings = {
        "pair": "en-ru",
        "sources": [{"name": "x", "kind": "local", "paths": [str(tmp_path / "x.tsv.gz")]}],
        "cleaning": {"opusfilter": configuration(tmp_path, LENGTH, LONG_WORDS, SCRIPTS)},
        "splits": {"valid": 0.0, "test": 0.0},
    }
    (tmp_path / "out").mkdir()
    prepare(PrepareSettings.model_validate(settings), tmp_path / "out")
    counts = json.loads((tmp_path / "out/counts.json").read_text())
    assert {name: count for name, count in counts["dropped"].items() if count} == {**REASONS, "duplicate": 1}
    assert counts["kept"]["train"] == 2


@pytest.mark.parametrize(
    ("entry", "cause"),
    [
        ({"NoSuchFilter": {}}, "OpusFilter has no filter 'NoSuchFilter'"),
        ({"os": {}}, "OpusFilter has no filter 'os'"),
        ({"FilterABC": {}}, "OpusFilter has no filter 'FilterABC'"),
        ({"LengthFilter": {"shortest": 1}}, "LengthFilter has no parameter shortest"),
        ({"LengthFilter": {"unit": "mile"}}, "LengthFilter cannot be made: .*mile"),
        ({"SentenceEmbeddingFilter": {}}, "judges many pairs together"),
        ({"WordAlignFilter": {}}, "judges many pairs together"),
    ],
)
def test_filters_that_cannot_be_used_are_refused(entry: Any, cause: str, tmp_path: Path) -> None:
    pytest.importorskip("opusfilter", reason="the extra opusfilter is not installed")
    with pytest.raises(ConfigError, match=rf"filters\.yaml: .*{cause}"):
        read_filters(configuration(tmp_path, entry), ("en", "de"))


def step(**parameters: Any) -> str:
    return yaml.safe_dump({"steps": [{"type": "filter", "parameters": parameters}]})


OWN_CODE = {"module": "os", "system": {"command": "true"}}
TWO_FILTERS = {"LengthFilter": {}, "LongWordFilter": {}}


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("steps: []", "write a list of steps"),
        ("[1, 2]", "write a list of steps"),
        ("steps: [{type: remove_duplicates}]", "step 1 is of type 'remove_duplicates'"),
        (step(inputs=["a"]), "step 1 has no list of `filters`"),
        (step(filters=[]), "names no filter"),
        (step(filters=[{"X": {}}], filterfalse=True), "step 1: filterfalse is"),
        (step(filters=[OWN_CODE]), ".*code of your own is not run"),
        (step(filters=[{"system": {}, "module": "os"}]), ".*code of your own is not run"),
        (step(filters=[TWO_FILTERS]), ".*is no filter"),
        (step(filters=["LengthFilter"]), ".*is no filter"),
        (step(filters=[{"LengthFilter": 3}]), ".*the parameters of LengthFilter are 3"),
        ("steps: [{type: filter, parameters: {n: !!python/name:os.system }}]", "no plain YAML"),
        ("steps: [{type: filter, parameters: {n: !var n}}]", "no plain YAML"),
        ("steps: [", "no plain YAML"),
    ],
)
def test_other_steps_parameters_and_tags_are_refused_whether_it_is_installed_or_not(
    text: str, cause: str, tmp_path: Path
) -> None:
    (tmp_path / "filters.yaml").write_text(text)
    with pytest.raises(ConfigError, match=rf"filters\.yaml: {cause}"):
        read_filters(str(tmp_path / "filters.yaml"), ("en", "de"))


def test_a_missing_file_and_a_missing_package_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigError, match=r"none\.yaml: cannot be read"):
        read_filters(str(tmp_path / "none.yaml"), ("en", "de"))
    monkeypatch.setitem(__import__("sys").modules, "opusfilter", None)
    with pytest.raises(ConfigError, match=r"OpusFilter is not installed .*orthoglot\[opusfilter\]"):
        read_filters(configuration(tmp_path, LENGTH), ("en", "de"))


def test_the_documented_file_is_one_that_works(tmp_path: Path) -> None:
    page = Path(__file__).resolve().parents[2] / "docs/configure.md"
    (block,) = re.findall(r"```yml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "filters.yaml").write_text(block)
    pytest.importorskip("opusfilter", reason="the extra opusfilter is not installed")
    pytest.importorskip("lingua", reason="the extra opusfilter is not installed")
    found = read_filters(str(tmp_path / "filters.yaml"), ("en", "de"))
    assert [one.reason for one in found] == ["LengthFilter", "LengthRatioFilter", "LinguaFilter"]
    pair = "The weather is nice today.", "Il fait beau aujourd'hui."
    assert [one.accept(one.score(pair)) for one in found] == [True, True, False]


def test_filters_of_ours_are_refused_beside_it() -> None:
    with pytest.raises(ValueError, match="opusfilter judges in place of min_script, min_language"):
        CleaningSettings(opusfilter="filters.yaml", min_script=0.5, min_language=0.1)
