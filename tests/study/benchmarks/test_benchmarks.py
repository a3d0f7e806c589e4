"""Benchmarks come out in one layout, whatever the spelling of their files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from collected_sets import collected
from pydantic import TypeAdapter, ValidationError

from orthoglot.catalogue import shipped
from orthoglot.errors import ConfigError, DataError
from orthoglot.study.benchmarks.collected import read_all, sentence_keys
from orthoglot.study.benchmarks.kinds import code_switched, local, nway, qe, sts
from orthoglot.study.benchmarks.kinds.nway import NwaySettings
from orthoglot.study.config import BenchmarkSettings, load
from orthoglot.text.bitext import SentencePair, write_pairs

WIDE = (
    "id\tscore\ts1_de\ts2_de\ts1_zh\ts2_zh\n"
    '1\t5\tEin "Hund\tEin Köter\t一只狗\t狗\n'
    "2\t0.25\tRegen\tSonne\t雨\t太阳\n"
)
NAMED = {"source": "s1_{source}", "target": "s2_{target}", "gold": "score", "item": "id"}


def _valid(values: dict[str, Any]) -> BenchmarkSettings:
    settings: BenchmarkSettings = TypeAdapter(BenchmarkSettings).validate_python(values)
    return settings


def _settings(files: str, *languages: str, **changes: str) -> BenchmarkSettings:
    values = {"kind": "local", "spelling": "iso639-3", "pivot": "en", "licence": "CC0-1.0"} | changes
    return _valid(values | {"files": files, "languages": list(languages)})


def _graded(
    files: str, pairs: list[str] | dict[str, str], columns: dict[str, Any] = NAMED
) -> BenchmarkSettings:
    values = {"kind": "sts", "files": files, "pairs": pairs, "columns": columns, "licence": "CC0-1.0"}
    return _valid(values)


def _nway(files: str, languages: list[str] | dict[str, str]) -> BenchmarkSettings:
    return _valid({"kind": "nway", "files": files, "languages": languages, "licence": "CC0-1.0"})


def _mixing(folder: Path, *languages: str, **changes: Any) -> BenchmarkSettings:
    values = {
        "kind": "code-switched",
        "files": str(folder / "set.{foreign}-{pivot}.tsv"),
        "dictionaries": str(folder / "words.{pivot}-{foreign}.txt"),
        "pivot": "en",
        "languages": list(languages),
        "seed": 1,
        "licence": "CC0-1.0",
    }
    return _valid(values | changes)


@pytest.fixture
def files(tmp_path: Path) -> str:
    write_pairs(tmp_path / "set.cmn-eng.tsv.gz", [SentencePair("你好", "Hello"), SentencePair("嗨", "Hi.")])
    (tmp_path / "set.deu-eng.tsv.gz").write_text("Hallo\tHello\n")
    return str(tmp_path / "set.{foreign}-{pivot}.tsv.gz")


def test_files_become_sets_by_language_with_canonical_codes(files: str, tmp_path: Path) -> None:
    output = collected(_settings(files, "zh", "de"), tmp_path / "greetings")
    german, chinese = local.read(output)
    assert (german.name, german.source, german.target) == ("greetings", "de", "en")
    assert (chinese.source, chinese.source_sentences, chinese.target_sentences) == (
        "zh",
        ["你好", "嗨"],
        ["Hello", "Hi."],
    )
    assert json.loads((output / "counts.json").read_text()) == {"de": 1, "zh": 2}
    assert sentence_keys([output]).keys() == {"hallo", "hello", "你好", "嗨", "hi"}


def test_the_invented_worlds_own_set_is_read_from_its_folder(tmp_path: Path) -> None:
    write_pairs(tmp_path / "raw" / "retrieval" / "qab-qaa.tsv.gz", [SentencePair("b", "a")])
    settings = _valid({"kind": "mini", "languages": ["qab"], "pivot": "qaa", "licence": "CC0-1.0"})
    collected(settings, tmp_path / "mini", tmp_path / "raw")
    (own,) = local.read(tmp_path / "mini")
    assert (own.source, own.source_sentences) == ("qab", ["b"])
    assert (own.target, own.target_sentences) == ("qaa", ["a"])
    with pytest.raises(ConfigError, match="invented world's folder"):
        collected(settings, tmp_path / "mini")


def test_all_languages_without_a_file_are_named(files: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no file for fr, sw, e\.g\. .*set\.fra-eng"):
        collected(_settings(files, "de", "fr", "sw"), tmp_path)
    with pytest.raises(DataError, match="holds no benchmark"):
        read_all(tmp_path)


def test_tatoeba_is_collected_unchanged(shared_data: Path, tmp_path: Path) -> None:
    files = str(shared_data / "tatoeba" / "tatoeba.{foreign}-{pivot}.tsv.gz")
    collected(_settings(files, "ja", "zh", "de", "sw"), tmp_path)
    sizes = {one.source: len(one.target_sentences) for one in local.read(tmp_path)}
    assert sizes == {"de": 1000, "ja": 1000, "sw": 390, "zh": 1000}


def test_any_two_languages_of_a_wide_file_are_graded_pairs(tmp_path: Path) -> None:
    (tmp_path / "wide.tsv").write_text(WIDE)
    output = collected(_graded(str(tmp_path / "wide.tsv"), ["de-zh", "zh-de", "de-de"]), tmp_path / "graded")
    same, across, back = sts.read(output)
    assert (across.name, across.source, across.target) == ("graded", "de", "zh")
    # The quotation mark that nothing closes is text.
    assert across.source_sentences == ['Ein "Hund', "Regen"]
    assert across.target_sentences == ["狗", "太阳"]
    assert across.gold == [5, 0.25]
    assert across.items == same.items == ["1", "2"]
    assert (back.source_sentences, back.target_sentences) == (["一只狗", "雨"], ["Ein Köter", "Sonne"])
    assert same.target_sentences == ["Ein Köter", "Sonne"]
    assert json.loads((output / "counts.json").read_text()) == {"de-zh": 2, "zh-de": 2, "de-de": 2}
    assert code_switched.read(output) == local.read(output) == []
    assert sentence_keys([output]).keys() >= {"einhund", "太阳", "regen", "einköter"}


def test_columns_of_a_file_without_a_first_line_have_numbers(tmp_path: Path) -> None:
    (tmp_path / "q.one.tsv").write_text("a b\tc\t0.5\nd\te\t-1\n")
    columns = {"source": 2, "target": 1, "gold": 3, "item": 2}
    settings = _graded("{mini}/q.{name}.tsv", {"qaa-qab": "one"}, columns)
    assert (settings.invented, settings.outside, settings.codes) == (True, [], {"qaa", "qab"})
    (one,) = sts.read(collected(settings, tmp_path / "out", tmp_path))
    assert (one.source_sentences, one.target_sentences, one.gold) == (["c", "e"], ["a b", "d"], [0.5, -1])
    with pytest.raises(ConfigError, match="invented world's folder"):
        collected(settings, tmp_path / "out")


MLQE = 'index\tsrc\ttgt\tz_mean\n0\tEin "Hund\ta dog\t0.9\n1\tRegen\train\t-1.5\n'
HTER = "index\thter\tpost_edit\n0\t0.0\ta dog\n1\t0.25\tthe rain\n"


def _edit_rates(folder: Path, hter: str) -> BenchmarkSettings:
    (folder / "mlqe.de-en.tsv").write_text(MLQE)
    (folder / "hter.de-en.tsv").write_text(hter)
    return _valid(
        {
            "kind": "qe",
            "files": [str(folder / "mlqe.{name}.tsv"), str(folder / "hter.{name}.tsv")],
            "pairs": ["de-en"],
            "columns": {"source": "src", "target": "tgt", "gold": "hter", "item": "src"},
            "error": True,
            "licence": "CC0-1.0",
        }
    )


def test_edit_rates_come_from_a_file_of_their_own_and_change_sign(tmp_path: Path) -> None:
    settings = _edit_rates(tmp_path, HTER)
    assert settings.outside == [str(tmp_path / f"{name}.de-en.tsv") for name in ("hter", "mlqe")]
    output = collected(settings, tmp_path / "out")
    (one,) = qe.read(output)
    assert (one.source_sentences, one.target_sentences) == (['Ein "Hund', "Regen"], ["a dog", "rain"])
    assert list(map(repr, one.gold)) == ["0.0", "-0.25"]


@pytest.mark.parametrize(
    ("hter", "message"),
    [
        (HTER.replace("\n1\t", "\n2\t"), "row 2: index is '1' in .*mlqe.* and '2' in .*hter"),
        (HTER + "2\t1.0\tsun\n", "hter.de-en.tsv has 3 lines, .* has 2"),
        (HTER.replace("hter", "ter"), "no column hter"),
    ],
)
def test_edit_rates_of_other_lines_are_refused(hter: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message):
        collected(_edit_rates(tmp_path, hter), tmp_path)


def _similarity(folder: Path, **values: Any) -> BenchmarkSettings:
    """As SemEval has it: pairs in one file, scores of the first of them in another, no names of columns."""
    (folder / "input.de-en.txt").write_text(
        'Ein "Hund\ta dog\r\nRegen\train\r\nnicht bewertet\tnot scored\r\n'
    )
    (folder / "gs.de-en.txt").write_text("5.0\n0.25\n")
    files = [
        {"file": str(folder / "input.{source}-{target}.txt"), "names": ["one", "two"], "lines": 2},
        {"file": str(folder / "gs.{name}.txt"), "names": ["score"]},
    ]
    columns = {"source": "one", "target": "two", "gold": "score", "item": "one"}
    about = {"kind": "sts", "files": files, "pairs": ["de-en"], "columns": columns, "licence": "none"}
    return _valid(about | values)


def test_scores_in_a_file_of_their_own_belong_to_the_first_lines(tmp_path: Path) -> None:
    (one,) = sts.read(collected(_similarity(tmp_path), tmp_path / "out"))
    assert (one.source_sentences, one.target_sentences) == (['Ein "Hund', "Regen"], ["a dog", "rain"])
    assert (one.gold, one.items) == ([5.0, 0.25], ['Ein "Hund', "Regen"])


@pytest.mark.parametrize(
    ("lines", "names", "message"),
    [
        (0, ["score"], r"gs\.de-en\.txt has 2 lines, .*input.* has 3"),
        (2, ["score", "more"], r"gs\.de-en\.txt has 1 columns, not score, more"),
        (2, ["points"], "no column score; its columns are one, two, points"),
    ],
)
def test_scores_that_do_not_fit_are_refused(
    lines: int, names: list[str], message: str, tmp_path: Path
) -> None:
    first, second = _similarity(tmp_path).model_dump()["files"]
    settings = _similarity(tmp_path, files=[first | {"lines": lines}, second | {"names": names}])
    with pytest.raises(DataError, match=message):
        collected(settings, tmp_path / "out")


def test_pairs_of_comma_separated_files_of_each_language(tmp_path: Path) -> None:
    for code, text in (("de", '"Hund, ""ja""",x,1\n'), ("zh", "y,狗,1\n")):
        (tmp_path / f"s-{code}.csv").write_text(text)
    files = [
        {"file": str(tmp_path / "s-{source}.csv"), "names": ["one", "other", "score"]},
        {"file": str(tmp_path / "s-{target}.csv"), "names": ["another", "two", "score"]},
    ]
    settings = _similarity(tmp_path, files=files, pairs=["de-zh"])
    (found,) = sts.read(collected(settings, tmp_path / "out"))
    assert (found.source_sentences, found.target_sentences, found.gold) == (['Hund, "ja"'], ["狗"], [1.0])
    (tmp_path / "s-zh.csv").write_text("y,狗,2\n")
    with pytest.raises(DataError, match=r"row 1: score is '1' in .* and '2' in"):
        collected(settings, tmp_path / "out")


