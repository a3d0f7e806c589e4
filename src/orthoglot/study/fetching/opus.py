"""OPUS: what it holds, and fetching its files without trusting them.

opustools gives only the catalogue that it ships (`orthoglot.study.fetching.catalogue`), to plan offline. Its
client has no time-out, digest or resumption, writes to the final name, and ends well when a download failed: all that
it would take off this module is the one question to the API. Tests hold the answers against those of opustools.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from difflib import get_close_matches
from functools import partial
from itertools import product
from pathlib import Path
from typing import Annotated, TypeVar
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, FailFast, Field, TypeAdapter, ValidationError

from orthoglot.atomic import link
from orthoglot.errors import ConfigError, DataError, OfflineError
from orthoglot.languages import of_locale, parse_pair
from orthoglot.progress import Done, Meter
from orthoglot.study.corpora.archives import MAX_DOCUMENTS, check_zip, opened, packed_check
from orthoglot.study.corpora.kinds.opus import OpusSettings, Preprocess, members
from orthoglot.study.fetching import lock as opus_lock
from orthoglot.study.fetching.download import AT_ONCE, OFFLINE, WrongSizeError, ask, download, sha256_of
from orthoglot.study.fetching.lock import Archive
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
    """A file of OPUS, a row of its API; languages as OPUS spells them, in alphabetical order.

    `target` is empty for documents in one language, and their `pairs` are sentences.
    """

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
    preprocess: Preprocess = "moses",
) -> list[Entry]:
    """The files that OPUS has for a question; what is left out matches everything.

    Args:
        api: address of the API.
        source: one language as OPUS spells it; the API wants the two in alphabetical order and gets them so.
        target: the other.
        corpus: a name, e.g. "GlobalVoices".
        version: a release, or "latest".
        preprocess: which files; those of xml and raw are alignments, and documents of each of their languages.
    Raises:
        DataError: no answer as OPUS gives it.
        OfflineError: no answer.
    """
    source, target = sorted([source, target]) if source and target else (source, target)
    asked = {"source": source, "target": target, "corpus": corpus, "version": version}
    named = {key: value for key, value in asked.items() if value}
    return _rows(api, {**named, "preprocessing": preprocess}, ENTRIES)


def fetch(
    settings: OpusSettings,
    api: str,
    output: Path,
    checkpoint: Path | None = None,
    *,
    lock: Path | None = None,
    cache: Path | None = None,
) -> None:
    """Fetch one corpus in every wanted pair, some at once: its files, and manifest.json.

    The files of a pair are called as `OpusSettings.files` calls them. One that several pairs have is fetched once.

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
    home = checkpoint or output
    pairs, places = dict[str, str](), dict[str, Path]()
    for pair in settings.pairs:
        for key, file in (item for name in settings.archives(pair) for item in settings.files(name).items()):
            pairs[key], places[key] = pair, home / file
    names = {key: f"{settings.corpus}/{settings.version}/{key}" for key in pairs}
    files: dict[str, Archive] = {}

    def at_hand(key: str, archive: Archive) -> bool:
        return _is_pinned(settings, key, archive) and opus_lock.at_hand(archive.sha256, places[key], cache)

    for key, name in names.items():
        if name in known and at_hand(key, known[name]):
            files[key] = known[name]
            logger.info("%s: fetched before", name)
    missing = [key for key in pairs if key not in files]
    if missing and os.environ.get(OFFLINE):
        lacking = ", ".join(names[key] for key in missing)
        raise OfflineError(f"{lacking}: no sound copy in {cache}, and {OFFLINE} is set")
    chosen = _chosen(settings, api, {pairs[key]: None for key in missing}) if missing else {}
    # The documents of a language belong to all its pairs: some may have come with another one.
    others = {archive.path: archive for archive in known.values()}
    for key in (key for key in missing if names[key] not in known):
        archive = others.get(urlsplit(chosen[key].url).path)
        if archive and archive.version == chosen[key].version and at_hand(key, archive):
            opus_lock.enter(names[key], archive, places[key], lock, cache)
            files[key] = archive
    due = {chosen[key].url: key for key in reversed(missing) if key not in files}

    def obtain(key: str) -> Archive:
        entry, file = chosen[key], places[key]
        locked = known[names[key]].size if names[key] in known else None
        try:
            digest = _obtain(entry, file, settings.sha256.get(key), locked, meter.add)
        except WrongSizeError as error:
            raise DataError(f"{names[key]}: {error}; {opus_lock.advice(lock)}") from error
        if settings.preprocess == "moses":
            try:
                _check_lines(file, *parse_pair(pairs[key]))
            except DataError:
                file.unlink()
                raise
        # The path, not the host: a replay of OPUS must give the same bytes.
        fetched = Archive(
            path=urlsplit(entry.url).path, sha256=digest, size=file.stat().st_size, version=entry.version
        )
        opus_lock.enter(names[key], fetched, file, lock, cache)
        logger.info("%s %s %s: %d KiB", settings.corpus, entry.version, key, entry.kibibytes)
        return fetched

    size = sum(chosen[key].kibibytes * 1024 for key in due.values())
    with (
        Meter(total=size, label=f"fetch {settings.corpus}", unit="bytes") as meter,
        ThreadPoolExecutor(AT_ONCE) as pool,
    ):
        files |= zip(due.values(), pool.map(obtain, due.values()), strict=True)
    for key in (key for key in missing if key not in files):
        first = due[chosen[key].url]
        files[key] = files[first]
        if not _is_pinned(settings, key, files[key]):
            raise DataError(f"{names[key]}: SHA-256 is {files[key].sha256}, expected {settings.sha256[key]}")
        link(places[first], places[key])
        opus_lock.enter(names[key], files[key], places[key], lock, cache)
    described = {}
    for key, place in places.items():
        if checkpoint:
            link(place, output / place.name)
        archive = files[key]
        described[key] = {"path": archive.path, "sha256": archive.sha256, "version": archive.version}
    manifest = {"corpus": settings.corpus, "files": described}
    (output / "manifest.json").write_text(json.dumps(manifest, indent=1, sort_keys=True) + "\n")


