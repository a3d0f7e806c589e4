"""The registries of kinds of corpora and benchmarks: every line works."""

from __future__ import annotations

from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Literal, get_args

import pytest

from orthoglot.corpora import benchmarks
from orthoglot.corpora.benchmark_settings import NwaySettings
from orthoglot.corpora.benchmarks import collect
from orthoglot.corpora.kinds import BENCHMARKS, CORPORA, BenchmarkKind
from orthoglot.corpora.patterns import MINI
from orthoglot.corpora.sources import READERS, Source
from plan import STAGES


@pytest.mark.parametrize("name", CORPORA)
def test_every_corpus_is_of_its_kind_and_made_by_a_command_that_there_is(name: str) -> None:
    settings = CORPORA[name]
    assert get_args(settings.model_fields["kind"].annotation) == (name,)
    assert bool(settings.verb) == bool(settings.home)
    assert settings.verb in ("", *STAGES["corpora"])


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_benchmark_is_of_its_kind_and_collected_by_a_function_that_there_is(name: str) -> None:
    kind = BENCHMARKS[name]
    assert name in get_args(kind.settings.model_fields["kind"].annotation)
    assert callable(resolve_name(kind.collect))


@pytest.mark.parametrize("name", READERS)
def test_every_form_of_source_has_a_reader(name: str) -> None:
    assert callable(resolve_name(READERS[name]))
    assert Source.model_validate({"name": "x", "kind": name, "paths": ["x"]}).kind == name


def test_a_new_kind_of_benchmark_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Counted(NwaySettings):
        kind: Literal["counted"]  # type: ignore[assignment]

    def count(settings: Counted, paths: dict[str, list[Path]], output: Path) -> Any:
        assert paths == {"any language": [tmp_path / "text.tsv"]}
        return {"characters": sum(len(path.read_text()) for found in paths.values() for path in found)}

    monkeypatch.setattr(benchmarks, "count", count, raising=False)
    monkeypatch.setitem(BENCHMARKS, "counted", BenchmarkKind(Counted, "orthoglot.corpora.benchmarks:count"))
    (tmp_path / "text.tsv").write_text("en\tde\n")
    settings = Counted(kind="counted", files=f"{MINI}/text.tsv", languages=["en", "de"], licence="own")
    assert settings.invented
    assert settings.outside == []
    collect(settings, tmp_path, tmp_path)
    assert (tmp_path / "counts.json").read_text() == '{\n "characters": 6\n}\n'
