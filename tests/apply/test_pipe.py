"""The daily commands one after another: in a pipe of a shell, and from TMX to TMX."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from small_checkpoint import make_pairs, write_tsv
from typer.testing import CliRunner

from orthoglot.apply.fit import MADE
from orthoglot.apply.scored import Level, levels
from orthoglot.cli import app
from orthoglot.errors import ConfigError, DataError
from orthoglot.text.prepared import read_split

PAIRS = make_pairs(200, seed=7)


def run(verb: str, *options: object, stdin: str = "") -> Any:
    return CliRunner().invoke(app, [verb, *map(str, options)], input=stdin)


def test_what_one_command_writes_the_next_one_reads(
    models: dict[str, Path], encoder: Path, tmp_path: Path
) -> None:
    for side, name in enumerate(("en", "gn")):
        alone = make_pairs(40, seed=20 + side)  # without a translation
        (tmp_path / name).write_text("".join(f"{pair[side]}\n" for pair in PAIRS + alone))
    command = (
        f"set -o pipefail; o() {{ {sys.executable} -m orthoglot -q $@; }}; "
        f"o mine en gn --model {encoder} --numbers -o - | tee found.tsv | "
        f"o score - --model {models['plda']} --no-identify -o - | tee scored.tsv | "
        "o filter - --threshold 0.5 -o - | tee kept.tsv | "
        f"o fit --bitext - --pair en-gn --encoder {encoder} --output model --checkpoint kept"
    )
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        ["bash", "-c", command], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    found, scored, kept = (
        [line.split("\t") for line in (tmp_path / f"{name}.tsv").read_text().splitlines()]
        for name in ("found", "scored", "kept")
    )
    assert found[0] == ["margin", "source", "target", "source_line", "target_line"]
    assert scored[0] == [*found[0], "score", "flag"]
    assert [row[:-2] for row in scored] == found
    good = [row for row in scored[1:] if float(row[-2]) >= 0.5 and not row[-1]]
    assert len(good) > 150
    assert kept == [scored[0], *good]
    # The model was fitted on these pairs, and on nothing else.
    prepared = tmp_path / "kept/bitext/en-gn"
    assert {
        (pair.source, pair.target)
        for split in ("train", "valid", "test")
        for pair in read_split(prepared, split)
    } == {(row[1], row[2]) for row in good}
    made = json.loads((tmp_path / "model" / MADE).read_text())
    assert made["bitext"] == {"en-gn": ["-"]}
    assert made["text"]["en-gn"]["in"] == {"-": len(good)}


def memory(pairs: list[tuple[str, str]]) -> str:
    units = "".join(
        f'  <tu tuid="{n}" changedate="20240102T030405Z"><prop type="x-n">{n}</prop>\n'
        f'    <tuv lang="EN-US" creationid="me"><seg>{source}</seg></tuv>\n'
        f'    <tuv lang="GN"><seg>{target}</seg></tuv></tu>\n'
        for n, (source, target) in enumerate(pairs)
    )
    header = '<?xml version="1.0"?>\n<tmx version="1.1"><header srclang="EN-US" adminlang="x"/>'
    return f"{header}<body>\n{units}</body></tmx>\n"


def test_from_tmx_to_tmx(models: dict[str, Path], tmp_path: Path) -> None:
    pairs = [*PAIRS[:30], (PAIRS[30][0], PAIRS[30][0]), (PAIRS[31][0], " "), *PAIRS[32:40]]
    (tmp_path / "in.tmx").write_text(memory(pairs))
    model = ["--model", models["plda"], "--threads", "1", "--no-identify"]
    output, rejected = tmp_path / "out.tmx", tmp_path / "bad.tmx"
    given = [tmp_path / "in.tmx", "-o", output, "--rejected", rejected, "--threshold", "-1", *model]
    done = run("filter", *given)
    assert done.exit_code == 0, done.exception
    assert "39 pairs: 1 copy, 38 kept" in done.stderr
    units = memory(pairs).split("  <tu ")
    assert output.read_text() == "  <tu ".join(unit for n, unit in enumerate(units) if n not in (31, 32))
    dropped = rejected.read_text().replace(
        '<prop type="score">-1.000000</prop><prop type="reason">copy</prop>'
        '<prop type="languages">EN-US GN</prop>',
        "",
    )
    dropped = dropped.replace('<prop type="reason">untranslated</prop>', "")
    assert dropped == "  <tu ".join([units[0], *units[31:32], units[32] + "</body></tmx>\n"])
    # Scores as props, and in a table, are the same; a unit without a pair stays.
    assert run("score", tmp_path / "in.tmx", "-o", output, *model).exit_code == 0
    rows = [line.split("\t") for line in run("score", tmp_path / "in.tmx", *model).stdout.splitlines()]
    assert re.findall(r'<prop type="score">(.*?)</prop>', output.read_text()) == [row[2] for row in rows[1:]]
    assert re.sub(r'<prop type="(score|flag|languages)">.*?</prop>', "", output.read_text()) == memory(pairs)
    # Scored once more, scores and flags are replaced, and nothing else is: not even a variant's own score.
    once = output.read_text().replace('creationid="me">', 'creationid="me"><prop type="score">7</prop>')
    stale = re.sub(r'(?<="score">)-?[01]|(?<="flag">)copy', "9<!-- > -->", once)
    (tmp_path / "stale.tmx").write_text(stale)
    assert run("score", tmp_path / "stale.tmx", "-o", output, *model).exit_code == 0
    assert output.read_text() == once != stale
    # A table has no languages, which TMX needs.
    write_tsv(tmp_path / "in.tsv", PAIRS[:3])
    refused = run("score", tmp_path / "in.tsv", "-o", output, *model)
    assert isinstance(refused.exception, ConfigError)
    assert "give --source-language and --target-language" in str(refused.exception)
    named = ["--source-language", "en", "--target-language", "gn"]
    assert run("score", tmp_path / "in.tsv", "-o", output, *model, *named).exit_code == 0
    assert output.read_text().count('<tuv xml:lang="gn">') == 3


def test_a_tag_stays_in_what_is_written_and_models_see_its_language(
    models: dict[str, Path], tmp_path: Path
) -> None:
    for side, name in enumerate(("en", "gn")):
        (tmp_path / name).write_text("".join(f"{pair[side]}\n" for pair in PAIRS[:40]))
    model = ["--model", models["plda"], "--threads", "1"]
    named = ["--source-language", "en_GB", "--target-language", "gn-PY"]
    mined = tmp_path / "mined.tmx"
    done = run("mine", tmp_path / "en", tmp_path / "gn", "-o", mined, *model, *named)
    assert done.exit_code == 0, done.exception
    assert {*re.findall('xml:lang="(.*?)"', mined.read_text())} == {"en-GB", "gn-PY"}
    # Good translations need not be in the variety of those that are filtered.
    good = tmp_path / "good.tmx"
    good.write_text(mined.read_text().replace("en-GB", "en-US"))
    kept = ["-o", tmp_path / "kept.tmx", *model, "--no-identify"]
    done = run("filter", mined, "--good", good, *kept)
    assert done.exit_code == 0, done.exception
    refused = run("filter", mined, "--good", good, *kept, "--source-language", "en-GB")
    assert isinstance(refused.exception, DataError)
    assert "no translation unit is in en-GB and gn; its languages are en-US, gn-PY" in str(refused.exception)
    # Both sides of one language, or a variety that is not there: nothing is paired with itself.
    for target, error in (("en-GB", ConfigError), ("en-AU", DataError)):
        same = run("score", mined, *model, "--source-language", "en-GB", "--target-language", target)
        assert isinstance(same.exception, error)


def test_a_mined_memory_and_one_for_calibration(encoder: Path, tmp_path: Path) -> None:
    for side, name in enumerate(("en", "gn")):
        (tmp_path / name).write_text("".join(f"{pair[side]}\n" for pair in PAIRS[:60]))
    files, model = [tmp_path / "en", tmp_path / "gn"], ["--model", encoder, "--threads", "1"]
    output = tmp_path / "mined.tmx"
    refused = run("mine", *files, *model, "-o", output)
    assert isinstance(refused.exception, ConfigError)
    named = ["--source-language", "en", "--target-language", "gn"]
    assert run("mine", *files, *model, *named, "-o", output).exit_code == 0
    calibrating = ["--share", "0.3", "--precision", "0.8", "-o", "-"]
    done = run("calibrate", output, *calibrating, *model)
    assert done.exit_code == 0, done.exception
    # The same pairs in the columns of a table.
    pairs = re.findall(r'"en"><seg>(.*?)</seg></tuv><tuv xml:lang="gn"><seg>(.*?)</seg>', output.read_text())
    assert len(pairs) > 50
    table = tmp_path / "table.tsv"
    table.write_text("".join(f"{target}\tx\t{source}\n" for source, target in pairs))
    again = run("calibrate", table, "--columns", "3,1", *calibrating, *model)
    assert again.stdout == done.stdout != ""


def test_scores_that_were_written_are_taken_without_a_model(tmp_path: Path) -> None:
    rows = [
        "a\tb\t0.9\t",
        "c\td\t0.4\t",
        "e\t\t\tblank",
        "f\tf\t-1.000000\tcopy",
        "g\th\t0.8\tother_language?",
    ]
    table = tmp_path / "scored.tsv"
    table.write_text("\n".join(["source\ttarget\tscore\tflag", *rows]) + "\n")
    done = run(
        "filter",
        table,
        "--threshold",
        "0.5",
        "-o",
        tmp_path / "out.jsonl",
        "--rejected",
        tmp_path / "bad.tsv",
    )
    assert "5 pairs: 1 blank, 1 copy, 2 kept, 1 low_score" in done.stderr
    lines = (tmp_path / "out.jsonl").read_text().splitlines()
    assert json.loads(lines[1]) == {"source": "g", "target": "h", "score": "0.8", "flag": "other_language?"}
    assert (tmp_path / "bad.tsv").read_text().splitlines() == [
        "source\ttarget\tscore\tflag\treason",
        "c\td\t0.4\t\tlow_score",
        "e\t\t\tblank\tblank",
        "f\tf\t-1.000000\tcopy\tcopy",
    ]
    done = run(
        "filter", table, "--good", table, "--loss", "0.5", "-o", tmp_path / "out.tsv", "--drop-guesses"
    )
    assert (tmp_path / "out.tsv").read_text().splitlines()[1:] == rows[:1]
    for row, message in (
        ("a\tb\tnan\t", r"scored\.tsv: line 2: the score 'nan' is no number from -1 to 1"),
        ("a\tb\t\t", "the score '' is no number"),
        ("a\tb\t7\t", "the score '7' is no number"),
    ):
        table.write_text(f"source\ttarget\tscore\tflag\n{row}\n")
        error = run("filter", table, "--threshold", "0.5", "-o", tmp_path / "none.tsv").exception
        assert isinstance(error, DataError)
        assert re.search(message, str(error))
    # Scores of two models say nothing together: those of the good ones must be written as well.
    table.write_text("source\ttarget\tscore\tflag\na\tb\t0.9\t\n")
    good = write_tsv(tmp_path / "good.tsv", PAIRS[:2])
    error = run("filter", table, "--good", good, "-o", tmp_path / "none.tsv").exception
    assert isinstance(error, ConfigError)
    assert "good.tsv has no score of orthoglot score: give --model" in str(error)
    assert not (tmp_path / "none.tsv").exists()
    # A score alone, in a column between others.
    table.write_text("source\tscore\ttarget\nein Haus\t0.9\ta house\nein Hut\t0.2\ta hat\n")
    given = ["--threshold", "0.5", "-o", tmp_path / "out.tsv", "--rejected", tmp_path / "bad.tsv"]
    assert "1 kept, 1 low_score" in run("filter", table, *given).stderr
    assert (tmp_path / "bad.tsv").read_text().splitlines() == [
        "source\tscore\ttarget\treason",
        "ein Hut\t0.2\ta hat\tlow_score",
    ]


def test_numbers_and_lengths_that_disagree_are_said_and_dropped_on_demand(tmp_path: Path) -> None:
    pairs = [(f"line {n} of the text", f"die Zeile {n} im Text") for n in range(1, 21)]
    pairs[4] = ("line 5 of the text", "die Zeile 6 im Text")
    pairs[7] = ("line 8 of 9 texts", "die Zeile 8 im Text")
    pairs[9] = ("line 10 of the text", "die Zeile 10 im Text" + " und noch viel mehr" * 8)
    pairs[11] = ("line 1200 of the text", "die Zeile ۱۲۰۰ im Text")  # the same number in other digits
    table = tmp_path / "scored.tsv"
    rows = "".join(f"{source}\t{target}\t0.9\t\n" for source, target in pairs)
    table.write_text(f"source\ttarget\tscore\tflag\n{rows}")
    output, rejected = tmp_path / "kept.tsv", tmp_path / "bad.tsv"
    given = [table, "--threshold", "0.5", "-o", output, "--rejected", rejected]
    done = run("filter", *given)
    assert "of those kept: 2 differ in numbers (pairs 5, 8); --drop-numbers drops them" in done.stderr
    assert "of those kept: 1 differ in lengths (pairs 10); --drop-lengths drops them" in done.stderr
    assert "20 pairs: 20 kept" in done.stderr
    assert json.loads(run("filter", *given, "--json").stderr)["disagree"] == {
        "numbers": [5, 8],
        "lengths": [10],
    }
    done = run("filter", *given, "--drop-numbers", "--drop-lengths")
    assert "20 pairs: 17 kept, 1 lengths, 2 numbers" in done.stderr
    # A preview promises what the run keeps.
    assert "20 pairs: 20 without a flag" in run("filter", table, "--dry-run").stdout
    preview = run("filter", table, "--dry-run", "--drop-numbers", "--drop-lengths").stdout
    assert "20 pairs: 17 without a flag" in preview
    assert "differ" not in done.stderr
    assert [line.split("\t")[-1] for line in rejected.read_text().splitlines()] == [
        "reason", "numbers", "numbers", "lengths",
    ]  # fmt: skip


def test_tags_on_one_side_only_drop_no_unit_unless_they_shall(tmp_path: Path) -> None:
    pairs = [
        ("Save the file", "Datei &lt;b&gt;sichern&lt;/b&gt;"),
        ("Open it", "Öffnen"),
        ("Take %s", "Nimm"),
    ]
    text = memory(pairs).replace('<prop type="x-n">', '<prop type="score">0.9</prop><prop type="x-n">')
    (tmp_path / "in.tmx").write_text(text.replace("GN", "DE"))
    given = [tmp_path / "in.tmx", "--threshold", "0.5", "-o", tmp_path / "out.tmx"]
    assert "2 pairs: 2 kept" in run("filter", *given).stderr
    assert "&lt;b&gt;" in (tmp_path / "out.tmx").read_text()
    assert "1 pairs: 1 kept" in run("filter", *given, "--drop-markup").stderr
    assert "&lt;b&gt;" not in (tmp_path / "out.tmx").read_text()


def test_of_two_near_duplicates_the_better_one_passes(tmp_path: Path) -> None:
    text = (
        "the quick brown fox jumps over the lazy dog and runs away {}\t敏捷的棕色狐狸跳过了懒狗然后跑开了{}"
    )
    rows = [
        (text.format(1, 1), 0.7),
        (text.format(2, 2), 0.8),
        (text.format(2, 2), 0.8),
        (text.format(3, 3), 0.3),
    ]
    rows += [(text.format(4, "完全不同的一个译文在这里而且它很长很长很长很长"), 0.6)]
    lines = ["source\ttarget\tscore\tflag", *(f"{pair}\t{score}\t" for pair, score in rows)]
    (tmp_path / "scored.tsv").write_text("".join(f"{line}\n" for line in lines))
    kept, rejected = tmp_path / "kept.tsv", tmp_path / "rejected.tsv"
    given = [tmp_path / "scored.tsv", "--threshold", "0.5", "-o", kept, "--rejected", rejected]
    done = run("filter", *given, "--near-duplicates", "0.8")
    assert "5 pairs: 2 kept, 1 low_score, 2 near_duplicate" in done.stderr
    assert [line.split("\t")[2] for line in kept.read_text().splitlines()] == ["score", "0.8", "0.6"]
    assert [line.split("\t")[-1] for line in rejected.read_text().splitlines()] == [
        "reason", "near_duplicate", "near_duplicate", "low_score",
    ]  # fmt: skip
    assert "5 pairs: 4 kept" in run("filter", *given).stderr
    # Signs alone have nothing in common.
    signs = "source\ttarget\tscore\tflag\n!!!\t???\t0.9\t\n:)\t:(\t0.8\t\n"
    (tmp_path / "signs.tsv").write_text(signs)
    passed = run("filter", tmp_path / "signs.tsv", "--threshold", "0.5", "--near-duplicates", "1", "-o", kept)
    assert "2 pairs: 2 kept" in passed.stderr
    assert run("filter", *given, "--near-duplicates", "0.5").exit_code == 2
    refused = run("filter", tmp_path / "scored.tsv", "--dry-run", "--near-duplicates", "0.8")
    assert isinstance(refused.exception, ConfigError)


@pytest.mark.parametrize("columns", ["1", "1,2,3", "0,1", "1,", "-1,2"])
def test_columns_that_are_not_two_are_refused(columns: str, tmp_path: Path) -> None:
    write_tsv(tmp_path / "a.tsv", PAIRS[:2])
    (tmp_path / "encoder.json").touch()
    given = [tmp_path / "a.tsv", f"--columns={columns}", "--model", tmp_path]
    error = run("score", *given).exception
    assert isinstance(error, ConfigError | DataError)
    assert re.search(r"--columns .*: write 2, by number|no column -1", str(error))


def test_levels_divide_the_scores_and_name_the_best_pair_that_goes() -> None:
    scores = {number: number / 100 for number in range(100)}
    found = levels(scores, 4)
    assert [(level.threshold, level.kept, level.best_dropped) for level in found] == [
        (0.2, 80, 19), (0.4, 60, 39), (0.6, 40, 59), (0.8, 20, 79),
    ]  # fmt: skip
    # All pairs with the score of a threshold stay; a threshold that all have drops nothing.
    assert levels({0: 0.5, 1: 0.5, 2: 0.1, 3: 0.5}, 3) == [Level(0.5, 3, 2)]
    assert levels({0: 0.5, 1: 0.5}, 3) == levels({}, 3) == []


def test_a_dry_run_of_filter_shows_ten_thresholds_and_writes_nothing(tmp_path: Path) -> None:
    table = tmp_path / "scored.tsv"
    rows = [f"source {n}\ttarget {n}\t{n / 100}\t{'copy' if n >= 90 else ''}" for n in range(100)]
    table.write_text("\n".join(["source\ttarget\tscore\tflag", *rows]) + "\n")
    done = run("filter", table, "--dry-run")
    lines = done.stdout.splitlines()
    assert len(lines) == 1 + 10 + 1
    assert lines[1].split() == ["0.0800", "82", "0.0700", "source", "7", "target", "7"]
    assert lines[-1] == "100 pairs: 90 without a flag"
    assert [path.name for path in tmp_path.iterdir()] == ["scored.tsv"]
    for given in (
        ["--dry-run", "--threshold", "0.5"],
        ["--dry-run", "-o", tmp_path / "o.tsv"],
        ["--dry-run", "--json"],
        ["--threshold", "0.5"],
    ):
        error = run("filter", table, *given).exception
        assert isinstance(error, ConfigError)
    kept = run("filter", table, "--threshold", "0.08", "-o", tmp_path / "kept.tsv")
    assert "82 kept" in kept.stderr


def test_score_draws_how_many_pairs_have_which_score(models: dict[str, Path], tmp_path: Path) -> None:
    write_tsv(tmp_path / "pairs.tsv", [*PAIRS[:20], ("a01", "a01")])
    run(
        "score",
        tmp_path / "pairs.tsv",
        "--model",
        models["plda"],
        "-o",
        tmp_path / "s.tsv",
        "--plot",
        tmp_path / "s.svg",
    )
    drawn = (tmp_path / "s.svg").read_text()
    assert drawn.startswith("<svg")
    assert all(word in drawn for word in ("score", "pairs", "copy"))
