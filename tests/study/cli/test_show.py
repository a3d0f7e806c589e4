"""`orthoglot study show` and `orthoglot study schema`: what people and editors see of the settings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from shipped_settings import shipped_values
from typer.testing import CliRunner

from orthoglot.cli import app
from orthoglot.errors import ConfigError
from orthoglot.study import json_schema


def shown(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["study", "show", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.parametrize(
    ("kind", "section", "name"),
    [
        ("preset", "presets", "real-small"),
        ("corpus", "corpora", "globalvoices-en"),
        ("benchmark", "benchmarks", "sts17-turkish"),
        ("encoder", "encoders", "ems-small"),
        ("method", "methods", "seed+oracle"),
    ],
)
def test_an_entry_is_shown_in_full_and_listed_in_one_line(kind: str, section: str, name: str) -> None:
    entries = shipped_values()[section]
    assert yaml.safe_load(shown(kind, name)) == {name: entries[name]}
    assert [line.split()[0] for line in shown(kind).splitlines()] == list(entries)


def test_a_variant_is_shown_by_kind_and_name() -> None:
    assert yaml.safe_load(shown("variant", "ems.ugt")) == {"ems.ugt": {"target": "ugt"}}
    assert "emma-x.ranks-2" in shown("variant")


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match="encoder: unknown name 'ems-smal'; nearest known: ems-small"):
        shown("encoder", "ems-smal")


def test_the_params_yaml_of_the_folder_is_read_or_the_one_that_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (Path(__file__).parents[3] / "params.yaml").read_text()
    (tmp_path / "params.yaml").write_text(
        text.replace("methods: {}", "methods: {mine: {architecture: leace}}")
    )
    assert "mine" in shown("method", "--params", str(tmp_path / "params.yaml"))
    monkeypatch.chdir(tmp_path)
    assert yaml.safe_load(shown("method", "mine"))["mine"]["architecture"] == "leace"
    (tmp_path / "params.yaml").unlink()
    assert "mine" not in shown("method")


def test_schemas_are_printed_as_json() -> None:
    result = CliRunner().invoke(app, ["study", "schema", "catalogue"])
    assert json.loads(result.output) == json_schema.catalogue_schema()
