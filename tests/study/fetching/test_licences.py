"""What licences allow, and that the catalogue names them as the file does."""

from __future__ import annotations

import csv
from pathlib import Path

from shipped_settings import shipped_values

from orthoglot.study.fetching import licences
from orthoglot.study.fetching.licences import UNKNOWN, terms

# Licences of catalogue entries whose terms nobody states in one word.
OPEN = {"none stated", "mixed by source"}


def test_terms_are_looked_up_by_name() -> None:
    assert terms("CC-BY-SA-4.0")[:3] == ("yes", "yes", "yes")
    assert terms("CC-BY-NC-4.0").commercial == terms("TED Talks usage policy").commercial == "no"
    assert terms("CC0-1.0").attribution == "no"
    assert terms("CC-BY-4.0 ") == terms("") == UNKNOWN


def test_the_file_is_a_table_of_known_answers_in_order() -> None:
    path = Path(licences.__file__).with_name("licences.csv")
    rows = list(csv.DictReader(path.open(encoding="utf-8", newline="")))
    assert list(rows[0]) == ["licence", *licences.Terms._fields]
    names = [row["licence"] for row in rows]
    assert names == sorted(set(names))
    for row in rows:
        assert {row["commercial"], row["attribution"], row["share_alike"]} <= {"yes", "no", "unknown"}
        assert row["stated"]


def test_every_licence_of_a_corpus_is_in_the_file_or_left_open() -> None:
    used = {entry["licence"] for entry in shipped_values()["corpora"].values() if "licence" in entry}
    known = {name for name in used if terms(name) != UNKNOWN}
    assert used - known == OPEN
