"""Draw what one query finds before and after the split: docs/before-after.svg, the picture of the README.

    python benchmarks/before_after.py models/demo/decomposers/me5-small-4bit/plda/seed1 -o docs/before-after.svg

Seventy sentences, ten in each of seven languages, line n the same in all, search each other. They were written for this
picture, so that it needs no corpus. Shown are the six nearest of the query by the encoder's vector and by the meaning
part, the six that a perfect search would fill with translations. The query is one for which the two differ much; the
mean over all queries stands below, and is printed.
"""

from __future__ import annotations

import argparse
import sys
from html import escape
from pathlib import Path

import numpy as np

import orthoglot

SENTENCES = {
    "en": "Where is the station?|The train to Berlin leaves at nine.|Is there a bus stop near here?|"
    "I have lost my ticket.|How much is a coffee?|The museum is closed on Mondays.|"
    "My sister lives in a small village.|It will rain tomorrow.|Please open the window.|The book is on the table.",
    "de": "Wo ist der Bahnhof?|Der Zug nach Berlin fährt um neun Uhr ab.|Gibt es hier in der Nähe eine Bushaltestelle?|"
    "Ich habe meine Fahrkarte verloren.|Was kostet ein Kaffee?|Das Museum ist montags geschlossen.|"
    "Meine Schwester wohnt in einem kleinen Dorf.|Morgen wird es regnen.|Bitte öffnen Sie das Fenster.|"
    "Das Buch liegt auf dem Tisch.",
    "es": "¿Dónde está la estación?|El tren a Berlín sale a las nueve.|¿Hay una parada de autobús cerca de aquí?|"
    "He perdido mi billete.|¿Cuánto cuesta un café?|El museo está cerrado los lunes.|"
    "Mi hermana vive en un pueblo pequeño.|Mañana va a llover.|Por favor, abra la ventana."
    "|El libro está sobre la mesa.",
    "ru": "Где вокзал?|Поезд в Берлин отправляется в девять часов.|Есть ли здесь поблизости автобусная остановка?|"
    "Я потерял свой билет.|Сколько стоит кофе?|Музей закрыт по понедельникам.|Моя сестра живёт в маленькой деревне.|"
    "Завтра будет дождь.|Пожалуйста, откройте окно.|Книга лежит на столе.",
    "zh": "车站在哪里？|去柏林的火车九点出发。|这附近有公共汽车站吗？|我的票丢了。|一杯咖啡多少钱？|博物馆星期一闭馆。|"
    "我妹妹住在一个小村子里。|明天会下雨。|请打开窗户。|书在桌子上。",
    "ja": "駅はどこですか。|ベルリン行きの列車は九時に出ます。|この近くにバス停はありますか。|切符をなくしました。|"
    "コーヒーはいくらですか。|博物館は月曜日は休みです。|私の妹は小さな村に住んでいます。|明日は雨が降るでしょう。|"
    "窓を開けてください。|本は机の上にあります。",
    "ar": "أين المحطة؟|يغادر القطار إلى برلين في الساعة التاسعة.|هل توجد محطة حافلات قريبة من هنا؟|لقد فقدت تذكرتي.|"
    "كم سعر القهوة؟|المتحف مغلق أيام الاثنين.|أختي تعيش في قرية صغيرة.|ستمطر غدا.|افتح النافذة من فضلك."
    "|الكتاب على الطاولة.",
}
POOL = [(code, line, text) for code, texts in SENTENCES.items() for line, text in enumerate(texts.split("|"))]
QUERY = ("ru", 0)
PARTS = {"sentence": "The encoder's vector", "meaning": "The meaning part"}
NEAREST = len(SENTENCES) - 1


def nearest(vectors: np.ndarray) -> np.ndarray:
    """The rows of the NEAREST most similar other rows, by cosine (N, NEAREST)."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    similarity = unit @ unit.T
    np.fill_diagonal(similarity, -np.inf)
    return np.argsort(-similarity, axis=1, kind="stable")[:, :NEAREST]


def column(x: int, title: str, rows: np.ndarray, mean: float) -> list[str]:
    """A list of neighbours: green where a row translates the query, red where it does not."""
    lines = [f'<text x="{x}" y="84" font-size="15" font-weight="bold">{escape(title)}</text>']
    english = SENTENCES["en"].split("|")
    for place, row in enumerate(rows):
        code, line, text = POOL[row]
        right = line == QUERY[1]
        y = 96 + 40 * place
        lines += [
            f'<rect x="{x}" y="{y}" width="410" height="36" rx="5" fill="{"#dff0dc" if right else "#f9dedc"}"/>',
            f'<text x="{x + 10}" y="{y + 23}" font-size="13" fill="#444444">{code}</text>',
            f'<text x="{x + 40}" y="{y + 16}" font-size="14">{escape(text)}</text>',
            f'<text x="{x + 40}" y="{y + 31}" font-size="11" fill="#666666">{escape(english[line])}</text>',
        ]
    words = f"over all {len(POOL)} queries, {mean:.1f} of the first {NEAREST} are translations"
    lines.append(f'<text x="{x}" y="356" font-size="12" fill="#444444">{words}</text>')
    return lines


def main() -> None:
    """Read the command line, encode, draw."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    given = parser.parse_args()
    model = orthoglot.load(given.model)
    number = next(row for row, (code, line, _) in enumerate(POOL) if (code, line) == QUERY)
    query = f"{POOL[number][2]} ({SENTENCES['en'].split('|')[QUERY[1]]})"
    lines = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 880 370" width="880" height="370" '
        'font-family="sans-serif" fill="#111111" role="img" aria-labelledby="title">',
        f'<title id="title">The nearest sentences of {escape(query)} before and after the split</title>',
        '<rect width="880" height="370" fill="#ffffff"/>',
        f'<text x="20" y="34" font-size="17">Query, in Russian: {escape(query)}</text>',
        '<text x="20" y="56" font-size="12" fill="#444444">among 70 sentences in seven languages; '
        "green: a translation of the query</text>",
    ]
    for x, (part, title) in zip((20, 450), PARTS.items(), strict=True):
        found = nearest(np.asarray(model.encode([text for *_, text in POOL], part=part)))
        translations = [[POOL[row][1] == POOL[of][1] for row in rows] for of, rows in enumerate(found)]
        mean = float(np.sum(translations, axis=1).mean())
        sys.stdout.write(f"{title}: {mean:.2f} of {NEAREST}\n")
        lines += column(x, title, found[number], mean)
    given.output.write_text("\n".join([*lines, "</svg>"]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
