"""Other programs on the same text and, where they take vectors, the same vectors, in one run (README.md).

    python measurements/other-programs/peers.py align filter mine erase --model MODEL --peers PEERS \
        --shared ../shared --cache vectors.sqlite -o measurements/other-programs/peers

MODEL is a folder of `orthoglot fit`. Settings are those that each program ships with. PEERS is a folder with

- bertalign, SentAlign, LASER, sentence-transformers: their repositories; hunalign: built (`make` in src/hunalign);
- opusfilter, bicleaner: environments with `opusfilter` and `bicleaner-hardrules`.

vecalign, concept-erasure, and bertalign's numba are installed in the environment that runs this.
Writes OUTPUT.TASK.csv, and prints the page's tables.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import importlib
import io
import math
import re
import subprocess
import sys
import tempfile
import time
import types
from ast import literal_eval
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple

sys.path.extend(
    str(Path(__file__).resolve().parents[1] / name) for name in ("", "alignment", "mining", "scoring")
)

import alignment
import numpy as np
import pandas as pd
from alignment import Gold, f1, gale_church, interval, scores
from mining_quality import mixed, shares_of
from remembered import remembered
from scoring_quality import FALSE_DROP, KINDS, noisy
from tables import cell, rows, share, table, write
from tables import interval as spread

from orthoglot import Decomposer
from orthoglot.apply.align import align
from orthoglot.apply.documents import Document
from orthoglot.apply.model import Model, opened
from orthoglot.decomposers.base import unit

SEED, RESAMPLES = 1, 1000
LANGUAGES = ("de", "ru", "zh", "sw")
# Columns of NTREX: of the language, of a near and of a distant third one; a column of FLORES-200; the script.
NTREX = {
    "de": ("deu", "nld", "fra"),
    "ru": ("rus", "ukr", "deu"),
    "zh": ("zho-CN", "jpn", "deu"),
    "sw": ("swa", "kin", "fra"),
}
FLORES = {"en": "eng_Latn", "de": "deu_Latn", "ru": "rus_Cyrl", "zh": "zho_Hans", "sw": "swh_Latn"}
SCRIPTS = {"de": "Latin", "ru": "Cyrillic", "zh": "Han", "sw": "Latin"}
LINES, DEVELOPMENT = 800, 400
MINED = ("ru", "et", "si")
# Of OpusFilter's defaults, those that count words.
OF_WORDS = ("LengthRatioFilter.word", "LongWordFilter", "AverageWordLengthFilter", "LengthFilter")
Look = Callable[[Sequence[str]], np.ndarray]
Aligner = Callable[[list[str], list[str]], Gold]


class Documents(NamedTuple):
    """Documents in two languages, and which sentences of them translate each other."""

    text: str
    pair: tuple[str, str]
    texts: list[tuple[list[str], list[str]]]
    gold: list[Gold]


def run(*command: object, **options: Any) -> str:
    """What a program writes to standard output."""
    return subprocess.run(
        [*map(str, command)], check=True, stdout=subprocess.PIPE, text=True, **options
    ).stdout


# Alignment


def documents(shared: Path, peers: Path) -> Iterator[Documents]:
    """NTREX as in alignment.py, and Text+Berg, which bertalign has: yearbooks of an alpine club, aligned by hand."""
    text = alignment.disturbed(list(alignment.rows("ntrex", "test", shared)), SEED)
    for language in LANGUAGES:
        yield Documents(
            "NTREX",
            ("en", language),
            list(alignment._texts(text, language)),
            alignment._of_documents(text, text.gold),
        )
    folder = peers / "bertalign/text+berg"
    texts, gold = [], []
    for file in sorted((folder / "gold").iterdir()):
        german, french = (
            [line.strip() for line in (folder / side / file.name).read_text(encoding="utf-8").splitlines()]
            for side in ("de", "fr")
        )
        texts.append((german, french))
        links = [line.split(":")[:2] for line in file.read_text(encoding="utf-8").splitlines() if ":" in line]
        sides = [tuple(tuple(literal_eval(side)) for side in link) for link in links]
        gold.append([(source, target) for source, target in sides if source and target])
    yield Documents("Text+Berg", ("de", "fr"), texts, gold)


def ours(x: list[str], y: list[str], look: tuple[Look, Look], join: int) -> Gold:
    """`orthoglot align`, with --join."""
    documents = [Document(side, []) for side in (x, y)]
    sides = [
        [of(one.joined(size)) for size in range(1, join + 1)] for one, of in zip(documents, look, strict=True)
    ]
    lengths = tuple(one.lengths() for one in documents)
    return [
        (tuple(range(s, s + a)), tuple(range(t, t + b))) for s, t, a, b, _ in align(*sides, lengths=lengths)
    ]


def vecalign(x: list[str], y: list[str], look: tuple[Look, Look]) -> Gold:
    """Its function, with the defaults of its program."""
    from vecalign import dp_utils

    np.random.seed(42)  # as its program
    sides = []
    for side, of in zip((x, y), look, strict=True):
        texts = list(dict.fromkeys(dp_utils.yield_overlaps(side, 4)))
        numbers = {text: number for number, text in enumerate(texts)}
        sides.append(dp_utils.make_doc_embedding(numbers, of(texts), side, 4))
    stack = dp_utils.vecalign(
        *sides,
        final_alignment_types=dp_utils.make_alignment_types(4),
        del_percentile_frac=0.2,
        width_over2=math.ceil(4 / 2) + 5,
        max_size_full_dp=300,
        costs_sample_size=20000,
        num_samps_for_norm=100,
    )
    return linked(stack[0]["final_alignments"])


def bertalign(x: list[str], y: list[str], look: tuple[Look, Look], folder: Path) -> Gold:
    """Its class, whose module would load LaBSE and ask Google for the language."""
    package = types.ModuleType("bertalign")
    package.__path__ = [str(folder / "bertalign")]
    sys.modules["bertalign"] = package
    for name, member in (("googletrans", "Translator"), ("sentence_splitter", "SentenceSplitter")):
        sys.modules[name] = types.ModuleType(name)
        setattr(sys.modules[name], member, None)
    encoder = importlib.import_module("bertalign.encoder").Encoder
    package.model = encoder.__new__(encoder)
    module = importlib.import_module("bertalign.aligner")
    module.model, module.detect_lang = package.model, lambda _: "en"
    package.model.model_name = "the same"
    sides = iter(look)
    package.model.transform = lambda *given: encoder.transform(
        types.SimpleNamespace(model=types.SimpleNamespace(encode=next(sides))), *given
    )
    with contextlib.redirect_stdout(io.StringIO()):
        aligner = module.Bertalign("\n".join(x), "\n".join(y), is_split=True)
        aligner.align_sents()
    return linked(aligner.result)


def sentalign(x: list[str], y: list[str], look: tuple[Look, Look], folder: Path) -> Gold:
    """Its search for documents without anchors, of fewer than 4,000,000 pairs of sentences."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
    search = importlib.import_module("align_anchors").align_anchors
    vectors = []
    for side, of in zip((x, y), look, strict=True):
        texts = [" ".join(side[i : i + a]) for a in range(1, 5) for i in range(len(side) - a + 1)]
        vectors.append(dict(zip(texts, of(texts), strict=True)))
    anchors, quiet = ((-1, -1), (len(x), len(y))), types.SimpleNamespace(add_nodes=lambda _: None)
    given = dict(enumerate(x)), dict(enumerate(y)), *vectors
    # The defaults of sentAlign.py: cutoff, joined sentences, words at least and at most, penalties.
    _, path, _ = search(anchors, *given, 0.4, 4, 1, 110, 80, 0.01, 2, quiet)
    sides = [line.strip("[]").split(":") for line in path.split("\n") if line]
    return linked([[[int(n) for n in side.split(",") if n] for side in link] for link in sides])


