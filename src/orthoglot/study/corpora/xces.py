"""Sentence alignments of OPUS: an XCES file of links between sentences, and a zip of XML documents for each language.

`OpusRead` of opustools makes the same pairs of the same files, which tests compare. It is not what reads them here: it
opens a file of this machine where the alignment names one, expands entities, takes an alignment that breaks off for a
whole one, a score of NaN for one above any threshold, and a missing sentence for an empty one, and asks on standard
input whether to download what is missing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import groupby, islice
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple, TypeVar
from xml.parsers import expat
from zipfile import ZipFile

from orthoglot.errors import DataError
from orthoglot.study.corpora.archives import MAX_DOCUMENTS, chunks_of, opened
from orthoglot.text.bitext import Item, LeftOut, SentencePair, bad_row
from orthoglot.text.xml_memory import FAULTS, parts

LINKS = 200_000  # whose sentences are held at once
_T = TypeVar("_T")
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


class Form(NamedTuple):
    """What a corpus of OPUS has in its documents."""

    folder: str  # where they are in the zips, e.g. GlobalVoices/xml.
    words: bool  # whether a sentence is its words, with a space between two; its text as it is if not


class Threshold(NamedTuple):
    """The least score of an alignment that is taken."""

    attribute: str  # the score, e.g. certainty.
    least: float  # its least value


class _Link(NamedTuple):
    line: int  # of the alignment file, from 1
    documents: tuple[str, str]
    sides: tuple[Sequence[str], Sequence[str]]  # identifiers of sentences


def read_alignments(
    links: Path, zips: tuple[Path, Path], form: Form, threshold: Threshold | None = None
) -> Iterator[Item]:
    """Stream the pairs of an alignment file; of several sentences on a side, a space stands between two.

    Left out are a link with a score below the threshold (`below_threshold`) or without one (`no_score`), one that has
    no sentence on a side (`not_aligned`), and bad rows: a link that cannot be read, or whose document or sentence is
    missing. Memory holds the sentences of 200,000 links; documents are read once if the links go through them in order.

    Args:
        links: The alignment file, packed or not.
        zips: The zips of source and target, whichever language comes first in the alignment file.
        form: The form of the documents.
        threshold: All links are taken if it is not given.
    Raises:
        DataError: a file is damaged or no XML of this kind, or no link has the score.
    """
    with ExitStack() as stack:
        first, second = (stack.enter_context(opened(path, MAX_DOCUMENTS)) for path in zips)
        archives = _Archives((first, second), form)
        items = _links(links, threshold)
        while block := list(islice(items, LINKS)):
            yield from (item for item in block if isinstance(item, LeftOut))
            read = (item for item in block if isinstance(item, _Link))
            for documents, group in groupby(read, attrgetter("documents")):
                yield from archives.pairs(documents, list(group))


class _Document:
    """A document's sentences, in any order; those that are asked for in its own order are found in one reading."""

    def __init__(self, read: Callable[[], Iterator[tuple[str, str]]]) -> None:
        self._read = read
        self._rest: Iterator[tuple[str, str]] = iter(())

    def sentences(self, wanted: Iterable[str]) -> dict[str, str]:
        """Those of the wanted sentences that there are, by identifier."""
        missing, texts = {*wanted}, dict[str, str]()
        for again in (False, True):
            if again and missing:
                self._rest = self._read()
            while missing and (sentence := next(self._rest, None)):
                if sentence[0] in missing:
                    missing.remove(sentence[0])
                    texts[sentence[0]] = sentence[1]
        return texts


class _Archives:
    """The zips of source and target."""

    def __init__(self, archives: tuple[ZipFile, ZipFile], form: Form) -> None:
        self._archives, self._form = archives, form
        self._names = [{*archive.namelist()} for archive in archives]
        self._documents: tuple[str, str] | None = None
        self._open: list[_Document] = []
        self._turned = False

    def pairs(self, documents: tuple[str, str], links: Sequence[_Link]) -> Iterator[Item]:
        """The pairs of links between two documents."""
        if documents != self._documents:
            self._documents = documents
            self._open_both(documents)
        if not self._open:
            lacking = [document for document in documents if not any(self._places(document))] or documents
            fault = f"names {' and '.join(lacking)}, which the zips of its languages do not have"
            yield from (bad_row(link.line, fault, _content(link)) for link in links)
            return
        ordered = [link.sides[::-1] if self._turned else link.sides for link in links]
        texts = [
            document.sentences(name for sides in ordered for name in sides[side])
            for side, document in enumerate(self._open)
        ]
        for link, sides in zip(links, ordered, strict=True):
            both = list(zip(texts, sides, strict=True))
            if lacking := [name for held, names in both for name in names if name not in held]:
                fault = f"names the sentence {lacking[0]}, which {' and '.join(documents)} do not have"
                yield bad_row(link.line, fault, _content(link))
            else:
                yield SentencePair(*(" ".join(held[name] for name in names) for held, names in both))

    def _open_both(self, documents: tuple[str, str]) -> None:
        """Find which of two documents is the source's; none is open if a zip lacks its own."""
        first, second = map(self._places, documents)
        straight, turned = (first[0], second[1]), (second[0], first[1])
        if all(straight) and all(turned):
            raise DataError(
                f"{self._archives[0].filename} has {' and '.join(documents)}, and so has the other zip"
            )
        self._turned = all(turned)
        members = turned if self._turned else straight
        self._open = (
            [
                _Document(partial(_read, archive, member, "w" if self._form.words else "s"))
                for archive, member in zip(self._archives, members, strict=True)
            ]
            if all(members)
            else []
        )

    def _places(self, document: str) -> list[str]:
        """Where a document is in each zip; "" if it is not there."""
        names = (f"{self._form.folder}/{document.removesuffix('.gz')}", document)
        return [next((name for name in names if name in held), "") for held in self._names]


