"""`orthoglot study licences`: what a model trained on a preset may be used for."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated

import typer

from orthoglot.cli import options
from orthoglot.errors import ConfigError


def licences(
    preset: options.Preset = None,
    commercial: Annotated[
        bool, typer.Option(help="fail if a corpus forbids commercial use, or if that is not known")
    ] = False,
    as_json: options.AsJson = False,
    params: options.Params = None,
) -> None:
    """Say what a model trained on a preset may be used for.

    Example: orthoglot study licences --preset ems-62
    """
    from orthoglot import catalogue
    from orthoglot.study import config
    from orthoglot.study.fetching.licences import terms

    settings = config.load(catalogue.file_of(params), {"preset": preset} if preset else None)
    name, corpora = settings.preset, settings.corpora_of(settings.preset)
    tests = {
        entry: benchmark.licence for entry, benchmark in settings.benchmarks_read(settings.preset).items()
    }
    stated = {entry: str(getattr(corpus, "licence", "")) for entry, corpus in corpora.items()}
    by_corpus = {entry: terms(licence) for entry, licence in stated.items()}
    if as_json:
        listed = {
            entry: {"licence": stated[entry], **corpus_terms._asdict()}
            for entry, corpus_terms in by_corpus.items()
        }
        typer.echo(json.dumps({"preset": name, "corpora": listed, "benchmarks": tests}, indent=1))
    else:
        lines = [("corpus", "licence", "commercial use", "name the source", "share alike", "stated by")]
        lines += [(entry, stated[entry], *corpus_terms) for entry, corpus_terms in by_corpus.items()]
        options.print_table(lines)
        typer.echo(f"\nA model trained on {name}:")
        for question, answers in (
            ("commercial use", [corpus_terms.commercial for corpus_terms in by_corpus.values()]),
            ("name the sources", [corpus_terms.attribution for corpus_terms in by_corpus.values()]),
            ("share alike", [corpus_terms.share_alike for corpus_terms in by_corpus.values()]),
        ):
            typer.echo(f"  {question}: {_answer(question, answers)}")
        if tests:
            typer.echo("\nNothing is trained on its test sets:")
            options.print_table([("test set", "licence"), *tests.items()])
    forbidding = [entry for entry, corpus_terms in by_corpus.items() if corpus_terms.commercial == "no"]
    unknown = [entry for entry, corpus_terms in by_corpus.items() if corpus_terms.commercial == "unknown"]
    if commercial and (forbidding or unknown):
        verb = "forbids" if len(forbidding) == 1 else "forbid"
        reasons = [f"{', '.join(forbidding)} {verb} it"] * bool(forbidding)
        reasons += [f"it is not known of {', '.join(unknown)}"] * bool(unknown)
        raise ConfigError(f"presets.{name}: commercial use: {'; '.join(reasons)}")


def _answer(question: str, answers: Sequence[str]) -> str:
    """What holds for a mixture: the strictest answer; a licence that is not known leaves it open."""
    strict = "no" if question == "commercial use" else "yes"
    if strict in answers:
        return strict
    return "unknown" if "unknown" in answers else {"no": "yes", "yes": "no"}[strict]