def test_names_of_columns_may_be_languages_in_either_order(tmp_path: Path) -> None:
    for pair, line in (("en-de", "a dog\tein Hund"), ("fr-en", "un chien\ta dog")):
        (tmp_path / f"STS.{pair}.txt").write_text(f"{line}\t4.5\n")
    files = [{"file": str(tmp_path / "STS.{name}.txt"), "names": ["{source}", "{target}", "score"]}]
    columns = {"source": "{source}", "target": "{target}", "gold": "score", "item": "en"}
    settings = _similarity(tmp_path, files=files, pairs=["en-de", "fr-en"], columns=columns)
    german, french = sts.read(collected(settings, tmp_path / "out"))
    assert (german.source_sentences, german.target_sentences) == (["a dog"], ["ein Hund"])
    assert (french.source, french.source_sentences) == ("fr", ["un chien"])
    assert german.items == french.items == ["a dog"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (WIDE.replace("0.25", "NaN"), "line 3 has the gold score 'NaN', which is no number"),
        (WIDE.replace("0.25", "good"), "line 3 has the gold score 'good'"),
        (WIDE.replace("s2_zh", "zh"), "no column s2_zh; its columns are id, score, s1_de, s2_de, s1_zh, zh"),
        (WIDE + "3\t1\tx\n", "line 4 has 3 columns, not 6"),
        (WIDE.partition("\n")[0] + "\n", "has no line but its first"),
        ("", "is empty"),
    ],
)
def test_a_graded_file_that_is_not_as_it_should_be_is_refused(
    text: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / "wide.tsv").write_text(text)
    with pytest.raises(DataError, match=message):
        collected(_graded(str(tmp_path / "wide.tsv"), ["de-zh"]), tmp_path)


