"""A test set in some of its languages: what a preset's `languages` leave of it."""

from __future__ import annotations

from itertools import combinations, islice

import pytest
from shipped_settings import shipped_values

from orthoglot.study import config
from orthoglot.study.benchmarks.base import Benchmark

BENCHMARKS = config.check(shipped_values()).benchmarks


def within(benchmark: Benchmark, *languages: str) -> Benchmark | None:
    return benchmark.within(lambda *codes: set(codes) <= set(languages))


@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_slice_has_the_files_of_its_languages_and_no_other(name: str) -> None:
    benchmark = BENCHMARKS[name]
    assert within(benchmark, *benchmark.codes) is benchmark
    assert within(benchmark, "tlh") is None
    assert within(BENCHMARKS["americasnli"], "en", "es") is None, "both are learnt in, none is tested"
    several = [*islice(combinations(sorted(benchmark.codes), 2), 6), sorted(benchmark.codes)[1:]]
    kept = {chosen: one for chosen in map(tuple, several) if (one := within(benchmark, *chosen)) is not None}
    for chosen, one in kept.items():
        assert one.codes <= set(chosen)
        # Its settings are whole: they are read again as they are written.
        assert type(one).model_validate(one.model_dump()).paths().keys() <= benchmark.paths().keys()
        assert {*one.outside, *one.addresses} <= {*benchmark.outside, *benchmark.addresses}


def test_what_a_slice_cannot_do_without() -> None:
    assert within(BENCHMARKS["tatoeba"], "de", "fr") is None, "its pivot is English"
    assert within(BENCHMARKS["tatoeba"], "de", "en").codes == {"de", "en"}  # type: ignore[union-attr]
    assert within(BENCHMARKS["flores"], "de") is None, "one language has no other to search in"
    assert within(BENCHMARKS["xnli"], "de", "fr") is None, "its labels are learnt in English"
    assert within(BENCHMARKS["sts17"], "es", "en").codes == {"en", "es"}  # type: ignore[union-attr]
    together = within(BENCHMARKS["xnli-all"], "de", "fr", "sw")
    assert together is not None
    assert (together.pivot, together.together) == ("de", ["de", "fr", "sw"])  # type: ignore[attr-defined]
    asked = within(BENCHMARKS["mewsli-x"], "af", "de", "en")
    assert asked is not None
    assert (asked.languages, asked.asked) == (["af", "de", "en"], ["de", "en"])  # type: ignore[attr-defined]
    assert within(BENCHMARKS["mewsli-x"], "af", "bg") is None, "nothing is asked in them"
