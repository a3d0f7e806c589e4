"""Mining by jobs of the workflow gives the bytes of one command, or says what is wrong."""

from __future__ import annotations

import gzip
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import pytest
from shipped_settings import shipped_values
from small_checkpoint import make_pairs
from typer.testing import CliRunner

from orthoglot.apply import text_vectors
from orthoglot.apply.mine import distinct
from orthoglot.cli import app
from orthoglot.decomposers import own_mean
from orthoglot.decomposers.base import unit
from orthoglot.errors import ConfigError, DataError
from orthoglot.search.neighbours import candidates, nearest, settle
from orthoglot.study import config
from orthoglot.study.jobs import digests
from orthoglot.study.jobs.job import Job
from orthoglot.study.mining import cells, parts
from orthoglot.text.bitext import read_sentences
from plan import Plan

PAIRS = make_pairs(90)
Mine = Callable[..., Plan]


@pytest.fixture
def _short_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts begin at multiples of 8 sentences."""
    monkeypatch.setattr(parts, "BLOCK", 8)
    monkeypatch.setattr(own_mean, "BLOCK", 8)
    for function in (text_vectors.text_vectors, text_vectors.write_vectors):
        monkeypatch.setitem(function.__kwdefaults__, "block", 8)  # type: ignore[attr-defined]


@pytest.fixture
def texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Two thirds of either side translate each other; blank lines, repeated ones, and sentences of equal vectors."""
    monkeypatch.chdir(tmp_path)
    sides = [source for source, _ in PAIRS[:60]], [target for _, target in PAIRS[:30:-1]]
    paths = Path("en text.txt"), Path("gn's.txt")
    for path, lines in zip(paths, sides, strict=True):
        # The tokenizer takes any white space for one blank.
        equal = [line.replace(" ", " " * blanks) for blanks in range(2, 16) for line in lines[:3]]
        path.write_text("\n".join([lines[4], "", *lines, f" {lines[7]}\t", *equal, "\u2028"]) + "\r\n")
    return paths


