from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

import pytest
from generated_records import METHODS, a_run, over_seeds

from orthoglot.errors import DataError
from orthoglot.statistics.records import Record
from orthoglot.study.papers.matching import Run
from orthoglot.study.papers.measured import (
    NO_DATA,
    NO_ENCODER,
    NO_LANGUAGE,
    NO_METHOD,
    NO_RECORD,
    NO_RUN,
    NO_TASK,
    WHOLE,
    PaperCell,
    cells,
    further_cells,
    whole_cells,
)
from orthoglot.study.papers.published import DATA_SETS, PAPERS
from orthoglot.study.report.frame import Measured


def of_paper(paper: str, records: Sequence[Record]) -> list[PaperCell]:
    return cells(Run(PAPERS[paper], Measured(records)))


def further(paper: str, records: Sequence[Record]) -> list[PaperCell]:
    return further_cells(Run(PAPERS[paper], Measured(records)))


def those(found: Sequence[PaperCell], **wanted: object) -> list[PaperCell]:
    return [cell for cell in found if all(getattr(cell.printed, name) == to for name, to in wanted.items())]


def one_of(found: Sequence[PaperCell], **wanted: object) -> PaperCell:
    (cell,) = those(found, **wanted)
    return cell


def slow_mean(
    records: list[Record], cell: PaperCell, wanted: list[tuple[str, str]], seed: int | None
) -> float:
    """The mean over (data set, subset), looked up one by one."""
    total = 0.0
    for dataset, subset in wanted:
        (found,) = [
            r.value
            for r in records
            if (r.encoder, r.method, r.view) == (cell.encoder, cell.method, cell.printed.view)
            and (r.task, r.dataset, r.subset) == (cell.printed.task, dataset, subset)
            and (r.metric, r.seed) == (cell.printed.metric, seed)
        ]
        total += found
    return total / len(wanted)


@pytest.mark.parametrize(
    ("paper", "where", "wanted"),
    [
        (
            "oracle",
            {"table": "3", "dataset": "tatoeba-14", "direction": "xx->en", "encoder": "labse"},
            [("tatoeba", "de->en"), ("tatoeba", "fr->en")],
        ),
        (
            "oracle",
            {"table": "9", "subset": "all", "encoder": "labse"},
            [("tatoeba", name) for name in ("en->de", "de->en", "en->fr", "fr->en")],
        ),
        (
            "oracle",
            {"table": "8", "subset": "all", "encoder": "labse"},
            [("test", "en->ar"), ("test", "en->de")],
        ),
        (
            "oracle",
            {"table": "10", "subset": "all", "encoder": "labse"},
            [("sts17", "ar-ar"), ("sts17", "ar-en"), ("sts17", "en-de"), ("sts17-turkish", "en-tr")],
        ),
        (
            "oracle",
            {"table": "11", "subset": "all", "encoder": "labse"},
            [("code-switched", "de->en"), ("code-switched", "fr->en")],
        ),
        (
            "seed",
            {"table": "1", "subset": "all", "encoder": "me5-base"},
            [("mlqe", "en-de"), ("mlqe", "ro-en")],
        ),
        ("seed", {"table": "1", "subset": "ro-en", "encoder": "me5-base"}, [("mlqe", "ro-en")]),
    ],
)
def test_a_cell_is_the_mean_over_what_both_have(
    paper: str, where: dict[str, str], wanted: list[tuple[str, str]]
) -> None:
    records = a_run(["labse", "me5-base"])
    found = [cell for cell in those(of_paper(paper, records), **where) if cell.measured is not None]
    assert len(found) >= 4
    records = [record for record in records if record.task == found[0].printed.task]
    for cell in found:
        unit = 100 if cell.printed.scale == "-1..1" else 1
        assert cell.measured is not None
        assert cell.measured.value == pytest.approx(slow_mean(records, cell, wanted, None) / unit)
        seeds = [1, 2, 3] if cell.method not in ("original", "centering") else [0]
        by_seed = [slow_mean(records, cell, wanted, seed) / unit for seed in seeds]
        assert list(cell.measured.by_seed.values()) == pytest.approx(by_seed)
        if len(seeds) == 1:
            assert cell.measured.sd is None
        else:
            mean = fmean(by_seed)
            sd = (sum((v - mean) ** 2 for v in by_seed) / (len(seeds) - 1)) ** 0.5
            assert cell.measured.sd == pytest.approx(sd)
        members = (
            DATA_SETS[cell.printed.dataset].members if cell.printed.subset == "all" else [cell.printed.subset]
        )
        assert sorted((*cell.over, *cell.missing)) == sorted(members)


