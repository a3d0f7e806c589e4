"""Words by one rule for all languages."""

from __future__ import annotations

import pytest

from orthoglot.encoders.pretokenization import words


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("It's 3.5% of 1,000, at 10:30.", "it's|3.5|%|of|1,000|,|at|10:30|."),
        ("state-of-the-art -- 'yan Mba'éichapa L’ÉTÉ", "state-of-the-art|--|'|yan|mba'éichapa|l’été"),
        ("end.Next 5.x x,5 5,", "end|.|next|5|.|x|x|,|5|5|,"),
        ("Wait... no!? $5 x_y <2en>", "wait|...|no|!|?|$|5|x|_|y|<|2en|>"),
        ("猫が寝ている。「はい」", "猫が寝ている|。|「|はい|」"),
        ("नमस्ते दुनिया।", "नमस्ते|दुनिया|।"),
        ("ﬁve ＡＢＣ ①", "five|abc|1"),
        ("soft\u00adhyphen ශ\u0dca\u200dර\u0dd3 \u202bאב\u202c", "softhyphen|ශ\u0dcaර\u0dd3|אב"),
        ("می\u200cخواهم a\u200bb a\u2581b c\u00a0d", "می|خواهم|a|b|a|b|c|d"),
        (" \t\u200b\u200d", ""),
    ],
)
def test_words(sentence: str, expected: str) -> None:
    assert "|".join(words(sentence)) == expected


def test_the_unicode_rule_needs_no_language_and_normalises_once() -> None:
    sentence = "L'ÉTÉ, déjà? 今日は、ABC。"
    assert " ".join(words(sentence)) == "l'été , déjà ? 今日は 、 abc 。"
    assert words(" ".join(words(sentence))) == words(sentence)
