"""The invented languages: script, word order, morphology and lexicon; one meaning, one sentence each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from random import Random
from typing import NamedTuple

from orthoglot.random_streams import derive
from orthoglot.study.invented.meanings import ALL_NOUNS, ALL_PREDICATES, MANNERS, QUALITIES, TENSES, Frame

KEPT = 0.6  # share of a relative's words that come from the common ancestor
CONCEPTS = (*ALL_PREDICATES, *ALL_NOUNS, *QUALITIES, *MANNERS)


@dataclass(frozen=True, kw_only=True)
class Grammar:
    """What makes a language's sentences its own, apart from its words.

    `order` arranges the phrases: S agent, V predicate, O patient, M manner, N companion, Y year; a companion's
    name and a year are written alike in every language. The last four name the markers by where they stand, in
    the word or as a word before or after it; one in none of them is not expressed. "verb-..." agrees with the
    agent, "quality-..." with its noun. It keeps the share `KEPT` of the words of the language `relative`, after the
    sound changes "old:new".
    """

    onsets: str
    order: str
    quality_first: bool
    vowels: str = ""
    separator: str = " "
    prefix: str = ""
    suffix: str = ""
    before: str = ""
    after: str = ""
    relative: str = ""
    changes: str = ""

    @cached_property
    def places(self) -> dict[str, str]:
        """Every marker that the language expresses and where it stands."""
        fields = ("prefix", "suffix", "before", "after")
        return {marker: place for place in fields for marker in getattr(self, place).split()}


GRAMMARS = {
    # The pivot: it plays the part of English.
    "qaa": Grammar(onsets="bdfgklmnprstvw", vowels="a e i o u an er is", order="SVONMY", quality_first=True,
                   suffix="plural past", before="article future not"),
    # Suffixes on suffixes.
    "qab": Grammar(onsets="chjklmnqtxyz", vowels="a i u ai ua", order="YMSNOV", quality_first=True,
                   suffix="plural agent patient past present future not"),
    # The verb comes first; particles do what suffixes do elsewhere.
    "qac": Grammar(onsets="бвгджзклмнпрстхш", vowels="а е и о у ы", order="VSNOMY", quality_first=False,
                   prefix="not", suffix="plural verb-plural", before="past future patient"),
    # Articles, an augment for the past, the agent last.
    "qad": Grammar(onsets="βγδζθκλμνξπρτφχ", vowels="α ε η ι ο ω ου", order="YMVONS", quality_first=False,
                   prefix="past", suffix="plural quality-plural", before="article future", after="not"),
    # Written without spaces; one letter is one syllable.
    "qae": Grammar(onsets="あいうえおかきくけこさしすせそたちつてとなにぬねのはひふへほまみむめもやゆよ",
                   order="SNMYOV", quality_first=True, separator="",
                   suffix="plural past future not", after="agent patient"),
    # Two noun classes: qualities and verbs agree in class and number.
    "qaf": Grammar(onsets="कखगजचटडतदनपबमयरलवसह", vowels="ा ि ी ु े ो", order="YOSNMV", quality_first=True,
                   suffix="plural quality-class quality-plural verb-class verb-plural",
                   before="not", after="past future patient"),
    # A relative of qab: shifted sounds, another order, and words of its own for four things in ten.
    "qag": Grammar(onsets="dfghjklmnprstv", vowels="a e i o u", order="SOVMNY", quality_first=False,
                   suffix="plural agent patient past present future not",
                   relative="qab", changes="ai:e ua:o q:g x:s z:d c:t"),
}  # fmt: skip


class Inflected(NamedTuple):
    """A content word with everything attached to it, and the marker words around it."""

    before: list[str]
    head: str
    after: list[str]


@dataclass(frozen=True, kw_only=True)
class Language:
    """A grammar with its words: `lexicon` maps every concept and marker to its form, `synonyms` some to a second."""

    code: str
    grammar: Grammar
    lexicon: dict[str, str]
    synonyms: dict[str, str] = field(default_factory=dict)

    def sentence(self, frame: Frame, random: Random | None = None) -> str:
        """A sentence that means `frame`: the one with the first words, or one with words drawn among synonyms."""
        return self.grammar.separator.join(self.worded(random).words(frame))

    @property
    def second(self) -> Language:
        """The language in which every concept has its last word."""
        return replace(self, lexicon={**self.lexicon, **self.synonyms}, synonyms={})

    def worded(self, random: Random | None) -> Language:
        """The language with one word for each concept: the first, or either of two."""
        if random is None or not self.synonyms:
            return self
        drawn = {name: form for name, form in self.synonyms.items() if random.random() < 0.5}
        return replace(self, lexicon={**self.lexicon, **drawn}, synonyms={})

    def words(self, frame: Frame) -> list[str]:
        """The words of that sentence in order; they mark word ends where a script has no spaces."""
        verb = self.verb(frame.predicate, frame.negated, frame.tense, frame.agent, frame.agent_plural)
        phrases = {
            "S": self._noun_phrase(frame.agent, "agent", frame.agent_plural, frame.agent_quality),
            "V": [*verb.before, verb.head, *verb.after],
            "O": self._noun_phrase(frame.patient, "patient", frame.patient_plural, frame.patient_quality),
            "M": [self.lexicon[frame.manner]] if frame.manner else [],
            "N": [frame.companion] if frame.companion else [],
            "Y": [frame.year] if frame.year else [],
        }
        return [word for role in self.grammar.order for word in phrases[role]]

    def noun(self, noun: str, case: str, plural: bool) -> Inflected:
        """A noun in its case ("agent" or "patient") and number."""
        return self._inflect(noun, [*["plural"] * plural, case, "article"])

    def verb(self, predicate: str, negated: bool, tense: str, agent: str, plural: bool) -> Inflected:
        """A verb form that agrees with its agent."""
        return self._inflect(predicate, [*["not"] * negated, tense, *_agreement("verb", agent, plural)])

    def quality(self, quality: str, noun: str, plural: bool) -> Inflected:
        """A quality that agrees with the noun that has it."""
        return self._inflect(quality, _agreement("quality", noun, plural))

    def heads(self) -> Iterator[str]:
        """Every content word form, the same meanings in the same order in every language."""
        for noun, case, plural in product(ALL_NOUNS, ("agent", "patient"), (False, True)):
            yield self.noun(noun, case, plural).head
        classes = ALL_NOUNS[:2]  # one noun of each class is enough to agree with
        for verb in product(ALL_PREDICATES, (False, True), TENSES, classes, (False, True)):
            yield self.verb(*verb).head
        for quality in product(QUALITIES, classes, (False, True)):
            yield self.quality(*quality).head
        yield from (self.lexicon[manner] for manner in MANNERS)

    def particles(self) -> dict[str, str]:
        """The markers that are words of their own."""
        names = f"{self.grammar.before} {self.grammar.after}".split()
        return {marker: self.lexicon[marker] for marker in names}

    def _noun_phrase(self, noun: str, case: str, plural: bool, quality: str) -> list[str]:
        before, head, after = self.noun(noun, case, plural)
        qualities = [self.quality(quality, noun, plural).head] if quality else []
        middle = [*qualities, head] if self.grammar.quality_first else [head, *qualities]
        return [*before, *middle, *after]

    def _inflect(self, concept: str, markers: list[str]) -> Inflected:
        """Attach the markers that the language expresses, from the inside out."""
        before: list[str] = []
        after: list[str] = []
        head = self.lexicon[concept]
        for marker in markers:
            match self.grammar.places.get(marker):
                case "prefix":
                    head = self.lexicon[marker] + head
                case "suffix":
                    head = head + self.lexicon[marker]
                case "before":
                    before.insert(0, self.lexicon[marker])
                case "after":
                    after.append(self.lexicon[marker])
        return Inflected(before, head, after)


def _agreement(word: str, noun: str, plural: bool) -> list[str]:
    second_class = int(noun.split()[-1]) % 2 == 1
    return [f"{word}-class"] * second_class + [f"{word}-plural"] * plural


def invent(code: str, seed: int, synonyms: float = 0.0) -> Language:
    """The language of that code, with a lexicon drawn from the seed.

    Markers have one syllable, concepts two or three. No form begins with another form, so that a sentence
    can be read back into its parts even where it is written without spaces.

    Args:
        code: A code of `GRAMMARS`.
        seed: Seed of the lexicon.
        synonyms: share of the concepts with a second form.
    """
    grammar, random = GRAMMARS[code], Random(derive(seed, "lexicon", code))
    syllables = [onset + vowel for onset in grammar.onsets for vowel in grammar.vowels.split() or [""]]
    inherited = _inherited(grammar, seed, random) if grammar.relative else {}
    forms: set[str] = set()
    beginnings: set[str] = set()  # of every form, itself included

    def new(name: str, form: str = "") -> str:
        """A form that begins with no other and with which no other begins: the given one if it is such."""
        while not form or form in beginnings or any(form[:end] in forms for end in range(1, len(form))):
            form = "".join(random.choices(syllables, k=1 if name in grammar.places else random.randint(2, 3)))
        forms.add(form)
        beginnings.update(form[:end] for end in range(1, len(form) + 1))
        return form

    lexicon = {name: new(name, inherited.get(name, "")) for name in (*grammar.places, *CONCEPTS)}
    second = {name: new(name) for name in CONCEPTS if random.random() < synonyms}
    return Language(code=code, grammar=grammar, lexicon=lexicon, synonyms=second)


def _inherited(grammar: Grammar, seed: int, random: Random) -> dict[str, str]:
    """The words that a language shares with its relative, after its own sound changes."""
    inherited = {}
    for name, form in invent(grammar.relative, seed).lexicon.items():
        for change in grammar.changes.split():
            old, new = change.split(":")
            form = form.replace(old, new)
        if random.random() < KEPT:
            inherited[name] = form
    return inherited