def test_words_are_swapped_and_the_sentences_before_are_kept_out_of_training_too(tmp_path: Path) -> None:
    pairs = [("Der Hund, Anna!", "The dog, Anna!"), ("Niemals", "Never"), ("Wo ist er?", "Where is he?")]
    (tmp_path / "set.de-en.tsv").write_text("".join("\t".join(pair) + "\n" for pair in pairs))
    (tmp_path / "words.en-de.txt").write_text("dog hund\nwhere @ wo\nanna\tanna\n")
    settings = _mixing(tmp_path, "de", rate=1.0)
    assert settings.outside == [str(tmp_path / name) for name in ("set.de-en.tsv", "words.en-de.txt")]
    output = collected(settings, tmp_path / "mixed")
    (mixed,) = code_switched.read(output)
    assert mixed.source_sentences == ["Der dog, Anna!", "where ist er?"]
    assert mixed.target_sentences == ["The dog, Anna!", "Where is he?"]
    assert mixed.sides() == (("de", mixed.source_sentences), ("en", mixed.target_sentences))
    assert json.loads((output / "counts.json").read_text()) == {
        "de": {
            **{"rate": 1.0, "seed": 1},
            **{"kept": 2, "without_known_word": 1, "words": 6, "known": 2, "swapped": 2},
        }
    }
    assert sentence_keys([output]).keys() == {
        *("derdoganna", "derhundanna", "thedoganna"),
        *("whereister", "woister", "whereishe"),
    }
    assert local.read(output) == []
    (tmp_path / "words.en-de.txt").write_text("cat katze\n")
    with pytest.raises(DataError, match="knows no word of any sentence"):
        collected(settings, output)
    with pytest.raises(DataError, match=r"no file for fr, e\.g\. .*set\.fr-en"):
        collected(_mixing(tmp_path, "de", "fr"), output)


