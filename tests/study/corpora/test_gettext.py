"""Message catalogues of a folder or of installed packages: which belong to a language, and what is read of them."""

from __future__ import annotations

import hashlib
import re
import sys
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
import yaml
from po_files import message, write
from pydantic import ValidationError
from workspace import ROOT

from orthoglot.corpora.prepare import prepare
from orthoglot.errors import ConfigError, DataError
from orthoglot.formats.sources import read_source
from orthoglot.study.corpora.base import parsed
from orthoglot.study.corpora.kinds.gettext import (
    GettextSettings,
    catalogues_below,
    choose,
    package_catalogues,
)
from orthoglot.study.jobs.prepare import PrepareSettings
from orthoglot.text.bitext import LeftOut
from orthoglot.text.prepared import read_split
from orthoglot.text.splitting import SPLITS


def test_catalogues_are_found_by_their_path_in_the_order_of_preference() -> None:
    names = [
        "a/locale/pt_BR/LC_MESSAGES/django.po",
        "a/locale/pt_BR/LC_MESSAGES/django.mo",
        "a/locale/pt/LC_MESSAGES/django.mo",
        "a/locale/pt_PT/LC_MESSAGES/django.po",
        "b/locale/pt_BR/LC_MESSAGES/django.mo",
        "b/locale/pt_BR/LC_MESSAGES/js.po",
        "po/pt.po",
        "po/de.po",
        "lang/pt/messages.po",
        "lang/pt/readme.txt",
    ]
    paths = [PurePosixPath(name) for name in names]
    assert [[str(path) for path in files] for files in choose(reversed(paths), "pt")] == [
        [names[2], names[3], names[0]],
        [names[4]],
        [names[5]],
        [names[8]],
        [names[6]],
    ]
    assert choose(paths, "pt", ["pt_BR"]) == [[paths[0]], [paths[4]], [paths[5]]]
    assert choose(paths, "fr") == []


def test_other_scripts_are_no_variety() -> None:
    paths = [
        PurePosixPath(f"{name}/x.po") for name in ("zh_TW", "zh_Hant", "zh_CN", "zh_Hans", "zh", "sr_Latn")
    ]
    assert [str(path.parent) for path in choose(paths, "zh")[0]] == ["zh_Hans", "zh", "zh_CN"]
    assert choose(paths, "sr") == []


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "po/pt.po", message("One two three", "Um dois") + message("Not here yet", ""))
    write(tmp_path / "po/pt_BR.po", message("One two three", "BR") + message("Not here yet", "Ainda"))
    write(tmp_path / "po/de.po", message("One two three", "Eins") + message("Short", "Kurz"))
    return tmp_path / "po"


def settings(**changed: Any) -> GettextSettings:
    return GettextSettings.model_validate({"kind": "gettext", "licence": "own", **changed})


def read(corpus: GettextSettings, pair: str) -> list[Any]:
    source = parsed({"name": "c", **corpus.pair_sources("")[pair]})
    return list(read_source(source, *pair.split("-")))


def test_a_folder_is_read_by_language_and_a_locale_fills_the_gaps_of_the_one_before(folder: Path) -> None:
    corpus = settings(folder=str(folder), languages=["pt", "de"], min_words=2)
    assert read(corpus, "en-pt") == [("One two three", "Um dois"), ("Not here yet", "Ainda")]
    assert read(corpus, "en-de") == [("One two three", "Eins"), LeftOut("few_words")]
    named = settings(folder=str(folder), languages={"pt": ["pt_BR", "pt"]})
    assert read(named, "en-pt") == [("One two three", "BR"), ("Not here yet", "Ainda")]
    only = settings(folder=str(folder), languages={"pt": ["pt"]})
    assert read(only, "en-pt") == [("One two three", "Um dois"), LeftOut("untranslated")]
    assert [path.name for path in catalogues_below(folder)] == ["de.po", "pt.po", "pt_BR.po"]
    with pytest.raises(ConfigError, match="no message catalogue in fr"):
        settings(folder=str(folder), languages=["fr"]).pair_sources("")


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """An installed package whose code must not run; its pin."""
    site = tmp_path / "site"
    write(site / "shop/locale/de/LC_MESSAGES/shop.po", message("Buy it now", "Kauf es jetzt"))
    write(tmp_path / "outside/de.po", message("A secret file", "Geheim"))
    (site / "shop/__init__.py").write_text("raise SystemExit('this code must not run')\n")
    info = site / "shop-2.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shop\nVersion: 2.0\n")
    names = ["shop/__init__.py", "shop/locale/de/LC_MESSAGES/shop.po", "../outside/de.po"]
    (info / "RECORD").write_text("".join(f"{name},,\n" for name in names))
    monkeypatch.setattr(sys, "path", [str(site), *sys.path])
    digest = hashlib.sha256((site / names[1]).read_bytes()).hexdigest()
    return {"version": "2.0", "sha256": hashlib.sha256(f"{digest}  {names[1]}\n".encode()).hexdigest()}


