"""Messages as sentences: every placeholder and tag of one side is found on the other, or the message goes."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orthoglot.text.bitext import LeftOut, SentencePair
from orthoglot.text.program_messages import placeholder, plain


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
    ("source", "target", "reason", "pair"),
    [
        ("Save", " \n", "untranslated", None),
        ("%s files", "Dateien", "placeholders", None),
        ("Dateien", "%s files", "placeholders", None),
        ("%(name)s", "%(Name)s", "placeholders", None),
        ("%s and %s", "%s und", "placeholders", None),
        ("{n, plural, one {# file} other {# files}}", "{n, plural, other {# Dateien}}", "placeholders", None),
        ("<b>Save</b>", "Speichern", "markup", ("Save", "Speichern")),
        ("Save", "<i>Speichern</i>", "markup", ("Save", "Speichern")),
        ("<0>Save</0> <em>it</em>", "<0>Speichern</0>", "markup", ("<0>Save</0> it", "<0>Speichern</0>")),
        ("<user>Ann</user>", "Anna", "markup", ("Ann", "Anna")),
        ("<b></b>", "Fett", "markup", None),
    ],
)
def test_sides_that_differ_are_left_out_with_the_reason(
    source: str, target: str, reason: str, pair: tuple[str, str] | None
) -> None:
    item = plain(source, target)
    assert isinstance(item, LeftOut)
    # Where tags alone differ, it holds the sentences, which may translate each other.
    assert item == LeftOut(reason, pair=pair and SentencePair(*pair))


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("If a<b and c>d then stop", "Si a<b et c>d, arrête"),
        ("x <y and z> w", "x <y und z> w"),
        ("Usage: copy <file> <target file>", "Aufruf: copy <Datei> <Zieldatei>"),
        ("A List<String> of vector<int>", "Eine List<String> aus vector<int>"),
        ("Write to <ann@example.org> or <b = 3 and c>", "Schreib an <ann@example.org> oder <b = 3 und c>"),
        ("I <3 you and you <3 me", "Ich <3 dich und du <3 mich"),
        ("Marks&Spencer sells tea", "Marks&Spencer verkauft Tee"),
        ("He ate at Marks&Spencer today", "Er aß heute bei Marks&Spencer"),
        ("Johnson&Johnson pays", "Johnson&Johnson zahlt"),
        ("Rock&roll lives", "Rock&roll lebt"),
        ("They met Tom &Jerry in town, then they all went home.", "Sie trafen Tom &Jerry in der Stadt."),
        ("The set {1, 2} is small", "Die Menge {1; 2} ist klein"),
        ("All {x | x > 0} and {a, b}", "Alle {x | x > 0} und {a, b, c}"),
        ("Smile :-{ again", "Lächle wieder }:-)"),
        ("Up to %20 off", "Bis zu 20% weniger"),
        ("50% off", "%50 indirim"),
        ("100 % des gens", "all of the people"),
        ("It is 5%e of all, 10%-a", "C'est 5 %e de tout, 10 %-a"),
        ("Prices rose by 5 percent", "Hinnat nousivat 5 %e ja 6\u00a0%a"),
        ("The $HOME variable", "Die Variable für das eigene Verzeichnis"),
        ("Room_temperature is 20", "Temperatur_des Raums ist 20"),
        ("Use *bold*", "Nimm *fett*"),
    ],
)
def test_ordinary_text_stays(source: str, target: str) -> None:
    assert plain(source, target) == SentencePair(source, target)
    assert plain(target, source) == SentencePair(target, source)


@pytest.mark.parametrize(
    ("source", "target", "sentences"),
    [
        ("See [docs](http://a.b)", "Siehe Handbuch", ("See docs", "Siehe Handbuch")),
        ("<user>Ann</user> <br/>left", "<user>Ann</user><br/> ging", ("Ann  left", "Ann  ging")),
        ('<cf bold="on">a</cf>', '<cf bold="on">b</cf>', ("a", "b")),
        ("<input disabled> on", "<input disabled> an", (" on", " an")),
        ("Copy %1 to %2", "Kopiere %1", ("Copy X to %2", "Kopiere X")),
        ("%50 and $x", "%50 und $x", ("X and X", "X und X")),
        ("Page 1 %d", "Seite 1 %d", ("Page 1 X", "Seite 1 X")),
        (
            "{n, number} of {0:d MMM} {a.b[1]!r:>5}",
            "{n, number} {0:d MMM} {a.b[1]!r:>5}",
            ("X of X X", "X X X"),
        ),
    ],
)
def test_what_may_be_text_is_markup_where_form_or_the_other_side_say_so(
    source: str, target: str, sentences: tuple[str, str]
) -> None:
    assert plain(source, target) == SentencePair(*sentences)


@given(st.text(alphabet="abC {}%()<>/sd$&_;1"), st.text(alphabet="abC {}%()<>/sd$&_;1"))
def test_any_text_is_a_pair_or_left_out_the_same_way_round(source: str, target: str) -> None:
    there, back = plain(source, target), plain(target, source)
    if isinstance(there, SentencePair):
        assert not re.search(r"\{[^{}]*\{|<(a|b|d|s)>", there.source)
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
        "<a b=",
        "<a checked ",
        "<x></x>",
        "{a!",
        "{ ",
        "{0:",
        "1 %",
    ],
)
def test_the_time_is_linear_in_the_length_of_a_message(part: str) -> None:
    # 400 kB: with a time of n^2, as before, the first of these would take an hour.
    message = "%" + part * (400_000 // len(part))
    assert isinstance(plain(message, message + "x"), SentencePair | LeftOut)