def test_the_rate_of_swapped_words_is_a_setting_and_recorded(tmp_path: Path) -> None:
    sentence = " ".join(["hund", "katze"] * 20)
    (tmp_path / "set.de-en.tsv").write_text(f"{sentence}\tdogs and cats\n" * 100)
    (tmp_path / "words.en-de.txt").write_text("dog hund\n")
    swapped = {}
    for rate in (0.1, 0.5, 0.9, 1.0):
        output = collected(_mixing(tmp_path, "de", rate=rate), tmp_path / f"mixed-{rate}")
        counts = json.loads((output / "counts.json").read_text())["de"]
        assert (counts["rate"], counts["words"], counts["known"]) == (rate, 4000, 2000)
        (mixed,) = code_switched.read(output)
        assert sum(one.split().count("dog") for one in mixed.source_sentences) == counts["swapped"]
        swapped[rate] = counts["swapped"]
    # Of 2,000 words; sd at most 22. At 0.1 of 20 words, 12 % of the sentences are drawn again.
    assert swapped[0.1] == pytest.approx(228, abs=60)
    assert swapped[0.5] == pytest.approx(1000, abs=90)
    assert swapped[0.9] == pytest.approx(1800, abs=60)
    assert swapped[1.0] == 2000
    default, stated = (_mixing(tmp_path, "de", **values) for values in ({}, {"rate": 0.5}))
    assert default == stated


