"""The files that the catalogue names: their entries in fetched.lock, and, from a mirror, what is read of them."""

from __future__ import annotations

import json
import os
import re
from functools import cache
from pathlib import Path

import pytest

from orthoglot.formats.sources import read_source
from orthoglot.languages import parse_pair
from orthoglot.study import config
from orthoglot.study.benchmarks.collect import collect
from orthoglot.study.corpora.base import parsed
from orthoglot.study.corpora.patterns import here
from orthoglot.study.fetching import lock as locks
from orthoglot.study.fetching.files import MIRROR, fetch, remote_files
from orthoglot.text.bitext import SentencePair

ROOT = Path(__file__).parents[3]
LOCK = ROOT / "fetched.lock"
# Archives of other servers than Git's; nobody has fetched them yet, so that nothing is known of them.
UNTRIED = {
    *(
        f"comparable.limsi.fr/bucc2018/bucc2018-{pair}.{part}-gold.tar.bz2"
        for part in ("sample", "training")
        for pair in ("de-en", "fr-en", "ru-en", "zh-en")
    ),
    "dl.fbaipublicfiles.com/XNLI/XNLI-1.0.zip",
    "dl.fbaipublicfiles.com/XNLI/XNLI-MT-1.0.zip",
    "dl.fbaipublicfiles.com/glue/superglue/data/v2/COPA.zip",
    "dl.fbaipublicfiles.com/nllb/laser/xsimplusplus/eng_Latn_errtype.devtest.json",
    *(
        "huggingface.co/datasets/mteb/belebele/resolve/979a211276faa22f671e69d096634193567cfd05/data/"
        f"{language}.jsonl"
        for language in [
            "arb_Arab",
            "deu_Latn",
            "eng_Latn",
            "spa_Latn",
            "fra_Latn",
            "grn_Latn",
            "hin_Deva",
            "jpn_Jpan",
            "kor_Hang",
            "rus_Cyrl",
            "swh_Latn",
            "tha_Thai",
            "vie_Latn",
            "yor_Latn",
            "zho_Hans",
        ]
    ),
    "maartensap.github.io/social-iqa/data/socialIQa_v1.4.tgz",
    "nlp.stanford.edu/projects/snli/snli_1.0.zip",
    "public.ukp.informatik.tu-darmstadt.de/reimers/sentence-transformers/datasets/STS2017-extended.zip",
    "raw.githubusercontent.com/rajpurkar/SQuAD-explorer/eee5fdbf62f8613a7812b03419e6b29617b74fd1/dataset/dev-v1.1.json",
    "raw.githubusercontent.com/rajpurkar/SQuAD-explorer/eee5fdbf62f8613a7812b03419e6b29617b74fd1/dataset/train-v1.1.json",
    "storage.googleapis.com/paws/pawsx/x-final.tar.gz",
    *(
        f"www.quest.dcs.shef.ac.uk/wmt20_files_qe/training_{pair}.tar.gz"
        for pair in ("en-de", "en-zh", "ro-en", "et-en", "ne-en", "si-en")
    ),
}
COMMIT = re.compile(r"raw\.githubusercontent\.com/[\w.-]+/[\w.-]+/[0-9a-f]{40}/")


@cache
def shipped() -> config.Params:
    return config.load(ROOT / "params.yaml")


def everything(*codes: str) -> bool:
    return True


def benchmark_addresses() -> dict[str, list[str]]:
    return {name: one.addresses for name, one in shipped().benchmarks.items() if one.addresses}


def corpus_addresses() -> dict[str, list[str]]:
    found = {name: one.addresses(everything) for name, one in shipped().corpora.items()}
    return {name: addresses for name, addresses in found.items() if addresses}


def names() -> set[str]:
    every = [*benchmark_addresses().values(), *corpus_addresses().values()]
    return {name for addresses in every for name in remote_files(addresses)}


def test_the_lock_has_every_file_of_the_catalogue_and_no_other() -> None:
    assert set(locks.read(LOCK)) == names() - UNTRIED


def test_an_address_names_a_commit() -> None:
    assert {name for name in names() if not COMMIT.match(name)} == {
        name for name in UNTRIED if not COMMIT.match(name)
    }


def test_no_entry_points_outside_the_repository() -> None:
    for entries in (shipped().benchmarks, shipped().corpora):
        for name, one in entries.items():
            assert "../" not in json.dumps(one.model_dump(), default=str), name


def test_where_a_file_has_no_address_the_entry_says_how_to_get_it() -> None:
    for name, one in shipped().benchmarks.items():
        assert bool(one.outside) == bool(one.obtain), name
    for name, corpus in shipped().corpora.items():
        brought = corpus.verb or corpus.invented or corpus.addresses(everything) or corpus.kind == "gettext"
        assert bool(brought) != bool(corpus.obtain), name


def fetched(addresses: list[str], folder: Path) -> Path:
    if not os.environ.get(MIRROR):
        pytest.skip(f"{MIRROR} names no server with copies of the catalogue's files")
    if UNTRIED & set(remote_files(addresses)):
        pytest.skip("an archive that no mirror of Git repositories has")
    output = folder / "files"
    output.mkdir()
    fetch(addresses, output, folder / "checkpoint", lock=LOCK, cache=folder / "cache")
    return output


# Rows of sets that publish their size.
SIZES = {
    "tatoeba": {"de": 1000, "zh": 1000},
    "flores": {"kept": 1012, "incomplete": 0},
    "ntrex": {"kept": 1997, "incomplete": 0},
    "sts17": {"ar-ar": 250, "en-en": 250},
    "sts17-turkish": {"en-tr": 250},
    "sts17-extended": {"en-de": 250, "nl-en": 250},
    "stsb": {"de-zh": 1500},
    "mlqe": {"en-de": 1000, "ro-en": 1000},
    "hter-dev": {"en-zh": 1000},
    "wmt21-qe": {"en-de": 1000, "ru-en": 1000},
    "lareqa": {"questions": 13090, "candidates": 13014},
}


@pytest.mark.parametrize("name", sorted(benchmark_addresses()))
def test_a_test_set_is_collected_from_its_own_files(name: str, tmp_path: Path) -> None:
    files = fetched(benchmark_addresses()[name], tmp_path)
    output = tmp_path / "collected"
    output.mkdir()
    collect(shipped().benchmarks[name], None, output, files)
    counts = json.loads((output / "counts.json").read_text())
    assert counts.items() >= SIZES.get(name, {}).items()


@pytest.mark.parametrize("name", sorted(corpus_addresses()))
def test_a_corpus_is_read_from_its_own_files(name: str, tmp_path: Path) -> None:
    files = fetched(corpus_addresses()[name], tmp_path)
    for pair, source in shipped().corpora[name].pair_sources("").items():
        paths = [here(path, str(files)) for path in source["paths"]]
        items = read_source(parsed({"name": name, **source, "paths": paths}), *parse_pair(pair))
        assert sum(isinstance(item, SentencePair) for item in items) > 2_000, pair
