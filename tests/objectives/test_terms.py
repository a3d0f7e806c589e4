"""Loss terms against the oracle values of tests/worked-examples.md, plain loops, gradients and properties."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
import torch
from cases import Case, Side, case_of
from torch import Tensor

from orthoglot.decomposers.base import Decomposition
from orthoglot.objectives import NEEDS_PARTNERS, TERMS, dream, meat, oracle, orthogonality, seed
from orthoglot.objectives import cosine as cosines
from orthoglot.objectives.base import Objective, resolve
from orthoglot.objectives.cosine import Vectors
from orthoglot.streams import stream

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


# --- 9.1 cosine ---


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


@pytest.mark.parametrize("scale", [1e-30, 0.3, 1e30])
def test_c4_positive_scaling_changes_nothing(scale: float) -> None:
    a, b = t([[3.0, 4.0], [1.0, -2.0]]), t([[4.0, 3.0], [0.5, 0.1]])
    expected = torch.tensor([0.96, 0.3 / 1.3**0.5], dtype=torch.float64)
    for one, other in ((scale * a, b), (a, scale * b), (scale * a, scale * b)):
        torch.testing.assert_close(cosine(one, other), expected)


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


# --- 9.2 DREAM ---


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


# --- 9.3 MEAT ---


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


def test_m8_gradient_of_the_uniform_cross_entropy() -> None:
    logits = torch.randn(4, 3, dtype=torch.float64, generator=stream(0), requires_grad=True)
    meat.uniform_cross_entropy(logits).mean().backward()
    torch.testing.assert_close(logits.grad, (torch.softmax(logits, 1) - 1 / 3).detach() / 4)


def test_m9_equal_meanings_make_cross_reconstruction_reconstruction() -> None:
    case = random_pairs()
    twin = Decomposition(case.target.parts.sentence, case.source.parts.meaning, case.target.parts.language)
    same = pairs(case.source, Side(twin, case.target.language_id, case.target.other, case.target.peer))
    assert meat.cross_reconstruction(same).item() == meat.reconstruction(same).item()


def test_discriminator_loss_reaches_the_discriminator_only() -> None:
    case = random_pairs(grad=True)
    adversary = term("meat.adversarial")
    adversary.discriminate(case).backward()  # type: ignore[attr-defined]
    assert case.source.parts.meaning.grad is None
    assert adversary.discriminator.weight.grad.abs().sum() > 0  # type: ignore[attr-defined]


# --- 9.4 ORACLE ---


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


def test_o4_upper_bounds() -> None:
    rows = [[1.0, 0.0], [-1.0, 0.0]]
    case = languages_only(rows, rows, [0, 0], [1, 1])
    close(oracle.intra_class(case), 4.0)
    close(oracle.intra_class_released(case), 2.0)


def test_o5_one_direction_costs_nothing() -> None:
    rows = [[1.0, 2.0], [2.0, 4.0], [0.5, 1.0]]
    case = languages_only(rows, rows, [0, 0, 0], [1, 1, 1])
    close(oracle.intra_class(case), 0.0)
    close(oracle.intra_class_released(case), 0.0)


def test_o6_languages_are_kept_apart_or_mixed() -> None:
    case = languages_only([[1.0, 0.0]] * 3, [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]], [0, 0, 0], [1, 2, 1])
    close(oracle.intra_class(case), 0.0)
    close(oracle.intra_class_all(case), 0.666667)
    close(oracle.intra_class_released(case), 0.444444)


def test_o7_o8_inter_class_readings() -> None:
    case = pairs(side([[1.0, 0.0]], [[1.0, 1.0]]), side([[1.0, 0.0]], [[-1.0, 1.0]]))
    close(oracle.inter_class(case), 0.707107)  # tests/worked-examples.md#worked-oracle-7
    close(oracle.inter_class_released(case), 0.0)
    close(oracle.inter_class_abs(case), 0.0)
    close(oracle.inter_class_old(case), 1.414214)
    close(oracle.inter_class_main(case), 0.353553)  # tests/worked-examples.md#worked-oracle-8
    close(oracle.alignment(case), 0.0)


def test_inter_class_abs_counts_opposite_directions() -> None:
    case = pairs(side([[1.0, 0.0]], [[1.0, 1.0]]), side([[1.0, 0.0]], [[-1.0, -1.0]]))
    close(oracle.inter_class_abs(case), 1.0)
    close(oracle.inter_class_released(case), 0.0)


def test_o9_no_gradient_where_both_cosines_are_negative() -> None:
    sides = side([[1.0, 0.0]], [[-1.0, 1.0]]), side([[1.0, 0.0]], [[-1.0, 0.5]])
    for part in sides:
        part.parts.language.requires_grad_()
    case = pairs(*sides)
    oracle.inter_class(case).backward()
    for part in case:
        assert not part.parts.language.grad.any()
    close(oracle.inter_class(pairs(side([[1.0, 0.0]], [[2.0, 0.0]]), side([[0.0, 1.0]], [[0.0, 3.0]]))), 2.0)


def test_o10_oracle_adds_its_two_terms_to_the_host() -> None:
    host = dict.fromkeys(["meat.reconstruction", "meat.cross_reconstruction", "meat.language"], 1.0)
    extra = dict.fromkeys(["oracle.intra_class", "oracle.inter_class"], 1.0)
    case = random_pairs()
    totals = [
        Objective(weights, dim=5, n_languages=3, generator=stream(0))(case)["total"]
        for weights in (host | extra, host)
    ]
    close(totals[0] - totals[1], (oracle.intra_class(case) + oracle.inter_class(case)).item())


def test_intra_class_equals_the_masked_loops() -> None:
    case = random_pairs()
    expected = 0.0
    for part in case:
        losses = []
        for i in range(6):
            values = [
                torch.cosine_similarity(part.parts.language[i], part.parts.language[j], dim=0).item()
                for j in range(6)
                if i != j and part.language_id[i] == part.language_id[j]
            ]
            losses += [1 - sum(values) / len(values)] if values else []
        expected += sum(losses) / len(losses)
    close(oracle.intra_class(case), expected)


def test_every_sentence_weighs_the_same_in_the_intra_class_loss() -> None:
    """Three sentences that agree cost 0 each, two that are opposite 2 each; one alone does not count."""
    rows = [[1.0, 0.0]] * 3 + [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]]
    case = languages_only(rows, rows, [0, 0, 0, 1, 1, 2], [0, 0, 0, 1, 1, 2])
    close(oracle.intra_class(case), 2 * 4 / 5)  # a mean over the eight pairs of one language is 2 * 0.5


def test_a_zero_row_agrees_with_no_other_in_the_intra_class_loss() -> None:
    rows = [[1.0, 0.0], [1.0, 0.0], [0.0, 0.0]]
    case = languages_only(rows, rows, [0, 0, 0], [0, 0, 0])
    close(oracle.intra_class(case), 2 * (1 - (0.5 + 0.5 + 0) / 3))
    close(oracle.intra_class_all(case), 2 * (1 - (0.5 + 0.5 + 0) / 3))


def test_oracle_terms_use_every_row_and_host_terms_the_active_ones() -> None:
    case = random_pairs()
    everyone = case_of(case.source, case.target, torch.ones(6, dtype=torch.bool), 3)
    for name in TERMS:
        same = term(name)(case).item() == term(name)(everyone).item()  # type: ignore[operator]
        assert same == (
            name.startswith(("oracle.", "orthogonality.", "lancer.", "langsae."))
            or name in NEEDS_PARTNERS - {"dream.meaning", "seed.meaning"}
        )


# --- the two-sided constraint ---


def test_two_sided_readings_on_the_case_of_o7() -> None:
    case = pairs(side([[1.0, 0.0]], [[1.0, 1.0]]), side([[1.0, 0.0]], [[-1.0, 1.0]]))
    close(orthogonality.absolute(case), 1.414214)  # 0.707107 + |-0.707107|
    close(orthogonality.square(case), 1.0)  # 0.5 + 0.5


def test_two_sided_readings_by_hand_in_a_batch_of_three() -> None:
    # cosines with [1, 0]: 0.6, -0.8, 0 at the source; -1, 0, 0.6 at the target
    source = side([[2.0, 0.0]] * 3, [[3.0, 4.0], [-4.0, 3.0], [0.0, 1.0]])
    target = side([[1.0, 0.0]] * 3, [[-5.0, 0.0], [0.0, -1.0], [0.6, 0.8]])
    close(orthogonality.absolute(pairs(source, target)), (0.6 + 0.8 + 1 + 0.6) / 3)
    close(orthogonality.square(pairs(source, target)), (0.36 + 0.64 + 1 + 0.36) / 3)


def test_where_the_hinge_is_flat_the_two_sided_readings_pull_back() -> None:
    """The case of tests/worked-examples.md#worked-oracle-9: opposite directions cost, and a step makes them less so."""
    for term_of in (orthogonality.absolute, orthogonality.square):
        sides = side([[1.0, 0.0]], [[-1.0, 1.0]]), side([[1.0, 0.0]], [[-1.0, 0.5]])
        for part in sides:
            part.parts.language.requires_grad_()
        case = pairs(*sides)
        assert oracle.inter_class(case).item() == 0
        term_of(case).backward()
        for part in case:
            moved = part.parts.language - 0.1 * part.parts.language.grad
            before, after = (cosine(part.parts.meaning, rows) for rows in (part.parts.language, moved))
            assert before < after < 0