def hunalign(x: list[str], y: list[str], folder: Path, chinese: bool) -> Gold:
    """With the dictionary that it makes of the text itself; it wants words between spaces."""
    with tempfile.TemporaryDirectory() as home:
        files = [Path(home) / name for name in ("null.dic", "source", "target")]
        files[0].touch()
        for file, side, single in zip(files[1:], (x, y), (False, chinese), strict=True):
            word = r"\w|[^\w\s]" if single else r"\w+|[^\w\s]"
            file.write_text("".join(" ".join(re.findall(word, one)) + "\n" for one in side), encoding="utf-8")
        # It writes its dictionary where it runs.
        program = folder / "src/hunalign/hunalign"
        ladder = run(program, "-utf", "-realign", *files, stderr=subprocess.DEVNULL, cwd=home)
    rungs = [[int(number) for number in line.split("\t")[:2]] for line in ladder.splitlines()]
    return linked([[range(i, k), range(j, last)] for (i, j), (k, last) in pairwise(rungs)])


def linked(links: Sequence[Sequence[Sequence[int]]]) -> Gold:
    """Links without those of one side alone."""
    return [(tuple(source), tuple(target)) for source, target in links if len(source) and len(target)]


def aligned(model: Model, shared: Path, peers: Path) -> Iterator[dict[str, Any]]:
    """A row for each text, aligner and part of the vectors; gain is F1 minus that of ours on the same vectors.

    `joined` counts sentences of a 1-1 link (`single`) that were linked together with a neighbour.
    """
    for text in documents(shared, peers):
        of_lengths: dict[str, Aligner] = {
            "Gale-Church": gale_church,
            "hunalign": partial(hunalign, folder=peers / "hunalign", chinese=text.pair[1] == "zh"),
        }
        ways: list[tuple[str, str, Aligner]] = [("none", name, way) for name, way in of_lengths.items()]
        for part in ("sentence", "meaning"):
            look = tuple(partial(_looked, model, part=part, language=language) for language in text.pair)
            ways += [
                (part, "orthoglot", partial(ours, look=look, join=3)),
                (part, "orthoglot --join 2", partial(ours, look=look, join=2)),
                (part, "orthoglot --join 4", partial(ours, look=look, join=4)),
                (part, "vecalign", partial(vecalign, look=look)),
                (part, "bertalign", partial(bertalign, look=look, folder=peers / "bertalign")),
                (part, "SentAlign", partial(sentalign, look=look, folder=peers / "SentAlign")),
            ]
        found: dict[tuple[str, str], np.ndarray] = {}
        draws = np.random.default_rng(SEED).integers(0, len(text.gold), (RESAMPLES, len(text.gold)))
        made = []
        single = [{source[0] for source, target in links if len(source + target) == 2} for links in text.gold]
        for part, name, way in ways:
            way(*text.texts[0])  # loads, compiles and encodes
            links = []
            started = time.perf_counter()
            for x, y in text.texts:
                links.append(way(x, y))
            found[part, name] = scores(links, text.gold)
            seconds = time.perf_counter() - started
            joined = sum(
                len({i for source, target in one if len(source + target) > 2 for i in source} & wanted)
                for one, wanted in zip(links, single, strict=True)
            )
            made.append((part, name, {"joined": joined, "seconds": seconds}))
        for part, name, facts in made:
            counts = found[part, name]
            against = found["sentence" if part == "none" else part, "orthoglot"]
            gaps = [f1(counts[some])[2] - f1(against[some])[2] for some in draws]
            precision, recall, middle = f1(counts)
            low, high = interval(counts)
            gain_low, gain_high = np.quantile(gaps, [0.025, 0.975])
            yield {
                "text": text.text,
                "pair": "-".join(text.pair),
                "part": part,
                "aligner": name,
                "precision": precision,
                "recall": recall,
                "f1": middle,
                "f1_low": low,
                "f1_high": high,
                "gain": middle - f1(against)[2],
                "gain_low": gain_low,
                "gain_high": gain_high,
                "gold": int(counts[:, 1].sum()),
                "single": sum(map(len, single)),
                "documents": len(counts),
                **facts,
            }


