"""The program: `orthoglot`, and `python -m orthoglot`. Trainings in several processes start each with this module."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command line; Ctrl-C ends the program with one line from its first moment on."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if stream is None:
            # It is closed. The next file that is opened would get its number, and what libraries print.
            os.open(os.devnull, os.O_RDWR)
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115 - until the end
    try:
        # Imported here, as that takes long enough to be stopped.
        from orthoglot.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("orthoglot: stopped: nothing was written; the same command begins anew\n")
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
