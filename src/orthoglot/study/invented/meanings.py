"""Meanings of the invented world: small event frames, how they are drawn and how much two of them share."""

from __future__ import annotations

from itertools import chain
from random import Random
from typing import Any, NamedTuple

from orthoglot.random_streams import derive

TOPICS = ("court", "farm", "market", "school", "sea")
TENSES = ("present", "past", "future")
PREDICATES = {topic: tuple(f"{topic} predicate {i}" for i in range(8)) for topic in TOPICS}
NOUNS = {topic: tuple(f"{topic} noun {i}" for i in range(16)) for topic in TOPICS}
QUALITIES = tuple(f"quality {i}" for i in range(20))
MANNERS = tuple(
    f"{sentiment} manner {i}"
    for sentiment, size in (("positive", 6), ("negative", 6), ("neutral", 3))
    for i in range(size)
)
# What every language writes alike, as real ones do with many names and numbers: few enough that a sentence
# cannot be found by them alone.
NAMES = tuple(
    first + last for first in ("Ba", "De", "Ka", "Mu", "So") for last in ("lan", "mir", "nek", "vot")
)
YEARS = tuple(str(year) for year in range(1980, 1990))
ALL_PREDICATES = tuple(chain(*PREDICATES.values()))
ALL_NOUNS = tuple(chain(*NOUNS.values()))
NONE = ""  # an optional slot that is empty
MODIFIED = 0.7  # share of nouns with a quality
NAMED = 0.9  # share of events with a companion
DATED = 0.8  # and with a year
WITH_MANNER = 0.8  # with 6 + 6 + 3 manners: sentiments of about 0.32, 0.32 and 0.36
OPTIONAL = ("agent_quality", "patient_quality", "manner", "companion", "year")
HELD_OUT_OF = 5  # one event (predicate, agent, patient) in five never occurs in training text

WEIGHTS = {
    "predicate": 1.0,
    "agent": 1.0,
    "patient": 1.0,
    "companion": 0.4,
    "manner": 0.4,
    "agent_quality": 0.3,
    "patient_quality": 0.3,
    "tense": 0.2,
    "year": 0.1,
    "negated": 0.1,
    "agent_plural": 0.1,
    "patient_plural": 0.1,
}


class Frame(NamedTuple):
    """Who did what to whom, how, with whom and when; concepts are names such as "sea noun 3"."""

    predicate: str
    agent: str
    patient: str
    agent_quality: str
    patient_quality: str
    manner: str
    tense: str
    negated: bool
    agent_plural: bool
    patient_plural: bool
    companion: str
    year: str

    @property
    def topic(self) -> str:
        """The predicate's topic; the agent may come from any other."""
        return self.predicate.split()[0]

    @property
    def sentiment(self) -> str:
        """What the manner expresses: positive, negative, or neutral also when there is none."""
        return self.manner.split()[0] if self.manner else "neutral"


def draw(random: Random) -> Frame:
    """One frame: predicate and patient of one topic, everything else independent."""
    topic = random.choice(TOPICS)
    return Frame(
        predicate=random.choice(PREDICATES[topic]),
        agent=random.choice(ALL_NOUNS),
        patient=random.choice(NOUNS[topic]),
        agent_quality=random.choice(QUALITIES) if random.random() < MODIFIED else NONE,
        patient_quality=random.choice(QUALITIES) if random.random() < MODIFIED else NONE,
        manner=random.choice(MANNERS) if random.random() < WITH_MANNER else NONE,
        tense=random.choice(TENSES),
        negated=random.random() < 0.25,
        agent_plural=random.random() < 0.4,
        patient_plural=random.random() < 0.4,
        companion=random.choice(NAMES) if random.random() < NAMED else NONE,
        year=random.choice(YEARS) if random.random() < DATED else NONE,
    )


def freely(frame: Frame, share: float, random: Random) -> Frame:
    """The frame as a free translation has it: each optional phrase is left out with probability `share`."""
    left_out: dict[str, Any] = {slot: NONE for slot in OPTIONAL if random.random() < share}
    return frame._replace(**left_out)


def is_held_out(frame: Frame, seed: int) -> bool:
    """Whether the frame's event belongs to the test sets; a hash decides, so no draw can shift another."""
    return derive(seed, "held out", frame.predicate, frame.agent, frame.patient) % HELD_OUT_OF == 0


def sample(count: int, seed: int, *names: str, held_out: bool) -> list[Frame]:
    """`count` distinct frames for the purpose named by `names`, for tests only or for training only."""
    random = Random(derive(seed, *names))
    frames: dict[Frame, None] = {}
    while len(frames) < count:
        frame = draw(random)
        if is_held_out(frame, seed) == held_out:
            frames[frame] = None
    return list(frames)


def overlap(one: Frame, other: Frame) -> float:
    """Graded similarity of two meanings: the weights of the slots that hold the same value.

    s = sum over slots of w_slot [one_slot = other_slot];  in [0, 5], 5 for the same frame.
    """
    return round(sum(w for slot, w in WEIGHTS.items() if getattr(one, slot) == getattr(other, slot)), 2)


def variation(frame: Frame, seed: int, random: Random, *, held_out: bool = True) -> Frame:
    """A meaning for tests or for training that takes any number of slots, from none to all, from other meanings.

    The slots are chosen once and their values until the event is held out: choosing both again would
    prefer variations that keep the event.
    """
    slots = random.sample(list(WEIGHTS), random.randint(0, len(WEIGHTS)))
    while True:
        other = draw(random)
        varied = frame._replace(**{slot: getattr(other, slot) for slot in slots})
        if is_held_out(varied, seed) == held_out:
            return varied
