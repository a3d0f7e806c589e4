"""Published numbers and claims of four papers, compared with what a run measured."""
