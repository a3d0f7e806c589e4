# What all rules share. The plan (workflow/plan.py) knows each job by its key, a digest of settings, code and inputs.
# The output of a rule is the receipt of a folder, FOLDER/receipt/KEY.json; it exists when the job with this key is done.
# Inputs only give the order. Jobs that most others wait for go first (priority).
import shlex


wildcard_constraints:
    key="[0-9a-f]{16}",


SOURCE = shlex.quote(f"{workflow.basedir}/src").replace("{", "{{").replace("}", "}}")
# `to_log FILE`: all that a job prints goes to its log, and to the terminal what is left of long work (orthoglot.progress).
TO_LOG = 'to_log() {{ tee "$1" | sed -Eun "s/ (s|min) left$/&/p"; }}'
shell.prefix(f"set -euo pipefail; export PYTHONPATH={SOURCE}; {TO_LOG}; ")

# Jobs that use a GPU run one at a time; `--resources gpu=N`, or a cluster's profile, allows more.
workflow.global_resources.setdefault("gpu", 1)


def of(role, folder=None):
    """Input function: the receipts of a job's inputs with this role. The wildcards name the job by its key."""
    return lambda wildcards: receipts_of(
        plan.job(folder) if folder else plan.of_key(wildcards.key), role
    )


def job(folder=None):
    """Parameter function: the job as its verb reads it."""
    return lambda wildcards: plan.as_json(
        plan.job(folder).key if folder else wildcards.key
    )


def receipts_of(job, role):
    """Receipts of a job's inputs, whose times do not count.

    None for a job that is done, so that an input that is made again does not repeat it. For a job that must run again
    although its receipt exists, times count: Snakemake would forget it if one of its inputs is made again, too.
    """
    settings = workflow.dag_settings
    needed = [plan.jobs[folder] for folder in job.inputs.get(role, [])]
    found = [one.receipt for one in needed]
    if not plan.done(job.folder):
        return found if Path(job.receipt).exists() else ancient(found)
    if {job.verb, job.receipt} & set(settings.forcerun):
        return found
    present = (
        settings.forceall
        or settings.forcerun
        or all(plan.done(one.folder) for one in needed)
    )
    return ancient(found) if present else []


def gpu(wildcards):
    """Resource function: how many GPUs the job takes."""
    return plan.gpus(wildcards.key)
