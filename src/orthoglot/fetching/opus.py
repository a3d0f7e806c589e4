"""OPUS: what it holds, fetching it, and reading its Moses zips without trusting them.

Of opustools, only the catalogue that it ships is used, to plan offline (`orthoglot.fetching.catalogue`): of its
client only the question to the API would serve, and that has no time-out, no quoting and no error beyond a printed
line. A test holds this module's answers against those of opustools.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from difflib import get_close_matches
from itertools import product
from pathlib import Path
from typing import Annotated, TypeVar
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, FailFast, Field, TypeAdapter, ValidationError

from orthoglot.atomic import link
from orthoglot.errors import ConfigError, DataError, OfflineError
from orthoglot.fetching import cache as stored
from orthoglot.fetching import lock as opus_lock
from orthoglot.fetching.download import AT_ONCE, OFFLINE, WrongSizeError, ask, download, sha256_of
from orthoglot.fetching.lock import Archive
from orthoglot.formats.kinds.opus import OpusSettings, members
from orthoglot.languages import parse_pair, spellings
from orthoglot.progress import Done, Meter
from orthoglot.text.archives import check_zip, opened
from orthoglot.text.bitext import CHUNK_BYTES

# The environment variable that names a server with OPUS's files; it gets their paths as OPUS's own server does.
MIRROR = "ORTHOGLOT_OPUS_MIRROR"
logger = logging.getLogger(__name__)
T = TypeVar("T")


def _address(url: str) -> str:
    """The address of a file; a ValueError says that it is none."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc or not parts.path.startswith("/"):
        raise ValueError("not the address of a file")
    return url


class Entry(BaseModel):
    """A Moses zip of OPUS, a row of its API; languages as OPUS spells them, in alphabetical order."""

    corpus: str
    version: str
    source: str
    target: str
    pairs: Annotated[int, Field(alias="alignment_pairs", ge=0), BeforeValidator(lambda stated: stated or 0)]
    kibibytes: Annotated[int, Field(alias="size", ge=0)]
    latest: bool
    url: Annotated[str, AfterValidator(_address)]


ENTRIES = TypeAdapter(Annotated[list[Entry], FailFast()])
NAMES = TypeAdapter(list[str])


def list_entries(
    api: str,
    *,
    source: str | None = None,
    target: str | None = None,
    corpus: str | None = None,
    version: str | None = None,
) -> list[Entry]:
    """The Moses zips that OPUS has for a question; what is left out matches everything.

    Args:
        api: address of the API.
        source: one language as OPUS spells it; the API wants the two in alphabetical order and gets them so.
        target: the other.
        corpus: a name, e.g. "GlobalVoices".
        version: a release, or "latest".
    Raises:
        DataError: no answer as OPUS gives it.
        OfflineError: no answer.
    """
    source, target = sorted([source, target]) if source and target else (source, target)
    asked = {"source": source, "target": target, "corpus": corpus, "version": version}
    named = {key: value for key, value in asked.items() if value}
    return _rows(api, {**named, "preprocessing": "moses"}, ENTRIES)


def fetch(
    settings: OpusSettings,
    api: str,
    output: Path,
    checkpoint: Path | None = None,
    *,
    lock: Path | None = None,
    cache: Path | None = None,
) -> None:
    """Fetch one corpus in every wanted pair, some at once: its archives, and manifest.json.

    The archives of a pair are called as `OpusSettings.archives` calls them: <pair>.zip, or one by each spelling.

    Args:
        settings: corpus, release, pairs, and the checksums that are known.
        api: address of the API; it is not asked if the cache has everything.
        output: an existing folder.
        checkpoint: where finished and half downloads outlive a stopped run.
        lock: file that knows the digests of archives fetched before, see `opus_lock`; new ones are added.
        cache: folder of archives by digest, which all presets share; needs `lock`.
    Raises:
        ConfigError: OPUS has no such corpus, release or pair.
        DataError: a file is missing, broken, or not the pinned or locked one.
        OfflineError: OPUS cannot be reached, or ORTHOGLOT_OFFLINE is set and an archive is not here.
    """
    known = opus_lock.read(lock) if lock else {}
    pairs = {one: pair for pair in settings.pairs for one in settings.archives(pair)}
    names = {one: f"{settings.corpus}/{settings.version}/{one}" for one in pairs}
    home = checkpoint or output
    files: dict[str, Archive] = {}
    for one, name in names.items():
        pinned = settings.sha256.get(one)
        wanted = name in known and (not pinned or pinned.lower() == known[name].sha256)
        if wanted and stored.at_hand(known[name].sha256, home / f"{one}.zip", cache):
            files[one] = known[name]
            logger.info("%s: fetched before", name)
    missing = [one for one in pairs if one not in files]
    if missing and os.environ.get(OFFLINE):
        lacking = ", ".join(names[one] for one in missing)
        raise OfflineError(f"{lacking}: no sound copy in {cache}, and {OFFLINE} is set")
    chosen = _chosen(settings, api, {pairs[one]: None for one in missing}) if missing else {}

    def obtain(one: str) -> Archive:
        entry, archive = chosen[one], home / f"{one}.zip"
        locked = known[names[one]].size if names[one] in known else None
        try:
            digest = _obtain(entry, archive, settings.sha256.get(one), locked, meter.add)
        except WrongSizeError as error:
            raise DataError(f"{names[one]}: {error}; {opus_lock.advice(lock)}") from error
        try:
            _check_lines(archive, *parse_pair(pairs[one]))
        except DataError:
            archive.unlink()
            raise
        # The path, not the host: a replay of OPUS must give the same bytes.
        found = Archive(
            path=urlsplit(entry.url).path, sha256=digest, size=archive.stat().st_size, version=entry.version
        )
        stored.enter(names[one], found, archive, lock, cache)
        logger.info("%s %s %s: %d KiB", settings.corpus, entry.version, one, entry.kibibytes)
        return found

    size = sum(chosen[one].kibibytes * 1024 for one in missing)
    with (
        Meter(total=size, label=f"fetch {settings.corpus}", unit="bytes") as meter,
        ThreadPoolExecutor(AT_ONCE) as pool,
    ):
        files |= zip(missing, pool.map(obtain, missing), strict=True)
    described = {}
    for one in pairs:
        if checkpoint:
            link(home / f"{one}.zip", output / f"{one}.zip")
        archive = files[one]
        described[one] = {"path": archive.path, "sha256": archive.sha256, "version": archive.version}
    manifest = {"corpus": settings.corpus, "files": described}
    (output / "manifest.json").write_text(json.dumps(manifest, indent=1, sort_keys=True) + "\n")


