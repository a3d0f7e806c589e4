"""Settings of benchmarks of labelled texts: where texts and labels are, and in which languages labels are learnt."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from orthoglot.settings import Language, Settings, Whole
from orthoglot.study.benchmarks.base import Benchmark, Takes, taken
from orthoglot.study.corpora.patterns import MINI, by_name, filled

Part = Literal["train", "valid", "test"]
PARTS: tuple[Part, ...] = ("train", "valid", "test")
Scoring = Literal["label", "number", "several"]
TEXTS = ("text", "second text")


class SplitNames(Settings):
    """What files call the parts of a set."""

    train: str = "train"
    """On which a classifier learns."""
    valid: str = "valid"
    """On which it chooses its epoch."""
    test: str = "test"
    """On which it is tested."""


class LabelledFiles(Settings):
    """Files of labelled texts, and which of their columns hold what."""

    form: Literal["table", "amazon-v1", "amazon-v2", "copa", "social-iqa", "eurlex"] = "table"
    """`table`: TSV, or CSV where the name ends with .csv. `amazon-v1`: XML of Prettenhofer and Stein. `amazon-v2`:
    lines of JSON of Keung et al., or CSV with their keys in the first row. `copa`: lines of JSON of COPA and XCOPA, a
    premise with two alternatives. `social-iqa`: those of Social IQa, a context and a question with three answers.
    `eurlex`: lines of JSON of MultiEURLEX, a document in all languages with several labels."""
    files: str | Annotated[list[str], Field(min_length=1)]
    """A file, or files that are read one after the other; plain, .gz or .zst. `{language}` and `{split}` stand for
    names of the language and of the part, `{mini}` for the folder of the invented languages."""
    text: str | int | Annotated[list[str | int], Field(min_length=2, max_length=2)] = "text"
    """The column of the text: its name, or its number from 1 in a file without names. Two columns for labels of
    sentence pairs, such as XNLI's."""
    quoted: bool = False
    """Whether cells of TSV are quoted as those of CSV are, e.g. of SIB-200."""
    label: str | int = "label"
    """The column of the label; of `eurlex` the level of the labels, such as level_1."""
    label_names: dict[str, str] = {}
    """Labels that are to be read as another one."""
    left_out: list[str] = []
    """Labels whose lines are left out of a table, such as `-` of SNLI, on which annotators did not agree."""
    item: str | int | None = None
    """The column of an id that translations share; without one, each text is an item of its own."""
    language: str | int | None = None
    """The column, in `amazon-v2` the key, of the name of the language, in files that hold several; lines of the others
    are left out."""
    spelling: dict[Language, str] = {}
    """Names of languages, where these files have others than the benchmark's."""

    def columns_of(self) -> dict[str, str | int]:
        """The columns of text, second text, label, item and language."""
        texts = self.text if isinstance(self.text, list) else [self.text]
        columns = dict(zip(TEXTS[: len(texts)], texts, strict=True))
        further = {"label": self.label, "item": self.item, "language": self.language}
        return columns | {key: column for key, column in further.items() if column is not None}

    def paths_of(self, name: str, split: str, world: str = MINI) -> list[str]:
        """The files of a language and part, by their names in the files; `world` is the invented world's folder."""
        files = [self.files] if isinstance(self.files, str) else self.files
        return [filled(file, "files", language=name, split=split, mini=world) for file in files]

    @model_validator(mode="after")
    def _columns_are_alike(self) -> Self:
        columns = self.columns_of().values()
        if len({isinstance(column, int) for column in columns}) > 1:
            raise ValueError("text, label, item: write names of all, or numbers of all")
        if any(isinstance(column, int) and column < 1 for column in columns):
            raise ValueError("text, label, item: columns are numbered from 1 on")
        return self


class Division(Settings):
    """Parts of a file that is one set, by a hash of a column: lines with the same text there are in one part."""

    by: str | int
    """The column."""
    valid: Annotated[float, Field(gt=0, lt=1)]
    """Share of its texts on which a classifier chooses its epoch."""
    test: Annotated[float, Field(gt=0, lt=1)]
    """Share on which it is tested; it learns on the rest."""

    @model_validator(mode="after")
    def _something_is_left_to_train_on(self) -> Self:
        if self.valid + self.test >= 1:
            raise ValueError(f"valid {self.valid} and test {self.test} leave nothing to train on")
        return self


