"""What OPUS holds, looked up offline in the catalogue that the package opustools ships.

Its table of all files (SQLite, compressed) is unpacked once; of it, the kinds of files that are read are kept, with an
index, in the user's cache folder, see `user_folder`. Nothing of opustools is imported: its own look-up writes the whole
table, 132 MB, into the home folder, not atomically, and joins names into SQL.
"""

from __future__ import annotations

import gzip
import os
import shutil
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from difflib import get_close_matches
from functools import cache
from importlib.metadata import distribution
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from orthoglot.errors import ConfigError
from orthoglot.languages import of_locale, parse_pair
from orthoglot.study.corpora.base import Corpus
from orthoglot.study.corpora.kinds.opus import OpusSettings, Preprocess
from orthoglot.study.fetching.opus import ENTRIES, Entry, choose
from orthoglot.user_folders import user_folder

COLUMNS = ("corpus", "version", "source", "target", "alignment_pairs", "size", "latest", "url")
# Rows of the files that are read: those of xml and raw are alignments, and documents in one language.
FILES: dict[Preprocess, str] = {
    "moses": "preprocessing = 'moses'",
    "xml": "preprocessing = 'xml'",
    "raw": "(preprocessing = 'raw' OR preprocessing = 'xml' AND target != '')",
}
# It is in the table's name, as another version of this package may use another form, and in a finished table.
FORM = 2
NLLB = "https://object.pouta.csc.fi/OPUS-NLLB/v1/moses/ay-en.txt.zip"
# What OPUS has published since that catalogue and presets need: the index and the counts of OPUS's own repository
# (github.com/Helsinki-NLP/OPUS, corpus/NLLB); it counts distinct pairs.
SINCE = (("NLLB", "v1", "ay", "en", 1_241_577, 60_074, True, NLLB),)


def table() -> Path:
    """The unpacked table of the installed opustools, made if it is not there or not readable.

    Raises:
        ConfigError: the user has no cache folder that can be written to.
    """
    installed = distribution("opustools")
    packed = Path(str(installed.locate_file("opustools/opusdata.db.gz")))
    path = user_folder("cache") / f"opus-{installed.version}-{packed.stat().st_size}-{FORM}.sqlite"
    if not _is_whole(path):
        _unpack(packed, path)
    return path


def entries(
    corpus: str | None = None,
    version: str | None = None,
    preprocess: Preprocess = "moses",
    *,
    source: str | None = None,
    target: str | None = None,
) -> list[Entry]:
    """The files of one kind, as `orthoglot.study.fetching.opus.list_entries` asks OPUS itself for them.

    Returns:
        Languages as OPUS spells them; 0 pairs where the catalogue does not state how many there are.
    """
    release = {"latest": "True"} if version == "latest" else {"version": version}
    named = {column: value for column, value in {"corpus": corpus, **release}.items() if value}
    condition = " AND ".join([FILES[preprocess], *(f"{column} = ?" for column in named)])
    rows = [
        dict(zip(COLUMNS, row, strict=True))
        for row in _rows(f"SELECT {', '.join(COLUMNS)} FROM files WHERE {condition}", [*named.values()])
    ]
    if preprocess == "moses":
        since = [dict(zip(COLUMNS, row, strict=True)) for row in SINCE]
        rows += [
            row for row in since if named.items() <= {key: str(value) for key, value in row.items()}.items()
        ]
    asked = {source, target} - {None}
    bitexts = [row for row in rows if row["target"] and asked <= {row["source"], row["target"]}]
    taken = {(row["corpus"], row["version"], row[side]) for row in bitexts for side in ("source", "target")}
    documents = [
        row for row in rows if not row["target"] and (row["corpus"], row["version"], row["source"]) in taken
    ]
    return ENTRIES.validate_python(bitexts + documents)


def archives(corpora: Mapping[str, Corpus]) -> dict[str, dict[str, dict[str, Entry]]]:
    """The archives of each language pair of the corpora of OPUS that are `listed`: those that are fetched.

    Args:
        corpora: Corpora by their entry in orthoglot's catalogue, such as europarl-62 or benchmarks.paracrawl; those
            that OPUS does not have are left out.
    Returns:
        The archives by entry, language pair, and file as `OpusSettings.files` calls it.
    Raises:
        ConfigError: OPUS has no such corpus, release or pair, or the release is `latest`, listed or not; names the
            entry and what is near.
    """
    by_entry = {}
    for name, corpus in corpora.items():
        if isinstance(corpus, OpusSettings):
            try:
                _check_release(corpus)
                if corpus.listed:
                    by_entry[name] = _archives(corpus)
            except ConfigError as error:
                section = "" if name.startswith("benchmarks.") else "corpora."
                raise ConfigError(f"{section}{name}: {error}") from error
    return by_entry


