"""Every term on the batches of several trainings: its values, its gradients, and nothing from another training."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from orthoglot.decomposers.base import Decomposition
from orthoglot.objectives import ADVERSARIAL, TERMS
from orthoglot.objectives.base import Objective, Pairs, StackedObjective
from orthoglot.random_streams import stream
from orthoglot.training.batching import Batch, joined

TRAININGS, PAIRS, DIM, LANGUAGES = 3, 7, 5, 3
Parts = tuple[Tensor, Tensor, Tensor]


def batches() -> list[Batch]:
    """Batches with inactive pairs and rows without partners, other ones in each training."""
    found = []
    for number in range(TRAININGS):
        draw = stream(number, "batch")
        side = torch.arange(2 * PAIRS) // PAIRS * PAIRS
        partners = [side + torch.randint(PAIRS, (2 * PAIRS,), generator=draw) for _ in range(2)]
        for partner in partners:
            partner[torch.randint(2 * PAIRS, (4,), generator=draw)] = -1
        languages = torch.randint(LANGUAGES, (2 * PAIRS,), generator=draw)
        active = torch.rand(PAIRS, generator=draw) < 0.7
        found.append(Batch(torch.arange(2 * PAIRS), languages, *partners, active))
    return found


def parts() -> list[Parts]:
    """Sentence, meaning and language vectors of each training, of different lengths; one is zero."""
    found = []
    for number in range(TRAININGS):
        draw = stream(number, "parts")
        made = torch.randn(3, 2 * PAIRS, DIM, dtype=torch.float64, generator=draw) * (1 + number)
        made[1, 3] = 0
        found.append(made.unbind())
    return found


def objectives(names: Sequence[str]) -> list[Objective]:
    return [
        Objective(
            dict.fromkeys(names, 0.5 + number),
            dim=DIM,
            n_languages=LANGUAGES,
            generator=stream(number, "heads"),
        ).double()
        for number in range(TRAININGS)
    ]


def pairs(batch: Batch, sentence: Tensor, meaning: Tensor, language: Tensor) -> Pairs:
    decomposition = Decomposition(sentence, meaning, language)
    return Pairs(decomposition, batch.language_id, batch.other, batch.peer, batch.active, LANGUAGES)


def leaves(parts: Sequence[Tensor]) -> list[Tensor]:
    return [part.clone().requires_grad_() for part in parts]


@pytest.mark.parametrize("name", TERMS)
def test_a_stack_has_the_values_and_gradients_of_each_training(name: str) -> None:
    alone, stacked = objectives([name]), objectives([name])
    together = leaves([torch.cat(column) for column in zip(*parts(), strict=True)])
    values = StackedObjective(stacked, torch.device("cpu"))(pairs(joined(batches()), *together))
    assert values[name].shape == (TRAININGS,)
    values["total"].sum().backward()
    for number, (batch, single) in enumerate(zip(batches(), parts(), strict=True)):
        own = leaves(single)
        expected = alone[number](pairs(batch, *own))
        expected["total"].backward()
        for key, value in expected.items():
            torch.testing.assert_close(values[key][number], value, rtol=1e-12, atol=1e-14)
        rows = slice(number * 2 * PAIRS, (number + 1) * 2 * PAIRS)
        for one, other in zip(own, together, strict=True):
            got = torch.zeros_like(one) if other.grad is None else other.grad[rows]
            wanted = torch.zeros_like(one) if one.grad is None else one.grad
            torch.testing.assert_close(got, wanted, rtol=1e-10, atol=1e-14)
        for mine, theirs in zip(alone[number].parameters(), stacked[number].parameters(), strict=True):
            torch.testing.assert_close(theirs.grad, mine.grad, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("name", TERMS)
def test_the_value_of_a_training_depends_on_its_rows_alone(name: str) -> None:
    """NaN in one training is the value of no other."""
    together = [torch.cat(column) for column in zip(*parts(), strict=True)]
    objective = StackedObjective(objectives([name]), torch.device("cpu"))
    clean = objective(pairs(joined(batches()), *together))["total"]
    for part in together:
        part[2 * PAIRS : 4 * PAIRS] = float("nan")
    spoilt = objective(pairs(joined(batches()), *together))["total"]
    assert spoilt.isnan().tolist() == [False, True, False]
    assert torch.equal(spoilt[::2], clean[::2])


@pytest.mark.parametrize("name", sorted(ADVERSARIAL))
def test_a_discriminator_reads_its_own_training(name: str) -> None:
    alone, stacked = objectives([name]), objectives([name])
    together = leaves([torch.cat(column) for column in zip(*parts(), strict=True)])
    (adversary,) = StackedObjective(stacked, torch.device("cpu")).adversaries()
    losses = adversary.discriminate(pairs(joined(batches()), *together))
    losses.sum().backward()
    assert all(leaf.grad is None for leaf in together)
    for number, (batch, single) in enumerate(zip(batches(), parts(), strict=True)):
        (own,) = alone[number].adversaries()
        loss = own.discriminate(pairs(batch, *single))
        loss.backward()
        torch.testing.assert_close(losses[number], loss, rtol=1e-12, atol=1e-14)
        for mine, theirs in zip(alone[number].parameters(), stacked[number].parameters(), strict=True):
            torch.testing.assert_close(theirs.grad, mine.grad, rtol=1e-10, atol=1e-14)


def test_a_term_that_a_training_lacks_moves_nothing_there() -> None:
    """Its value counts nothing in the total, and gives no gradient, not even to its head."""
    own = objectives(["dream.reconstruction", "dream.identification"])
    own[1] = objectives(["dream.reconstruction"])[1]
    together = leaves([torch.cat(column) for column in zip(*parts(), strict=True)])
    values = StackedObjective(own, torch.device("cpu"))(pairs(joined(batches()), *together))
    values["total"].sum().backward()
    single = leaves(parts()[1])
    expected = own[1](pairs(batches()[1], *single))["total"]
    expected.backward()
    torch.testing.assert_close(values["total"][1], expected, rtol=1e-12, atol=1e-14)
    for part, one in zip(together, single, strict=True):
        assert part.grad is not None
        torch.testing.assert_close(part.grad[2 * PAIRS : 4 * PAIRS], one.grad, rtol=1e-12, atol=1e-14)
    assert [[p.grad is not None for p in one.parameters()] for one in own] == [[True] * 2, [], [True] * 2]
