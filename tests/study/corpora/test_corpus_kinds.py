"""Kinds of corpora and of benchmarks are files: each that there is (tests/test_recipes.py adds one)."""

from __future__ import annotations

from typing import get_args

import pytest

from orthoglot.registry import having, load, names
from orthoglot.study.benchmarks import kinds as benchmark_kinds
from orthoglot.study.corpora import kinds as corpus_kinds
from plan import STAGES

CORPORA, BENCHMARKS = having(corpus_kinds, "SETTINGS"), having(benchmark_kinds, "SETTINGS")


@pytest.mark.parametrize("name", CORPORA)
def test_every_corpus_is_of_its_kind_and_made_by_a_command_that_there_is(name: str) -> None:
    settings = CORPORA[name]
    assert get_args(settings.model_fields["kind"].annotation) == (name,)
    assert bool(settings.verb) == bool(settings.home)
    assert settings.verb in ("", *STAGES["corpora"])


@pytest.mark.parametrize("name", names(benchmark_kinds))
def test_every_benchmark_is_of_its_kind_and_collected(name: str) -> None:
    assert get_args(BENCHMARKS[name].model_fields["kind"].annotation) == (name,)
    assert callable(load(benchmark_kinds, name).collect)
