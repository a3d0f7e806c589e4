"""The program: `orthoglot`, and `python -m orthoglot`, which is also what several processes of one training run."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; Ctrl-C ends the program with one line from its first moment on."""
    try:
        # Imported here, as that takes long enough to be stopped.
        from orthoglot.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("orthoglot: stopped: nothing was written; the same command begins anew\n")
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
