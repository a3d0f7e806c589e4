"""Sentence pairs in CSV: of one file, or of two whose rows belong together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from orthoglot.errors import DataError
from orthoglot.formats.sources import read_source
from orthoglot.study.corpora.base import parsed
from orthoglot.study.corpora.kinds.local import LocalSettings
from orthoglot.text.tables import read_table


def corpus(folder: Path, *files: str, **values: Any) -> LocalSettings:
    about = {
        "kind": "local",
        "pairs": ["en-de"],
        "files": [str(folder / file) for file in files],
        "licence": "own",
    }
    return LocalSettings.model_validate(about | values)


def pairs(settings: LocalSettings) -> list[tuple[str, str]]:
    (source,) = settings.pair_sources("").values()
    return [tuple(pair) for pair in read_source(parsed({"name": "x", **source}), "en", "de")]


def test_columns_of_one_file_are_a_pair(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text('1,"Hund, ""ja""",a dog\n2,Regen,rain\n')
    assert pairs(corpus(tmp_path, "x.csv", columns=[3, 2])) == [("a dog", 'Hund, "ja"'), ("rain", "Regen")]


def test_rows_of_two_files_are_a_pair_for_each_column(tmp_path: Path) -> None:
    (tmp_path / "x-en.csv").write_text("a dog,rain,0.5\nsun,moon,1\n")
    (tmp_path / "x-de.csv").write_text("Hund,Regen,0.5\nSonne,Mond,1\n")
    both = corpus(tmp_path, "x-{source}.csv", "x-{name}.csv", columns=[1, 2], pairs={"en-de": "de"})
    assert pairs(both) == [("a dog", "Hund"), ("rain", "Regen"), ("sun", "Sonne"), ("moon", "Mond")]
    (tmp_path / "x-de.csv").write_text("Hund,Regen,0.5\n")
    with pytest.raises(DataError, match=r"x-de\.csv has 1 rows, fewer than the other file"):
        pairs(both)


def test_too_few_columns_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a,b\n")
    with pytest.raises(DataError, match=r"x\.csv: line 1 has 2 columns, not 3"):
        pairs(corpus(tmp_path, "x.csv", columns=[1, 3]))
    with pytest.raises(ValidationError, match="of one file, name the source's and the target's"):
        corpus(tmp_path, "x.csv", columns=[1])


def test_names_of_columns_are_in_the_first_row(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("id,german,english\n1,Hund,dog\n")
    assert pairs(corpus(tmp_path, "x.csv", columns=["english", "german"])) == [("dog", "Hund")]
    with pytest.raises(DataError, match="no column french; its columns are id, german, english"):
        pairs(corpus(tmp_path, "x.csv", columns=["english", "french"]))


def test_quoted_cells_of_tsv_are_read_as_those_of_csv(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_text('id\ttext\n1\t"a ""b"" c"\n')
    assert list(read_table(path, quoted=True)) == [["id", "text"], ["1", 'a "b" c']]
    assert list(read_table(path)) == [["id", "text"], ["1", '"a ""b"" c"']]
    path.write_text('id\ttext\n1\t"a"\tmore\n')
    with pytest.raises(DataError, match=r"x\.tsv: line 2 has 3 columns, not 2"):
        list(read_table(path, quoted=True))
