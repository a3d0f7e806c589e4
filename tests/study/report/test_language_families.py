"""Families of languages."""

from __future__ import annotations

import pytest

from orthoglot import languages
from orthoglot.study.report import language_families
from orthoglot.study.report.language_families import family


def test_every_language_has_one_family() -> None:
    listed = [code for codes in language_families._TABLE.values() for code in codes.split()]
    assert sorted(listed) == sorted(languages._LANGUAGES)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("de", "Germanic"), ("ro", "Romance"), ("fi", "Uralic"), ("hu", "Uralic"), ("mt", "Semitic"),
        ("gn", "Tupian"), ("ay", "Aymaran"), ("qu", "Quechuan"), ("vi", "Austroasiatic"), ("th", "Tai-Kadai"),
        ("mg", "Austronesian"), ("sw", "Niger-Congo"), ("eo", "constructed"), ("qaa", "other"),
    ],
)  # fmt: skip
def test_known_families(code: str, expected: str) -> None:
    assert family(code) == expected
