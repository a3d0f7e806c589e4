# make demo: set up, run the whole workflow on invented languages, print where the report is.
# make test: set up, check style and types, run every test.
PYTHON ?= python3
VENV ?= .venv
CORES ?= $(shell env -u OMP_NUM_THREADS nproc)
IN_VENV = . $(VENV)/bin/activate &&

.PHONY: demo test setup check clean

demo: setup
	$(IN_VENV) snakemake --cores $(CORES)
	@echo "report: $(CURDIR)/results/report.html"

test: setup check
	$(IN_VENV) pytest -n $(CORES) --dist loadfile

check: setup
	$(IN_VENV) ruff check . && ruff format --check . && mypy && lint-imports && snakefmt --check Snakefile workflow/rules && snakemake --lint

setup: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet -c constraints.txt -e ".[workflow,test]"
	touch $@

clean:
	rm -rf data embeddings models evaluations ablation tables results/receipt results/report.html results/records.* results/tables.md logs checkpoints .snakemake .cache
