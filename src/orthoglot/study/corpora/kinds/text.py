"""Text without translations: a file of sentences for each language."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from orthoglot.settings import Language
from orthoglot.study.corpora.base import Corpus
from orthoglot.study.corpora.patterns import MINI, filled


class TextCorpusSettings(Corpus):
    """The user's own text without translations."""

    kind: Literal["text"]
    languages: Annotated[list[Language], Field(min_length=1)]
    """The languages that there are files of."""
    files: str
    """A file with a sentence per line, plain, .gz or .zst; `{language}` stands for the language, `{mini}` for
    the folder of the invented languages."""
    licence: str
    """The licence of the text; the report lists it."""

    @model_validator(mode="after")
    def _each_language_has_a_file_of_its_own(self) -> Self:
        if len(set(self.texts("").values())) < len(self.languages):
            raise ValueError("files: the same for two languages; tell them apart by {language}")
        return self

    @property
    def invented(self) -> bool:
        """Whether its files are the invented world's."""
        return MINI in self.files

    def texts(self, root: str) -> dict[str, str]:
        return {code: filled(self.files, language=code, mini=root) for code in self.languages}


SETTINGS = TextCorpusSettings
