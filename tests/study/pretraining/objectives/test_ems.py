"""EMS objective against the numbers of tests/worked-examples.md#worked-ems-1."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from orthoglot.study.pretraining.objectives.ems import Ems, Projection, XtrHead, contrastive
from orthoglot.study.pretraining.objectives.token_bags import bags_of


def both(similarity: Tensor, temperature: float = 0.1, margin: float = 0.0) -> float:
    """The loss of both directions."""
    return sum(contrastive(side, temperature, margin).item() for side in (similarity, similarity.T))


@pytest.mark.parametrize(
    ("similarity", "expected"),
    [
        (torch.eye(2), 9.079780e-5),  # tests/worked-examples.md#worked-ems-9
        (torch.ones(2, 2), 1.386294),  # tests/worked-examples.md#worked-ems-10
        (torch.full((152, 152), 0.3), 10.047761),
        (
            torch.tensor([[0.8, 0.2], [0.5, 0.4]]),
            0.657869 + 0.087758,
        ),  # tests/worked-examples.md#worked-ems-11
    ],
)
def test_contrastive_values(similarity: Tensor, expected: float) -> None:
    assert both(similarity.double()) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("similarity", "expected"),
    [
        (torch.eye(2), 1.822933e-3),
        (torch.ones(2, 2), 6.097175),
        (torch.tensor([[0.8, 0.2], [0.5, 0.4]]), 3.036573),
    ],
)
def test_e12_additive_margin(similarity: Tensor, expected: float) -> None:
    before = similarity.clone()
    assert both(similarity.double(), margin=0.3) == pytest.approx(expected, rel=1e-5)
    assert torch.equal(similarity, before)


def test_more_candidates_than_rows_and_where_the_own_ones_begin() -> None:
    """The rows of one process among the candidates of all: the mean over processes is the loss of the whole."""
    similarity = torch.rand(6, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    parts = [contrastive(similarity[rows], 0.1, 0.3, rows.start) for rows in (slice(0, 3), slice(3, 6))]
    assert sum(parts).item() / 2 == pytest.approx(contrastive(similarity, 0.1, 0.3).item())


VOCABULARY = 11


def _objective(
    xtr_weight: float = 1.0, contrastive_weight: float = 1.0, *, projected: bool = True, **head: Any
) -> Ems:
    shape = {"languages": 3, "language_width": 4, "width": 6, "vocabulary": VOCABULARY, "dropout": 0.1} | head
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return Ems(
            XtrHead(**shape) if xtr_weight else None,
            Projection(6, 5) if projected else None,
            temperature=0.1,
            margin=0.0,
            xtr_weight=xtr_weight,
            contrastive_weight=contrastive_weight,
        ).eval()


class Batch(NamedTuple):
    vectors: Tensor
    languages: Tensor
    sides: tuple[np.ndarray, np.ndarray]  # tokens of the sources, of the targets

    def swapped(self) -> Batch:
        a, b = self.vectors.chunk(2)
        x, y = self.languages.chunk(2)
        return Batch(torch.cat([b, a]), torch.cat([y, x]), self.sides[::-1])


EMBEDDING = torch.randn(VOCABULARY, 6, generator=torch.Generator().manual_seed(3))


def _batch() -> Batch:
    generator = torch.Generator().manual_seed(1)
    vectors = torch.randn(8, 6, generator=generator)
    tokens = [torch.randint(1, VOCABULARY, (4, size), generator=generator).numpy() for size in (3, 5)]
    # the languages to predict: those of the targets, then those of the sources
    return Batch(vectors, torch.tensor([1, 2, 1, 2, 0, 0, 0, 0]), (tokens[0], tokens[1]))


def _values(objective: Ems, batch: Batch) -> dict[str, Tensor]:
    sources, targets = batch.sides
    tokens = np.concatenate([targets.ravel(), sources.ravel()])
    bags = bags_of(tokens, np.repeat([targets.shape[1], sources.shape[1]], 4))
    return objective(batch.vectors, batch.languages, bags, EMBEDDING)


def _dense(logits: Tensor, tokens: np.ndarray) -> Tensor:
    """KL by the definition, mean over rows."""
    p = torch.stack(
        [torch.bincount(row, minlength=VOCABULARY) / len(row) for row in torch.from_numpy(tokens)]
    )
    return nn.functional.kl_div(logits.log_softmax(1), p, reduction="batchmean")


@pytest.mark.parametrize("head", [{}, {"language_width": 0}, {"norm": False}, {"tied": True}])
def test_each_side_predicts_the_other_in_the_others_language(head: dict[str, Any]) -> None:
    objective, batch = _objective(**head), _batch()
    found = objective.head
    assert found is not None
    output = EMBEDDING if found.output is None else found.output
    a, b = batch.vectors.chunk(2)
    sources, targets = batch.sides

    def expected(languages: Tensor) -> Tensor:
        x, y = languages.chunk(2)
        return _dense(found(a, x) @ output.T, targets) + _dense(found(b, y) @ output.T, sources)

    torch.testing.assert_close(_values(objective, batch)["xtr"], expected(batch.languages))
    # Telling the head the sentence's own language instead is another number, if it is told any.
    changed = (expected(batch.languages.flip(0)) - expected(batch.languages)).abs().item()
    assert (changed > 1e-3) == (head.get("language_width") != 0)


def test_what_the_variants_of_the_head_lack() -> None:
    def parts(**head: Any) -> set[str]:
        made = _objective(**head).head
        assert made is not None
        return {name for name, _ in made.named_parameters()}

    whole = parts()
    assert whole - parts(language_width=0) == {"languages.0.weight", "languages.1.weight", "languages.1.bias"}
    assert whole - parts(norm=False) == {"languages.1.weight", "languages.1.bias", "norm.weight", "norm.bias"}
    assert whole - parts(tied=True) == {"output"}


def test_total_is_the_weighted_sum_and_a_zero_weight_drops_the_term() -> None:
    batch = _batch()
    values = _values(_objective(0.5, 2.0), batch)
    torch.testing.assert_close(values["total"], 0.5 * values["xtr"] + 2.0 * values["contrastive"])
    assert set(_values(_objective(0.0, 1.0), batch)) == {"contrastive", "total"}
    assert set(_values(_objective(1.0, 0.0), batch)) == {"xtr", "total"}


def test_the_comparison_is_of_unit_vectors_projected_or_not() -> None:
    batch = _batch()
    for objective in (_objective(), _objective(projected=False)):
        shown = batch.vectors if objective.projection is None else objective.projection(batch.vectors)
        a, b = nn.functional.normalize(shown, dim=1).chunk(2)
        expected = contrastive(a @ b.T, 0.1) + contrastive(b @ a.T, 0.1)
        torch.testing.assert_close(_values(objective, batch)["contrastive"], expected)
    longer = batch._replace(vectors=batch.vectors * 3)
    torch.testing.assert_close(
        _values(_objective(projected=False), longer)["contrastive"],
        _values(_objective(projected=False), batch)["contrastive"],
    )


def test_candidates_of_other_processes_are_told_apart_from_own_ones() -> None:
    batch = _batch()
    others = nn.functional.normalize(torch.randn(4, 5, generator=torch.Generator().manual_seed(5)), dim=1)
    objective = _objective()
    sources, targets = batch.sides
    tokens = np.concatenate([targets.ravel(), sources.ravel()])
    bags = bags_of(tokens, np.repeat([5, 3], 4))
    more = objective(
        batch.vectors, batch.languages, bags, EMBEDDING, lambda own: (torch.cat([others, own]), 4)
    )
    assert more["contrastive"] > _values(objective, batch)["contrastive"]
    assert more["xtr"] == _values(objective, batch)["xtr"]
