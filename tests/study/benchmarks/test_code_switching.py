"""Words are swapped for their translations, and nothing else changes."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orthoglot.errors import DataError
from orthoglot.study.benchmarks.kinds.code_switched import known_words, marked, read_dictionary, switched
from orthoglot.text.bitext import read_pairs

WORDS = {"hund": ["dog", "hound"], "über": ["over"], "नदी": ["river"]}


def test_a_muse_file_is_read_backwards_without_words_that_stay_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "en-de.txt"
    path.write_text("dog Hund\nhound\thund\ndog hund\nParis paris\nstrong man\tkräftiger Mann\n")
    assert read_dictionary(path) == {"hund": ["dog", "hound"], "kräftiger mann": ["strong man"]}


@pytest.mark.parametrize("line", ["alone", "three words here", "\tb", "a\t"])
def test_a_line_that_is_not_two_words_is_named(line: str, tmp_path: Path) -> None:
    (tmp_path / "d.txt").write_text(f"a b\n{line}\n" if "\t" not in line else f"a\tb\n{line}\n")
    with pytest.raises(DataError, match="line 2 is not two words"):
        read_dictionary(tmp_path / "d.txt")


def test_case_is_ignored_and_punctuation_stays() -> None:
    mixed, swapped = switched("«Der HUND», ging  (Über) den Hundeweg.", WORDS, 1.0, Random(1))
    assert mixed in {f"«Der {dog}», ging (over) den Hundeweg." for dog in WORDS["hund"]}
    assert swapped == 2
    # A vowel sign at the end belongs to the word.
    assert switched("नदी।", WORDS, 1.0, Random(1)) == ("river।", 1)


def test_words_that_could_be_swapped_are_counted() -> None:
    counted = [
        known_words(text, WORDS) for text in ("«Der HUND», ging (Über) Hund-Wege.", "Nichts!", "", "...")
    ]
    assert counted == [2, 0, 0, 0]


def test_real_dictionaries_are_read_and_cover_their_language(shared_data: Path) -> None:
    paths = sorted((shared_data / "lexicon").glob("*.tsv.gz"))
    sizes = {path.name: len(read_dictionary(path)) for path in paths}
    assert len(sizes) == 50
    assert min(sizes.values()) > 150
    german = read_dictionary(shared_data / "lexicon/muse.en-de.tsv.gz")
    assert len(german["schloss"]) > 1
    pairs = read_pairs([shared_data / "tatoeba/tatoeba.deu-eng.tsv.gz"])
    sentences = [pair.source for pair in pairs]
    words = sum(len(sentence.split()) for sentence in sentences)
    assert 0.4 < sum(known_words(sentence, german) for sentence in sentences) / words < 0.9


def test_a_sentence_without_a_known_word_stays() -> None:
    assert switched("  Nichts davon!", WORDS, 0.5, Random(1)) == ("  Nichts davon!", 0)
    assert switched("", WORDS, 0.5, Random(1)) == ("", 0)
    assert switched("... !", WORDS, 0.5, Random(1)) == ("... !", 0)


@given(st.integers(0, 10_000), st.sampled_from([0.01, 0.5, 1.0]))
def test_at_least_one_word_is_swapped_and_the_draw_is_its_seeds(seed: int, rate: float) -> None:
    sentence = "Hund über Hund und Katze"
    mixed, swapped = switched(sentence, WORDS, rate, Random(seed))
    changed = [old != new for old, new in zip(sentence.split(), mixed.split(), strict=True)]
    assert 1 <= swapped == sum(changed) <= 3
    assert changed[3:] == [False, False]
    assert (mixed, swapped) == switched(sentence, WORDS, rate, Random(seed))


def test_words_are_swapped_at_the_rate_and_translations_are_equally_likely() -> None:
    found = [switched("Hund " * 40, WORDS, 0.5, Random(seed)) for seed in range(100)]
    # 4,000 words at 0.5: sd 32; 2,000 translations at 0.5: sd 22.
    assert sum(swapped for _, swapped in found) == pytest.approx(2000, abs=130)
    assert sum(mixed.count("hound") for mixed, _ in found) == pytest.approx(1000, abs=100)


@given(
    st.lists(st.sampled_from(["hund", "über", "mann", "der", "(Hund)"]), min_size=1, max_size=8),
    st.integers(),
)
def test_what_was_swapped_is_marked_and_nothing_else(words: list[str], seed: int) -> None:
    sentence = " ".join(words)
    mixed, swapped = switched(sentence, WORDS, 0.5, Random(seed))
    shown = marked(sentence, mixed)
    assert shown.replace("*", "") == mixed
    foreign = [word for word in mixed.split() if word not in words]
    assert [word.strip("*") for word in shown.split() if word.startswith("*")] == foreign
    assert swapped == len(foreign)


def test_marks_stand_around_each_word_of_a_translation() -> None:
    assert (
        marked("Der alte Mann (schläft).", "Der old strong man (sleeps).")
        == "Der *old* *strong* *man* *(sleeps).*"
    )
    assert marked("Hund", "Hund") == "Hund"
