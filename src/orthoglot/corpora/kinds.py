"""The kinds of corpora and of benchmarks: one line each.

To add a kind, write its settings and add a line here; a benchmark also needs a function that collects its files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NamedTuple, Union

from pydantic import Field

from orthoglot.corpora.benchmark_settings import (
    Benchmark,
    CodeSwitchedSettings,
    GradedSettings,
    MiningSettings,
    NwaySettings,
    PoolSettings,
    RetrievalSettings,
)
from orthoglot.corpora.labelled_settings import ClassificationSettings
from orthoglot.corpora.settings import (
    Corpus,
    GettextSettings,
    LocalSettings,
    MiniSettings,
    MultiParallelSettings,
    OpusSettings,
    TextCorpusSettings,
)


class BenchmarkKind(NamedTuple):
    """A kind of benchmark.

    Attributes:
        settings: its class; the field `kind` holds the name of the kind.
        collect: "module:function" from (settings, files by language or pair, output folder) to the counts of what it
            wrote, by name.
    """

    settings: type[Benchmark]
    collect: str


CORPORA: dict[str, type[Corpus]] = {
    "mini": MiniSettings,
    "opus": OpusSettings,
    "local": LocalSettings,
    "multi-parallel": MultiParallelSettings,
    "gettext": GettextSettings,
    "text": TextCorpusSettings,
}
BENCHMARKS = {
    "mini": BenchmarkKind(RetrievalSettings, "orthoglot.corpora.benchmarks:collect_retrieval"),
    "local": BenchmarkKind(RetrievalSettings, "orthoglot.corpora.benchmarks:collect_retrieval"),
    "sts": BenchmarkKind(GradedSettings, "orthoglot.corpora.benchmarks:collect_graded"),
    "qe": BenchmarkKind(GradedSettings, "orthoglot.corpora.benchmarks:collect_graded"),
    "code-switched": BenchmarkKind(
        CodeSwitchedSettings, "orthoglot.corpora.benchmarks:collect_code_switched"
    ),
    "nway": BenchmarkKind(NwaySettings, "orthoglot.corpora.benchmarks:collect_nway"),
    "mining": BenchmarkKind(MiningSettings, "orthoglot.corpora.mining_sets:collect"),
    "pool": BenchmarkKind(PoolSettings, "orthoglot.corpora.pools:collect"),
    "classification": BenchmarkKind(ClassificationSettings, "orthoglot.corpora.labelled:collect"),
}

if TYPE_CHECKING:
    CorpusSettings = Corpus
    BenchmarkSettings = Benchmark
else:
    # Unions of classes that are known only at run time.
    CorpusSettings = Annotated[Union[tuple(CORPORA.values())], Field(discriminator="kind")]  # noqa: UP007
    BenchmarkSettings = Annotated[
        Union[tuple(kind.settings for kind in BENCHMARKS.values())],  # noqa: UP007
        Field(discriminator="kind"),
    ]
