"""Loss terms against the oracle values of tests/worked-examples.md, plain loops, gradients and properties."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from statistics import mean
from typing import NamedTuple

import pytest
import torch
from cases import Case, Side, case_of
from torch import Tensor

from orthoglot.decomposers.base import Decomposition
from orthoglot.objectives import NEEDS_PARTNERS, TERMS, dream, meat, oracle, seed
from orthoglot.objectives import cosine as cosines
from orthoglot.objectives.base import Objective, resolve
from orthoglot.objectives.cosine import Vectors
from orthoglot.random_streams import stream

Numbers = Sequence[Sequence[float]]


def t(rows: Numbers) -> Tensor:
    return torch.tensor(rows, dtype=torch.float64)


def side(
    meaning: Numbers,
    language: Numbers,
    sentence: Numbers | None = None,
    ids: list[int] | None = None,
    other: list[int] | None = None,
    peer: list[int] | None = None,
) -> Side:
    n = len(meaning)
    parts = Decomposition(t(sentence or meaning), t(meaning), t(language))
    nobody = [-1] * n
    return Side(
        parts, torch.tensor(ids or [0] * n), torch.tensor(other or nobody), torch.tensor(peer or nobody)
    )


def pairs(source: Side, target: Side, active: list[bool] | None = None, n_languages: int = 2) -> Case:
    return case_of(source, target, torch.tensor(active or [True] * len(source.other)), n_languages)


def random_pairs(n: int = 6, dim: int = 5, n_languages: int = 3, *, grad: bool = False) -> Case:
    generator = stream(3, "pairs")
    sides = []
    for k in range(2):
        parts = [torch.randn(n, dim, generator=generator, dtype=torch.float64) for _ in range(3)]
        for part in parts[1:]:
            part.requires_grad_(grad)
        ids = torch.tensor([(i * (k + 1)) % n_languages for i in range(n)])
        other = torch.tensor([(i + 1) % n for i in range(n)])
        peer = torch.tensor([(i + 3) % n if i % 4 else -1 for i in range(n)])
        sides.append(Side(Decomposition(*parts), ids, other, peer))
    active = torch.tensor([i != 2 for i in range(n)])
    return case_of(sides[0], sides[1], active, n_languages)


def term(name: str, dim: int = 5, n_languages: int = 3) -> object:
    found = resolve(name)
    if isinstance(found, type):
        return found(dim=dim, n_languages=n_languages, generator=stream(1, name)).double()
    return found


def close(value: Tensor, expected: float) -> None:
    assert value.item() == pytest.approx(expected, abs=1e-6)


# --- cosine ---


@pytest.mark.parametrize(
    ("b", "attraction", "repulsion"),
    [
        ([4.0, 3.0], 0.04, 0.96),  # tests/worked-examples.md#worked-cosine-1
        ([-4.0, -3.0], 1.96, 0.0),  # tests/worked-examples.md#worked-cosine-2
        ([0.0, 0.0], 1.0, 0.0),  # tests/worked-examples.md#worked-cosine-3
    ],
)
def test_cosine_terms_by_hand(b: list[float], attraction: float, repulsion: float) -> None:
    case = pairs(side([[3.0, 4.0]], [[1.0, 0.0]]), side([b], [[1.0, 0.0]]))
    translated = case.of_translation(case.meaning)
    close(cosines.pull(case.meaning, translated)[0], attraction)
    close(cosines.push(case.meaning, translated)[0], repulsion)


def cosine(a: Tensor, b: Tensor) -> Tensor:
    return cosines.cosine(Vectors(a), Vectors(b))


def test_c3_gradient_at_a_zero_vector_is_finite() -> None:
    a, b = t([[3.0, 4.0]]).requires_grad_(), t([[0.0, 0.0]]).requires_grad_()
    cosine(a, b).sum().backward()
    assert a.grad is not None
    assert b.grad is not None
    assert torch.isfinite(a.grad).all()
    assert b.grad.abs().max() <= 2  # not 1 / epsilon


def test_cosines_of_sums_and_gathered_rows_match_the_library_and_their_gradients_the_differences() -> None:
    a, b, c = (
        torch.randn(8, 3, dtype=torch.float64, generator=stream(0, name), requires_grad=True)
        for name in "abc"
    )
    index = torch.tensor([2, 0, 1, 1, 7, 4, 4, 5])

    def ours(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
        x, y, z = Vectors(a), Vectors(b), Vectors(c)
        found = [(x, y[index]), (x[index] + y, z + x), (y + z[index], y)]
        return torch.stack([cosines.cosine(one, other) for one, other in found])

    expected = [(a, b[index]), (a[index] + b, c + a), (b + c[index], b)]
    library = torch.stack([torch.cosine_similarity(x, y, dim=-1) for x, y in expected])
    torch.testing.assert_close(ours(a, b, c), library)
    assert torch.autograd.gradcheck(ours, (a, b, c))


@pytest.mark.parametrize("ratio", [1.0, 1e-1, 1e-2, 1e-3])
def test_float32_gradients_stay_exact_where_the_parts_of_a_sum_cancel(ratio: float) -> None:
    """Language = r - meaning with a small r: the sum m + l is `ratio` times as long as l."""
    meaning = torch.randn(16, 64, generator=stream(0, "m"))
    rest, sentence = (torch.randn(16, 64, generator=stream(0, name)) for name in ("r", "e"))
    language = ratio * rest - meaning  # rounded to float32 once, for both precisions

    def gradients(dtype: torch.dtype) -> Tensor:
        one, other = (rows.to(dtype, copy=True).requires_grad_() for rows in (meaning, language))
        cosines.cosine(Vectors(one) + Vectors(other), Vectors(sentence.to(dtype))).sum().backward()
        assert one.grad is not None
        return one.grad.double()

    exact = gradients(torch.float64)
    error = (gradients(torch.float32) - exact).norm() / exact.norm()
    assert error < 1e-5


# --- DREAM ---


def dream_case(copies: int) -> Case:
    """Row 0 (and its copies) is the case; the last rows are partners that take no part in any mean."""
    source = side(
        [[1.0, 0.0]] * copies + [[1.0, 1.0]],
        [[0.0, 1.0]] * copies + [[0.0, 2.0]],
        [[1.0, 2.0]] * copies + [[9.0, 9.0]],
        other=[copies] * copies + [-1],
        peer=[copies] * copies + [-1],
    )
    target = side(
        [[0.6, 0.8]] * copies + [[-1.0, 0.0]],
        [[1.0, 0.0]] * copies + [[0.0, 1.0]],
        [[1.6, 0.8]] * copies + [[9.0, 9.0]],
        other=[copies] * copies + [-1],
        peer=[copies] * copies + [-1],
    )
    return pairs(source, target, active=[True] * copies + [False])


def dream_head() -> dream.Identification:
    """Logits [0, 0] for language vector [0, 1] and [ln 3, 0] for [1, 0]."""
    head = dream.Identification(dim=2, n_languages=2, generator=stream(0)).double()
    with torch.no_grad():
        head.head.weight.copy_(t([[math.log(3), 0.0], [0.0, 0.0]]))
        head.head.bias.zero_()
    return head


@pytest.mark.parametrize(
    "copies", [1, 2]
)  # tests/worked-examples.md#worked-dream-6: repeated rows change no mean
def test_dream_oracle_values(copies: int) -> None:
    case = dream_case(copies)
    values = [dream.meaning(case), dream.reconstruction(case), dream.language(case), dream_head()(case)]
    # tests/worked-examples.md#worked-dream-1 to 4
    for value, expected in zip(values, [1.107107, 0.5, 1.0, 0.980829], strict=True):
        close(value, expected)
    close(torch.stack(values).sum(), 3.587936)  # tests/worked-examples.md#worked-dream-5


def test_d7_identification_leaves_the_meaning_map_alone() -> None:
    case = random_pairs(grad=True)
    term("dream.identification")(case).backward()  # type: ignore[operator]
    for part in case:
        assert part.parts.meaning.grad is None
        assert part.parts.language.grad.abs().sum() > 0


# --- MEAT ---


def meat_case() -> Case:
    source = side([[1.0, 0.0]], [[0.0, 1.0]], [[1.0, 1.0]])
    target = side([[0.0, 1.0]], [[1.0, 0.0]], [[1.0, 0.0]])
    return pairs(source, target)


def test_meat_oracle_values() -> None:
    case = meat_case()
    close(meat.reconstruction(case), 0.292893)  # tests/worked-examples.md#worked-meat-1
    close(meat.cross_reconstruction(case), 0.292893)  # tests/worked-examples.md#worked-meat-2
    close(meat.language(case), 0.0)  # tests/worked-examples.md#worked-meat-3
    close(
        meat.language(pairs(case.source, side([[0.0, 1.0]], [[0.0, 1.0]]))), 1.0
    )  # tests/worked-examples.md#worked-meat-3


def test_m4_m5_m6_adversarial_and_total_values() -> None:
    names = ["meat.reconstruction", "meat.cross_reconstruction", "meat.language", "meat.adversarial"]
    objective = Objective(dict.fromkeys(names, 1.0), dim=2, n_languages=2, generator=stream(0)).double()
    (adversary,) = objective.adversaries()
    weight, bias = adversary.parameters()
    with torch.no_grad():
        weight.zero_()
        bias.zero_()
    close(objective(meat_case())["meat.adversarial"], 1.386294)  # tests/worked-examples.md#worked-meat-4
    with torch.no_grad():
        weight[0, 0] = math.log(3)  # logits [ln 3, 0] for the source's meaning [1, 0], [0, 0] for [0, 1]
    values = objective(meat_case())
    close(values["meat.adversarial"], 1.530135)  # tests/worked-examples.md#worked-meat-5
    close(values["total"], 2.115922)  # tests/worked-examples.md#worked-meat-6


@pytest.mark.parametrize(("n_languages", "lowest"), [(7, 3.891820), (13, 5.129899)])
def test_m7_adversarial_minimum_is_twice_log_k(n_languages: int, lowest: float) -> None:
    adversary = meat.Adversarial(dim=5, n_languages=n_languages, generator=stream(0)).double()
    assert adversary(random_pairs()).item() > lowest
    with torch.no_grad():
        adversary.discriminator.weight.zero_()
        adversary.discriminator.bias.zero_()
    close(adversary(random_pairs()), lowest)


def test_each_loss_of_the_adversary_reaches_its_own_side_alone() -> None:
    case = random_pairs(grad=True)
    adversary = term("meat.adversarial")
    weight = adversary.discriminator.weight  # type: ignore[attr-defined]
    adversary.discriminate(case).backward()  # type: ignore[attr-defined]
    assert case.source.parts.meaning.grad is None
    assert weight.grad.abs().sum() > 0
    weight.grad = None
    adversary(case).backward()  # type: ignore[operator]
    assert case.source.parts.meaning.grad.abs().sum() > 0
    assert weight.grad is None


# --- ORACLE ---


def languages_only(source: Numbers, target: Numbers, source_ids: list[int], target_ids: list[int]) -> Case:
    return pairs(side(source, source, ids=source_ids), side(target, target, ids=target_ids), n_languages=3)


def test_o1_o2_intra_class() -> None:
    case = languages_only([[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [1.0, 0.0]], [0, 0], [1, 1])
    close(oracle.intra_class(case), 1.0)  # tests/worked-examples.md#worked-oracle-1
    close(oracle.intra_class_all(case), 1.0)
    close(oracle.intra_class_released(case), 0.5)  # tests/worked-examples.md#worked-oracle-2


def test_o3_released_equals_the_full_matrix() -> None:
    case = random_pairs()
    expected = 2.0
    for part in case:
        rows = part.parts.language
        n = len(rows)
        for a in rows:
            for b in rows:
                expected -= torch.cosine_similarity(a, b, dim=0).item() / n**2
    close(oracle.intra_class_released(case), expected)
    close(oracle.intra_class_all(case), expected * 6 / 5)


def test_o7_o8_inter_class_readings() -> None:
    case = pairs(side([[1.0, 0.0]], [[1.0, 1.0]]), side([[1.0, 0.0]], [[-1.0, 1.0]]))
    close(oracle.inter_class(case), 0.707107)  # tests/worked-examples.md#worked-oracle-7
    close(oracle.inter_class_released(case), 0.0)
    close(oracle.inter_class_abs(case), 0.0)
    close(oracle.inter_class_old(case), 1.414214)
    close(oracle.inter_class_main(case), 0.353553)  # tests/worked-examples.md#worked-oracle-8
    close(oracle.alignment(case), 0.0)


# --- SEED ---

SOURCE, TARGET = [[1.0, 1.0], [2.0, 1.0]], [[1.0, -1.0], [0.0, -1.0]]


def seed_case(source: Numbers, target: Numbers) -> Case:
    """Row 0 is the case, row 1 its partner on either side; language = sentence - meaning."""
    sides = []
    for sentence, meaning in ((SOURCE, source), (TARGET, target)):
        language = (t(sentence) - t(meaning)).tolist()
        sides.append(side(meaning, language, sentence, other=[1, -1], peer=[1, -1]))
    return pairs(sides[0], sides[1], active=[True, False])


def consistency(case: Case) -> Tensor:
    return seed.separation(case) + seed.language_swap(case) + seed.meaning_swap(case)


def test_s1_to_s4_seed_values() -> None:
    case = seed_case([[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [-1.0, 0.0]])
    close(seed.meaning(case), 0.0)  # tests/worked-examples.md#worked-seed-1
    close(seed.language(case), 1.292893)  # tests/worked-examples.md#worked-seed-2
    close(seed.separation(case), 0.0)
    close(seed.language_swap(case), 0.344210)  # tests/worked-examples.md#worked-seed-3
    close(seed.meaning_swap(case), 0.0)
    close(
        seed.meaning(case) + seed.language(case) + consistency(case), 1.637103
    )  # tests/worked-examples.md#worked-seed-4


@pytest.mark.parametrize(
    ("share", "in_meaning", "in_language", "in_consistency"),
    [(1.0, 3.655790, 2.0, 2.0), (0.0, 2.0, 0.344210, 0.344210)],  # tests/worked-examples.md#worked-seed-6, 7
)
def test_s6_s7_identity_and_zero_map(
    share: float, in_meaning: float, in_language: float, in_consistency: float
) -> None:
    case = seed_case((share * t(SOURCE)).tolist(), (share * t(TARGET)).tolist())
    close(seed.meaning(case), in_meaning)
    close(seed.language(case), in_language)
    close(consistency(case), in_consistency)


# --- all terms ---


def cos(a: Tensor, b: Tensor) -> float:
    return torch.cosine_similarity(a, b, dim=0).item()


def apart(a: Tensor, b: Tensor) -> float:
    return 1 - cos(a, b)


def close_by(a: Tensor, b: Tensor) -> float:
    return max(0.0, cos(a, b))


class Row(NamedTuple):
    """A row of a side: sentence, meaning, language; those of its translation, its other and its peer; its language."""

    e: Tensor
    m: Tensor
    l: Tensor  # noqa: E741 (the papers' letter)
    translation: Decomposition
    other: Decomposition
    peer: Decomposition
    y: Tensor


def rows_of(case: Case, kind: str) -> Iterator[list[Row]]:
    """The rows of each side over which a mean runs: all, active ones, or those that have a partner of a kind."""

    def parts(side: Side, row: Tensor | int) -> Decomposition:
        return Decomposition(side.parts.sentence[row], side.parts.meaning[row], side.parts.language[row])

    for here, there in ((case.source, case.target), (case.target, case.source)):
        chosen = {
            "all": torch.ones_like(case.active),
            "active": case.active,
            "other": here.other >= 0,
            "peer": here.peer >= 0,
        }
        yield [
            Row(
                here.parts.sentence[i],
                here.parts.meaning[i],
                here.parts.language[i],
                parts(there, i),
                parts(here, here.other[i]),
                parts(here, here.peer[i]),
                here.language_id[i],
            )
            for i in chosen[kind].nonzero()[:, 0].tolist()
        ]


# By term, what is averaged over the rows of a side; the means of both sides are added.
FORMULAS: dict[str, dict[str, Callable[[Row], float]]] = {
    "dream.reconstruction": {"active": lambda r: (r.m + r.l - r.e).square().mean().item()},
    "dream.meaning": {
        "active": lambda r: apart(r.m, r.translation.meaning) / 2,
        "other": lambda r: close_by(r.m, r.other.meaning),
    },
    "dream.language": {"peer": lambda r: apart(r.l, r.peer.language)},
    "meat.reconstruction": {"active": lambda r: apart(r.m + r.l, r.e)},
    "meat.cross_reconstruction": {"active": lambda r: apart(r.translation.meaning + r.l, r.e)},
    "meat.language": {"active": lambda r: close_by(r.l, r.translation.language) / 2},
    "oracle.inter_class": {"all": lambda r: close_by(r.m, r.l)},
    "oracle.inter_class_released": {"all": lambda r: close_by(r.l, r.translation.language) / 2},
    "oracle.inter_class_abs": {"all": lambda r: abs(cos(r.l, r.translation.language)) / 2},
    "oracle.inter_class_main": {"all": lambda r: close_by(r.m, r.l) / 2},
    "oracle.inter_class_old": {
        "all": lambda r: abs(cos(r.m, r.l)) + close_by(r.l, r.translation.language) / 2
    },
    "oracle.alignment": {"all": lambda r: apart(r.m, r.translation.meaning) / 2},
    "langsae.reconstruction": {"all": lambda r: (r.m - r.e).square().mean().item() / 2},
    "orthogonality.abs": {"all": lambda r: abs(cos(r.m, r.l))},
    "orthogonality.square": {"all": lambda r: cos(r.m, r.l) ** 2},
    "seed.meaning": {
        "active": lambda r: apart(r.m, r.translation.meaning),
        "peer": lambda r: close_by(r.m, r.peer.meaning),
    },
    "seed.language": {"peer": lambda r: apart(r.l, r.peer.language)},
    "seed.separation": {"active": lambda r: close_by(r.m, r.l)},
    "seed.language_swap": {"peer": lambda r: apart(r.e, r.m + r.peer.language)},
    "seed.meaning_swap": {"active": lambda r: apart(r.e, r.translation.meaning + r.l)},
}


@pytest.mark.parametrize("name", FORMULAS)
def test_each_term_is_its_formula_row_by_row(name: str) -> None:
    case = random_pairs()
    expected = sum(
        mean(map(value, rows)) for kind, value in FORMULAS[name].items() for rows in rows_of(case, kind)
    )
    close(term(name)(case), expected)  # type: ignore[operator]


@pytest.mark.parametrize("name", ["dream.identification", "meat.adversarial"])
def test_each_head_is_its_formula_row_by_row(name: str) -> None:
    case, loss = random_pairs(), term(name)
    expected = 0.0
    for rows in rows_of(case, "active"):
        if name == "dream.identification":
            values = [-loss.head(row.l).log_softmax(0)[row.y].item() for row in rows]  # type: ignore[attr-defined]
        else:
            values = [-loss.discriminator(row.m).log_softmax(0).mean().item() for row in rows]  # type: ignore[attr-defined]
        expected += mean(values)
    close(loss(case), expected)  # type: ignore[operator]


@pytest.mark.parametrize("name", ["oracle.intra_class", "oracle.intra_class_all"])
def test_intra_class_is_its_formula_row_by_row(name: str) -> None:
    """Three rows of one language, of which one is zero, two of another, one alone."""
    case = random_pairs()
    ids = torch.tensor([0, 0, 0, 1, 1, 2])
    for part in case:
        part.parts.language[1] = 0
        part.language_id.copy_(ids)
    case = case_of(case.source, case.target, case.active, 3)
    expected = 0.0
    for part in case:
        losses = []
        for i in range(6):
            others = [j for j in range(6) if j != i and (name.endswith("all") or ids[i] == ids[j])]
            if others:
                losses.append(1 - mean(cos(part.parts.language[i], part.parts.language[j]) for j in others))
        expected += mean(losses)
    close(term(name)(case), expected)  # type: ignore[operator]


@pytest.mark.parametrize("name", TERMS)
def test_every_name_resolves_to_a_finite_scalar_with_a_correct_gradient(name: str) -> None:
    case = random_pairs(grad=True)
    loss = term(name)
    inputs = [part for one in case for part in (one.parts.meaning, one.parts.language)]

    def value(*parts: Tensor) -> Tensor:
        sides = [
            Side(
                Decomposition(one.parts.sentence, *parts[2 * k : 2 * k + 2]),
                one.language_id,
                one.other,
                one.peer,
            )
            for k, one in enumerate(case)
        ]
        return loss(case_of(sides[0], sides[1], case.active, 3))  # type: ignore[operator]

    assert value(*inputs).shape == ()
    assert torch.autograd.gradcheck(value, inputs)


@pytest.mark.parametrize("name", sorted(NEEDS_PARTNERS - {"dream.meaning", "seed.meaning"}))
def test_without_any_partner_a_term_is_zero_and_its_gradient_too(name: str) -> None:
    case = random_pairs(grad=True)
    alone = torch.full((6,), -1)
    sides = [Side(one.parts, one.language_id, alone, alone) for one in case]
    value = term(name)(case_of(sides[0], sides[1], case.active, 3))  # type: ignore[operator]
    assert value.item() == 0
    value.backward()
    for one in case:
        assert not one.parts.language.grad.any()


def test_a_single_row_has_no_intra_class_loss() -> None:
    case = pairs(side([[1.0, 0.0]], [[0.3, 1.0]]), side([[1.0, 0.0]], [[0.0, 2.0]]))
    assert oracle.intra_class(case).item() == 0
    assert oracle.intra_class_all(case).item() == 0


def test_weights_are_taken_by_name() -> None:
    case = random_pairs()
    weights = {"seed.language": 0.5, "seed.meaning": 3.0}
    values = Objective(weights, dim=5, n_languages=3, generator=stream(0))(case)
    close(values["total"], 0.5 * seed.language(case).item() + 3 * seed.meaning(case).item())
    assert values["seed.meaning"].item() == seed.meaning(case).item()
