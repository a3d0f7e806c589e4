"""Messages as sentences: every placeholder and tag of one side is found on the other, or the message goes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orthoglot.text.bitext import LeftOut, SentencePair
from orthoglot.text.messages import placeholder, plain


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        ("Delete %(count)d of %(name)s?", "Delete X of X?"),
        ("%s has %d of %1$s, %.2f, %-5ld and %@", "X has X of X, X, X and X"),
        ("Copy %1 to %L2: %n files", "Copy X to X: X files"),
        ("Hi {name}, {0} or {} or {total:.2f} or ${user}", "Hi X, X or X or X or X"),
        ("by $author at {{ date|short }}{% if x %}", "by X at XX"),
        ("100%% sure", "100% sure"),
        ("100% discount, 50%off, 20%er", "100% discount, 50%off, 20%er"),
        ("US$ 5, $9 and a_b", "US$ 5, $9 and a_b"),
        ('Click <a href="%(url)s">here</a> &amp; <b>wait</b>', "Click here & wait"),
        ("one<br/>two<!-- note --></p>", "one two "),
        ("if a < b and c > d", "if a < b and c > d"),
        ("**Bold** [link](https://a.org/x_(y)) and `code`", "Bold link and code"),
        ("5 &lt; 6 &#8230;", "5 < 6 …"),
    ],
)
def test_markup_goes_and_placeholders_become_one_letter(message: str, sentence: str) -> None:
    assert plain(message, message) == SentencePair(sentence, sentence)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("%(n)d of %(all)d", "von %(all)s %(n)s"),
        ("%s of %s", "%2$s hat %1$s"),
        ("{a} {b}", "{b} {a}"),
        ("<b>x</b> <i>y</i>", "<i>y</i> <B class='z'>x</b>"),
    ],
)
def test_order_and_conversion_may_differ(source: str, target: str) -> None:
    assert isinstance(plain(source, target), SentencePair)


@pytest.mark.parametrize(
    ("source", "target", "sentences"),
    [
        ("&File", "&amp;Datei", ("File", "Datei")),
        ("_Open files…", "Dateien öff_nen…", ("Open files…", "Dateien öffnen…")),
        ("E&xit", "終了(&X)", ("Exit", "終了")),
        ("Save _as", "另存为 (_A)...", ("Save as", "另存为...")),
        ("_OK", "_OK", ("OK", "OK")),
        ("R&D of AT&T", "F&E von AT&T", None),
        ("E-mail & phone", "E-Mail & Telefon", None),
        ("Save & E&xit", "Speichern und &beenden", None),
        ("Q&A", "F&A", None),
        ("&Open", "Öffnen", None),
        ("E_xit", "_Beenden", ("Exit", "Beenden")),
        ("Sa&ve", "S&peichern", ("Save", "Speichern")),
        ("See contact_page.html", "siehe kontakt_seite", None),
        ("Set __init__", "Setze __init__", None),
    ],
)
def test_access_keys_go_where_both_sides_have_one(
    source: str, target: str, sentences: tuple[str, str] | None
) -> None:
    assert plain(source, target) == SentencePair(*(sentences or (source, target)))


@pytest.mark.parametrize(
    ("source", "target", "reason"),
    [
        ("Save", " \n", "untranslated"),
        ("%s files", "Dateien", "placeholders"),
        ("Dateien", "%s files", "placeholders"),
        ("%(name)s", "%(Name)s", "placeholders"),
        ("%s and %s", "%s und", "placeholders"),
        ("{n, plural, one {# file} other {# files}}", "{n, plural, other {# Dateien}}", "placeholders"),
        ("<b>Save</b>", "Speichern", "markup"),
        ("Save", "<i>Speichern</i>", "markup"),
        ("[Save](x)", "Speichern", "markup"),
    ],
)
def test_sides_that_differ_are_left_out_with_the_reason(source: str, target: str, reason: str) -> None:
    item = plain(source, target)
    assert isinstance(item, LeftOut)
    # Where tags alone differ, it holds the sentences, which may translate each other.
    pair = SentencePair("Save", "Speichern") if reason == "markup" else None
    assert item == LeftOut(reason, pair)


@given(st.text(alphabet="abC {}%()<>/sd$&_;1"), st.text(alphabet="abC {}%()<>/sd$&_;1"))
def test_any_text_is_a_pair_or_left_out_the_same_way_round(source: str, target: str) -> None:
    there, back = plain(source, target), plain(target, source)
    if isinstance(there, SentencePair):
        assert "{" not in there.source
        assert back == there[::-1] or back == LeftOut("untranslated")


def test_the_first_placeholder_of_a_text() -> None:
    assert placeholder("100%% of {name} and %s") == "{name}"
    assert placeholder("none") == ""


@pytest.mark.parametrize(
    "part",
    [
        "{{ ",
        "<!--",
        "{% ",
        "%(a",
        "{a",
        "<a ",
        "[a](",
        "[a](b(c)",
        " ",
        "%0",
        "%1",
        "&",
        "_a",
        "%(a)0",
        "<a.",
        "(&",
    ],
)
def test_the_time_is_linear_in_the_length_of_a_message(part: str) -> None:
    # 400 kB: with a time of n^2, as before, the first of these would take an hour.
    message = "%" + part * (400_000 // len(part))
    assert isinstance(plain(message, message + "x"), SentencePair | LeftOut)
