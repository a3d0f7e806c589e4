"""What a preset's text takes: the arithmetic, limits, and what cannot be known."""

from __future__ import annotations

from typing import Any

import pytest

from orthoglot.study.corpora.kinds.local import LocalSettings
from orthoglot.study.corpora.kinds.opus import OpusSettings
from orthoglot.study.corpora.kinds.text import TextCorpusSettings
from orthoglot.study.fetching.catalogue import entries
from orthoglot.study.fetching.forecast import (
    DRAWN_FROM_PER_SECOND,
    PAIRS_PER_SECOND,
    PREPARED_SHARE,
    estimates,
    total,
)


def europarl(**others: Any) -> OpusSettings:
    values = {"corpus": "Europarl", "version": "v8", "licence": "free", "pairs": ["en-de", "en-bg"]}
    return OpusSettings.model_validate({"kind": "opus"} | values | others)


def test_bytes_and_hours_follow_from_what_is_read() -> None:
    whole = estimates({"a": europarl()})[0]
    # 1,961,119 pairs in 206,840 KiB
    assert (whole.release, whole.pair) == ("Europarl v8", "en-de")
    assert (whole.pairs, whole.licence) == (1_961_119, "free")
    assert whole.download == 206_840 * 1024
    assert whole.disk == round(206_840 * 1024 * (1 + PREPARED_SHARE))
    assert whole.hours == pytest.approx(1_961_119 / PAIRS_PER_SECOND / 3600)
    half = estimates({"a": europarl(max_pairs={"en-de": 980_560})})[0]
    assert half.pairs == 980_560
    assert half.download == whole.download
    # A limit draws from the whole archive.
    drawing = 1_961_119 / DRAWN_FROM_PER_SECOND / 3600
    assert half.hours == pytest.approx(whole.hours / 2 + drawing, rel=1e-5)
    assert half.disk is not None
    assert half.disk - half.download == pytest.approx((whole.disk - whole.download) / 2, rel=1e-5)


@pytest.mark.parametrize(
    ("of_corpus", "of_preset", "read"),
    [
        (0, 0, 408_290),
        (1000, 0, 1000),
        (0, 999, 999),
        (1000, 999, 999),
        (999, 1000, 999),
        (10**9, 0, 408_290),
    ],
)
def test_the_lowest_limit_holds(of_corpus: int, of_preset: int, read: int) -> None:
    _, bulgarian = estimates({"a": europarl(max_pairs=of_corpus)}, of_preset)
    assert bulgarian.pairs == read


def test_a_limit_holds_for_all_spellings_of_a_language_together() -> None:
    ted = {"corpus": "TED2020", "version": "v1", "pairs": ["en-pt", "en-fr"]}
    ted |= {"spellings": {"pt": ["pt", "pt_br"]}}
    whole, french = estimates({"a": europarl(**ted)})
    assert whole.archives == {"en-pt": 328_791, "en-pt_br": 417_657}
    assert whole.pairs == 328_791 + 417_657
    assert (whole.left_out, french.left_out) == ({}, {"en-fr_ca": 33_482})
    half, _ = estimates({"a": europarl(**ted, max_pairs=373_224)})
    assert half.pairs == 373_224
    both = {("en", "pt"), ("en", "pt_br")}
    sizes = [one.kibibytes for one in entries("TED2020", "v1") if (one.source, one.target) in both]
    assert half.download == whole.download == 1024 * sum(sizes)


def test_of_documents_the_download_is_known_and_those_that_pairs_share_count_once() -> None:
    first, second = estimates({"a": europarl(preprocess="xml", threshold=0.5)})
    held = {(one.source, one.target): one.kibibytes for one in entries("Europarl", "v8", "xml")}
    assert first.download == 1024 * (held["de", "en"] + held["en", ""] + held["de", ""])
    assert second.download == 1024 * (held["bg", "en"] + held["bg", ""])
    assert (first.pairs, first.disk, first.hours) == (None, None, None)
    assert first.archives.keys() == {"de-en"}


def test_what_the_catalogue_does_not_have_is_not_counted() -> None:
    rows = estimates(
        {
            "opus": europarl(pairs=["en-bg"]),
            "later": europarl(corpus="Later", listed=False, pairs=["en-de"]),
            "mine": LocalSettings(kind="local", pairs=["en-de"], files=["a.tsv"], licence="own"),
            "text": TextCorpusSettings(kind="text", languages=["de"], files="{language}.txt", licence="own"),
        }
    )
    assert [(row.corpus, row.release, row.pair) for row in rows[1:]] == [
        ("later", "Later v8", "en-de"),
        ("mine", "local", "en-de"),
        ("text", "text", "de"),
    ]
    assert all((row.pairs, row.download, row.disk, row.hours) == (None,) * 4 for row in rows[1:])
    known = rows[0]
    assert total(rows) == total([known]).__class__(known.pairs, known.download, known.disk, known.hours, 3)