@pytest.fixture(scope="module")
def parsed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cache of a run before: every module as it is, parsed."""
    return tmp_path_factory.mktemp("parsed") / "digests.json"


@pytest.fixture
def planned(
    texts: tuple[Path, Path], encoder: Path, parsed: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Mine]:
    """The plan of a mining."""
    monkeypatch.setattr(digests, "CACHE", parsed)
    digests.forget()

    def planned(**mine: Any) -> Plan:
        values = shipped_values()
        given = {"source": str(texts[0]), "target": str(texts[1]), "model": str(encoder), "numbers": True}
        values["presets"]["mini"]["mine"] = given | mine
        plan = Plan(config.check(values | {"device": "cpu"}))
        digests.save_cache()
        return plan

    yield planned
    digests.forget()


@pytest.fixture
def mined(planned: Mine) -> Mine:
    """The same after all jobs that were due have run, one after the other."""

    def mined(**mine: Any) -> Plan:
        plan = planned(**mine)
        for folder in wanted(plan):
            if not plan.done(folder):
                run(plan, folder)
        return plan

    return mined


def wanted(plan: Plan) -> list[str]:
    """The folders of a mining, each after those that it reads."""
    return [folder for folder in plan.jobs if folder.startswith(("mining/", "mined/"))]


def run(plan: Plan, folder: str) -> None:
    job = plan.job(folder)
    import_module(f"orthoglot.study.jobs.{job.verb}").run(Job(job.verb, plan.as_json(job.key)))


def one_command(texts: tuple[Path, Path], model: Path, *options: object) -> dict[str, Any]:
    """What `orthoglot mine` says of the pairs that it writes to one.tsv."""
    words = ["mine", *texts, "--model", model, "-o", "one.tsv", "--threads", 1, "--numbers", *options]
    done = CliRunner().invoke(app, [*map(str, words)])
    assert done.exception is None
    return json.loads(Path("one.tsv.json").read_text())


def rows(path: str) -> tuple[list[list[str]], np.ndarray]:
    """The cells of a file of pairs, and the margins."""
    cells = [line.split("\t") for line in Path(path).read_text().splitlines()[1:]]
    return [row[1:] for row in cells], np.array([float(row[0]) for row in cells])


@pytest.mark.usefixtures("_short_blocks")
@pytest.mark.parametrize(
    ("name", "count"), [("encoder", 3), ("plda", 1), ("plda", 3), ("plda", 8)]
)  # without and with a text's own mean
def test_the_pairs_are_those_of_one_command_to_the_byte(
    name: str, count: int, mined: Mine, texts: tuple[Path, Path], encoder: Path, models: dict[str, Path]
) -> None:
    model = models["plda"] if name == "plda" else encoder
    expected = one_command(texts, model)
    mined(parts=count, model=str(model))
    assert len(Path("one.tsv").read_text().splitlines()) > 40
    assert Path("mined/mini/pairs.tsv").read_bytes() == Path("one.tsv").read_bytes()
    about = json.loads(Path("mined/mini/pairs.tsv.json").read_text())
    assert about["options"].pop("parts") == count
    assert about["options"]["own_mean"] == (name == "plda")
    for machine in ("memory", "device", "threads"):
        del expected["options"][machine]
    assert about == expected


@pytest.mark.usefixtures("_short_blocks")
@pytest.mark.parametrize(
    ("settings", "options"),
    [
        (
            {"retrieval": "intersection", "margin": "distance", "neighborhood": 2},
            ("--retrieval", "intersection", "--margin", "distance", "-k", 2),
        ),
        (
            {"retrieval": "backward", "threshold": 1.01},
            ("--retrieval", "backward", "--threshold", 1.01),
        ),
        ({"retrieval": "forward", "best": 3}, ("--retrieval", "forward", "--best", 3)),
        ({"neighborhood": 500}, ("-k", 500)),
        ({"part": "sentence"}, ("--part", "sentence")),
        ({"own_mean": False}, ("--no-own-mean",)),
        (
            {"source_language": "en", "precision": "bfloat16"},
            ("--source-language", "en", "--precision", "bfloat16"),
        ),
    ],
)
def test_settings_do_what_the_options_do(
    settings: dict[str, Any],
    options: tuple[object, ...],
    mined: Mine,
    texts: tuple[Path, Path],
    models: dict[str, Path],
) -> None:
    one_command(texts, models["plda"], *options)
    mined(parts=3, model=str(models["plda"]), **settings)
    assert Path("mined/mini/pairs.tsv").read_bytes() == Path("one.tsv").read_bytes()


def test_short_texts_in_parts_of_less_than_a_block_give_the_same_rows(
    mined: Mine, texts: tuple[Path, Path], models: dict[str, Path]
) -> None:
    one_command(texts, models["plda"])
    mined(parts=5, model=str(models["plda"]))
    expected, margins = rows("one.tsv")
    pairs, values = rows("mined/mini/pairs.tsv")

    def as_encoded(pairs: list[list[str]]) -> list[list[list[str]]]:
        """Without blanks and numbers: which one of equal vectors is taken, is up to rounding."""
        return sorted([source.split(), target.split()] for source, target, *_ in pairs)

    assert as_encoded(pairs) == as_encoded(expected)
    np.testing.assert_allclose(values, margins, atol=2e-6)


@pytest.fixture
def different_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """500 sentences a side, of which 400 translate each other, and no two have one vector."""
    monkeypatch.chdir(tmp_path)
    pairs = sorted(
        {" ".join(sorted(source.split())): (source, target) for source, target in make_pairs(620)}.values()
    )
    sides = [source for source, _ in pairs[:500]], [target for _, target in pairs[600:100:-1]]
    paths = Path("x.txt"), Path("y.txt")
    for path, lines in zip(paths, sides, strict=True):
        path.write_text("\n".join(lines))
    return paths


@pytest.mark.parametrize(("name", "count"), [("encoder", 1), ("plda", 3), ("plda", 7)])
def test_with_all_cells_looked_up_the_rows_are_those_of_the_exact_search(
    name: str,
    count: int,
    mined: Mine,
    different_texts: tuple[Path, Path],
    encoder: Path,
    models: dict[str, Path],
) -> None:
    model = models["plda"] if name == "plda" else encoder
    one_command(different_texts, model)
    source, target = map(str, different_texts)
    mined(source=source, target=target, parts=count, model=str(model), cells=9, probes=9)
    about = json.loads(Path("mined/mini/pairs.tsv.json").read_text())
    assert (about["search"], about["recall"]) == ("cells", 1)
    assert {name: about["options"][name] for name in ("cells", "probes")} == {"cells": 9, "probes": 9}
    expected, margins = rows("one.tsv")
    pairs, values = rows("mined/mini/pairs.tsv")
    assert len(expected) > 400
    assert sorted(pairs) == sorted(expected)
    np.testing.assert_allclose(values, margins, atol=2e-6)


def test_the_recall_is_the_share_of_exact_neighbours_that_the_cells_gave(
    mined: Mine, different_texts: tuple[Path, Path], encoder: Path
) -> None:
    source, target = map(str, different_texts)
    mined(source=source, target=target, parts=3, cells=60, probes=2)
    found, vectors = {}, {}
    for side in ("source", "target"):
        folders = [Path(f"mining/mini/{side}") / kind for kind in ("collected", "vectors")]
        found[side], vectors[side] = (
            np.concatenate([np.load(folder / str(part) / name) for part in (1, 2, 3)])
            for folder, name in zip(folders, (parts.NEIGHBOURS, parts.VECTORS), strict=True)
        )
    exact = nearest(vectors["source"], vectors["target"], 4)
    shares = [
        np.mean([len({*ours} & {*theirs}) / 4 for ours, theirs in zip(found[side], rows, strict=True)])
        for side, rows in zip(("source", "target"), exact, strict=True)
    ]
    stated = json.loads(Path("mined/mini/pairs.tsv.json").read_text())["recall"]
    assert 0.2 < stated < 0.9
    assert stated == round(float(np.mean(shares)), 4)


@pytest.mark.parametrize("count", [1, 3, 8])
@pytest.mark.parametrize("k", [1, 4, 60])
def test_blocks_of_cells_settle_on_the_neighbours_in_the_whole(k: int, count: int, tmp_path: Path) -> None:
    """Where each sentence looks up all cells; of two, its neighbours are the nearest that look up one of these."""
    rng = np.random.default_rng(3)
    x, y = (unit(rng.standard_normal((n, 8)).astype(np.float32)) for n in (70, 50))
    cells.learn([x, y], 10, tmp_path)
    centres = faiss.read_index(str(tmp_path / cells.CENTRES))
    keep, cut = parts.width(k), [0, 30, 50]
    for probes in (10, 2):
        folders: dict[str, list[Path]] = {}
        for side, text, other, places in (("source", x, "target", [0, 70]), ("target", y, "source", cut)):
            folders[side] = [tmp_path / f"{probes}-{side}-{start}" for start in places[:-1]]
            for folder, (start, end) in zip(folders[side], pairwise(places), strict=True):
                folder.mkdir()
                cells.assign(
                    text[start:end],
                    tmp_path,
                    folder,
                    other=other,
                    neighborhood=k,
                    probes=probes,
                    blocks=count,
                )
        blocks = []
        for number in range(count):
            block = range(-(-number * 10 // count), -(-(number + 1) * 10 // count))
            ours, theirs = (
                cells.Block.read(folders[side], places, number)
                for side, places in (("source", [0]), ("target", cut[:-1]))
            )
            records = np.empty(len(ours.rows), cells.record(keep))
            records["row"] = ours.rows
            records["numbers"], records["cosines"] = cells.in_cells(ours, theirs, block, keep)
            blocks.append(records)
        numbers, near = cells.nearest(blocks, 0, 70, keep, min(k, 50))
        if probes == 10:
            np.testing.assert_array_equal(numbers, nearest(x, y, k).forward)
            np.testing.assert_allclose(near, (x @ y.T)[np.arange(70)[:, None], numbers], atol=1e-6)
            continue
        looked_up, held = centres.search(x, 2)[1], centres.search(y, 2)[1]
        for row in range(70):
            met = np.flatnonzero(np.isin(held, looked_up[row]).any(axis=1))
            expected = met[np.argsort(-(y[met] @ x[row]))][:k]
            assert [*dict.fromkeys(numbers[row])] == ([*expected] or [0])
            assert len(expected) or (near[row] == -1).all()


def test_a_sentence_that_meets_few_neighbours_gives_no_pair_twice(
    mined: Mine, different_texts: tuple[Path, Path], encoder: Path
) -> None:
    source, target = map(str, different_texts)
    more = {"retrieval": "forward", "best": 4}
    mined(source=source, target=target, parts=2, cells=400, probes=1, **more)
    pairs, _ = rows("mined/mini/pairs.tsv")
    assert 100 < len(pairs) == len({(row[0], row[1]) for row in pairs}) < 4 * 500


def test_a_sentence_that_meets_none_is_in_no_pair(
    mined: Mine, different_texts: tuple[Path, Path], encoder: Path
) -> None:
    source, target = map(str, different_texts)
    more: dict[str, Any] = {"retrieval": "forward", "margin": "absolute"}
    mined(source=source, target=target, parts=2, cells=400, probes=1, **more)
    met = [np.load(f"mining/mini/source/collected/{part}/cosines.npy")[:, 0] > -1 for part in (1, 2)]
    pairs, _ = rows("mined/mini/pairs.tsv")
    assert len(pairs) == np.concatenate(met).sum() < sum(map(len, met))


def test_the_jobs_of_cells_grow_with_the_parts_and_not_with_their_square(planned: Mine) -> None:
    counts = [len(wanted(planned(parts=count, cells=64))) for count in (2, 8, 32)]
    assert counts == [7 * count + 4 for count in (2, 8, 32)]
    assert len(wanted(planned(parts=8))) > 64


def test_cells_that_do_not_fit_are_refused_in_one_line(
    planned: Mine, mined: Mine, texts: tuple[Path, Path]
) -> None:
    for mine, cause in (
        ({"cells": 2, "parts": 2}, "probes 10 is above cells 2"),
        ({"cells": 7, "probes": 3}, "parts 8 is above cells 7"),
    ):
        with pytest.raises(ConfigError, match=rf"presets\.mini\.mine: .*{cause}") as stopped:
            planned(**mine)
        assert "\n" not in str(stopped.value)
    with pytest.raises(
        DataError, match=r"^the source has fewer sentences \(\d+\) than cells \(500\); give fewer cells$"
    ):
        mined(cells=500)
    assert not Path("mining/mini/centre").exists()


@pytest.mark.parametrize("count", [1, 3, 8])
@pytest.mark.parametrize("k", [1, 4, 60])
def test_merged_candidates_of_parts_settle_on_the_neighbours_in_the_whole(k: int, count: int) -> None:
    rng = np.random.default_rng(3)
    x, y = (unit(rng.standard_normal((n, 8)).astype(np.float32)) for n in (70, 50))
    y[::7], x[::5] = x[3], x[3]  # equal ones in all parts
    y[1::7] = unit(y[1::7] + np.float32(3e-7))  # and nearly equal ones
    cuts = np.linspace(0, len(y), count + 1).astype(int)
    lists = [candidates(x, y[start:stop], parts.width(k))[0] for start, stop in pairwise(cuts)]
    lists = [(numbers.astype(np.int32), products) for numbers, products in lists]
    numbers, products = parts.merged(lists, cuts[:-1].tolist(), parts.width(k))
    np.testing.assert_array_equal(settle(numbers, products, x, y, k), nearest(x, y, k).forward)


def test_the_vectors_of_all_parts_are_rows_of_one_array(tmp_path: Path) -> None:
    vectors = unit(np.random.default_rng(1).standard_normal((20, 4)).astype(np.float32))
    cuts = [0, 7, 8, 20]
    for number, (start, stop) in enumerate(pairwise(cuts)):
        (tmp_path / str(number)).mkdir()
        np.save(tmp_path / str(number) / parts.VECTORS, vectors[start:stop])
    stored = parts.Vectors([tmp_path / str(number) for number in range(3)], tmp_path, "source")
    assert (len(stored), stored.shape) == (20, (20, 4))
    np.testing.assert_array_equal(stored.array(), vectors)
    np.testing.assert_array_equal(stored[5:9], vectors[5:9])
    places = np.array([[19, 0, 7], [-1, 8, 6]])
    np.testing.assert_array_equal(stored[places], vectors[places])


@pytest.mark.parametrize(("count", "block"), [(1, 4096), (3, 4096), (3, 100), (8, 64)])
def test_parts_have_the_sentences_of_one_command(
    count: int, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "BLOCK", block)
    rng = np.random.default_rng(4)
    lines = [
        f"{' ' * int(number % 2)}s{number}" if number % 7 else " " for number in rng.integers(900, size=3000)
    ]
    text, output, scratch = tmp_path / "text", tmp_path / "out", tmp_path / "scratch"
    text.write_bytes(gzip.compress("\n".join(lines).encode()))
    output.mkdir()
    scratch.mkdir()
    parts.split(text, count, output, scratch)
    expected, side = distinct([*read_sentences(text)], "text"), parts.side_of(output)
    assert [*side.sentences] == expected.sentences
    assert [*side.lines] == expected.lines
    assert side.counts() == expected.counts()
    sizes = np.diff(parts.counts_of(output)["starts"])
    assert len(sizes) == count
    assert sizes.min() > 0
    if len(expected.sentences) >= count * block:
        assert not (sizes[:-1] % block).any()
    else:
        assert sizes.max() - sizes.min() <= 1
    part = parts.Column(parts.sentences(output, [count])["sentence"])
    assert [*part] == expected.sentences[-sizes[-1] :]


@pytest.mark.parametrize(
    ("content", "cause"),
    [
        (b"", "en text.txt is empty"),
        (b"\n \n\xe2\x80\xa8\n", "en text.txt: no line has text"),
        (b"one\nd\xe9j\xe0\n", "en text.txt: line 2 is not UTF-8"),
        (
            b"one\ntwo\none\n",
            r"en text.txt has fewer distinct sentences \(2\) than parts \(3\); give fewer parts",
        ),
    ],
)
def test_a_text_that_cannot_be_mined_is_one_line(
    content: bytes, cause: str, planned: Mine, texts: tuple[Path, Path]
) -> None:
    texts[0].write_bytes(content)
    with pytest.raises(DataError, match=cause) as stopped:
        run(planned(parts=3), "mining/mini/source/text")
    assert "\n" not in str(stopped.value)
    assert not Path("mining/mini/source/text").exists()


def test_what_is_wrong_with_the_settings_stops_those_who_mine_alone(
    planned: Mine, texts: tuple[Path, Path]
) -> None:
    assert planned().refused == {}
    for mine, cause in (
        ({"source": "gn's.txt"}, "presets.mini.mine: gn's.txt and gn's.txt are the same text"),
        ({"model": "."}, r"presets.mini.mine: \.: holds neither encoder.json nor decomposer.json"),
    ):
        plan = planned(**mine)
        assert "results" in plan.jobs
        with pytest.raises(ConfigError, match=cause):
            plan.job("mined/mini")
    for mine, cause in (
        ({"source": "en.tx"}, "presets.mini.mine.source: en.tx does not exist"),
        ({"model": "nowhere"}, "presets.mini.mine.model: nowhere does not exist"),
    ):
        plan = planned(**mine)
        folder = "mining/mini/source/text" if "source" in mine else "mining/mini/source/vectors/1"
        with pytest.raises(ConfigError, match=cause):
            plan.of_key(plan.job(folder).key)
    with pytest.raises(ConfigError, match=r"presets\.mini\.mine: .*best 9 is above neighborhood 4"):
        planned(best=9, retrieval="forward")
    values = shipped_values()
    with pytest.raises(ConfigError, match="nothing to mine: give --config source="):
        Plan(config.check(values)).job("mined/mini")


def test_a_model_that_a_job_of_the_preset_makes_is_made_first(planned: Mine) -> None:
    folders = ["models/mini/decomposers/ems-mini/seed", "models/mini/encoders/ems-mini"]
    for model, expected in (
        (f"{folders[0]}/seed2", folders),
        (f"./{folders[1]}/", folders[1:]),
    ):
        job = planned(model=model).job("mining/mini/target/vectors/8")
        assert job.inputs["model"] == expected
        assert job.files == {}
    job = planned(model=None).job("mining/mini/target/vectors/8")
    assert (job.inputs["model"], [*job.files]) == ([], ["src/orthoglot/apply/ready.safetensors"])


@pytest.mark.parametrize(
    "model",
    [
        "models/mini/decomposers/ems-mini/seed",
        "models/mini/decomposers/ems-mini/centering/seed2",
        "models/mini/decomposers/ems-mini/nonsense/seed1",
        "models/mini/encoders/ems-mini/seed1",
    ],
)
def test_a_model_that_no_job_of_the_preset_makes_is_refused(model: str, planned: Mine) -> None:
    with pytest.raises(ConfigError, match=f"no job of the preset makes {model}; e.g. models/mini/"):
        planned(model=model).job("mined/mini")


def due(plan: Plan) -> set[str]:
    """What would run, with N for the numbers of parts."""
    return {re.sub(r"/[\d-]+$", "/N", folder) for folder in wanted(plan) if not plan.done(folder)}


def test_what_a_change_makes_due(mined: Mine, planned: Mine, texts: tuple[Path, Path]) -> None:
    result = {"mined/mini"}
    merges = {f"mining/mini/{side}/neighbours/N" for side in ("source", "target")}
    searches = {"mining/mini/candidates/N", *merges, *result}
    mined(parts=2)
    assert due(planned(parts=2)) == set()
    assert due(planned(parts=2, threshold=1.0, margin="distance", numbers=False)) == result
    assert due(planned(parts=2, neighborhood=3)) == searches
    encodes = {f"mining/mini/{side}/vectors/N" for side in ("source", "target")}
    assert due(planned(parts=2, own_mean=False)) == {*encodes, "mining/mini/centre", *searches}
    whole = {f"mining/mini/{side}/text" for side in ("source", "target")} | encodes | searches
    assert due(planned(parts=3)) == whole | {"mining/mini/centre"}
    texts[1].write_text(texts[1].read_text() + "b01\n")
    others = {name for name in whole if "source/text" not in name and "source/vectors" not in name}
    assert due(planned(parts=2)) == others | {"mining/mini/centre"}


def test_a_text_that_is_swapped_is_never_mixed_with_the_one_before(
    mined: Mine, planned: Mine, texts: tuple[Path, Path], encoder: Path
) -> None:
    mined(parts=2)
    plan, before = planned(parts=2, neighborhood=3), texts[0].read_text()
    texts[0].write_text(texts[1].read_text().replace("b", "a"))
    with pytest.raises(
        DataError, match=r"en text\.txt: has changed since this run began; run snakemake again"
    ):
        run(plan, "mining/mini/source/text")
    # Parts of the old text are no input of jobs of the new one.
    now = planned(parts=2)
    run(now, "mining/mini/source/text")
    with pytest.raises(DataError, match="source/vectors/1: is not the result of job"):
        run(now, "mining/mini/centre")
    texts[0].write_text(before)
    mined(parts=2)
    one_command(texts, encoder)
    pairs, _ = rows("mined/mini/pairs.tsv")
    assert sorted(pairs) == sorted(rows("one.tsv")[0])


def test_a_text_that_changes_while_it_is_read_is_noticed(
    planned: Mine, texts: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    read = parts._write_digests

    def changed(text: Path, scratch: Path) -> tuple[int, int]:
        result = read(text, scratch)
        texts[0].write_text("\n".join(f"a{number:02}" for number in range(50)))
        return result

    monkeypatch.setattr(parts, "_write_digests", changed)
    with pytest.raises(DataError, match="has changed since this run began"):
        run(planned(parts=2), "mining/mini/source/text")
    assert not Path("mining/mini/source/text").exists()


def test_parts_of_two_models_are_not_searched(mined: Mine, planned: Mine) -> None:
    plan = mined(parts=2)
    for folder in ("mining/mini/centre", "mining/mini/target/vectors/2"):
        for path in sorted(Path(folder).rglob("*"), reverse=True):
            path.unlink() if path.is_file() else path.rmdir()
    from orthoglot.apply.model import Model

    with pytest.MonkeyPatch.context() as patch:
        load = Model.load

        def other(*given: Any) -> Model:
            model = load(*given)
            model.identity = "0" * 64
            return model

        patch.setattr(Model, "load", other)
        run(plan, "mining/mini/target/vectors/2")
    with pytest.raises(
        DataError, match=r"^mining/mini/target/vectors/2: another model than that of other parts"
    ):
        run(planned(parts=2), "mining/mini/centre")


def test_an_encoding_that_is_killed_goes_on(planned: Mine, tmp_path: Path) -> None:
    """By SIGKILL, as a cluster does."""
    words = np.random.default_rng(2).integers(80, size=(30_000, 3))
    for name, path in (("a", "a.txt"), ("b", "b.txt")):
        Path(path).write_text("".join(" ".join(f"{name}{w:02}" for w in row) + "\n" for row in words))
    plan = planned(source="a.txt", target="b.txt", parts=2)
    run(plan, "mining/mini/source/text")
    job = plan.job("mining/mini/source/vectors/2")
    text = plan.as_json(job.key)
    command = [sys.executable, "-m", "orthoglot", "study", "job", "encode"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdin is not None
    process.stdin.write(text)
    process.stdin.close()
    note = Path("checkpoints", job.key, f"{parts.VECTORS}.json")
    deadline = time.monotonic() + 240
    while not note.exists():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not Path(job.receipt).exists()
    again = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    assert "encode: resumed with" in again.stderr
    resumed = Path(job.folder, parts.VECTORS).read_bytes()
    Path(job.receipt).unlink()
    run(plan, job.folder)
    assert Path(job.folder, parts.VECTORS).read_bytes() == resumed
