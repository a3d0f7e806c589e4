"""A table in a folder of part files, as engines of curation write it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import ValidationError

from orthoglot.corpora.prepare import prepare
from orthoglot.errors import DataError
from orthoglot.formats.sources import read_source
from orthoglot.study.corpora.base import parsed
from orthoglot.study.corpora.kinds.local import LocalSettings
from orthoglot.study.jobs.prepare import PrepareSettings
from orthoglot.text.bitext import LeftOut

Row = Mapping[str, Any]
ROWS = [{"id": n, "en": f"The dog {n} is small.", "de": f"Hund {n} ist klein."} for n in range(600)]


def write_parquet(path: Path, rows: Sequence[Row]) -> None:
    schema = pa.schema({"id": pa.int64(), "en": pa.string(), "de": pa.string()})
    pq.write_table(pa.Table.from_pylist([dict(row) for row in rows], schema), path)


def write_json(path: Path, rows: Sequence[Row]) -> None:
    # Spark leaves out what is null.
    lines = [json.dumps({name: value for name, value in row.items() if value is not None}) for row in rows]
    text = "".join(f"{line}\n" for line in lines).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)


# As Spark 4.3, Ray 2.60 and datatrove 0.10 name their files, with what else lies beside them.
FORMS = {
    "spark.parquet": (write_parquet, "part-0000{}-ae60e4a8-c000.snappy.parquet", True),
    "spark.json": (write_json, "part-0000{}-61033e2c-c000.json", True),
    "spark.json.gz": (write_json, "part-0000{}-e9ba03ea-c000.json.gz", True),
    "ray.parquet": (write_parquet, "12_00000{}_000000-0.parquet", False),
    "datatrove.jsonl.gz": (write_json, "0000{}.jsonl.gz", False),
}


def written(folder: Path, form: str, parts: Sequence[Sequence[Row]]) -> Path:
    write, name, of_hadoop = FORMS[form]
    folder.mkdir()
    for number, rows in reversed([*enumerate(parts)]):
        write(folder / name.format(number), rows)
        if of_hadoop:
            (folder / f".{name.format(number)}.crc").write_bytes(b"crc")
    if of_hadoop:
        (folder / "_SUCCESS").touch()
    return folder


def corpus(folder: Path, **values: Any) -> LocalSettings:
    about = {"kind": "local", "pairs": ["en-de"], "files": [str(folder)], "licence": "own"}
    return LocalSettings.model_validate(about | values)


def source(settings: LocalSettings) -> dict[str, Any]:
    return {"name": "curated", **settings.pair_sources("")["en-de"]}


def items(settings: LocalSettings) -> list[Any]:
    return list(read_source(parsed(source(settings)), "en", "de"))


@pytest.mark.parametrize("form", FORMS)
def test_the_parts_of_a_folder_are_one_table(form: str, tmp_path: Path) -> None:
    # The first of Spark's tasks leaves an empty file where it has no rows.
    folder = written(tmp_path / "curated", form, [[], ROWS[:250], [], ROWS[250:]])
    pairs = [(row["en"], row["de"]) for row in ROWS]
    assert items(corpus(folder)) == pairs
    assert items(corpus(folder, columns=["de", "en"])) == [pair[::-1] for pair in pairs]
    sample = [item for item in items(corpus(folder, max_pairs=40)) if not isinstance(item, LeftOut)]
    assert len(sample) == 40
    (tmp_path / "whole.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    whole = items(corpus(tmp_path / "whole.jsonl", max_pairs=40))
    assert sample == [item for item in whole if not isinstance(item, LeftOut)]


@pytest.mark.parametrize("form", ["spark.parquet", "spark.json"])
def test_a_row_without_text_is_named_with_its_part(form: str, tmp_path: Path) -> None:
    nothing = {"id": 1, "en": "The cat", "de": None}
    folder = written(tmp_path / "curated", form, [ROWS[:300], [ROWS[300], nothing, *ROWS[301:]]])
    row = items(corpus(folder))[301].row
    part = FORMS[form][1].format(1)
    assert row[0] == 2
    assert "no text" in row[1]
    assert row[1].endswith(f" in {part}")
    written(tmp_path / "many", form, [ROWS[:98], [ROWS[98], nothing, nothing]])
    with pytest.raises(DataError, match=r"2 of 101 rows are bad.* in part-00001"):
        items(corpus(tmp_path / "many"))
    written(tmp_path / "none", form, [[], []])
    with pytest.raises(DataError, match="none has no row"):
        items(corpus(tmp_path / "none"))
    broken = folder / part
    broken.write_bytes(b"PAR1" if form == "spark.parquet" else gzip.compress(b"{}\n")[:-9])
    with pytest.raises(DataError, match=f"{part} is "):
        items(corpus(folder))


@pytest.mark.parametrize(
    ("names", "held"),
    [
        ([], "no file"),
        (["_SUCCESS", ".part.crc"], "no file"),
        (["a.csv"], ".csv"),
        (["a.parquet", "b.json"], ".json, .parquet"),
        (["a.parquet", "pair=en-fr/b.parquet"], ".parquet, folders"),
    ],
)
def test_a_folder_of_anything_else_is_refused(names: list[str], held: str, tmp_path: Path) -> None:
    (tmp_path / "curated").mkdir()
    for name in names:
        path = tmp_path / "curated" / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    with pytest.raises(ValidationError, match=f"curated: name a folder with Parquet .*this one has {held} "):
        corpus(tmp_path / "curated")


def test_numbers_name_no_columns_of_a_folder(tmp_path: Path) -> None:
    folder = written(tmp_path / "curated", "spark.json", [ROWS])
    with pytest.raises(ValidationError, match="columns: those of Parquet files have names, and so"):
        corpus(folder, columns=[2, 3])


@pytest.mark.parametrize("form", ["spark.parquet", "spark.json"])
def test_a_folder_is_prepared_as_one_file_is(form: str, tmp_path: Path) -> None:
    (tmp_path / "whole.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    folder = written(tmp_path / "curated", form, [ROWS[:400], ROWS[400:]])
    splits = {"seed": 1, "valid": 0.1, "test": 0.1, "max_train": 0, "max_valid": 0, "max_test": 0}
    results = []
    for number, settings in enumerate((corpus(folder), corpus(tmp_path / "whole.jsonl"))):
        output = tmp_path / str(number)
        output.mkdir()
        values = {"pair": "en-de", "sources": [source(settings)], "cleaning": {}, "splits": splits}
        prepare(PrepareSettings.model_validate(values), output)
        results.append({path.name: path.read_bytes() for path in output.iterdir()})
    assert results[0] == results[1]
    assert json.loads(results[0]["counts.json"])["in"] == {"curated": len(ROWS)}
