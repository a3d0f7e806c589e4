"""The commands and the Python of the pages for daily jobs, run in the order of the pages on generated text."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
from small_checkpoint import DIM, make_pairs, write_checkpoint, write_tsv
from typer.testing import CliRunner

from orthoglot.cli import app

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Lines that are not run: they fetch packages, and weights from the model hub.
INSTALLS = re.compile(r"(python3 -m venv|\. venv/bin/activate|pip install) ?")
FETCHES = "orthoglot checkpoint "
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
    pairs = make_pairs(200, seed=4)
    for side, code in enumerate(("en", "nl")):
        text = "".join(f"{pair[side]}\n" for pair in pairs)
        (root / f"{code}.txt").write_text(text, encoding="utf-8")
        (root / "documents" / code).mkdir(parents=True)
        (root / "documents" / code / "a.txt").write_text(text, encoding="utf-8")
    return root


@pytest.fixture(autouse=True)
def _one_thread_again() -> Iterator[None]:
    """The commands of the pages take all CPUs, for the process of all tests."""
    yield
    torch.set_num_threads(1)


def commands(block: str) -> list[list[str]]:
    """The commands of a shell block; where some begin with a $, the other lines are their output."""
    lines = block.splitlines()
    if any(line.startswith("$ ") for line in lines):
        lines = [line[2:] for line in lines if line.startswith("$ ")]
    found = []
    for line in lines:
        if not INSTALLS.match(line) and not line.startswith(FETCHES):
            words = shlex.split(line, comments=True)
            assert words[0] == "orthoglot", f"neither run nor known to need a network: {line}"
            found.append(words[1:])
    return found


# One test: a page goes on where the one before ended.
def test_every_block_runs_and_writes_what_it_names(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    run = 0
    for page in ("quick-start.md", "mine.md"):
        for language, block in BLOCK.findall((DOCS / page).read_text(encoding="utf-8")):
            if language == "python":
                exec(compile(block, page, "exec"), {})
                continue
            assert language == "", f"{page}: a block of {language}"
            for words in commands(block):
                outputs = [Path(new) for old, new in itertools.pairwise(words) if old in OUTPUTS]
                for output in outputs:
                    output.unlink(missing_ok=True)  # of an earlier command
                done = CliRunner().invoke(app, words)
                assert done.exit_code == 0, (words, done.output, done.exception)
                assert all(output.exists() for output in outputs), words
                run += bool(outputs)
    assert run >= 8
