"""Corpora of OPUS, read without trusting them.

Moses archives are zips with a text for each language; `xml` and `raw` are documents and alignments with scores, see
`orthoglot.study.corpora.xces`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import chain, product
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from orthoglot.errors import DataError
from orthoglot.formats import base
from orthoglot.languages import canonical, is_spelling, of_locale, parse_pair, spellings, tags_of_pair
from orthoglot.settings import Language, Name
from orthoglot.study.corpora.archives import opened
from orthoglot.study.corpora.base import Digest, PairedSettings
from orthoglot.study.corpora.xces import Form, Threshold, read_alignments
from orthoglot.text.bitext import CHUNK_BYTES, Item, aligned, decoded

# The names that `opus_get` and `opus_read` of opustools have for them.
Preprocess = Literal["moses", "xml", "raw"]
FILES_OF_XML = (
    "{}.xml.gz",
    "{}.source.zip",
    "{}.target.zip",
)  # an alignment file, and documents of both languages


class OpusSettings(PairedSettings):
    """One OPUS corpus in one or more language pairs; `orthoglot study opus` lists what there is."""

    verb = "fetch"
    home = "opus"
    kind: Literal["opus"]
    pairs: Annotated[list[str], Field(min_length=1)]
    """Language pairs, pivot first, e.g. en-de."""
    corpus: Name
    """OPUS's name of the corpus, e.g. GlobalVoices."""
    version: Name
    """Its release, e.g. v2018q4; `orthoglot study opus --corpus NAME --releases` lists them. `latest` is refused: it
    would be another text tomorrow."""
    preprocess: Preprocess = "moses"
    """Which files of OPUS are read: moses, aligned lines; xml, documents of words, with a space between two; raw, the
    same documents as they were written. The last two have alignments with scores."""
    attribute: Annotated[str, Field(pattern=r"^[A-Za-z_][\w.-]*$")] = "certainty"
    """The score of an alignment that `threshold` is about: certainty or overlap, or another one that the files have."""
    threshold: float | None = None
    """Alignments with a score below it, or without one, are left out; all are taken if it is not given. The range of a
    score is that of the corpus. Needs `preprocess: xml` or `raw`."""
    spellings: dict[Language, list[str]] = {}
    """The spellings that are taken of a language that OPUS spells in several ways, e.g. {zh: [zh_cn, zh_tw]};
    `max_pairs` holds for all of them together. One is taken of a language that is not named: the first that OPUS has
    of its code in this project, its three letters and its usual regions."""
    unless_in: list[Name] = []
    """Corpora; a language pair that one of them has in the same preset is left out here."""
    listed: bool = True
    """Whether the catalogue that opustools ships has it: this is checked when a run is planned. Give false for a later
    release, or one of your own server, which is looked up in OPUS's answer when it is fetched."""
    licence: str
    """The licence of the text; the report lists it."""
    sha256: dict[str, Digest] = {}
    """Digest of the archive by language pair, or by `spellings`, e.g. en-zh_tw; of xml and raw by file, e.g.
    xml/en-de.xml.gz, xml/en-de.source.zip and xml/en-de.target.zip. A file with another one is refused."""

    @field_validator("pairs")
    @classmethod
    def _regions_are_spellings(cls, pairs: list[str]) -> list[str]:
        for pair in pairs:
            tags = tags_of_pair(pair)
            if (plain := "-".join(map(canonical, tags))) != pair:
                named = ", ".join(f"{canonical(tag)}: [{tag}]" for tag in tags if tag != canonical(tag))
                raise ValueError(f"{pair}: write the pair {plain}, and spellings: {{{named}}}")
        return pairs

    @model_validator(mode="after")
    def _scores_are_there(self) -> Self:
        if self.threshold is not None and self.preprocess == "moses":
            raise ValueError("threshold: Moses archives have no scores; give preprocess: xml, or raw")
        if self.threshold is None and self.attribute != "certainty":
            raise ValueError(f"attribute: {self.attribute} without a threshold does nothing; give one")
        return self

    @model_validator(mode="after")
    def _spellings_are_of_languages(self) -> Self:
        for code, named in self.spellings.items():
            if strange := sorted(name for name in named if not is_spelling(name, code)):
                raise ValueError(
                    f"spellings.{code}: {', '.join(strange)}; known: {', '.join(spellings(code))}, and {code} with any "
                    "region or script"
                )
            if not named or len(set(named)) < len(named):
                raise ValueError(f"spellings.{code}: name at least one, each once (given: {named})")
        return self

    @model_validator(mode="after")
    def _pins_are_of_archives(self) -> Self:
        if strange := sorted(
            set(self.sha256)
            - {key for pair in self.pairs for name in self.archives(pair) for key in self.files(name)}
        ):
            raise ValueError(f"sha256 names {', '.join(strange)}, which is none of the pairs")
        return self

    def archives(self, pair: str) -> dict[str, tuple[Sequence[str], Sequence[str]]]:
        """The archives of a language pair, each with how OPUS may spell source and target there.

        One, called as the pair, unless `spellings` has one of the two languages.
        """
        chosen = [
            [(spelling, [spelling]) for spelling in self.spellings[code]]
            if code in self.spellings
            else [(code, spellings(code))]
            for code in parse_pair(pair)
        ]
        return {
            f"{source}-{target}": (first, second) for (source, first), (target, second) in product(*chosen)
        }

    def files(self, archive: str) -> dict[str, str]:
        """The files of an archive in the folder that `fetch` makes, by their names in `sha256`."""
        if self.preprocess == "moses":
            return {archive: f"{archive}.zip"}
        names = [name.format(archive) for name in FILES_OF_XML]
        return {f"{self.preprocess}/{name}": name for name in names}

    def pair_sources(self, root: str) -> dict[str, dict[str, Any]]:
        about: dict[str, Any] = {"kind": "opus"}
        if self.preprocess != "moses":
            about |= {"corpus": self.corpus, "preprocess": self.preprocess}
        if self.threshold is not None:
            about |= {"attribute": self.attribute, "threshold": self.threshold}
        return self.limited(
            {
                pair: {
                    **about,
                    "paths": [
                        f"{root}/{file}" for name in self.archives(pair) for file in self.files(name).values()
                    ],
                }
                for pair in self.pairs
            }
        )

    def with_pairs(self, pairs: Collection[str]) -> Self:
        """The same corpus in some of its language pairs."""
        pairs_left = [pair for pair in self.pairs if pair in pairs]
        named = {
            "max_pairs": pairs_left,
            "spellings": [code for pair in pairs_left for code in parse_pair(pair)],
            "sha256": [
                key for pair in pairs_left for name in self.archives(pair) for key in self.files(name)
            ],
        }
        fewer = {
            field: {key: value for key, value in values.items() if key in keys}
            for field, keys in named.items()
            if isinstance(values := getattr(self, field), dict)
        }
        return self.model_copy(update={"pairs": pairs_left, **fewer})