def _looked(model: Model, texts: Sequence[str], part: str, language: str) -> np.ndarray:
    if not len(texts):
        return np.empty((0, model.encoder.dim), dtype=np.float32)
    return unit(model.encode(list(texts), part=part, language=language))


def shown_align(found: list[dict[str, Any]]) -> None:
    """A row for each aligner, a column for each text, by undivided vectors; + and −: the interval of the gain."""
    names = list(dict.fromkeys((row["text"], row["pair"]) for row in found))
    by_aligner: dict[str, list[dict[str, Any]]] = {}
    for row in found:
        if row["part"] != "meaning":
            by_aligner.setdefault(row["aligner"], []).append(row)

    def f1_of(row: dict[str, Any]) -> str:
        mark = " +" if row["gain_low"] > 0 else " −" if row["gain_high"] < 0 else ""
        return f"{row['f1']:.1f} [{row['f1_low']:.1f}, {row['f1_high']:.1f}]{mark}"

    table(
        ["Aligner", *map(" ".join, names), "Seconds"],
        [
            [aligner, *map(f1_of, texts), f"{sum(row['seconds'] for row in texts):.1f}"]
            for aligner, texts in by_aligner.items()
        ],
    )


# Filtering


def filtered(model: Model, shared: Path, peers: Path) -> Iterator[dict[str, Any]]:
    """How many pairs of each kind each program drops."""
    from orthoglot.apply.score import GUESS, score

    data = shared / "data"
    for language in LANGUAGES:
        pair = ("en", language)
        lines = [
            (row["eng"], *(row[column] for column in NTREX[language]))
            for row in rows(data / "nway/ntrex128.tsv.gz")
        ]
        text = noisy(list(islice((line for line in lines if all(line)), LINES)), language, {})
        pairs = [(source, target) for source, target, _ in text]
        started = time.perf_counter()
        good = [
            (row[FLORES["en"]], row[FLORES[language]]) for row in rows(data / "nway/flores200.dev.tsv.gz")
        ]
        similar = [one.similarity for one in score(model, good[:DEVELOPMENT], pair)]
        threshold = float(np.quantile(similar, FALSE_DROP))
        scored = list(score(model, pairs, pair))
        dropped = {
            "orthoglot": [
                one.score < threshold or (bool(one.flag) and not one.flag.endswith(GUESS)) for one in scored
            ],
        }
        seconds = {"orthoglot": time.perf_counter() - started}
        for name, way in {
            "OpusFilter, defaults": partial(opusfilter, method="defaults"),
            "OpusFilter, clustering": partial(opusfilter, method="clustering"),
            "bicleaner-hardrules": bicleaner,
        }.items():
            started = time.perf_counter()
            dropped[name] = way(pairs, language, peers)
            seconds[name] = time.perf_counter() - started
        dropped["OpusFilter, defaults, then orthoglot"] = [
            any(both) for both in zip(dropped["OpusFilter, defaults"], dropped["orthoglot"], strict=True)
        ]
        for name, flags in dropped.items():
            for kind in ("", *KINDS[:-1]):
                some = [flag for flag, (_, _, of) in zip(flags, text, strict=True) if of == kind]
                about = {"language": language, "filter": name, "kind": kind or "translation"}
                yield about | {"n": len(some), "dropped": sum(some), "seconds": seconds.get(name, 0.0)}


