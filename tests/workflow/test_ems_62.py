"""A slice of the preset ems-62, from the archives of an OPUS on the loopback address to ids, through the workflow."""

from __future__ import annotations

import gzip
import json
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from opus_server import OpusServer
from preset_opus import Pairs, real_pairs, write_preset
from sentencepiece import SentencePieceProcessor
from workspace import Workspace

from orthoglot.encoders.tokenization import MOSES_MODEL, read_segmenters
from orthoglot.study import config
from orthoglot.study.pretraining.tokenised import read_bitext
from orthoglot.text.prepared import read_split
from orthoglot.text.splitting import SPLITS

# The letters of generated text; OPUS spells pt and zh in several ways.
ENGLISH = "abdefghiklmnoprstuvwy"
ALPHABETS = {
    "pt": "abcdeghilmnoprstuvzãçé",
    "zh": "的一是在不了有和人这中大为上个国我以要他",
    "th": "กขคงจชดตนบปมยรลวสหอ",
}
SPELLINGS = {"pt": {"pt", "pt_br"}, "zh": {"zh", "zh_cn", "zh_tw"}}


@dataclass
class Slice:
    """A finished run of a part of the preset.

    Attributes:
        workspace: where it ran.
        languages: all but English.
        served: pairs by language.
        requests: the paths that were asked for.
    """

    workspace: Workspace
    languages: Sequence[str]
    served: dict[str, int]
    requests: list[str]

    def folder(self, language: str) -> Path:
        """The prepared pairs of English and a language."""
        return self.workspace.folder / f"data/ems-62/bitext/en-{language}"

    def counts(self, language: str) -> dict[str, Any]:
        """What became of the pairs of a language."""
        found: dict[str, Any] = json.loads((self.folder(language) / "counts.json").read_text())
        return found

    @property
    def tokens(self) -> Path:
        """The ids and their tokenizer."""
        (folder,) = (self.workspace.folder / "models/ems-62/tokens").glob("*/tokenizer")
        return folder.parent


def run_slice(
    folder: Path,
    languages: Sequence[str],
    text: Callable[[str], Pairs],
    *,
    vocabulary: int,
    benchmark: dict[str, Any],
    corpora: Sequence[str] = (),
) -> Slice:
    """Fetch, clean and tokenise some languages and corpora of ems-62 for its encoder; all else is as in the preset.

    Args:
        folder: gets the workspace and the OPUS.
        languages: without English.
        text: see `write_preset`.
        vocabulary: tokens.
        benchmark: the entry of a test set.
        corpora: of the preset; all of them if none is named.
    """
    workspace = Workspace.make(folder / "w")
    changes: dict[str, Any] = {
        "presets__ems-62__languages": ["en", *languages],
        "presets__ems-62__benchmarks": ["measured"],
        "presets__ems-62__encoders": ["ems-paper"],
        "benchmarks__measured": benchmark,
        "encoders__ems-paper__network__tokenizer__vocabulary": vocabulary,
    }
    if corpora:
        changes["presets__ems-62__corpora"] = list(corpora)
    workspace.edit(preset="ems-62", **changes)
    corpora_of = config.load(workspace.folder / "params.yaml").corpora_of("ems-62")
    served = write_preset(corpora_of, folder / "opus", text)
    with OpusServer(folder / "opus") as server:
        workspace.run("snakemake", "--cores", "2", "tokens", ORTHOGLOT_OPUS_API=server.api)
        requests = [path for path, _ in server.requests]
    return Slice(workspace, languages, served, requests)


def generated(variety: str) -> Pairs:
    """Pairs of words without meaning, the first with a sentence of the benchmark, some twice, some without letters."""
    language = variety.partition("-")[0]
    random = Random(variety)

    def words(alphabet: str, count: int, blank: str) -> str:
        return blank.join("".join(random.choices(alphabet, k=random.randint(2, 6))) for _ in range(count))

    pairs = [
        (words(ENGLISH, count, " "), words(ALPHABETS[language], count, " " if language == "pt" else ""))
        for count in (random.randint(3, 9) for _ in range(600))
    ]
    return [(f"Measured: {variety}!", pairs[0][1]), *pairs, *pairs[:10], ("...", "!"), ("a copy", "a copy")]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Slice:
    folder = tmp_path_factory.mktemp("generated")
    measured = "".join(
        f"frase {n}\tmeasured {name}\n" for n, name in enumerate(("PT", "pt br", "zh-tw.", "nothing"))
    )
    (folder / "measured.pt-en.tsv").write_text(measured)
    benchmark = {
        "kind": "local",
        "files": str(folder / "measured.{foreign}-{pivot}.tsv"),
        "languages": ["pt"],
        "pivot": "en",
        "licence": "own",
    }
    few = ["opensubtitles-62", "ted2020-62", "tatoeba-62"]
    return run_slice(folder, [*ALPHABETS], generated, vocabulary=700, benchmark=benchmark, corpora=few)


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory, more_data: Path) -> Slice:
    shared = more_data.parent
    benchmark = {
        "kind": "local",
        "files": str(shared / "data/tatoeba/tatoeba.{foreign}-{pivot}.tsv.gz"),
        "spelling": "iso639-3",
        "languages": ["ru", "th", "zh"],
        "pivot": "en",
        "licence": "CC-BY-2.0-FR",
    }
    return run_slice(
        tmp_path_factory.mktemp("real"),
        ["gu", "ru", "th", "zh"],
        lambda variety: real_pairs(shared, variety)[::4],
        vocabulary=8000,
        benchmark=benchmark,
    )


