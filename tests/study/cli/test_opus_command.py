"""`orthoglot study opus` and `orthoglot study fetch` of documents: what they print, with the server and without."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import Result
from opus_server import Link, OpusServer, write_opus, write_opus_xml
from typer.testing import CliRunner

from orthoglot.cli import app
from orthoglot.errors import ConfigError

ROOT = Path(__file__).parents[3]
LINKS = {"d": [Link("1", "1", {"certainty": "1"})]}


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpusServer]:
    monkeypatch.chdir(tmp_path)
    write_opus(tmp_path / "opus", "Words", {("de", "en"): [("eins", "one")], ("en", "fr"): [("one", "un")]})
    write_opus_xml(
        tmp_path / "opus",
        "Voices",
        {("de", "en"): LINKS},
        {"de": {"d": {"1": "eins"}}, "en": {"d": {"1": "one"}}},
    )
    with OpusServer(tmp_path / "opus") as running:
        monkeypatch.setenv("ORTHOGLOT_OPUS_API", running.api)
        yield running


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def printed(*arguments: str) -> list[str]:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout.splitlines()


def test_options_are_those_of_opus_get(server: OpusServer) -> None:
    assert printed("opus", "-s", "en", "-t", "de", "-d", "Voices", "-r", "v1", "-p", "raw") == [
        "Voices\tv1\tde-en\t1 pairs\t0 KiB",
        "Voices\tv1\tde\t1 sentences\t0 KiB",
        "Voices\tv1\ten\t1 sentences\t0 KiB",
    ]
    assert printed("opus", "--directory", "Words", "-ll") == ["de", "en", "fr"]
    assert printed("opus", "-d", "Words", "-s", "en", "-ll") == ["de", "fr"]
    assert printed("opus", "-s", "en", "-lc") == ["Words"]
    assert printed("opus", "-s", "en", "-lc", "-p", "xml") == ["Voices"]
    assert printed("opus", "-d", "Words", "--releases") == ["v1"]


def test_the_catalogue_of_opustools_answers_without_a_network(tmp_path: Path) -> None:
    assert printed("opus", "--local-db", "-d", "Europarl", "--releases") == ["v8", "v7", "v3"]
    assert "GlobalVoices\tv2018q4\taym-en\t9709 pairs\t871 KiB" in printed("opus", "--local-db", "-s", "aym")
    assert printed("opus", "--local-db", "-d", "GlobalVoices", "-s", "en", "-t", "aym", "-p", "xml") == [
        "GlobalVoices\tv2018q4\taym-en\t9055 pairs\t52 KiB",
        "GlobalVoices\tv2018q4\taym\t13457 sentences\t1873 KiB",
        "GlobalVoices\tv2018q4\ten\t1189726 sentences\t357185 KiB",
    ]
    assert json.loads("".join(printed("opus", "--local-db", "-s", "aym", "-lc", "--json"))) == [
        "GlobalVoices"
    ]


@pytest.mark.parametrize(
    "arguments", [("-lc", "-ll"), ("--releases",), ("--releases", "-d", "Europarl", "-r", "v8")]
)
def test_lists_that_say_nothing_are_refused(arguments: tuple[str, ...]) -> None:
    assert isinstance(run("study", "opus", "--local-db", *arguments).exception, ConfigError)


def test_documents_of_a_preset_are_fetched_and_latest_is_not(server: OpusServer, tmp_path: Path) -> None:
    corpus = {
        "kind": "opus", "corpus": "Voices", "version": "v1", "pairs": ["en-de"], "preprocess": "xml",
        "threshold": 0.5, "listed": False, "licence": "own",
    }  # fmt: skip
    preset = {
        "extends": "mini",
        "corpora": ["voices"],
        "benchmarks": [],
        "evaluation": {"tasks": ["heldout"], "long_tail": []},
        "ablations": [],
    }

    def fetch() -> Result:
        text = (ROOT / "params.yaml").read_text()
        text = text.replace("corpora: {}", f"corpora: {{voices: {json.dumps(corpus)}}}")
        text = text.replace("presets:\n", f"presets:\n  mine: {json.dumps(preset)}\n", 1)
        (tmp_path / "params.yaml").write_text(text)
        return run("study", "fetch", "--preset", "mine")

    done = fetch()
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("0 files and 1 corpora of OPUS are in .cache/fetched: voices")
    assert list(json.loads((tmp_path / "fetched.lock").read_text())) == [
        "Voices/v1/xml/en-de.source.zip",
        "Voices/v1/xml/en-de.target.zip",
        "Voices/v1/xml/en-de.xml.gz",
    ]
    corpus["version"] = "latest"
    refused = fetch()
    assert isinstance(refused.exception, ConfigError)
    assert str(refused.exception) == (
        "corpora.voices: version: latest is another text tomorrow; name a release"
    )
