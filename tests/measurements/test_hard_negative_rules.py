"""The rules by which sentences of English are changed: known answers, and what every negative must be."""

from __future__ import annotations

import random

from hard_negatives import EACH, NUMBER, RULES, negated, negatives, renamed, renumbered

SENTENCES = [
    "The museum in Berlin was opened in 1999.",
    "It is not far from the Old Bridge, and has 7 rooms.",
    "People like it.",
]
DRAWS = random.Random(1)


def test_a_negation_comes_or_goes_and_a_word_becomes_its_opposite() -> None:
    assert list(negated(SENTENCES[1])) == [
        "It is far from the Old Bridge, and has 7 rooms.",
        "It is not far from the Old Bridge, and has not 7 rooms.",
        "It is not near from the Old Bridge, and has 7 rooms.",
    ]
    assert list(negated(SENTENCES[2])) == []


def test_a_number_becomes_another_of_as_many_digits() -> None:
    for _ in range(50):
        (changed,) = renumbered(SENTENCES[0], DRAWS, [])
        (number,) = NUMBER.findall(changed)
        assert number != "1999"
        assert 1000 <= int(number) <= 9999


def test_a_name_becomes_another() -> None:
    assert list(renamed(SENTENCES[0], DRAWS, ["Berlin", "Old Bridge"])) == [
        "The museum in Old Bridge was opened in 1999."
    ]


def test_negatives_are_no_sentences_of_the_text_and_the_same_each_time() -> None:
    found = negatives(SENTENCES)
    assert found == negatives(SENTENCES)
    assert not {*found} & {*SENTENCES}
    for source in SENTENCES:
        for rule in RULES:
            assert sum(about == {"src": source, "errtype": rule} for about in found.values()) <= EACH
    assert {about["errtype"] for about in found.values()} == {*RULES}