def test_both_readings_of_a_row_are_shown() -> None:
    about = {"table": "9", "encoder": "labse", "method": "dream+oracle", "view": "meaning", "subset": "all"}
    chosen = those(of_paper("oracle", a_run(["labse"])), **about)
    assert [cell.method for cell in chosen] == ["dream+oracle", "dream+oracle-released"]
    assert {cell.printed.number for cell in chosen} == {96.01}


def test_both_sizes_of_infoxlm_stand_in_the_papers_row() -> None:
    records = a_run(["infoxlm-large", "infoxlm-base"], ["original"])
    about = {"table": "11", "encoder": "infoxlm", "method": "original", "subset": "all"}
    chosen = those(of_paper("oracle", records), **about)
    assert [cell.encoder for cell in chosen] == ["infoxlm-base", "infoxlm-large"]


NEW = {
    "labse": "a frozen one",
    "dream+oracle": "mine",
    "dream": "plain",
    "original": "original",
    "sts17": "similar",
    "sts17-turkish": "turkish",
    "tatoeba": "sentences",
}


def test_renamed_entries_of_the_catalogue_change_labels_alone() -> None:
    records = a_run(["labse"], ["original", "dream", "dream+oracle"])
    renamed = [
        replace(
            r,
            encoder=NEW[r.encoder],
            method=NEW[r.method],
            dataset=NEW.get(r.dataset, r.dataset),
            metric=r.metric,
        )
        for r in records
    ]
    for build in (of_paper, further):
        before, after = build("oracle", records), build("oracle", renamed)
        assert [cell.measured for cell in before] == [cell.measured for cell in after]
        assert [cell.reason for cell in before] == [cell.reason for cell in after]
        assert {cell.encoder for cell in after if cell.encoder} <= {"a frozen one"}
    assert any(cell.method == "mine" for cell in of_paper("oracle", renamed))


def test_other_checkpoints_settings_and_sources_under_the_papers_names_do_not_count() -> None:
    records = a_run(["labse"], ["original", "dream"])

    def reasons(fact: str, old: str, new: str) -> dict[str, str]:
        changed = [with_facts(r, **{fact: r.facts[fact].replace(old, new)}) for r in records]
        chosen = those(of_paper("oracle", changed), table="9", encoder="labse", subset="all")
        return {cell.printed.method: cell.reason for cell in chosen if cell.printed.view != "language"}

    assert reasons("source", "", "")["original"] == reasons("source", "", "")["dream"] == ""
    assert set(reasons("checkpoint", "LaBSE", "LaBSE-of-my-own").values()) == {NO_ENCODER}
    assert reasons("terms", "dream.language=1", "dream.language=2")["dream"] == NO_METHOD
    assert reasons("partners", "dream", "same_language")["dream"] == NO_METHOD
    assert reasons("source", "tatoeba", "mine")["dream"] == NO_DATA


def test_a_mean_is_compared_over_the_same_languages_where_the_paper_prints_them() -> None:
    records = with_candidates(a_run(["labse"]), "heldout", 50_000)
    found = of_paper("oracle", records)
    same = one_of(found, table="8", method="meat", view="meaning", subset="all", encoder="labse")
    assert same.over == ("en-ar", "en-de")
    assert same.like == pytest.approx((98.75 + 96.14) / 2)
    assert same.measured is not None
    assert same.difference == pytest.approx(same.measured.value - same.like)  # type: ignore[operator]
    assert same.like_for_like
    # Table 3 has no language by itself.
    wider = {
        "table": "3",
        "method": "dream",
        "view": "meaning",
        "dataset": "tatoeba-14",
        "direction": "en->xx",
    }
    other = one_of(found, **wider, encoder="labse")
    assert other.like is None
    assert other.measured is not None
    assert other.difference == pytest.approx(other.measured.value - 95.57)
    assert not other.like_for_like
    assert one_of(
        found, table="8", method="meat", view="meaning", subset="en-de", encoder="labse"
    ).like_for_like