class ClassificationSettings(LabelledFiles, Benchmark):
    """Texts, or pairs of texts, with labels: a classifier learns them in one language and is tested in others.

    Source: docs/papers.md#protocol-classification.
    """

    kind: Literal["classification"]
    languages: (
        Annotated[list[Language], Field(min_length=1)] | Annotated[dict[Language, str], Field(min_length=1)]
    )
    """The languages, or each with its name in the files."""
    pivot: Language = "en"
    """The language of the training."""
    both_ways: bool = False
    """Whether classifiers also learn in each other language and are tested in the pivot."""
    together: list[Language] = []
    """Languages that one classifier learns in at once, instead of the pivot; all of them in the setting
    translate-train-all."""
    test_taught: bool = False
    """Whether the languages of the training are tested as well."""
    splits: SplitNames = SplitNames()
    """Names of the parts in the files."""
    elsewhere: dict[Part, LabelledFiles] = {}
    """Parts that lie in other files, with all that is to be said of these."""
    divide: Division | None = None
    """How `files` are divided into the parts, where they are one set."""
    stars: Literal["polarity", "each"] = "polarity"
    """Labels of reviews. `polarity`: 1 or 2 stars are negative, 4 or 5 positive, and reviews with 3 are left out.
    `each`: the number of stars, and the measure is the mean absolute error (MARC)."""
    max_train: Whole = 0
    """Training texts of a language at most, equally many of each label; 0 means all [EMS: 2,000 reviews]."""
    seed: int = 1
    """Seed of this choice and of `divide`."""

    @model_validator(mode="after")
    def _languages_are_known(self) -> Self:
        if unknown := [code for code in (self.pivot, *self.together) if code not in self.languages]:
            raise ValueError(f"languages: {unknown[0]}, in which classifiers learn, is not among them")
        if self.together and self.both_ways:
            raise ValueError("together, both_ways: give one of them")
        if not self.directions():
            raise ValueError("languages: none is tested; name another, or give test_taught")
        if len(set(self.names.values())) < len(self.languages):
            raise ValueError(f"languages: {self.languages} names something twice")
        return self

    @model_validator(mode="after")
    def _the_files_are_told_apart(self) -> Self:
        if self.divide and (self.elsewhere or self.form != "table"):
            raise ValueError("divide: for tables, without `elsewhere`")
        if self.divide and not isinstance(self.divide.by, type(self.label)):
            raise ValueError("divide.by, label: write names of both, or numbers of both")
        all_paths = [self.paths_of(name, "") for name in self.names.values()]
        apart = self.form == "eurlex" or self.language is not None
        if not apart and any(paths in all_paths[:number] for number, paths in enumerate(all_paths)):
            raise ValueError("files: the same for two languages; tell them apart by {language}")
        train, test = self.file_of(self.pivot, "train"), self.file_of(self.pivot, "test")
        if not self.divide and train == test:
            raise ValueError("files: the same for train and test; tell them apart by {split}")
        return self

    @property
    def names(self) -> dict[str, str]:
        """{language: its name in the files}."""
        return by_name(self.languages)

    @property
    def codes(self) -> set[str]:
        return set(self.languages)

    def within(self, takes: Takes) -> Self | None:
        """See `Benchmark.within`; a language of the training, and one that is tested."""
        languages, together = taken(self.languages, takes), taken(self.together, takes)
        if len(languages) < min(2, len(self.languages)) or not (self.together or takes(self.pivot)):
            return None
        pivot = self.pivot if self.pivot in languages else next(iter(together), "")
        narrowed = self._narrowed(languages=languages, pivot=pivot, together=together)
        return narrowed if narrowed and narrowed.directions() else None

    @property
    def scoring(self) -> Scoring:
        """What a prediction is compared by."""
        if self.form == "eurlex":
            return "several"
        return "number" if self.form.startswith("amazon") and self.stars == "each" else "label"

    def directions(self) -> list[tuple[list[str], str]]:
        """(languages of a training, language of a test)."""
        trainings = [[code] for code in self.names] if self.both_ways else [self.together or [self.pivot]]
        return [
            (taught, code)
            for taught in trainings
            for code in self.names
            if self.test_taught or code not in taught
        ]

    def parts(self) -> list[tuple[str, Part]]:
        """(language, part) that the directions need."""
        directions = self.directions()
        taught = {code for languages, _ in directions for code in languages}
        tested = {code for _, code in directions}
        return [
            (code, part)
            for code in self.names
            for part in PARTS
            if code in (tested if part == "test" else taught)
        ]

    def source_of(self, part: Part) -> LabelledFiles:
        """The files of a part."""
        return self.elsewhere.get(part, self)

    def name_of(self, language: str, part: Part) -> str:
        """What the files of a part call a language."""
        return self.source_of(part).spelling.get(language, self.names[language])

    def file_of(self, language: str, part: Part, world: str = MINI) -> list[str]:
        """The files of a language and part."""
        return self.source_of(part).paths_of(self.name_of(language, part), getattr(self.splits, part), world)

    def paths(self, world: str = MINI) -> dict[str, list[str]]:
        """The files of each language and part; see `Benchmark.paths`."""
        return {f"{code} {part}": self.file_of(code, part, world) for code, part in self.parts()}
