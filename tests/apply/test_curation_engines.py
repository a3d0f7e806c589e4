"""`orthoglot.filter` in a map over batches: the programs of examples/ in two processes, and in engines if installed."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from filter_with_ray import GoodTranslations
from filter_with_spark import good_translations
from small_checkpoint import make_pairs
from typer.testing import CliRunner

from orthoglot.cli import app

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/curation-engines.md").read_text(encoding="utf-8")
# Of languages that the identifier does not know: the text is invented.
SOURCE, TARGET = "qaa", "qab"
THRESHOLD = 0.8


class Web(NamedTuple):
    folder: Path  # Parquet files, as an engine writes them
    tables: list[pa.Table]  # what is in them
    model: Path
    kept: list[int]  # the numbers of the rows that `orthoglot filter` keeps


@pytest.fixture(scope="module")
def web(models: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Web:
    root = tmp_path_factory.mktemp("web")
    good = make_pairs(120, seed=7)
    wrong = [(first[0], second[1]) for first, second in zip(good[:40], good[40:80], strict=True)]
    pairs = [*good[80:], *wrong, *good[:80], (good[0][0],) * 2, ("", good[0][1])]
    (root / "web.tsv").write_text(
        "".join(f"{n}\t{source}\t{target}\n" for n, (source, target) in enumerate(pairs))
    )
    given = [
        "filter",
        root / "web.tsv",
        "--columns",
        "2,3",
        "-o",
        root / "kept.tsv",
        "--model",
        models["plda"],
    ]
    given += ["--threshold", THRESHOLD, "--source-language", SOURCE, "--target-language", TARGET]
    done = CliRunner().invoke(app, [*map(str, given)])
    assert done.exit_code == 0, done.output
    kept = [int(line.split("\t")[0]) for line in (root / "kept.tsv").read_text().splitlines()]
    assert 20 < len(kept) < 120
    columns = {
        "id": range(len(pairs)),
        SOURCE: [pair[0] for pair in pairs],
        TARGET: [pair[1] for pair in pairs],
    }
    table = pa.table({name: pa.array(values) for name, values in columns.items()})
    tables = [table.slice(start, 41) for start in range(0, len(pairs), 41)]
    (root / "web").mkdir()
    for number, part in enumerate(tables):
        pq.write_table(part, root / "web" / f"part-{number}.parquet")
    return Web(root / "web", tables, models["plda"], kept)


def as_ray(pickled: bytes, table: pa.Table) -> pa.Table:
    """What a worker of Ray does: it makes an object of the class, and calls it with each batch."""
    kind, arguments = pickle.loads(pickled)
    return kind(*arguments)(table)


def as_spark(pickled: bytes, table: pa.Table) -> pa.Table:
    """What a worker of Spark does with a partition, here of batches of seven rows and an empty one."""
    batches = [*table.to_batches(max_chunksize=7), *table.slice(0, 0).to_batches()]
    return pa.Table.from_batches(pickle.loads(pickled)(iter(batches)), table.schema)


@pytest.mark.parametrize("worker", [as_ray, as_spark])
def test_two_processes_keep_the_rows_of_the_command(worker: Callable[..., pa.Table], web: Web) -> None:
    if worker is as_ray:
        given: Any = (GoodTranslations, (str(web.model), SOURCE, TARGET, THRESHOLD))
    else:
        given = partial(
            good_translations, model=str(web.model), source=SOURCE, target=TARGET, threshold=THRESHOLD
        )
    pickled = pickle.dumps(given)
    assert len(pickled) < 1000  # the model is not in it
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        results = [*processes.map(partial(worker, pickled), web.tables)]
    assert [row for table in results for row in table["id"].to_pylist()] == web.kept
    assert {table.schema for table in results} == {web.tables[0].schema}


@pytest.mark.parametrize(
    ("program", "package"), [("filter_with_ray", "ray"), ("filter_with_spark", "pyspark")]
)
def test_the_engine_keeps_the_rows_of_the_command(
    program: str, package: str, web: Web, tmp_path: Path
) -> None:
    if not find_spec(package):
        pytest.skip(f"{package} is not installed; docs/curation-engines.md is of it")
    if package == "pyspark" and not shutil.which("java"):
        pytest.skip("there is no Java, which Spark needs")
    command = [sys.executable, ROOT / f"examples/{program}.py", web.folder, tmp_path / "good", web.model]
    environment = os.environ | {"RAY_USAGE_STATS_ENABLED": "0", "SPARK_LOCAL_IP": "127.0.0.1"}
    workers = ["1"] if package == "ray" else []
    command += [SOURCE, TARGET, THRESHOLD, *workers]
    done = subprocess.run([*map(str, command)], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    table = pq.read_table(tmp_path / "good")
    assert sorted(table["id"].to_pylist()) == web.kept
    assert table.column_names == ["id", SOURCE, TARGET]


def blocks() -> Iterator[str]:
    """The blocks of Python of the page."""
    yield from re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_the_page_shows_what_the_programs_do() -> None:
    programs = "".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "examples").glob("filter_with_*.py")
    )
    shown = [block for block in blocks() if "orthoglot.filter(" in block]
    assert len(shown) == 2
    assert all(block in programs for block in shown)
    for line in re.findall(r"^python (examples/\S+) web .*$", PAGE, re.MULTILINE):
        assert (ROOT / line).exists()


def test_the_rules_of_the_page_say_what_is_beside_them() -> None:
    (block,) = (block for block in blocks() if "orthoglot.filter(" not in block)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block, "docs/curation-engines.md", "exec"), {})
    assert printed.getvalue().strip() == block.rpartition("# ")[2].strip()