def with_candidates(records: list[Record], task: str, count: int) -> list[Record]:
    return [with_facts(r, candidates=str(count)) if r.task == task else r for r in records]


def with_facts(record: Record, **facts: str) -> Record:
    return replace(record, facts={**record.facts, **facts})


def test_a_cell_is_like_for_like_only_among_as_many_candidates() -> None:
    about = {"table": "8", "method": "meat", "view": "meaning", "encoder": "labse"}
    for count, same in ((50_000, True), (42, False)):
        found = of_paper("oracle", with_candidates(a_run(["labse"]), "heldout", count))
        one, mean = (one_of(found, **about, subset=subset) for subset in ("en-de", "all"))
        assert one.like_for_like is mean.like_for_like is same
        assert one.candidates == ((count, 50_000),)
        assert one.row()["candidates"] == f"{count:,}"
        assert one.row()["published_candidates"] == "50,000"
    assert one.among() == "among 42, paper 50,000"
    # Similarity is not a search: it has no candidates to agree on.
    sts = one_of(found, table="10", method="meat", view="meaning", encoder="labse", subset="en-de")
    assert sts.like_for_like


def test_candidates_are_compared_language_by_language() -> None:
    """Of Tatoeba's languages Tamil has 307 sentences and German 1,000."""
    records = []
    for foreign, count in (("de", 1000), ("ta", 307)):
        for subset in (f"en->{foreign}", f"{foreign}->en"):
            one = over_seeds("labse", "meat", "meaning", "tatoeba", "tatoeba", subset, "P@1", values=[50])
            records += with_candidates(one, "tatoeba", count)
    about = {"table": "3", "method": "meat", "view": "meaning", "encoder": "labse", "dataset": "tatoeba-36"}
    cell = one_of(of_paper("oracle", records), **about, direction="en->xx")
    assert (cell.over, cell.same_candidates) == (("en-de", "en-ta"), True)
    assert cell.among() == "among 307–1,000"
    records = [with_facts(r, candidates="1000") for r in records]
    assert not one_of(of_paper("oracle", records), **about, direction="en->xx").same_candidates


def test_the_interval_of_a_whole_data_set_is_its_own_record() -> None:
    """`a_run` gives the mean over all an interval of 0.5 to each side, and 1 to every subset."""
    found = of_paper("seed", [r for r in a_run(["me5-base"], ["original"]) if r.dataset != "stsb"])
    about = {"method": "original", "subset": "all", "encoder": "me5-base"}
    whole = one_of(found, table="1", **about).measured
    assert whole is not None
    assert whole.high - whole.value == pytest.approx(0.005)  # type: ignore[operator]
    assert not whole.averaged
    cell = one_of(found, table="4", **about)
    assert cell.over == ("en-ar", "en-de", "en-tr")
    part = cell.measured
    assert part is not None
    assert part.high - part.value == pytest.approx(0.01)  # type: ignore[operator]
    assert part.value - part.low == pytest.approx(0.01)  # type: ignore[operator]
    assert part.averaged


def test_each_cell_that_cannot_be_measured_says_why() -> None:
    records = [r for r in a_run(["labse"], ["original", "dream"]) if r.task not in ("qe", "code-switched")]
    records = [r for r in records if (r.task, r.view) != ("tatoeba", "language")]
    found = of_paper("oracle", records)
    names = "table", "encoder", "method", "view", "subset", "dataset"
    reasons = {tuple(getattr(cell.printed, name) for name in names): cell.reason for cell in found}
    assert reasons["9", "laser", "dream", "meaning", "all", "tatoeba-10"] == NO_ENCODER
    assert reasons["9", "labse", "meat", "meaning", "all", "tatoeba-10"] == NO_METHOD
    assert reasons["11", "labse", "dream", "meaning", "all", "muse-8"] == NO_TASK
    assert (
        reasons["10", "labse", "dream", "meaning", "en-it", "sts17"] == NO_LANGUAGE
    )  # stsb has it: other items
    assert reasons["9", "labse", "dream", "language", "all", "tatoeba-10"] == NO_RECORD
    assert reasons["9", "labse", "dream", "meaning", "all", "tatoeba-10"] == ""
    assert all((cell.measured is None) == bool(cell.reason) for cell in found)
    assert all(cell.over == () for cell in found if cell.reason)