def _is_pinned(settings: OpusSettings, key: str, archive: Archive) -> bool:
    """Whether a file is the one that the settings name, if they name one."""
    return settings.sha256.get(key, archive.sha256).lower() == archive.sha256


def _rows(api: str, parameters: dict[str, str], rows: TypeAdapter[list[T]]) -> list[T]:
    """The rows of an answer of OPUS."""
    answer = ask(api, parameters)
    try:
        return rows.validate_python(answer["corpora"])
    except (KeyError, TypeError, ValidationError) as error:
        raise DataError(f"{api}: not an answer of OPUS: {str(error)[:500]}") from error


def _chosen(settings: OpusSettings, api: str, pairs: Iterable[str]) -> dict[str, Entry]:
    """The entry of each file of these pairs, as OPUS answers."""
    entries = list_entries(
        api, corpus=settings.corpus, version=settings.version, preprocess=settings.preprocess
    )
    if not entries:
        raise ConfigError(_unknown(settings, api))
    return {key: entry for pair in pairs for key, entry in choose(entries, pair, settings).items()}


def choose(entries: Iterable[Entry], pair: str, settings: OpusSettings) -> dict[str, Entry]:
    """The entry of each file of a pair: canonical spellings before others, in either order the larger one.

    Args:
        entries: The release's entries.
        pair: One of the settings' pairs.
        settings: Say which spellings are taken.
    Returns:
        The entries by file, see `OpusSettings.files`: xml and raw have the alignments, and the documents of both sides.
    Raises:
        ConfigError: OPUS has not one of them; names what is near.
    """
    listed = list(entries)
    held = [entry for entry in listed if entry.target]
    documents = {entry.source: entry for entry in listed if not entry.target}
    # OPUS has a pair in either order, and once in both: News-Commentary v16 has cs-en and a small en-cs.
    by_codes = {
        frozenset((entry.source, entry.target)): entry for entry in sorted(held, key=lambda file: file.pairs)
    }
    chosen: dict[str, Entry] = {}
    for name, (sources, targets) in settings.archives(pair).items():
        spelled = (frozenset(codes) for codes in product(sources, targets))
        entry = next((by_codes[codes] for codes in spelled if codes in by_codes), None)
        if not entry:
            hint = f"; it has {', '.join(near)}" if (near := _near(held, pair)) else ""
            raise ConfigError(f"OPUS has no {name} in {settings.corpus} {settings.version}{hint}")
        sides = [entry.source, entry.target] if entry.source in sources else [entry.target, entry.source]
        if settings.preprocess == "moses":
            sides = []
        if lacking := [code for code in sides if code not in documents]:
            raise ConfigError(
                f"OPUS has no {settings.preprocess} documents in {' and '.join(lacking)} of {settings.corpus} "
                f"{settings.version}; give another `preprocess`"
            )
        chosen |= zip(settings.files(name), [entry, *map(documents.__getitem__, sides)], strict=True)
    return chosen


def _near(entries: Iterable[Entry], pair: str) -> list[str]:
    """The pair in any spelling, or else pairs of one of its languages."""
    wanted = {*parse_pair(pair)}
    held = {
        f"{entry.source}-{entry.target}": {of_locale(entry.source), of_locale(entry.target)}
        for entry in entries
    }
    of_both = [name for name, codes in held.items() if codes == wanted]
    return sorted(of_both or [name for name, codes in held.items() if codes & wanted])[:12]


def _unknown(settings: OpusSettings, api: str) -> str:
    """Why a corpus has no entries: another release, or another name."""
    held = list_entries(api, corpus=settings.corpus, preprocess=settings.preprocess)
    versions = sorted({entry.version for entry in held})
    if versions:
        return f"OPUS has no {settings.corpus} {settings.version}; known: {', '.join(versions)}"
    names = _rows(api, {"corpora": "True"}, NAMES)
    if settings.corpus in names:
        return f"OPUS has no {settings.preprocess} files of {settings.corpus}; give another `preprocess`"
    near = ", ".join(get_close_matches(settings.corpus, names, n=5, cutoff=0.3)) or ", ".join(names[:12])
    return f"OPUS has no corpus {settings.corpus!r}; near ones are {near}"


def _obtain(entry: Entry, archive: Path, sha256: str | None, locked: int | None, done: Done) -> str:
    """The digest of a sound file, fetched unless an earlier run already did; a broken one is removed."""
    check = partial(check_zip, most=MAX_DOCUMENTS) if not entry.target else packed_check(archive.name)
    digest = sha256_of(archive) if archive.exists() else ""
    if digest and (not sha256 or digest == sha256.lower()):
        try:
            if check:
                check(archive)
        except DataError:
            archive.unlink()
            raise
        done(archive.stat().st_size)
        return digest
    mirror, least = os.environ.get(MIRROR, "").rstrip("/"), entry.kibibytes * 1024
    url = mirror + urlsplit(entry.url).path if mirror else entry.url
    return download(url, archive, sha256=sha256, size=least, exact=locked, check=check, done=done)


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
