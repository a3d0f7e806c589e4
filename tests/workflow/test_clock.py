"""No date decides what runs: a clock set forward, another time zone, files of any age, a leap day."""

from __future__ import annotations

import os
import random
import re
import shutil
import time
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from engine_runs import SNAKEMAKE, VECTORS, digests, failing_log, flip, folders, release, start_waiting
from workspace import ROOT, Workspace

DAY = 24 * 60 * 60
EARLY, LATE = "Pacific/Kiritimati", "Pacific/Pago_Pago"  # 25 hours apart
LEAP = datetime(2028, 2, 29, tzinfo=ZoneInfo(EARLY)).timestamp()
needs_faketime = pytest.mark.skipif(shutil.which("faketime") is None, reason="needs Debian's faketime")


def age(workspace: Workspace) -> None:
    """Take a day from the dates of all files, as if the clock had been set forward since they were written."""
    for path in workspace.folder.rglob("*"):
        if ".git" not in path.parts and not path.is_symlink():
            changed = path.stat().st_mtime_ns - DAY * 10**9
            os.utime(path, ns=(changed, changed))


def at(seconds: float) -> tuple[str, ...]:
    """What a command stands behind to see a clock that is so many seconds ahead; dates of files stay as they are."""
    return "env", "NO_FAKE_STAT=1", "faketime", "--exclude-monotonic", "-f", f"{seconds:+.0f}"


def test_a_run_goes_on_after_the_clock_was_set_forward(
    fresh: Workspace, finished: Workspace, tmp_path: Path
) -> None:
    workspace = fresh.copy(tmp_path / "w")
    start_waiting(workspace, "embeddings/mini/ems-mini", "env", f"TZ={EARLY}", *SNAKEMAKE).kill_all()
    before = folders(workspace)
    assert before
    age(workspace)
    release(workspace)
    ran = workspace.done_in(workspace.run(*SNAKEMAKE, TZ=LATE).stdout)
    assert sorted(before + ran) == folders(finished)
    assert digests(workspace) == digests(finished)
    assert workspace.jobs_due() == {}
    assert "up to date" in workspace.run("dvc", "status").stdout


def test_no_date_of_a_file_repeats_a_job_or_hides_a_change(done: Workspace) -> None:
    draw = random.Random(1)
    for path in sorted(done.folder.rglob("*")):
        if path.is_file() and not path.is_symlink() and ".git" not in path.parts:
            date = draw.choice([0, 1, int(LEAP), 2**31 + 1, 2**32 + 1])
            os.utime(path, (date, date))
    assert done.jobs_due() == {}
    assert "up to date" in done.run("dvc", "status").stdout
    assert done.run(str(Path(Workspace.programs) / "orthoglot"), "doctor").returncode == 0
    flip(done.folder / VECTORS, keep_time=True)
    assert done.jobs_due() == {"embed": 1}


def test_a_clock_set_back_is_an_error_and_a_new_date_its_remedy(done: Workspace, finished: Workspace) -> None:
    (command,) = re.findall(r"`(find .*?)`", (ROOT / "docs/reliability.md").read_text())
    for receipt in done.folder.glob("data/mini/bitext/*/receipt/*.json"):
        date = receipt.stat().st_mtime + DAY
        os.utime(receipt, (date, date))
    (done.folder / VECTORS).unlink()
    assert "has older modification time" in done.run(*SNAKEMAKE, check=False).stdout
    done.run("bash", "-c", command)
    done.run(*SNAKEMAKE)
    assert digests(done) == digests(finished)


def test_the_causes_of_a_failure_are_those_of_this_run_whatever_the_dates_of_the_logs(
    done: Workspace, tmp_path: Path
) -> None:
    old = done.folder / "logs/earlier.log"
    old.write_text("orthoglot: failed in an earlier run\n")
    os.utime(old, (LEAP, LEAP))
    (done.folder / VECTORS).unlink()
    # The job reports a failure, and its log has a date of long ago, as from a file server with another clock.
    failing = failing_log(tmp_path, 'echo "orthoglot: failed now" > "$1"; touch -d @1 "$1"')
    text = done.run(*SNAKEMAKE, check=False, PATH=f"{failing}:{done.path}").stdout
    assert "failed now" in text
    assert "failed in an earlier run" not in text


@needs_faketime
def test_a_leap_day_and_another_zone_change_no_byte(tmp_path: Path) -> None:
    plain = Workspace.make(tmp_path / "plain")
    loop = plain.folder / "src/orthoglot/training/loop.py"
    loop.write_text(re.sub(r"(?m)^(SECONDS_BETWEEN_SAVES) = .*$", r"\1 = 0.0", loop.read_text()))
    plain.edit(loss="dream")
    false = plain.copy(tmp_path / "false")
    plain.run(*SNAKEMAKE)

    ahead = LEAP - 10 - time.time()
    # Killed in a training that has saved its state, after midnight.
    false.kill_when("checkpoints/*/training.pt", *at(ahead), "env", f"TZ={EARLY}", *SNAKEMAKE)
    assert time.time() + ahead > LEAP
    before = folders(false)
    ran = false.done_in(false.run(*at(ahead), *SNAKEMAKE, TZ=LATE).stdout)
    assert sorted(before + ran) == folders(plain)
    assert digests(false) == digests(plain)
    assert any("resumed after" in log.read_text() for log in (false.folder / "logs").rglob("*.log"))
    assert false.jobs_due() == {}
    assert "up to date" in false.run("dvc", "status").stdout
