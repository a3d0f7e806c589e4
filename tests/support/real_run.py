"""The miniature workflow with every kind of text and encoder, run for real."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import yaml
from opus_server import OpusServer, write_opus
from workspace import Workspace, programs

MLM = {
    "vocabulary": 100,
    "layers": 1,
    "width": 16,
    "heads": 2,
    "feed_forward": 32,
    "max_tokens": 16,
    "batch_size": 32,
    "steps": 20,
    "validate_every": 10,
    "warmup_steps": 5,
    "threads": 1,
}
LINKED = {
    "kind": "pretrained",
    "checkpoint": "texts/linked",
    "revision": "local",
    "pooling": "mean",
    "max_tokens": 16,
    "licence": "own",
}
AYMARA = [(f"kunas utji {n}", f"what is there, {n}") for n in range(300)]
GERMAN = [(f"the cat has {n} red hats", f"die Katze hat {n} rote Hüte") for n in range(300)]
VARIANTS = {
    "ems": {"ems": {}, "without-xtr": {"xtr_weight": 0.0}},
    "emma-x": {"full": {}, "phase-1-only": {"text": {"steps": 0}}},
}


def run_for_real(folder: Path) -> Workspace:
    """Invented, fetched and own text; a trained encoder, one more, and its copy as a linked one; ablations.

    The run is killed once between two epochs of a training.
    """
    workspace = Workspace.make(folder / "w", programs(folder / "bin", "traced_verb.py"))
    own = workspace.folder / "texts"
    (own / "mine.en-de.tsv").write_text("".join(f"{english}\t{german}\n" for english, german in GERMAN))
    (own / "test.de-en.tsv").write_text("".join(f"{german}\t{english}\n" for english, german in GERMAN[:30]))
    (workspace.folder / "catalogue/variants.yaml").write_text(yaml.safe_dump(VARIANTS))
    licence = {"licence": "own"}
    workspace.edit(
        loss="dream+oracle",
        presets__mini__corpora=["mini", "voices", "mine"],
        presets__mini__benchmarks=[
            "mini-tatoeba",
            "mini-nway",
            "mini-sts",
            "mini-qe",
            "mini-code-switched",
            "own",
        ],
        presets__mini__encoders=["ems-mini", "xlmr-mini"],
        presets__mini__ablations=[{"encoder": name, "seeds": [3]} for name in ("ems-mini", "emma-x-mini")],
        presets__mini__evaluation__long_tail=["qac"],
        corpora__voices={
            "kind": "opus",
            "corpus": "Voices",
            "version": "v1",
            "pairs": ["en-ay"],
            "listed": False,
            **licence,
        },
        corpora__mine={"kind": "local", "pairs": ["en-de"], "files": ["texts/mine.{pair}.tsv"], **licence},
        benchmarks__own={
            "kind": "local",
            "files": "texts/test.{foreign}-{pivot}.tsv",
            "languages": ["de"],
            "pivot": "en",
            **licence,
        },
        **{f"encoders__xlmr-mini__{name}": value for name, value in MLM.items()},
    )
    loop = workspace.folder / "src/orthoglot/training/loop.py"
    loop.write_text(re.sub(r"(?m)^(SECONDS_BETWEEN_SAVES) = .*$", r"\1 = 0.0", loop.read_text()))
    write_opus(folder / "opus", "Voices", {("aym", "en"): AYMARA})
    with OpusServer(folder / "opus") as server:
        api = {"ORTHOGLOT_OPUS_API": server.api}
        workspace.run("snakemake", "--cores", "2", "models/mini/encoders/xlmr-mini", **api)
    shutil.copytree(
        workspace.folder / "models/mini/encoders/xlmr-mini", own / "linked", ignore=lambda *_: ["receipt"]
    )
    workspace.edit(presets__mini__encoders=["ems-mini", "xlmr-mini", "linked"], encoders__linked=LINKED)
    command = "snakemake", "--cores", "2", "all", "ablation"
    workspace.kill_when("checkpoints/*/training.pt", *command)
    workspace.run(*command)
    return workspace