def test_a_job_reads_packages_without_a_file(package: dict[str, str]) -> None:
    (source,) = settings(packages={"shop": package}, languages=["de"]).pair_sources("").values()
    parts = {"cleaning": {"min_characters": 1}, "splits": {"seed": 1, "valid": 0.1, "test": 0.1}}
    job = {"pair": "en-de", "sources": [{"name": "shop", **source}], **parts}
    assert PrepareSettings.model_validate(job).sources[0].model_dump()["packages"]["shop"] == package
    with pytest.raises(ValidationError, match="name a file"):
        PrepareSettings.model_validate({**job, "sources": [{"name": "x", "kind": "local"}]})


def test_a_packages_catalogues_are_read_and_its_code_is_not(package: dict[str, str]) -> None:
    corpus = settings(packages={"shop": package}, languages=["de", "fr"])
    assert read(corpus, "en-de") == [("Buy it now", "Kauf es jetzt")]
    assert "shop" not in sys.modules
    with pytest.raises(DataError, match="no message catalogue in fr in shop"):
        read(corpus, "en-fr")


def test_another_package_than_the_pinned_one_is_refused(package: dict[str, str]) -> None:
    with pytest.raises(DataError, match=f"SHA-256 {package['sha256']}, not 0000"):
        package_catalogues("shop", "2.0", "0" * 64)
    with pytest.raises(ConfigError, match=r"installed in version 2\.0: pip install --no-deps shop==2\.1"):
        package_catalogues("shop", "2.1", package["sha256"])
    with pytest.raises(ConfigError, match="is not installed: pip install --no-deps shopp==2"):
        package_catalogues("shopp", "2", package["sha256"])


def test_locales_of_posix_are_found_in_a_folder() -> None:
    names = ("sr@latin", "sr", "uz@cyrillic", "ca@valencia", "ca", "de_DE.UTF-8", "ksh", "German")
    paths = [PurePosixPath(f"{name}.po") for name in names]
    assert [path.name for path in choose(paths, "ca")[0]] == ["ca.po", "ca@valencia.po"]
    assert [path.name for path in choose(paths, "sr")[0]] == ["sr.po"]
    assert [path.name for path in choose(paths, "sr", ["sr@latin"])[0]] == ["sr@latin.po"]
    assert [path.name for path in choose(paths, "de")[0]] == ["de_DE.UTF-8.po"]


def test_the_localisation_corpus_has_enough_of_every_language_and_no_message_in_two_splits(
    tmp_path: Path,
) -> None:
    entry = yaml.safe_load((ROOT / "catalogue/corpora.yaml").read_text())["localisation"]
    corpus = GettextSettings.model_validate(entry)
    extra = re.search(r"^demo = \[(.*?)^\]", (ROOT / "pyproject.toml").read_text(), re.M | re.S)
    assert extra is not None
    pins = [f"{name}=={package.version}" for name, package in corpus.packages.items()]
    assert set(pins) <= set(re.findall(r'"(.*?)"', extra[1]))
    try:
        for name, package in corpus.packages.items():
            package_catalogues(name, package.version, package.sha256)
    except ConfigError as error:
        pytest.skip(str(error))
    split_of: dict[str, set[str]] = {}
    sources = corpus.pair_sources("")
    assert len(sources) == 14
    for pair in ("en-ar", "en-de", "en-pt", "en-zh"):
        source = sources[pair]
        cleaned = {"cleaning": {}, "splits": {"valid": 0.05, "test": 0.25}}
        output = tmp_path / pair
        output.mkdir()
        prepare(
            PrepareSettings.model_validate({"pair": pair, "sources": [{"name": "l", **source}], **cleaned}),
            output,
        )
        assert len(read_split(output, "train")) > 1000
        assert len(read_split(output, "test")) > 300
        for split in SPLITS:
            for pair_of_texts in read_split(output, split):
                split_of.setdefault(pair_of_texts.source, set()).add(split)
    assert {len(splits) for splits in split_of.values()} == {1}
    assert len(split_of) > 1800
