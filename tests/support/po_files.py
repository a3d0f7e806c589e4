"""Message catalogues (.po) in files."""

from __future__ import annotations

from pathlib import Path


def header(language: str = "de", rule: str = "nplurals=2; plural=(n != 1);") -> str:
    return (
        'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n'
        f'"Language: {language}\\n"\n"Plural-Forms: {rule}\\n"\n'
    )


def write(path: Path, entries: str, **stated: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(header(**stated) + entries, encoding="utf-8")
    return path


def message(source: str, target: str) -> str:
    return f'\nmsgid "{source}"\nmsgstr "{target}"\n'
