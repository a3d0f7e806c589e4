"""`python -m orthoglot`, which is also what several processes of one training run."""

from orthoglot.cli import main

if __name__ == "__main__":
    main()