def _check_release(settings: OpusSettings) -> None:
    """Refuse `latest`, which would be another text tomorrow."""
    if settings.version == "latest":
        newest = {entry.version for entry in entries(settings.corpus, "latest", settings.preprocess)}
        known = f", such as {', '.join(sorted(newest))}, the newest that the catalogue has" if newest else ""
        raise ConfigError(f"version: latest is another text tomorrow; name a release{known}")


def left_out(settings: OpusSettings, taken: Mapping[str, Mapping[str, Entry]]) -> dict[str, list[Entry]]:
    """The archives that a release has of each language pair in spellings that are not taken.

    Args:
        settings: A corpus.
        taken: Its archives, as `archives` finds them.
    """
    held = entries(settings.corpus, settings.version, settings.preprocess)
    by_pair = {}
    for pair, chosen in taken.items():
        taken_codes = {frozenset((entry.source, entry.target)) for entry in chosen.values() if entry.target}
        by_pair[pair] = [
            entry
            for entry in held
            if entry.target
            and {of_locale(entry.source), of_locale(entry.target)} == {*parse_pair(pair)}
            and frozenset((entry.source, entry.target)) not in taken_codes
        ]
    return by_pair


def _archives(settings: OpusSettings) -> dict[str, dict[str, Entry]]:
    held = entries(settings.corpus, settings.version, settings.preprocess)
    if not held:
        raise ConfigError(_unknown(settings))
    return {pair: choose(held, pair, settings) for pair in settings.pairs}


def _unknown(settings: OpusSettings) -> str:
    """Why a corpus has no archives: another release, or another name."""
    newer = "; give `listed: false` if it came out later"
    kind = FILES[settings.preprocess]
    versions = _column(f"SELECT DISTINCT version FROM files WHERE {kind} AND corpus = ?", settings.corpus)
    if versions:
        return (
            f"the catalogue of OPUS has no {settings.corpus} {settings.version}; known: "
            f"{', '.join(sorted(versions))}{newer}"
        )
    if _column("SELECT corpus FROM files WHERE corpus = ? LIMIT 1", settings.corpus):
        return (
            f"the catalogue of OPUS has no {settings.preprocess} files of {settings.corpus}; give another "
            "`preprocess`"
        )
    near = ", ".join(
        get_close_matches(settings.corpus, _column("SELECT DISTINCT corpus FROM files"), n=5, cutoff=0.3)
    )
    return (
        f"the catalogue of OPUS has no corpus {settings.corpus!r}"
        f"{f', near ones are {near}' if near else ''}{newer}"
    )


def _column(question: str, *values: str) -> list[str]:
    return [row[0] for row in _rows(question, values)]


def _rows(question: str, values: Sequence[str] = ()) -> list[Any]:
    with closing(sqlite3.connect(f"file:{table()}?mode=ro", uri=True)) as database:
        return database.execute(question, values).fetchall()


@cache
def _is_whole(path: Path) -> bool:
    """Whether the file is a finished table; looked at once in a process."""
    if not path.is_file():
        return False
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
            (form,) = database.execute("PRAGMA user_version").fetchone()
            (state,) = database.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.DatabaseError:
        return False
    return bool(form == FORM and state == "ok")


def _unpack(packed: Path, path: Path) -> None:
    """Write the table of files; it appears whole, and two processes that write it do not meet."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=path.parent) as folder:
        whole, partial = Path(folder, "opusdata.db"), Path(folder, path.name)
        with gzip.open(packed) as source, open(whole, "wb") as unpacked:
            shutil.copyfileobj(source, unpacked, 1 << 20)
        with closing(sqlite3.connect(partial)) as database:
            database.execute("ATTACH ? AS opus", [str(whole)])
            database.execute(
                f"CREATE TABLE files AS SELECT preprocessing, {', '.join(COLUMNS)} FROM opus.opusfile "
                f"WHERE {' OR '.join(FILES.values())}"
            )
            database.execute("CREATE INDEX release ON files (corpus, version)")
            database.commit()
            database.execute(f"PRAGMA user_version = {FORM}")
            database.commit()
        os.replace(partial, path)
    _is_whole.cache_clear()