SETTINGS = OpusSettings


class Source(base.Source):
    """Files of OPUS; the settings are those of `OpusSettings`."""

    corpus: str = ""
    preprocess: Preprocess = "moses"
    attribute: str = ""
    threshold: float | None = None

    def read(self, first: str, second: str) -> Iterator[Item]:
        """The pairs of Moses zips, or of alignments of documents."""
        paths = [Path(path) for path in self.paths]
        if self.preprocess == "moses":
            return chain.from_iterable(read_moses_zip(path, first, second) for path in paths)
        form = Form(f"{self.corpus}/{self.preprocess}", words=self.preprocess == "xml")
        least = None if self.threshold is None else Threshold(self.attribute, self.threshold)
        size = len(FILES_OF_XML)
        archives = (paths[start : start + size] for start in range(0, len(paths), size))
        return chain.from_iterable(
            read_alignments(links, (sources, targets), form, least) for links, sources, targets in archives
        )


def read_moses_zip(path: Path, source: str, target: str) -> Iterator[Item]:
    """Stream the pairs of a Moses zip, whichever language comes first in it; a line that is not UTF-8 makes none.

    Raises:
        DataError: not a sound zip, not these languages, or different numbers of lines.
    """
    first, second = members(path, source, target)
    return aligned(_lines(path, first), _lines(path, second), f"{path}:{first}", f"{path}:{second}")


def members(path: Path, source: str, target: str) -> list[str]:
    """The names of the source's and the target's text: their last part is the language, or a variety of it."""
    with opened(path) as archive:
        names = [name for name in archive.namelist() if not name.startswith("__MACOSX/")]
    texts = []
    for language in (source, target):
        mine = [name for name in names if "." in name and of_locale(name.rpartition(".")[2]) == language]
        if len(mine) != 1:
            raise DataError(
                f"{path} has {len(mine)} members in {language}, not 1; it holds {', '.join(names)}"
            )
        texts += mine
    return texts


def _lines(path: Path, member: str) -> Iterator[str]:
    with opened(path) as archive, archive.open(member) as file:
        chunks = iter(lambda: file.read(CHUNK_BYTES), b"")
        yield from decoded(chunks, f"{path}:{member}", escaped=True)