@pytest.mark.parametrize("rate", [0.0, -0.1, 1.1, "0.5"])
def test_a_rate_that_swaps_nothing_or_is_no_share_is_refused(rate: object, tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="rate"):
        _mixing(tmp_path, "de", rate=rate)


def test_real_graded_pairs_are_collected_whole(shared_data: Path, tmp_path: Path) -> None:
    semeval = {"source": "sentence1", "target": "sentence2", "gold": "score", "item": "sentence1"}
    mlqe = {"source": "src", "target": "tgt", "gold": "z_mean", "item": "src"}
    tracks = {"en-ar": "track2.ar-en", "es-en": "track4a.es-en", "en-en": "track5.en-en"}
    settings = {
        "sts": _graded(f"{shared_data}/sts/sts17.{{name}}.tsv.gz", tracks, semeval),
        "wide": _graded(f"{shared_data}/sts/stsb_multi_mt.dev.tsv.gz", ["de-zh", "fr-ru"]),
        "qe": _graded(f"{shared_data}/qe/mlqe.{{name}}.test.tsv.gz", ["ro-en"], mlqe),
    }
    found = {name: sts.read(collected(one, tmp_path / name)) for name, one in settings.items()}
    sizes = {(one.source, one.target): len(one.gold) for ones in found.values() for one in ones}
    assert sizes == {
        **{("en", "ar"): 250, ("en", "en"): 250, ("es", "en"): 250},
        **{("de", "zh"): 1500, ("fr", "ru"): 1500, ("ro", "en"): 1000},
    }
    assert all(0 <= score <= 5 for one in found["sts"] + found["wide"] for score in one.gold)
    assert found["wide"][0].items == found["wide"][1].items
    assert found["sts"][0].source_sentences[0] == "two men are crying"
    assert found["qe"][0].target_sentences[0].startswith("Games provide new challenges")


def test_real_sentences_are_switched(shared_data: Path, tmp_path: Path) -> None:
    changes = {
        "files": str(shared_data / "tatoeba" / "tatoeba.{foreign}-{pivot}.tsv.gz"),
        "dictionaries": str(shared_data / "lexicon" / "muse.{pivot}-{foreign}.tsv.gz"),
        "spelling": "iso639-3",
    }
    collected(_mixing(tmp_path, "de", "ro", **changes), tmp_path)
    assert [one.source for one in read_all(tmp_path)] == ["de", "ro"]
    for one in code_switched.read(tmp_path):
        assert 850 < len(one.source_sentences) < 1000
        for mixed, before in zip(one.source_sentences, one.originals, strict=True):
            assert mixed != before
            assert len(mixed.split()) == len(before.split())


def test_columns_of_a_wide_file_become_one_text_in_many_languages(tmp_path: Path) -> None:
    (tmp_path / "wide.tsv").write_text(
        "id\tdeu_Latn\tzho_Hans\tsw\n1\tRegen\t雨\tMvua\n2\tHund\t狗\t \n3\t\t太阳\tJua\n4\tBaum\t树\tMti\n"
    )
    output = collected(
        _nway(str(tmp_path / "wide.tsv"), {"sw": "sw", "zh": "zho_Hans", "de": "deu_Latn"}), tmp_path / "wide"
    )
    (found,) = nway.read(output)
    assert found.name == "wide"
    assert found.sentences == {"de": ["Regen", "Baum"], "sw": ["Mvua", "Mti"], "zh": ["雨", "树"]}
    assert json.loads((output / "counts.json").read_text()) == {"kept": 2, "incomplete": 2}
    assert read_all(output) == [found]
    assert local.read(output) == []
    assert sentence_keys([output]).keys() == {"regen", "baum", "雨", "树", "mvua", "mti"}