def _read(archive: ZipFile, member: str, tag: str) -> Iterator[tuple[str, str]]:
    return _sentences(f"{archive.filename}:{member}", chunks_of(archive, member), tag)


def _content(link: _Link) -> str:
    return "\t".join((*link.documents, *map(" ".join, link.sides)))


def _links(path: Path, threshold: Threshold | None) -> Iterator[_Link | LeftOut]:
    """The links of a file, or why one is left out."""
    parser = _parser(str(path))
    done: list[_Link | LeftOut] = []
    documents = "", ""
    scored, stated = not threshold, dict[str, None]()

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal documents, scored
        if name == "linkGrp":
            documents = attributes.get("fromDoc", ""), attributes.get("toDoc", "")
        elif name == "link":
            stated.update(dict.fromkeys(attributes))
            scored = scored or (threshold is not None and threshold.attribute in attributes)
            done.append(_link(parser.CurrentLineNumber, documents, attributes, threshold))

    parser.StartElementHandler = start
    yield from _parsed(str(path), None, parser, done)
    if not stated:
        raise DataError(f"{path} has no links: no alignment of OPUS")
    if threshold and not scored:
        scores = ", ".join(sorted(stated.keys() - {"id", "xtargets"})) or "none"
        raise DataError(f"{path}: no link has the score {threshold.attribute}; there is {scores}")


def _link(
    line: int, documents: tuple[str, str], attributes: dict[str, str], threshold: Threshold | None
) -> _Link | LeftOut:
    """A link, or why it is left out."""
    content = "\t".join(f"{name}={value}" for name, value in attributes.items())
    if threshold:
        score = attributes.get(threshold.attribute)
        if score is None:
            return LeftOut("no_score")
        if not NUMBER.fullmatch(score) or not math.isfinite(float(score)):
            return bad_row(
                line, f"has the {threshold.attribute} {score[:100]!r}, which is no number", content
            )
        if float(score) < threshold.least:
            return LeftOut("below_threshold")
    sides = [side.split() for side in attributes.get("xtargets", "").split(";")]
    if len(sides) != 2:
        return bad_row(line, 'does not name the sentences of two sides, as xtargets="s1;s1 s2" does', content)
    if not all(sides):
        return LeftOut("not_aligned")
    return _Link(line, documents, (sides[0], sides[1]))


def _sentences(name: str, chunks: Iterable[bytes], tag: str) -> Iterator[tuple[str, str]]:
    """Identifier and text of each sentence of a document; `tag` is w to join its words, s for its own text."""
    parser = _parser(name)
    done: list[tuple[str, str]] = []
    around: list[str] = []
    identifier = ""
    text: list[str] = []  # since the last tag that begins one
    words: list[str] = []

    def start(element: str, attributes: dict[str, str]) -> None:
        nonlocal identifier
        around.append(element)
        if element == "s":
            identifier = attributes.get("id", "")
            words.clear()
        if element == tag:
            text.clear()

    def characters(data: str) -> None:
        if around[-1] == tag:
            text.append(data)

    def end(element: str) -> None:
        around.pop()
        if element == tag:
            words.append("".join(text).strip())
        if element == "s":
            done.append((identifier, " ".join(words).replace("\n", " ")))

    parser.StartElementHandler = start
    parser.CharacterDataHandler = characters
    parser.EndElementHandler = end
    return _parsed(name, chunks, parser, done)


def _parser(name: str) -> expat.XMLParserType:
    """A parser that opens no other file and refuses entities that a document type elsewhere would declare."""

    def refuse(entity: str, is_parameter: bool) -> None:
        raise DataError(f"{name}: uses the entity {entity}, which it does not declare")

    parser = expat.ParserCreate()
    parser.SkippedEntityHandler = refuse
    parser.buffer_text = True
    return parser


def _parsed(
    name: str, chunks: Iterable[bytes] | None, parser: expat.XMLParserType, done: list[_T]
) -> Iterator[_T]:
    """What the handlers of a parser put into `done`, a part of the file after the other."""
    try:
        for part in parts(name, chunks):
            parser.Parse(part)
            yield from done
            done.clear()
        parser.Parse(b"", True)
    except DataError:
        raise
    except FAULTS as error:
        raise DataError(f"{name}: not well-formed XML: {error}") from error
    yield from done
