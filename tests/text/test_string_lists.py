"""What callers hand over in place of a list of sentences: taken, or refused with the position of what is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from orthoglot.errors import DataError
from orthoglot.text.string_lists import string_pairs, strings

WORDS = ["a", "", "mba'e", "𐍈 x"]
HALF = r"\[1\] has half a surrogate pair \(U\+D83D at character 2\)"


@pytest.mark.parametrize(
    "taken",
    [
        WORDS,
        tuple(WORDS),
        np.array(WORDS),
        np.array(WORDS, dtype=object),
        pd.Series(WORDS),
        pd.Series([None, *WORDS])[1:],
        pd.Index(WORDS),
        iter(WORDS),
        dict(enumerate(WORDS)).values(),
    ],
    ids=lambda taken: type(taken).__name__,
)
def test_collections_of_strings_are_taken_in_their_order(taken: Any) -> None:
    assert strings(taken, "texts") == WORDS


@pytest.mark.parametrize(
    ("refused", "message"),
    [
        (["a", None], r'texts\[1\] is None; give strings, "" for a blank line$'),
        (["a", float("nan")], r"texts\[1\] is nan \(float\)"),
        (pd.Series(["a", None], dtype=object), r"texts\[1\] is None"),
        (pd.Series(["a", None]), r"texts\[1\] is nan"),
        (pd.Series(["a", "b", pd.NA], dtype="string")[1:], r"texts\[1\] is <NA> \(NAType\)"),
        (["a", "b", b"c"], r"texts\[2\] is b'c' \(bytes\)"),
        ([1.5], r"texts\[0\] is 1\.5 \(float\)"),
        ([["a"]], r"texts\[0\] is \['a'\] \(list\)"),
        (np.array([1, 2]), r"texts\[0\] is np\.int64\(1\)"),
        (b"abc", r"texts is b'abc' \(bytes\); give a list of strings$"),
        ("abc", r"texts is 'abc' \(str\); give a list of strings$"),
        ({"a": "b"}, r"texts is \{'a': 'b'\} \(dict\)"),
        ({"a"}, r"texts is \{'a'\} \(set\)"),
        (None, "texts is None; give a list"),
        (3, r"texts is 3 \(int\)"),
        (pd.DataFrame({"a": WORDS}), "texts has 2 dimensions; give one column"),
        (np.array([WORDS, WORDS]), "texts has 2 dimensions"),
        (np.array("a"), "texts has 0 dimensions"),
        (torch.ones(2), r"texts\[0\] is tensor"),
    ],
)
def test_anything_else_is_a_type_error_with_its_position(refused: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        strings(refused, "texts")


def test_half_a_surrogate_pair_is_said_with_its_place() -> None:
    with pytest.raises(DataError, match="texts" + HALF):
        strings(["a", "ab\ud83d"], "texts")
    with pytest.raises(DataError, match=r"texts\[0\] has half a surrogate pair \(U\+DC00 at character 0\)"):
        strings(["\udc00"], "texts")
    advised = "ab\ud83d".encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert strings([advised], "texts") == ["ab�"]
    # Two halves in their order are a pair, which the same advice joins.
    assert "\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16", "replace") == "😀"


@given(st.lists(st.text()))
def test_every_text_of_unicode_is_taken_as_it_is(texts: list[str]) -> None:
    assert strings(texts, "texts") == texts


def test_pairs_are_tuples_and_name_the_side_that_is_wrong() -> None:
    assert string_pairs([["a", "b"], ("c", "")], "pairs") == [("a", "b"), ("c", "")]
    assert string_pairs(zip(WORDS, WORDS, strict=True), "pairs") == list(zip(WORDS, WORDS, strict=True))
    for refused, message in (
        ([("a", "b"), ("c", None)], r"pairs\[1\]\[1\] is None"),
        ([("a", "b"), ("c",)], r"pairs\[1\] is \('c',\) \(tuple\); give pairs"),
        (["ab"], r"pairs\[0\] is 'ab' \(str\)"),
        ([None], r"pairs\[0\] is None"),
        ("abc", "pairs is 'abc'"),
        (None, "pairs is None"),
    ):
        with pytest.raises(TypeError, match=message):
            string_pairs(refused, "pairs")
    with pytest.raises(DataError, match=r"pairs\[0\]" + HALF):
        string_pairs([("a", "ab\ud83d")], "pairs")
