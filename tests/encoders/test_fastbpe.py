"""fastBPE: worked answers, the answers of the program, and a second algorithm on random words."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orthoglot.encoders.fastbpe import FastBpe
from orthoglot.errors import DataError

# The program fastBPE, built at commit 036711f, was given these files and wrote ANSWER and UNLIMITED.
CODES = ["l o", "e r</w>", "lo w", "lo w</w>", "n e", "ne w</w>", "low er</w>", "a a", "aa a</w>", "ü b"]
VOCABULARY = ["low@@", "low", "er", "l@@", "o@@", "w@@", "n@@", "e@@", "w", "aa@@", "a@@", "a"]
TEXT = "low lower lowest new newer slow over aaa aaaa aaaaa l a x lo 猫low übw r"
ANSWER = (
    "low low@@ er low@@ e@@ s@@ t n@@ e@@ w n@@ e@@ w@@ er s@@ low o@@ v@@ er aa@@ a aa@@ a@@ a aa@@ aa@@ a "
    "l a x l@@ o 猫@@ low ü@@ b@@ w r"
)
UNLIMITED = (
    "low lower low@@ e@@ s@@ t new ne@@ w@@ er s@@ low o@@ v@@ er aaa aa@@ a@@ a aa@@ aaa "
    "l a x l@@ o 猫@@ low üb@@ w r"
)


def _written(folder: Path, codes: list[str], vocabulary: list[str]) -> FastBpe:
    (folder / "codes").write_text("".join(f"{one} 7\n" for one in codes), encoding="utf-8")
    (folder / "vocab").write_text("".join(f"{one} 7\n" for one in vocabulary), encoding="utf-8")
    return FastBpe(folder / "codes", folder / "vocab")


def test_the_answers_of_the_program(tmp_path: Path) -> None:
    assert _written(tmp_path, CODES, VOCABULARY).subwords(TEXT) == ANSWER.split()
    assert _written(tmp_path, CODES, UNLIMITED.split()).subwords(TEXT) == UNLIMITED.split()


@pytest.mark.parametrize(
    ("codes", "vocabulary", "word", "subwords"),
    [
        # b c is the earlier merge, so a b finds no b.
        (["b c", "a b"], ["bc@@", "ab@@"], "abcd", ["a@@", "bc@@", "d"]),
        (["a b", "b c"], ["bc@@", "ab@@"], "abcd", ["ab@@", "c@@", "d"]),
        # The last character has the mark: a merge without it does not join it, and one with it joins no other.
        (["a b"], ["ab@@", "ab"], "ab", ["a@@", "b"]),
        (["a b</w>"], ["ab@@", "ab"], "ab", ["ab"]),
        (["a b</w>"], ["ab@@", "ab"], "abab", ["a@@", "b@@", "ab"]),
        # A subword in the vocabulary only at the end of words is taken apart elsewhere, and the other way round.
        (["a b", "a b</w>"], ["ab"], "abab", ["a@@", "b@@", "ab"]),
        (["a b", "a b</w>"], ["ab@@"], "abab", ["ab@@", "a@@", "b"]),
        # Taken apart as it was joined, not as its longest known part would have it.
        (["a b", "ab c", "abc d</w>"], ["ab@@", "d", "bcd"], "abcd", ["ab@@", "c@@", "d"]),
        # Unknown characters stay.
        (["a b"], ["ab@@"], "猫ab犬", ["猫@@", "ab@@", "犬"]),
        (["a b"], ["ab@@"], "犬", ["犬"]),
    ],
)
def test_worked_answers(
    tmp_path: Path, codes: list[str], vocabulary: list[str], word: str, subwords: list[str]
) -> None:
    assert _written(tmp_path, codes, vocabulary).subwords(word) == subwords


def _learned(words: list[str], merges: int) -> list[tuple[str, str]]:
    """Byte-pair encoding in its plainest form: the most frequent pair of neighbours becomes one symbol."""
    split = [[*word[:-1], word[-1] + "</w>"] for word in words]
    codes: list[tuple[str, str]] = []
    for _ in range(merges):
        pairs = Counter(pair for parts in split for pair in pairwise(parts))
        if not pairs:
            break
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        codes.append(best)
        split = [_merge(parts, best) for parts in split]
    return codes


def _merge(parts: list[str], pair: tuple[str, str]) -> list[str]:
    merged: list[str] = []
    for part in parts:
        if merged and (merged[-1], part) == pair and not merged[-1].startswith("\0"):
            merged[-1] = "\0" + merged[-1] + part  # is not merged twice
        else:
            merged.append(part)
    return [part.removeprefix("\0") for part in merged]


@given(st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_merges_in_the_order_that_they_were_learned_in(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    random = Random(seed)
    words = ["".join(random.choices("abc", k=random.randint(1, 9))) for _ in range(30)]
    codes = list(dict.fromkeys(_learned(words[:20], 12)))
    pieces = {first + second for first, second in codes} | set("abc")
    vocabulary = [one.removesuffix("</w>") if one.endswith("</w>") else f"{one}@@" for one in sorted(pieces)]
    kept = [piece for piece in vocabulary if random.random() < 0.6]
    folder = tmp_path_factory.mktemp("bpe")
    bpe = _written(folder, [" ".join(pair) for pair in codes], kept)
    parts_of = {first + second: (first, second) for first, second in codes}

    def apart(part: str) -> list[str]:
        stack, written_parts = [part], []
        while stack:
            top = stack.pop()
            written = top.removesuffix("</w>") if top.endswith("</w>") else f"{top}@@"
            if written in kept or top not in parts_of:
                written_parts.append(written)
            else:
                stack.extend(reversed(parts_of[top]))
        return written_parts

    for word in words:
        parts = [*word[:-1], word[-1] + "</w>"]
        for pair in codes:
            parts = _merge(parts, pair)
        subwords = bpe.subwords(word)
        assert subwords == [piece for part in parts for piece in apart(part)]
        assert "".join(piece.removesuffix("@@") for piece in subwords) == word


@pytest.mark.parametrize(
    ("codes", "vocabulary", "message"),
    [
        ("a b 3\na c\n", "a 1\n", "codes: line 2 is not two subwords and a count"),
        ("a b x\n", "a 1\n", "codes: line 1 is not two subwords and a count"),
        ("a  3\n", "a 1\n", "codes: line 1 is not two subwords and a count"),
        ("", "a 1\n", "codes: line 1 is not two subwords and a count"),
        ("a bc 3\nab c 2\n", "a 1\n", "codes: no codes of fastBPE: two merges make the same subword"),
        ("a b 3\n", "a 1\nb 2 c\n", "vocab: line 2 is not a subword and a count"),
        ("a b 3\n", None, "vocab: cannot be read"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, codes: str, vocabulary: str | None, message: str) -> None:
    (tmp_path / "codes").write_text(codes, encoding="utf-8")
    if vocabulary is not None:
        (tmp_path / "vocab").write_text(vocabulary, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        FastBpe(tmp_path / "codes", tmp_path / "vocab")


def test_separators_of_lines_within_a_subword_end_no_line(tmp_path: Path) -> None:
    bpe = _written(tmp_path, ["a \u2028"], ["a@@", "a\u2028@@"])
    assert "a\u2028@@" in bpe.vocabulary
