"""The commands and the Python of the pages for people, run in the order of the pages on generated text."""

from __future__ import annotations

import gzip
import itertools
import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import typer
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
from small_checkpoint import DIM, make_pairs, write_checkpoint, write_tsv
from typer.testing import CliRunner

from orthoglot.apply.ready import Ready
from orthoglot.cli import app
from orthoglot.decomposers.architectures.plda import ARCHITECTURE as PLDA
from orthoglot.decomposers.architectures.plda import Prior, Scatter
from orthoglot.decomposers.base import unit
from orthoglot.decomposers.closed_forms import gather
from orthoglot.study import cli as study

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DOCS = [*(ROOT / "docs").rglob("*.md")]
PAGES = ("README.md", "docs/quick-start.md", "docs/mine.md", "docs/use.md", "docs/vector-database.md")
# What is not run here: the network, the workflow (tests/workflow runs it), and what needs its models.
ELSEWHERE = re.compile(
    r"(git clone|python3 -m venv|\. venv/bin/activate|pip install|orthoglot get|make demo|snakemake|dvc|head) ?"
    r"|.* (models/|--tasks mteb:)"
)
PROGRAMS = ("orthoglot ", "python3 ", "make ", "snakemake ")
OUTPUTS = ("-o", "--output", "--rejected")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the pages name."""
    root = tmp_path_factory.mktemp("pages")
    plain = write_checkpoint(root / "plain", offset=0.05)
    modules = [Transformer(str(plain)), Pooling(DIM, pooling_mode="mean")]
    SentenceTransformer(modules=modules, device="cpu").save(str(root / "weights/me5-small"))
    for name, seed in (("train", 1), ("dev", 2), ("web", 3)):
        write_tsv(root / f"{name}.tsv", make_pairs(600, seed))
    for copy in ("checkpoint", "weights/me5-small-4bit"):
        shutil.copytree(root / "weights/me5-small", root / copy)
    pairs = make_pairs(200, seed=4)
    for side, codes in enumerate((("en",), ("nl", "gn", "sw", "xh"))):
        text = "".join(f"{pair[side]}\n" for pair in pairs)
        for code in codes:
            (root / f"{code}.txt").write_text(text, encoding="utf-8")
        (root / "documents" / codes[0]).mkdir(parents=True)
        (root / "documents" / codes[0] / "a.txt").write_text(text, encoding="utf-8")
        (root / codes[-1]).mkdir()
        (root / codes[-1] / "a.txt").write_text(text, encoding="utf-8")
    for name, seed in (("en-gn", 1), ("es-gn", 5), ("health.en-sw", 6)):
        lines = write_tsv(root / f"{name}.tsv", make_pairs(600, seed))
        (root / f"{name}.tsv.gz").write_bytes(gzip.compress(lines.read_bytes()))
    (root / "text.txt").write_text((root / "en.txt").read_text())
    (root / "text.txt.gz").write_bytes(gzip.compress((root / "en.txt").read_bytes()))
    other = make_pairs(600, seed=7)
    (root / "health.en").write_text("".join(f"{one}\n" for one, _ in other))
    (root / "health.ha.gz").write_bytes(gzip.compress("".join(f"{one}\n" for _, one in other).encode()))
    for name, seed in (("test", 8), ("test.es-gn", 9), ("train.es-gn", 10), ("short.es-gn", 11)):
        write_tsv(root / f"{name}.tsv", make_pairs(800, seed))
    graded = (f"{one}\t{two}\t{number % 5}\n" for number, (one, two) in enumerate(make_pairs(60, 12)))
    (root / "graded.es-gn.tsv").write_text("".join(graded))
    units = "".join(
        f'<tu><tuv xml:lang="en"><seg>{one}</seg></tuv><tuv xml:lang="xh"><seg>{two}</seg></tuv></tu>'
        for one, two in make_pairs(600, seed=13)
    )
    header = '<header srclang="en" segtype="sentence" adminlang="en" datatype="plaintext" o-tmf="x"/>'
    memory = f'<tmx version="1.4">{header}<body>{units}</body></tmx>'
    (root / "memory.tmx").write_text(memory, encoding="utf-8")
    stored = np.random.default_rng(1).normal(size=(9, DIM)).astype(np.float32)
    np.save(root / "stored.npy", stored)
    pd.DataFrame({"id": range(9), "vector": list(stored)}).to_parquet(root / "stored.parquet")
    return root


@pytest.fixture(scope="module")
def ready_model(place: Path) -> tuple[Path, Ready]:
    """What stands for the model that comes with orthoglot, of the encoder of these tests."""
    given = ["--encoder", str(place / "checkpoint"), "--bitext", str(place / "train.tsv"), "--pair", "en-gn"]
    done = CliRunner().invoke(app, ["fit", *given, "--output", str(place / "ready"), "--threads", "1"])
    assert done.exit_code == 0, done.output
    rng = np.random.default_rng(1)
    meaning = rng.normal(size=(300, DIM)) + 4
    source, target = (unit(meaning + 0.3 * rng.normal(size=meaning.shape)) for _ in range(2))
    moments, pairs, _ = gather(PLDA, [(source, target, ("de", "en"))], ["de", "en"], DIM)
    prior = Prior(Scatter.of(moments, pairs), {"shrinkage": 0.9})
    return place / "ready", Ready(prior, {"text": {"c": "CC0-1.0"}}, "sha")


def commands(block: str) -> list[list[list[str]]]:
    """The commands of a shell block, each with those that it is piped to.

    Where some begin with a $, the other lines are their output.
    """
    lines = block.replace("\\\n", " ").splitlines()
    if any(line.startswith("$ ") for line in lines):
        lines = [line[2:] for line in lines if line.startswith("$ ")]
    if not lines[0].startswith(PROGRAMS) and not ELSEWHERE.match(lines[0]):
        return []  # the output of the block before
    found = []
    for line in lines:
        if not ELSEWHERE.match(line):
            pipe = [shlex.split(part, comments=True) for part in line.split(" | ")]
            assert all(words[0] == "orthoglot" for words in pipe), f"not known to be run elsewhere: {line}"
            found.append([words[1:] for words in pipe])
    return found


# One test: a page goes on where the one before ended.
def test_every_block_runs_and_writes_what_it_names(
    place: Path, ready_model: tuple[Path, Ready], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    folder, ready = ready_model
    monkeypatch.setattr("orthoglot.apply.ready_model.default", lambda: folder)
    monkeypatch.setattr("orthoglot.apply.ready.load", lambda: ready)
    # The text is invented, of no language that the identifier knows.
    monkeypatch.setattr("orthoglot.apply.score.identified", lambda *_: "")
    run = dict.fromkeys(PAGES, 0)
    for page in PAGES:
        for language, block in BLOCK.findall((ROOT / page).read_text(encoding="utf-8")):
            block = re.sub(r"\b(dim[ =])128\b", r"\g<1>16", block)  # the encoder here has 32 dimensions
            if language == "python":
                if "import mteb" not in block:  # it needs a network
                    exec(compile(block, page, "exec"), {})
                continue
            for pipe in commands(block) if language == "" else ():
                passed = b""
                for words in pipe:
                    outputs = [
                        Path(new) for old, new in itertools.pairwise(words) if old in OUTPUTS and new != "-"
                    ]
                    for output in outputs:
                        # Of an earlier command, or page.
                        shutil.rmtree(output) if output.is_dir() else output.unlink(missing_ok=True)
                    done = CliRunner().invoke(app, words, input=passed)
                    assert done.exit_code == 0, (page, words, done.output, done.exception)
                    assert all(output.exists() for output in outputs), words
                    passed = done.stdout_bytes
                    run[page] += 1
    assert run == {
        "README.md": 0,
        "docs/quick-start.md": 10,
        "docs/mine.md": 17,
        "docs/use.md": 11,
        "docs/vector-database.md": 2,
    }


@pytest.mark.parametrize("page", ["README.md", *sorted(str(one.relative_to(ROOT)) for one in DOCS)])
def test_every_command_of_a_page_is_one_that_there_is(page: str) -> None:
    """Verbs, options and their values; nothing is run."""
    verbs = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    further = typer.main.get_command(study.app).commands  # type: ignore[attr-defined]
    for language, block in BLOCK.findall((ROOT / page).read_text(encoding="utf-8")):
        for line in block.replace("\\\n", " ").splitlines() if not language else ():
            for part in line.removeprefix("$ ").split(" | "):
                words = shlex.split(part, comments=True) if "orthoglot " in part else []
                if words[:2] == ["orthoglot", "study"] and words[2] in further:
                    further[words[2]].make_context(words[2], words[3:])
                elif words and words[0] == "orthoglot" and words[1] in verbs:
                    verbs[words[1]].make_context(words[1], words[2:])
                else:
                    assert not part.startswith("orthoglot "), line