def test_quality_estimation_has_a_direction_and_similarity_has_none() -> None:
    records = [r for r in a_run(["me5-base"], ["original"]) if r.task != "qe" or r.subset != "all"]
    turned = [replace(r, subset="en-ro") if r.subset == "ro-en" else r for r in records]
    found = of_paper("seed", turned)
    about = {"method": "original", "encoder": "me5-base"}
    assert one_of(found, table="1", subset="ro-en", **about).reason == NO_LANGUAGE
    assert one_of(found, table="4", subset="en-ar", **about).reason == ""


def test_what_the_paper_does_not_have_gets_rows_of_its_own() -> None:
    found = further("oracle", a_run(["labse", "ems-mini"]))
    assert all(cell.printed.number is None and cell.difference is None for cell in found)
    assert all(cell.measured is not None for cell in found)
    own = {(cell.method, cell.printed.view) for cell in those(found, table="9") if cell.encoder == "ems-mini"}
    assert own == {("original", "sentence")} | {
        (method, view) for method in METHODS[1:] for view in ("meaning", "language")
    }
    on_labse = {cell.method for cell in those(found, table="9") if cell.encoder == "labse"}
    assert on_labse == {"centering", "seed"}


def test_a_run_on_invented_languages_shows_the_whole_of_its_data_sets() -> None:
    records = [
        replace(r, subset=r.subset.replace("en", "qaa").replace("de", "qab").replace("fr", "qac"))
        for r in a_run(["ems-mini"], ["original", "seed"])
        if r.task == "tatoeba"
    ]
    assert further("oracle", records) == []
    found = whole_cells(Run(PAPERS["oracle"], Measured(records)))
    assert {(cell.printed.direction, cell.printed.dataset) for cell in found} == {(WHOLE, "tatoeba")}
    assert {(cell.method, cell.printed.view) for cell in found} == {
        ("original", "sentence"),
        ("seed", "meaning"),
        ("seed", "language"),
    }
    (mean,) = [
        r for r in records if (r.method, r.view, r.subset, r.seed) == ("seed", "language", "all", None)
    ]
    (cell,) = [cell for cell in found if (cell.method, cell.printed.view) == ("seed", "language")]
    assert cell.measured is not None
    assert cell.measured.value == pytest.approx(mean.value)


def test_damaged_records_are_refused() -> None:
    records = a_run(["labse"], ["original"])
    with pytest.raises(DataError, match="no record"):
        Measured([])
    with pytest.raises(DataError, match=r"labse original sentence heldout test P@1 en->ar, seed"):
        Measured([*records, records[0]])


def test_an_encoder_stands_in_the_rows_that_it_stands_for() -> None:
    mine = [with_facts(r, checkpoint="mine") for r in a_run(["labse"], ["original"])]
    rows = {"table": "9", "subset": "all", "view": "sentence"}

    def cell(name: str, records: Sequence[Record]) -> PaperCell:
        return one_of(of_paper("oracle", records), **rows, encoder=name)

    assert cell("labse", mine).reason == cell("laser", mine).reason == NO_ENCODER
    stated = [with_facts(r, stands_for="laser infoxlm") for r in mine]
    assert cell("labse", stated).reason == NO_ENCODER
    for name in ("laser", "infoxlm"):
        assert (cell(name, stated).encoder, cell(name, stated).reason) == ("labse", "")
    # A published encoder that no run can have, but for one that stands for it.
    about = {"table": "2", "encoder": "emma-x", "dataset": "tatoeba-112"}
    assert one_of(of_paper("xrete", mine), **about).reason == NO_RUN
    of_emma_x = [with_facts(r, stands_for="emma-x") for r in mine]
    assert one_of(of_paper("xrete", of_emma_x), **about).measured is not None
