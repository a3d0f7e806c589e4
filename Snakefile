import sys
from pathlib import Path

from snakemake.utils import min_version

min_version("9.20")
sys.path[:0] = [f"{workflow.basedir}/src", f"{workflow.basedir}/workflow"]

from bridge import IMAGE, Bridge
from orthoglot.study import config as parameters
from orthoglot.study.papers.published import (
    DECOMPOSER_PAPERS,
    ENCODER_PAPERS,
    PAPERS,
    SUITES,
)
from plan import STAGES, Plan

plan = Plan(parameters.load(Path("params.yaml"), config))
bridge = Bridge(workflow, plan, lambda: Plan(parameters.load(Path("params.yaml"))))


# Counts with `--sdm apptainer` alone. Its user builds the image: none is published (docs/run.md#containers).
container: IMAGE


include: "workflow/rules/common.smk"
include: "workflow/rules/corpora.smk"
include: "workflow/rules/encoders.smk"
include: "workflow/rules/embeddings.smk"
include: "workflow/rules/decomposers.smk"
include: "workflow/rules/evaluation.smk"
include: "workflow/rules/ablation.smk"
include: "workflow/rules/papers.smk"
include: "workflow/rules/mining.smk"
include: "workflow/rules/targets.smk"


rule all:
    default_target: True
    input:
        plan.receipts(),


onsuccess:
    bridge.commit()