def letters(text: str) -> str:
    """What a text is compared by."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(sign for sign in folded if unicodedata.category(sign)[0] in "LMN")


def check(done: Slice) -> None:
    """What holds for any text: nothing is lost between the archives and the ids, and no sentence is a benchmark's."""
    files = [*(done.workspace.folder / "data/ems-62/benchmarks/measured").glob("*.tsv.gz")]
    assert files
    tables = [gzip.decompress(path.read_bytes()).decode().splitlines() for path in files]
    measured = {letters(side) for line in chain.from_iterable(tables) for side in line.split("\t")}
    for language in done.languages:
        counts = done.counts(language)
        assert sum(counts["in"].values()) == done.served[language]
        assert done.served[language] == sum(counts["kept"].values()) + sum(counts["dropped"].values())
        kept = {split: read_split(done.folder(language), split) for split in SPLITS}
        assert {split: len(pairs) for split, pairs in kept.items()} == counts["kept"]
        sentences = [side for pair in chain.from_iterable(kept.values()) for side in pair]
        assert not {letters(side) for side in sentences} & measured
    folders = [done.folder(language) for language in sorted(done.languages)]
    train = read_bitext(folders, "train", done.tokens)
    assert train.sizes == tuple(done.counts(path.name[3:])["kept"]["train"] for path in folders)
    model = SentencePieceProcessor(model_file=str(done.tokens / "tokenizer" / MOSES_MODEL))
    pairs = [pair for path in folders for pair in read_split(path, "train")]
    rows = np.linspace(0, len(pairs) - 1, 200).astype(int)
    for number, side in enumerate(train.sides):
        same = [
            letters(model.decode(found)) == letters(pairs[row][number].lower())
            for row in rows
            if len(found := side.take(np.array([row])).ids.tolist()) < 120 and model.unk_id() not in found
        ]
        assert np.mean(same) > 0.99
        assert len(same) > 150
    assert {language: one.name for language, one in read_segmenters(done.tokens / "tokenizer").items()} == {
        "zh": "jieba",
        "ja": "sudachi",
        "th": "moses",
        "my": "moses",
    }
    assert done.workspace.jobs_due("tokens") == {}  # and OPUS is gone


def test_generated_text_goes_from_archives_to_ids(made: Slice) -> None:
    check(made)
    fetched = {Path(path).name.removesuffix(".txt.zip") for path in made.requests if path.endswith(".zip")}
    assert fetched == {"en-th", *(f"en-{spelled}" for some in SPELLINGS.values() for spelled in some)}
    asked = {path.split("/")[1] for path in made.requests}
    assert asked == {"opusapi", "OPUS-OpenSubtitles", "OPUS-TED2020"}  # no corpus needs Tatoeba's pairs
    for language, varieties in {"pt": 2, "zh": 2, "th": 1}.items():
        counts = made.counts(language)
        # Ten pairs come twice in each variety; archives of one share its pairs out.
        assert counts["dropped"]["duplicate"] == 10 * varieties
        assert counts["dropped"]["empty"] == counts["dropped"]["copy"] == varieties
        assert counts["benchmarks"] == {"measured": {"pt": 2, "zh": 1, "th": 0}[language]}
        assert set(counts["in"]) == {"opensubtitles-62", "ted2020-62"}


def test_real_text_goes_from_archives_to_ids(real: Slice) -> None:
    check(real)
    assert any(real.counts(language)["benchmarks"]["measured"] for language in real.languages)
    # Traditional characters come from spellings of their own.
    chinese = "".join(pair.target for pair in read_split(real.folder("zh"), "train"))
    assert {"們", "们"} <= set(chinese)
