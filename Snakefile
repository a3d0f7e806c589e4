import sys
from pathlib import Path

from snakemake.utils import min_version

min_version("9.20")
HERE = workflow.basedir
sys.path[:0] = [f"{HERE}/src", f"{HERE}/workflow"]

from orthoglot import config as parameters
from orthoglot.papers.published import ENCODER_PAPERS
from bridge import Bridge
from jobs import Plan

if config:
    raise ValueError("--config is not read: edit params.yaml, or use `dvc exp run -S`")
plan = Plan(parameters.load(Path("params.yaml")), workflow.resource_settings.cores or 1)
bridge = Bridge(workflow, plan)


include: "workflow/rules/common.smk"
include: "workflow/rules/corpora.smk"
include: "workflow/rules/encoders.smk"
include: "workflow/rules/embeddings.smk"
include: "workflow/rules/decomposers.smk"
include: "workflow/rules/evaluation.smk"
include: "workflow/rules/ablation.smk"


rule all:
    default_target: True
    input:
        plan.markers(),


onsuccess:
    bridge.commit()


onerror:
    bridge.tell_causes()
