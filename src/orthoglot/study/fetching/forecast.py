"""What it takes to get and prepare the text of a preset, before anything is fetched: sentence pairs, bytes, hours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from orthoglot.study.corpora.base import Corpus
from orthoglot.study.corpora.kinds.opus import OpusSettings
from orthoglot.study.fetching.catalogue import archives, left_out
from orthoglot.study.fetching.files import remote_files
from orthoglot.study.fetching.lock import Archive
from orthoglot.study.fetching.opus import Entry

# Measured by `python measurements/ems-62-slice/forecast.py ems-62 FOLDER` on 2026-11-23, a second being one of CPU
# time on one of two shared cores: 1,195,130 pairs of English and 60 languages in 18 scripts (README.md there).
# Pairs from Moses zips through `orthoglot.corpora.prepare.prepare`, with the filters of the preset ems-62.
PAIRS_PER_SECOND = 48_000
# Pairs of archives of which `max_pairs` takes some: these are read twice for it.
DRAWN_FROM_PER_SECOND = 113_000
# Bytes of prepared files over those of their archives (1.07 to 1.41 by script).
PREPARED_SHARE = 1.10
KIBIBYTE = 1024
Number = TypeVar("Number", int, float)


@dataclass(frozen=True)
class Estimate:
    """One corpus in one language pair; None is what cannot be known before the text is there."""

    corpus: str  # entry of the catalogue; of files with addresses with its kind, such as benchmarks.tatoeba
    release: str  # name and release in OPUS, or the kind of a corpus that is not of OPUS
    pair: str  # language pair, or the language of text without translations, or how many files there are
    # sentence pairs, or links of alignments, of each archive of OPUS, by the two languages as OPUS spells them
    archives: dict[str, int]
    left_out: dict[str, int]  # the same of archives in spellings that are not taken
    pairs: int | None  # sentence pairs that are used, before cleaning
    # bytes of the files, in the KiB of the catalogue; documents that two pairs share count with the first
    download: int | None
    disk: int | None  # bytes after preparation: the archive, which stays, and the prepared files
    hours: float | None  # of reading and cleaning on one core; a download comes on top
    licence: str  # as the entry states it


@dataclass(frozen=True)
class Total:
    """Sums over estimates, of what is known; None where nothing is."""

    pairs: int | None
    download: int | None
    disk: int | None
    hours: float | None
    unknown: int  # how many rows are missing in the sums of bytes


def estimates(corpora: Mapping[str, Corpus], most: int = 0) -> list[Estimate]:
    """What each corpus takes in each language pair, from the catalogue of OPUS alone.

    A release of OPUS counts with min(pairs, limits) sentence pairs, its prepared files with `PREPARED_SHARE` of the
    part of the archive that is used, its hours at `PAIRS_PER_SECOND`, and at `DRAWN_FROM_PER_SECOND` what a limit draws
    from. Only the download of xml and raw is known, as a threshold may take any share of the pairs. Nothing is
    known of other text.

    Args:
        corpora: Corpora by entry, as `orthoglot.study.config.Params.corpora_of` gives them.
        most: How many sentence pairs are read of each language pair of each corpus; 0 for all.
    Raises:
        ConfigError: the catalogue of OPUS does not have one of them.
    """
    known = archives(corpora)
    rows = []
    for name, corpus in corpora.items():
        licence = getattr(corpus, "licence", "")
        others: dict[str, list[Entry]] = {}
        counted: set[str] = set()
        if isinstance(corpus, OpusSettings):
            release, pairs = f"{corpus.corpus} {corpus.version}", corpus.pairs
            others = left_out(corpus, known.get(name, {}))
        else:
            release, pairs = corpus.kind, [*corpus.pair_sources(""), *corpus.texts("")]
        for pair in pairs:
            files = known.get(name, {}).get(pair, {}).values()
            taken = [file for file in files if file.target]
            about = name, release, pair, _sizes(taken), _sizes(others.get(pair, []))
            new = {file.url: file.kibibytes for file in files if file.url not in counted}
            counted |= new.keys()
            download = sum(new.values()) * KIBIBYTE if taken else None
            if (
                download is None
                or not all(file.pairs for file in taken)
                or not isinstance(corpus, OpusSettings)
                or corpus.preprocess != "moses"
            ):
                rows.append(Estimate(*about, None, download, None, None, licence))
                continue
            held = sum(file.pairs for file in taken)
            read = min(held, corpus.most(pair) or held, most or held)
            prepared = round(download * read / held * PREPARED_SHARE)
            drawn_from = held if read < held else 0
            hours = (read / PAIRS_PER_SECOND + drawn_from / DRAWN_FROM_PER_SECOND) / 3600
            rows.append(Estimate(*about, read, download, download + prepared, hours, licence))
    return rows


def _sizes(archives: Iterable[Entry]) -> dict[str, int]:
    return {f"{archive.source}-{archive.target}": archive.pairs for archive in archives}


def fetched(
    addresses: Mapping[str, Sequence[str]], licences: Mapping[str, str], lock: Mapping[str, Archive]
) -> list[Estimate]:
    """What the files with addresses of each entry take; a file that two entries share counts with the first.

    Args:
        addresses: Addresses by entry, as `orthoglot.study.config.Params.addresses_of` gives them.
        licences: Licences by entry.
        lock: See `orthoglot.study.fetching.lock`; a size that it does not have is not known.
    """
    rows = []
    counted: set[str] = set()
    for entry, urls in addresses.items():
        files = remote_files(urls).keys() - counted
        counted |= files
        sizes = [lock[name].size for name in files if name in lock]
        size = sum(sizes) if len(sizes) == len(files) else None
        count = f"{len(files)} files"
        rows.append(Estimate(entry, "files", count, {}, {}, None, size, size, None, licences[entry]))
    return rows


def total(rows: Iterable[Estimate]) -> Total:
    """The sums of estimates."""
    listed = list(rows)
    return Total(
        _sum(row.pairs for row in listed),
        _sum(row.download for row in listed),
        _sum(row.disk for row in listed),
        _sum(row.hours for row in listed),
        sum(row.disk is None for row in listed),
    )


def _sum(values: Iterable[Number | None]) -> Number | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