def test_columns_named_by_their_languages_need_no_other_name(tmp_path: Path) -> None:
    (tmp_path / "wide.tsv").write_text("de\tfr\tit\nRegen\tPluie\tPioggia\n")
    collected(_nway(str(tmp_path / "wide.tsv"), ["fr", "de"]), tmp_path)
    assert nway.read(tmp_path)[0].sentences == {"de": ["Regen"], "fr": ["Pluie"]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("de\tit\nRegen\tPioggia\n", "no column fr; its columns are de, it"),
        ("de\tfr\n\tPluie\n", "no line has a sentence in each of de, fr"),
        ("de\tfr\nRegen\n", "line 2 has 1 columns, not 2"),
        (None, "no file for any language"),
    ],
)
def test_a_wide_file_that_lacks_something_is_refused(text: str | None, message: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "wide.tsv").write_text(text)
    with pytest.raises(DataError, match=message):
        collected(_nway(str(tmp_path / "wide.tsv"), ["de", "fr"]), tmp_path)


def test_a_file_for_each_language_becomes_one_text_in_many_languages(tmp_path: Path) -> None:
    (tmp_path / "deu.txt").write_text("Regen\r\nHund\r\n\r\nNacht\r\nTag\r\n")
    (tmp_path / "swh.txt").write_text("Mvua\n \nJua\nUsiku na siku\n<range>\n")
    settings = _nway(str(tmp_path / "{language}.txt"), {"sw": "swh", "de": "deu"})
    assert settings.outside == [str(tmp_path / "deu.txt"), str(tmp_path / "swh.txt")]
    collected(settings, tmp_path / "out")
    assert nway.read(tmp_path / "out")[0].sentences == {"de": ["Regen"], "sw": ["Mvua"]}
    assert json.loads((tmp_path / "out" / "counts.json").read_text()) == {"kept": 1, "incomplete": 4}
    with pytest.raises(DataError, match=r"no file for fr, e\.g\. .*fra\.txt"):
        collected(_nway(str(tmp_path / "{language}.txt"), {"de": "deu", "fr": "fra"}), tmp_path / "out")
    (tmp_path / "swh.txt").write_text("Mvua\nJua\n")
    with pytest.raises(DataError, match=r"swh\.txt has 2 lines, .*deu\.txt has 5"):
        collected(settings, tmp_path / "out")


def test_a_wide_file_may_be_the_invented_worlds(tmp_path: Path) -> None:
    settings = _nway("{mini}/wide.tsv", ["de", "fr"])
    assert settings.invented
    assert settings.outside == []
    (tmp_path / "wide.tsv").write_text("fr\tde\nPluie\tRegen\n")
    collected(settings, tmp_path / "out", tmp_path)
    assert nway.read(tmp_path / "out")[0].sentences == {"de": ["Regen"], "fr": ["Pluie"]}
    with pytest.raises(ConfigError, match="needs the invented world's folder"):
        collected(settings, tmp_path / "out")


def test_ntrex_of_the_catalogue_is_collected_whole(shared_data: Path, tmp_path: Path) -> None:
    ntrex = load(shipped()).benchmarks["ntrex"]
    assert isinstance(ntrex, NwaySettings)
    files = str(shared_data / "nway" / "ntrex128.tsv.gz")
    collected(ntrex.model_copy(update={"files": files}), tmp_path)
    (found,) = nway.read(tmp_path)
    assert {language: len(sentences) for language, sentences in found.sides()} == dict.fromkeys(
        sorted(ntrex.languages), 1010
    )