def _rows(api: str, parameters: dict[str, str], rows: TypeAdapter[list[T]]) -> list[T]:
    """The rows of an answer of OPUS."""
    answer = ask(api, parameters)
    try:
        return rows.validate_python(answer["corpora"])
    except (KeyError, TypeError, ValidationError) as error:
        raise DataError(f"{api}: not an answer of OPUS: {str(error)[:500]}") from error


def _chosen(settings: OpusSettings, api: str, pairs: Iterable[str]) -> dict[str, Entry]:
    """The entry of each archive of these pairs, as OPUS answers."""
    entries = list_entries(api, corpus=settings.corpus, version=settings.version)
    if not entries:
        raise ConfigError(_unknown(settings, api))
    return {name: entry for pair in pairs for name, entry in choose(entries, pair, settings).items()}


def choose(entries: Iterable[Entry], pair: str, settings: OpusSettings) -> dict[str, Entry]:
    """The entry of each archive of a pair: canonical spellings before others, in either order the larger one.

    Args:
        entries: of the release.
        pair: one of the settings'.
        settings: which spellings are taken.
    Returns:
        By archive, see `OpusSettings.archives`.
    Raises:
        ConfigError: OPUS has not one of them; names what is near.
    """
    held = list(entries)
    # OPUS has a pair in either order, and once in both: News-Commentary v16 has cs-en and a small en-cs.
    by_codes = {
        frozenset((entry.source, entry.target)): entry for entry in sorted(held, key=lambda one: one.pairs)
    }
    found = {}
    for name, (sources, targets) in settings.archives(pair).items():
        spelled = (frozenset(codes) for codes in product(sources, targets))
        entry = next((by_codes[codes] for codes in spelled if codes in by_codes), None)
        if not entry:
            hint = f"; it has {', '.join(near)}" if (near := _near(held, pair)) else ""
            raise ConfigError(f"OPUS has no {name} in {settings.corpus} {settings.version}{hint}")
        found[name] = entry
    return found


def _near(entries: Iterable[Entry], pair: str) -> list[str]:
    """The pair in any spelling, or else pairs of one of its languages."""
    source, target = map(spellings, parse_pair(pair))
    held = {f"{one.source}-{one.target}": {one.source, one.target} for one in entries}
    of_both = [name for name, codes in held.items() if codes & {*source} and codes & {*target}]
    return sorted(of_both or [name for name, codes in held.items() if codes & {*source, *target}])[:12]


def _unknown(settings: OpusSettings, api: str) -> str:
    """Why a corpus has no entries: another release, or another name."""
    versions = sorted({entry.version for entry in list_entries(api, corpus=settings.corpus)})
    if versions:
        return f"OPUS has no {settings.corpus} {settings.version}; known: {', '.join(versions)}"
    names = _rows(api, {"corpora": "True"}, NAMES)
    near = ", ".join(get_close_matches(settings.corpus, names, n=5, cutoff=0.3)) or ", ".join(names[:12])
    return f"OPUS has no corpus {settings.corpus!r}; near ones are {near}"


def _obtain(entry: Entry, archive: Path, sha256: str | None, locked: int | None, done: Done) -> str:
    """The digest of a sound archive, fetched unless an earlier run already did; a broken one is removed."""
    digest = sha256_of(archive) if archive.exists() else ""
    if digest and (not sha256 or digest == sha256.lower()):
        try:
            check_zip(archive)
        except DataError:
            archive.unlink()
            raise
        done(archive.stat().st_size)
        return digest
    mirror, least = os.environ.get(MIRROR, "").rstrip("/"), entry.kibibytes * 1024
    url = mirror + urlsplit(entry.url).path if mirror else entry.url
    return download(url, archive, sha256=sha256, size=least, exact=locked, check=check_zip, done=done)


def _check_lines(path: Path, source: str, target: str) -> None:
    """Refuse an archive whose two texts have different numbers of lines, before anything relies on it."""
    counts = []
    names = members(path, source, target)
    for member in names:
        count, last = 0, b"\n"
        with opened(path) as archive, archive.open(member) as file:
            while chunk := file.read(CHUNK_BYTES):
                count, last = count + chunk.count(b"\n"), chunk
        counts.append(count + (not last.endswith(b"\n")))
    if counts[0] != counts[1]:
        raise DataError(f"{path}: {names[0]} has {counts[0]} lines but {names[1]} has {counts[1]}")