def opusfilter(pairs: list[tuple[str, str]], language: str, peers: Path, method: str) -> list[bool]:
    """With the configuration that its own generator writes; of Chinese without the filters that count words."""
    import yaml  # of the workflow

    programs = peers / "opusfilter/bin"
    with tempfile.TemporaryDirectory() as home:
        files = [Path(home) / name for name in ("en", language)]
        for file, side in zip(files, zip(*pairs, strict=True), strict=True):
            file.write_text("".join(f"{one}\n" for one in side), encoding="utf-8")
        about = ["--langs", "en", language, "--scripts", "Latin", SCRIPTS[language], "--method", method]
        written_to = Path(home) / "config.yaml"
        run(
            programs / "opusfilter-autogen", "--files", *files, *about, "--work-dir", home, "-o", written_to,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        config = yaml.safe_load(written_to.read_text(encoding="utf-8"))
        step = config["steps"][-1]["parameters"]
        if language == "zh":
            step["filters"] = [one for one in step["filters"] if not _of_words(one)]
        written_to.write_text(yaml.safe_dump(config), encoding="utf-8")
        run(programs / "opusfilter", written_to, stderr=subprocess.DEVNULL)
        sides = []
        for name in step["outputs"]:
            with gzip.open(Path(home) / name, "rt", encoding="utf-8", newline="\n") as kept_file:
                sides.append([line.strip() for line in kept_file])
    kept = iter(zip(*sides, strict=True))
    wanted, dropped = next(kept, None), []
    for source, target in pairs:
        same = wanted == (source.strip(), target.strip())
        dropped.append(not same)
        wanted = next(kept, None) if same else wanted
    if wanted is not None:
        raise SystemExit(f"OpusFilter kept a pair that it was not given: {wanted}")
    return dropped


def _of_words(one: dict[str, Any]) -> bool:
    (name, options), *_ = one.items()
    return name in OF_WORDS or options.get("unit") == "word"


def bicleaner(pairs: list[tuple[str, str]], language: str, peers: Path) -> list[bool]:
    """Its rules alone: language identification, fluency and vulgarity need models that were not to be had."""
    with tempfile.TemporaryDirectory() as home:
        files = [Path(home) / name for name in ("pairs", "rated")]
        files[0].write_text("".join("\t".join(pair) + "\n" for pair in pairs), encoding="utf-8")
        without = ["--disable_lang_ident", "--disable_lm_filter", "--disable_porn_removal"]
        about = ["-s", "en", "-t", language, "--scol", 1, "--tcol", 2, "-p", 1, "-q"]
        run(peers / "bicleaner/bin/bicleaner-hardrules", *about, *without, *files)
        return [line.split("\t")[2] == "0" for line in files[1].read_text(encoding="utf-8").splitlines()]


def shown_filter(found: list[dict[str, Any]]) -> None:
    """Shares of each kind, of all languages; then good translations by language."""
    names = list(dict.fromkeys(row["filter"] for row in found))
    kinds = list(dict.fromkeys(row["kind"] for row in found))
    lines = []
    for kind in kinds:
        of = {name: [row for row in found if (row["kind"], row["filter"]) == (kind, name)] for name in names}
        n = sum(row["n"] for row in of[names[0]])
        lines.append([kind, str(n), *(share(sum(row["dropped"] for row in some), n) for some in of.values())])
    table(["Dropped, %", "n", *names], lines)
    good = [row for row in found if row["kind"] == "translation"]
    lines = [
        [name, *(share(row["dropped"], row["n"]) for row in good if row["filter"] == name)] for name in names
    ]
    table(["Good translations dropped, %", *(f"en-{language}" for language in LANGUAGES)], lines)


# Mining


def mined(model: Model, shared: Path, peers: Path) -> Iterator[dict[str, Any]]:
    """A row for each set, program and part of the vectors; a threshold of ours is learnt on FLORES-200."""
    from orthoglot.apply.calibrate import calibrate
    from orthoglot.apply.mine import mine
    from orthoglot.search.margins import best_threshold

    for language in MINED:
        one = mixed(shared / "data", shared / "data_more", language)
        place = [{text: row for row, text in enumerate(side)} for side in (one.source, one.target)]
        gold = {(place[0][source], place[1][target]) for source, target in one.gold}
        draws = np.random.default_rng(SEED).multinomial(
            len(one.source), np.full(len(one.source), 1 / len(one.source)), RESAMPLES
        )
        for part in ("sentence", "meaning"):
            x, y = (
                unit(model.encode(side, part=part, language=of))
                for side, of in zip((one.source, one.target), one.pair, strict=True)
            )
            started = time.perf_counter()
            pairs, _ = mine(x, y)
            first = (pairs.sources, pairs.targets, pairs.margins)
            made = {"orthoglot": (first, time.perf_counter() - started)}
            for name, way in (("LASER", laser), ("sentence-transformers", sentence_transformers)):
                started = time.perf_counter()
                made[name] = (way(x, y, peers), time.perf_counter() - started)
            learnt = calibrate(
                model, one.development, languages=one.pair, part=part, share=one.share,
                among=((one.source, x), (one.target, y)), target_precision=0.95,
            )  # fmt: skip
            own = {*zip(first[0].tolist(), first[1].tolist(), strict=True)}
            for name, ((sources, targets, margins), seconds) in made.items():
                found = [*zip(sources.tolist(), targets.tolist(), strict=True)]
                right = np.array([pair in gold for pair in found])
                shipped = {"orthoglot": learnt.threshold, "LASER": 0.0, "sentence-transformers": 1.2}
                cuts = {"best_": best_threshold(margins, right, len(gold)).value, "": shipped[name]}
                row = {"set": f"{language}-en", "part": part, "program": name, "gold": len(gold)}
                row |= {"same": len(own & {*found}) / len(own), "seconds": seconds}
                for cut, threshold in cuts.items():
                    kept = margins >= threshold
                    row |= {f"{cut}threshold": threshold, f"{cut}mined": int(kept.sum())}
                    lines = np.bincount([source for source, _ in gold], minlength=len(one.source))
                    values = shares_of(sources[kept], right[kept], lines, draws)
                    for what, drawn in values.items():
                        row |= {f"{cut}{what}": float(drawn[0])}
                        row |= dict(
                            zip((f"{cut}{what}_low", f"{cut}{what}_high"), spread(drawn[1:]), strict=True)
                        )
                yield row


def laser(x: np.ndarray, y: np.ndarray, peers: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Its program mine_bitexts.py, which imports its encoders to read the vectors of a file."""
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        (folder / "lib").mkdir()
        (folder / "lib/__init__.py").touch()
        (folder / "lib/text_processing.py").write_text("Token = BPEfastApply = None\n")
        (folder / "embed.py").write_text(
            "import numpy as np\nSentenceEncoder = EncodeLoad = EncodeFile = None\n"
            "def EmbedLoad(name, dim, **_):\n    return np.fromfile(name, dtype=np.float32).reshape(-1, dim)\n"
        )
        for name, side in (("x", x), ("y", y)):
            side.astype(np.float32).tofile(folder / f"{name}.emb")
            (folder / name).write_text("".join(f"{row}\n" for row in range(len(side))))
        environment = {"PYTHONPATH": home, "LASER": str(peers / "LASER"), "OMP_NUM_THREADS": "1"}
        about = [
            "--src-lang",
            "x",
            "--trg-lang",
            "y",
            "--mode",
            "mine",
            "--dim",
            x.shape[1],
            "--output",
            folder / "out",
        ]
        vectors = ["--src-embeddings", folder / "x.emb", "--trg-embeddings", folder / "y.emb"]
        program = peers / "LASER/source/mine_bitexts.py"
        run(sys.executable, program, folder / "x", folder / "y", *about, *vectors, env=environment)
        lines = [line.split("\t") for line in (folder / "out").read_text().splitlines()]
    margins, sources, targets = (np.array(column, dtype=float) for column in zip(*lines, strict=True))
    return sources.astype(int), targets.astype(int), margins


def sentence_transformers(
    x: np.ndarray, y: np.ndarray, peers: Path
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Its example's functions, with cells as its example has them; one to one by falling margin."""
    folder = (
        peers / "sentence-transformers/examples/sentence_transformer/applications/parallel-sentence-mining"
    )
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
    theirs = importlib.import_module("bitext_mining_utils")
    with contextlib.redirect_stdout(io.StringIO()):
        (near_x, ahead), (near_y, back) = theirs.kNN(x, y, 4, True), theirs.kNN(y, x, 4, True)
    means = near_x.mean(axis=1), near_y.mean(axis=1)
    forward = theirs.score_candidates(x, y, ahead, *means, lambda a, b: a / b)
    backward = theirs.score_candidates(y, x, back, *reversed(means), lambda a, b: a / b)
    sources = np.concatenate([np.arange(len(x)), back[np.arange(len(y)), backward.argmax(axis=1)]])
    targets = np.concatenate([ahead[np.arange(len(x)), forward.argmax(axis=1)], np.arange(len(y))])
    margins = np.concatenate([forward.max(axis=1), backward.max(axis=1)])
    seen: tuple[set[int], set[int]] = (set(), set())
    kept = []
    for row in np.argsort(-margins):
        if sources[row] not in seen[0] and targets[row] not in seen[1]:
            seen[0].add(sources[row])
            seen[1].add(targets[row])
            kept.append(row)
    return sources[kept], targets[kept], margins[kept]


def shown_mine(found: list[dict[str, Any]]) -> None:
    """A row for each set and program, by the undivided vectors."""
    heads = ["Set", "Program", "Best F1", "Threshold as shipped", "Precision", "Recall", "Pairs as ours"]
    lines = [
        [
            row["set"],
            row["program"],
            cell(row, "best_f1"),
            f"{row['threshold']:.3f}",
            *(cell(row, part) for part in ("precision", "recall")),
            f"{100 * row['same']:.1f}",
        ]
        for row in found
        if row["part"] == "sentence"
    ]
    table(heads, lines)


# Taking the language out


def erased(model: Model, shared: Path, peers: Path) -> Iterator[dict[str, Any]]:
    """A row for each method: fitted on FLORES-200's dev set in five languages, tested on NTREX."""
    import torch
    from concept_erasure import LeaceEraser, OracleEraser, QuadraticEraser
    from sklearn.linear_model import LogisticRegression

    nway = shared / "data/nway"
    languages = ("en", *LANGUAGES)
    columns = {"en": "eng", **{language: names[0] for language, names in NTREX.items()}}
    texts = [
        {
            language: [row[named[language]] for row in lines if all(row[one] for one in named.values())]
            for language in languages
        }
        for lines, named in (
            (list(rows(nway / "flores200.dev.tsv.gz")), FLORES),
            (list(rows(nway / "ntrex128.tsv.gz")), columns),
        )
    ]
    fit, test = (
        {language: np.asarray(model.encode(side, part="sentence")) for language, side in of.items()}
        for of in texts
    )
    a = np.concatenate([fit["en"]] * len(LANGUAGES))
    b = np.concatenate([fit[language] for language in LANGUAGES])
    of_b = [language for language in LANGUAGES for _ in fit["en"]]
    x = torch.from_numpy(np.concatenate([a, b])).double()
    labels = torch.tensor([0] * len(a) + [languages.index(language) for language in of_b])
    one_hot = torch.nn.functional.one_hot(labels).double()

    def fitted(method: str) -> Callable[[np.ndarray, str], np.ndarray]:
        one = Decomposer(method).fit(a, b, "en", of_b)
        return lambda vectors, language: one.transform(vectors, language)

    def eraser(method: str) -> Callable[[np.ndarray, str], np.ndarray]:
        if method == "QLEACE":
            quadratic = QuadraticEraser.fit(x, labels)
            return lambda vectors, language: quadratic(
                torch.from_numpy(vectors).double(), torch.full((len(vectors),), languages.index(language))
            ).numpy()
        if method == "Oracle":
            oracle = OracleEraser.fit(x, one_hot)
            return lambda vectors, language: oracle(
                torch.from_numpy(vectors).double(),
                one_hot[labels == languages.index(language)][:1].repeat(len(vectors), 1),
            ).numpy()
        options = {
            "LEACE": {},
            "LEACE, no shrinkage": {"shrinkage": False, "svd_tol": 1e-9, "constrain_cov_trace": False},
            "orth": {"method": "orth"},
        }[method]
        one = LeaceEraser.fit(x, one_hot, **options)
        return lambda vectors, _: one(torch.from_numpy(vectors).double()).numpy()

    ways: list[tuple[str, str, Callable[..., Any]]] = [
        ("–", "undivided", lambda _: lambda vectors, _: vectors)
    ]
    ways += [("orthoglot", name, fitted) for name in ("leace", "centering", "lir", "lsar", "plda")]
    ways += [
        ("concept-erasure", name, eraser)
        for name in ("LEACE", "LEACE, no shrinkage", "orth", "Oracle", "QLEACE")
    ]
    reference: dict[str, np.ndarray] = {}
    for program, name, way in ways:
        started = time.perf_counter()
        apply = way(name)
        seconds = time.perf_counter() - started
        meaning = {language: apply(vectors, language) for language, vectors in test.items()}
        if name == "leace":
            reference = meaning
        parts = {language: unit(np.asarray(one, dtype=np.float64)) for language, one in meaning.items()}
        hits = []
        for language in LANGUAGES:
            cosine = parts["en"] @ parts[language].T
            diagonal = np.diag(cosine)
            hits.append([cosine.max(axis=1) == diagonal, cosine.max(axis=0) == diagonal])
        of_sentence = np.mean(hits, axis=(0, 1))
        # The neighbours of a sentence among all sentences of all languages, how many of ten have its language.
        every = np.concatenate([*parts.values()])
        of = np.repeat(np.arange(len(languages)), len(parts["en"]))
        near = every @ every.T
        np.fill_diagonal(near, -2)
        own = (of[np.argpartition(-near, 10, axis=1)[:, :10]] == of[:, None]).mean(axis=1)
        own = own.reshape(len(languages), -1).mean(axis=0)
        # A linear probe learnt on one half of the sentences, tested on the other.
        half = np.arange(len(parts["en"])) % 2 == 0
        train = np.tile(half, len(languages))
        probe = LogisticRegression(max_iter=300).fit(every[train], of[train])
        probed = (probe.predict(every) == of).reshape(len(languages), -1).mean(axis=0)
        row: dict[str, Any] = {"program": program, "method": name, "n": len(own), "seconds": seconds}
        for what, values in (("p1", of_sentence), ("own", own), ("probe", probed[~half])):
            draws = np.random.default_rng(SEED).integers(0, len(values), (RESAMPLES, len(values)))
            low, high = np.quantile(values[draws].mean(axis=1), [0.025, 0.975])
            row |= {what: float(values.mean()), f"{what}_low": float(low), f"{what}_high": float(high)}
        row["from_leace"] = np.nan
        if program == "concept-erasure":
            row["from_leace"] = max(float(np.abs(meaning[one] - reference[one]).max()) for one in languages)
        yield row


def shown_erase(found: list[dict[str, Any]]) -> None:
    """A row for each method."""
    heads = ["Program", "Method", "P@1", "Own language", "Probe", "Largest difference from ours"]
    lines = [
        [
            row["program"],
            row["method"],
            *(cell(row, what) for what in ("p1", "own", "probe")),
            "–" if np.isnan(row["from_leace"]) else f"{row['from_leace']:.0e}",
        ]
        for row in found
    ]
    table(heads, lines)


TASKS = {
    "align": (aligned, shown_align),
    "filter": (filtered, shown_filter),
    "mine": (mined, shown_mine),
    "erase": (erased, shown_erase),
}


def read(records: Path) -> list[dict[str, Any]]:
    """The rows of a CSV file."""
    return pd.read_csv(records, keep_default_na=False, na_values=["nan"]).to_dict("records")


def main() -> None:
    """Read the command line, measure, write the records, print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tasks", nargs="+", choices=[*TASKS])
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--peers", type=Path, required=True)
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    parser.add_argument("--cache", type=Path, default=Path("vectors.sqlite"))
    parser.add_argument("-o", "--output", type=Path, required=True, help="start of the CSV files' names")
    given = parser.parse_args()
    import torch

    torch.set_num_threads(1)
    decomposer, home = opened(given.model)
    model = Model(remembered(home, given.cache), decomposer, "peers")
    for task in given.tasks:
        measure, show = TASKS[task]
        records = given.output.with_name(f"{given.output.name}.{task}.csv")
        write(records, list(measure(model, given.shared, given.peers.resolve())), 0)
        show(read(records))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
