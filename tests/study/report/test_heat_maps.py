"""Heat maps of records whose numbers are known."""

from __future__ import annotations

import pytest
from generated_records import over_seeds

from orthoglot.statistics.records import Record
from orthoglot.study.report.frame import frame
from orthoglot.study.report.heat_maps import family_maps, heat_maps


def scored(task: str, metric: str, values: dict[str, dict[str, float]]) -> list[Record]:
    return [
        one
        for method, by_subset in values.items()
        for subset, value in by_subset.items()
        for one in over_seeds(
            *("e", method, "sentence" if method == "original" else "meaning"),
            *(task, task, subset, metric),
            values=[value],
        )
    ]


def test_a_language_is_the_mean_of_its_directions_and_the_colour_the_change() -> None:
    whole = {"en->de": 80.0, "de->en": 90.0, "en->gn": 10.0, "gn->en": 20.0, "all": 50.0}
    split = {"en->de": 82.0, "de->en": 92.0, "en->gn": 6.0, "gn->en": 16.0, "all": 49.0}
    (found,) = heat_maps(frame(scored("heldout", "P@1", {"original": whole, "seed": split})), *PLACE)
    assert (found.heading, found.columns) == ("e", ["original", "seed"])
    assert [name for name, _ in found.rows] == ["mean", "de", "gn"]
    assert [[one.text for one in squares] for _, squares in found.rows] == [
        ["50.0", "49.0"],
        ["85.0", "87.0"],
        ["15.0", "11.0"],
    ]
    assert [squares[1].change for _, squares in found.rows] == ["-1.0", "+2.0", "-4.0"]
    # The 0.9 quantile of 1, 2 and 4 is 3.6 points, which the greatest change exceeds.
    assert found.scale == pytest.approx(3.6)
    assert [squares[1].shade for _, squares in found.rows] == [-0.28, 0.56, -1.0]
    assert all(squares[0].shade == 0 for _, squares in found.rows)


PLACE = ("heldout", "heldout", "P@1")


def test_a_small_change_is_pale() -> None:
    values = {"original": {"en->de": 80.0, "en->gn": 10.0}, "seed": {"en->de": 80.1, "en->gn": 10.0}}
    (found,) = heat_maps(frame(scored("heldout", "P@1", values)), *PLACE)
    assert found.scale == 1.0
    assert found.rows[0][1][1].shade == pytest.approx(0.1)


@pytest.mark.parametrize("others", [1, 2, 6])
def test_one_method_far_from_all_others_does_not_bleach_them(others: int) -> None:
    whole = {"en->de": 80.0, "en->gn": 60.0}
    values = {"original": whole, "far": {name: value - 40 for name, value in whole.items()}}
    values |= {f"near {n}": {name: value + 4 for name, value in whole.items()} for n in range(others)}
    (found,) = heat_maps(frame(scored("heldout", "P@1", values)), *PLACE)
    assert found.scale == pytest.approx(4)
    assert [one.shade for _, squares in found.rows for one in squares] == [0.0, -1.0, *[1.0] * others] * 2


def test_directions_between_any_two_languages_count_for_both() -> None:
    values = {"seed": {"a->b": 10.0, "b->a": 20.0, "a->c": 30.0, "c->a": 40.0, "b->c": 50.0, "c->b": 60.0}}
    (found,) = heat_maps(frame(scored("nway", "P@1", values)), "nway", "nway", "P@1")
    assert {name: squares[0].text for name, squares in found.rows} == {"a": "25.0", "b": "35.0", "c": "45.0"}
    # Without the undivided vector nothing has a change.
    assert {squares[0].change for _, squares in found.rows} == {""}


def test_graded_pairs_that_share_no_language_stay_pairs() -> None:
    values = {"original": {"ar-ar": 10.0, "en-de": 20.0}, "seed": {"en-de": 30.0}}
    (found,) = heat_maps(frame(scored("sts", "spearman", values)), "sts", "sts", "spearman")
    assert [(name, [one.text for one in squares]) for name, squares in found.rows] == [
        ("ar-ar", ["10.0", "–"]),
        ("en-de", ["20.0", "30.0"]),
    ]


def test_one_language_is_no_map() -> None:
    values = {"original": {"en->de": 1.0, "de->en": 2.0, "all": 1.5}}
    assert list(heat_maps(frame(scored("heldout", "P@1", values)), *PLACE)) == []


def nway(change: float = 0.0) -> dict[str, float]:
    """Every direction of five languages of three families, and of an invented one."""
    values = {"de->en": 90.0, "en->de": 80.0, "de->fi": 40.0, "fi->de": 30.0, "en->fi": 20.0, "fi->en": 10.0}
    values |= {"de->hi": 5.0, "hi->de": 6.0, "fi->hi": 1.0, "hi->fi": 2.0, "all": 28.4}
    return {name: value + change for name, value in values.items()}


def test_families_have_the_mean_of_their_directions() -> None:
    records = frame(scored("nway", "P@1", {"original": nway(), "seed": nway(3.0), "meat": nway(4.0)}))
    whole, split = family_maps(records, "nway", "nway", "P@1", {"original", "seed"})
    assert (whole.heading, split.heading) == ("e, original", "e, seed")
    # Directions of German and English count for both ends, so Germanic comes first.
    assert whole.columns == [name for name, _ in whole.rows] == ["Germanic", "Uralic", "Indo-Aryan"]
    assert [[one.text for one in squares] for _, squares in whole.rows] == [
        ["85.0", "30.0", "5.0"],
        ["20.0", "–", "1.0"],
        ["6.0", "2.0", "–"],
    ]
    assert whole.against == "its mean of 28.4"
    assert whole.rows[0][1][0].change == "+56.6"
    assert {one.change for _, squares in split.rows for one in squares} == {"+3.0", ""}
    assert split.rows[0][1][0].shade == 1.0


def test_text_with_one_pivot_or_two_families_has_no_map_of_families() -> None:
    pivot = {name: value for name, value in nway().items() if "en" in name}
    two = {name: value for name, value in nway().items() if "hi" not in name}
    for values in (pivot, two, {"all": 1.0}):
        records = frame(scored("nway", "P@1", {"original": values}))
        assert list(family_maps(records, "nway", "nway", "P@1", {"seed"})) == []