def test_two_sided_readings_are_0_at_right_angles_and_2_on_one_line() -> None:
    right = pairs(side([[1.0, 0.0]], [[0.0, 2.0]]), side([[0.0, 1.0]], [[-3.0, 0.0]]))
    line = pairs(side([[1.0, 0.0]], [[2.0, 0.0]]), side([[0.0, 1.0]], [[0.0, -3.0]]))
    for term_of in (orthogonality.absolute, orthogonality.square):
        close(term_of(right), 0.0)
        close(term_of(line), 2.0)


# --- 9.5 SEED ---

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


def test_s8_half_map() -> None:
    case = seed_case((t(SOURCE) / 2).tolist(), (t(TARGET) / 2).tolist())
    close(seed.separation(case), 2.0)
    close(consistency(case), 2.656522)


def test_s9_equal_meanings_cost_no_meaning_swap() -> None:
    meaning = [[0.3, 0.7], [0.2, -0.1]]
    close(seed.meaning_swap(seed_case(meaning, meaning)), 0.0)


# --- all terms ---


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


@pytest.mark.parametrize("name", TERMS)
def test_renumbering_the_rows_changes_nothing(name: str) -> None:
    case, order = random_pairs(), torch.tensor([3, 0, 5, 1, 4, 2])
    place = torch.argsort(order)

    def moved(one: Side) -> Side:
        parts = Decomposition(
            *(p[order] for p in (one.parts.sentence, one.parts.meaning, one.parts.language))
        )
        other, peer = (
            torch.where(index >= 0, place[index.clamp(min=0)], -1)[order] for index in (one.other, one.peer)
        )
        return Side(parts, one.language_id[order], other, peer)

    again = case_of(moved(case.source), moved(case.target), case.active[order], 3)
    loss = term(name)
    torch.testing.assert_close(loss(again), loss(case))  # type: ignore[operator]


@pytest.mark.parametrize("name", TERMS)
def test_swapping_source_and_target_changes_nothing(name: str) -> None:
    case = random_pairs()
    loss = term(name)
    torch.testing.assert_close(loss(case_of(case.target, case.source, case.active, 3)), loss(case))  # type: ignore[operator]


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
