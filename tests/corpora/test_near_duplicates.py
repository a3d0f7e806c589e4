"""Near-duplicates: nothing goes that the exact similarity does not name, and MinHash finds nearly all that it names."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from cleaned import jaccard
from hypothesis import given
from hypothesis import strategies as st

from orthoglot.corpora import near_duplicates
from orthoglot.corpora.near_duplicates import NearDuplicates, bands_of, find_near_duplicates, similarity
from orthoglot.corpora.settings import CleaningSettings

# Letters of words with blanks between them, and of a language without.
ALPHABETS = ["abcdefghilmnoprstu", "这是一个没有空格的语言我们可以用它来测试相似句子", "กขคงจฉชซญณดตถทนบปผ"]


def one_other(size: int, first: int = 0x4E00) -> tuple[str, str]:
    """Two texts of so many different characters that differ in one of them: (size - 3) / (size + 3) similar."""
    text = "".join(map(chr, range(first, first + size)))
    return text, text.replace(text[size // 2], "x")


def test_similarities_by_hand() -> None:
    # TAB a b, abc, bcd, c d TAB beside TAB a b, abc, bce, c e TAB: 2 of 6.
    assert similarity("abcd", "abce") == 2 / 6
    assert similarity("a", "a") == similarity("ab\tc", "ab\tc") == 1
    assert similarity("a", "b") == 0
    assert similarity(*one_other(27)) == 24 / 30 == 0.8


@given(st.text(min_size=1), st.text(min_size=1))
def test_similarity_is_the_jaccard_index_of_sequences_of_three_characters(first: str, second: str) -> None:
    assert similarity(first, second) == similarity(second, first) == jaccard(first, second)


@pytest.mark.parametrize(("threshold", "size"), [(0.7, 17), (0.8, 27), (0.9, 57)])
def test_the_threshold_itself_goes_and_nothing_below_it(threshold: float, size: int) -> None:
    pairs = [one_other(size, 0x4E00 + 60 * number) for number in range(300)]
    texts = [text for pair in pairs for text in pair]
    assert {similarity(*pair) for pair in pairs} == {threshold}
    assert not find_near_duplicates(texts, float(np.nextafter(threshold, 1))).any()
    found = find_near_duplicates(texts, threshold)
    assert not found[::2].any()
    # Of 300, 3 are missed if 1 % are, and 11 with a probability below 0.001.
    assert found[1::2].sum() >= 290


def test_bands_find_the_threshold_with_the_stated_probability() -> None:
    for threshold in (0.7, 0.8, 0.95, 1.0):
        bands, size = bands_of(threshold)
        assert bands * size <= near_duplicates.PERMUTATIONS
        assert 1 - (1 - threshold**size) ** bands >= 0.99
    assert bands_of(1.0) == (1, near_duplicates.PERMUTATIONS)


def families(drawn: random.Random, count: int) -> list[str]:
    """Texts of three scripts, each made of an earlier one or new."""
    texts: list[str] = []
    for number in range(count):
        letters = ALPHABETS[number % 3]
        if number < 6 or drawn.random() < 0.3:
            text = [*drawn.choices(letters, k=drawn.randint(4, 40)), "\t", *drawn.choices(letters, k=20)]
        else:
            text = [*texts[drawn.randrange(3, number) // 3 * 3 + number % 3 - 3]]
            for _ in range(drawn.randint(0, 3)):
                text[drawn.randrange(len(text))] = drawn.choice(letters)
        texts.append("".join(text))
    return texts


@pytest.mark.parametrize("threshold", [0.7, 0.8, 0.9])
def test_what_goes_is_what_a_comparison_of_all_with_all_names(threshold: float) -> None:
    texts = families(random.Random(5), 500)
    gone = find_near_duplicates(texts, threshold)
    stay: list[str] = []
    missed = 0
    for text, goes in zip(texts, gone.tolist(), strict=True):
        similar = any(jaccard(text, other) >= threshold for other in stay)
        assert similar or not goes
        missed += similar and not goes
        if not goes:
            stay.append(text)
    assert 60 < gone.sum() < 450
    assert missed <= 0.01 * gone.sum()


def test_a_text_stays_that_is_similar_only_to_one_that_goes() -> None:
    first = [*one_other(60)[0]]
    texts = ["".join(first)]
    for places in ((10, 11, 12), (40, 41, 42)):
        for place in places:
            first[place] = "x"
        texts.append("".join(first))
    assert [similarity(*pair) > 0.8 for pair in pairwise(texts)] == [True, True]
    assert similarity(texts[0], texts[2]) < 0.8
    assert find_near_duplicates(texts, 0.8).tolist() == [False, True, False]
    assert find_near_duplicates(texts[::-1], 0.8).tolist() == [False, True, False]


def test_parts_blocks_and_rows_that_went_before_change_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = families(random.Random(6), 300)
    expected = ~find_near_duplicates(texts, 0.8)
    monkeypatch.setattr(near_duplicates, "AT_ONCE", 7)
    finder = NearDuplicates(tmp_path / "whole", 0.8)
    finder.add(texts[:10])
    finder.add(texts[10:])
    kept = np.ones(300, dtype=bool)
    finder.clear_similar(kept, texts, str)
    assert kept.tolist() == expected.tolist()
    # Rows that went before neither stay nor let others go.
    before = np.arange(300) % 2 == 0
    finder = NearDuplicates(tmp_path / "half", 0.8)
    finder.add(texts)
    kept = before.copy()
    finder.clear_similar(kept, texts, str)
    assert kept[before].tolist() == (~find_near_duplicates(texts[::2], 0.8)).tolist()
    assert not kept[~before].any()


def test_sentences_of_a_template_are_not_all_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = random.Random(1)
    words = ["".join(drawn.choices(ALPHABETS[0], k=18)) for _ in range(300)]
    texts = [f"the weather report of the station {word} is given here every day at noon" for word in words]
    compared: list[float] = []

    def counted(first: str, second: str) -> float:
        compared.append(similarity(first, second))
        return compared[-1]

    monkeypatch.setattr(near_duplicates, "similarity", counted)
    assert not find_near_duplicates(texts, 0.8).any()
    everything, compared[:] = len(compared), []
    monkeypatch.setattr(near_duplicates, "COMPARED", 2)
    assert not find_near_duplicates(texts, 0.8).any()
    bands, _ = bands_of(0.8)
    assert 0 < len(compared) <= 2 * bands * len(texts) < everything


def test_nothing_is_no_error_and_low_thresholds_are_refused() -> None:
    assert find_near_duplicates([], 0.8).tolist() == []
    assert find_near_duplicates(["a", "b"], 0.8).tolist() == [False, False]
    with pytest.raises(ValueError, match=r"near_duplicates is 0\.5: give 0\.7 to 1, or 0 to keep all"):
        CleaningSettings(near_duplicates=0.5)
