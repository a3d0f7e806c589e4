"""One sentence in many languages, to show the use of a model with."""

from __future__ import annotations

from collections.abc import Sequence

# "A cat sleeps."
EXAMPLES = {
    "en": "A cat sleeps.",
    "ar": "قطة نائمة.",
    "bg": "Котка спи.",
    "ca": "Un gat dorm.",
    "cs": "Kočka spí.",
    "da": "En kat sover.",
    "de": "Eine Katze schläft.",
    "el": "Μια γάτα κοιμάται.",
    "eo": "Kato dormas.",
    "es": "Un gato duerme.",
    "et": "Kass magab.",
    "fi": "Kissa nukkuu.",
    "fr": "Un chat dort.",
    "he": "חתול ישן.",
    "hr": "Mačka spava.",
    "hu": "Egy macska alszik.",
    "id": "Seekor kucing tidur.",
    "it": "Un gatto dorme.",
    "ja": "猫が寝ている。",
    "ko": "고양이가 자고 있다.",
    "lt": "Katė miega.",
    "lv": "Kaķis guļ.",
    "nl": "Een kat slaapt.",
    "pl": "Kot śpi.",
    "pt": "Um gato dorme.",
    "ro": "O pisică doarme.",
    "ru": "Кошка спит.",
    "sk": "Mačka spí.",
    "sl": "Mačka spi.",
    "sv": "En katt sover.",
    "sw": "Paka analala.",
    "tr": "Bir kedi uyuyor.",
    "uk": "Кішка спить.",
    "vi": "Một con mèo đang ngủ.",
    "zh": "一只猫在睡觉。",
}
OTHERS = ("a sentence in a language of the model", "its translation")


def examples(languages: Sequence[str]) -> list[str]:
    """Two sentences in languages of a model, where they are known; else what stands for them.

    Args:
        languages: canonical codes.
    """
    known = [EXAMPLES[code] for code in EXAMPLES if code in languages]
    return [*known, *OTHERS][:2]
