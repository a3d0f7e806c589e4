# What all rules share. The plan (workflow/plan.py) knows each job by its key, a digest of settings, code and inputs.
# A rule makes a folder. What Snakemake sees of it is its receipt, FOLDER/receipt/KEY.json, which exists when the job with
# this key is done: `made` is the receipt of the folder that a rule makes, `done` are those of the folders that it reads.
# `params: settings` lists the settings that are part of the keys, by their names in params.yaml and the catalogue. It is for
# people, and tests check it: Snakemake does not look at it.
# Jobs that most others wait for go first (priority). mem_mb and runtime (minutes) are bounds for a scheduler, well above what
# the demo takes; docs/run.md says how to set them for other text. `benchmark` records max_rss in MB, and seconds.
import re
import shlex


wildcard_constraints:
    **dict.fromkeys(
        "preset corpus benchmark entry pair language tokens encoder method stack paper variant seed side number tile".split(),
        "[^/]+",
    ),
    key="[0-9a-f]{16}",


SOURCE = shlex.quote(f"{workflow.basedir}/src").replace("{", "{{").replace("}", "}}")
# `to_log FILE`: all that a job prints goes to its log, and to the terminal what is left of long work (orthoglot.progress).
TO_LOG = 'to_log() {{ tee "$1" | sed -Eun "s/ (s|min) left$/&/p"; }}'
shell.prefix(f"set -euo pipefail; export PYTHONPATH={SOURCE}; {TO_LOG}; ")

# Jobs that use a GPU run one at a time; `--resources gpu=N`, or a cluster's profile, allows more.
# A limit in profiles/default would hide those of the other profiles, and be lost with `--resources mem_mb=N`.
if "gpu" not in workflow.global_resources:
    workflow.register_resource("gpu", 1)


def made(folder):
    """The output of a rule: the receipt of a folder such as "data/{preset}/bitext/{pair}"."""
    return f"{folder}/receipt/{{key}}.json"


def log_of(folder):
    """The log of the job that makes a folder."""
    return f"logs/{folder}.{{key}}.log"


def benchmark_of(folder):
    """The file with the seconds and the memory of the job that makes a folder."""
    return f"logs/{folder}.{{key}}.tsv"


def done(*folders, by=None):
    """Input function: the receipts of those folders, such as "data/{preset}/bitext/{pair}", that the job reads.

    If the output lacks a name, as the output of `decompose` lacks {pair}, the job reads the folders of all pairs that the plan
    gives it. Files of the user are part of the key, and no inputs. `by` is the folder that the job makes, for a rule
    without wildcards.
    """
    names = "|".join(re.sub(r"{\w+}", "[^/]+", folder) for folder in folders)

    def inputs(wildcards):
        bridge.begin()
        return receipts_of(plan.job(by) if by else plan.of_key(wildcards.key), names)

    return inputs


def job(wildcards):
    """Parameter function: the job as `orthoglot study job VERB` reads it."""
    return plan.as_json(wildcards.key)


def job_of(folder):
    """Parameter function: likewise, for a rule without wildcards."""
    return lambda wildcards: plan.as_json(plan.job(folder).key)


def gpu(wildcards):
    """Resource function: how many GPUs the job takes; where a cluster runs it, all that it was given."""
    return plan.gpus(wildcards.key) if workflow.is_main_process else 0


def cores(wildcards):
    """Resource function: how many threads the job of an encoder takes."""
    return plan.threads(wildcards.key) or workflow.cores


def mining_mb(wildcards, attempt):
    """Resource function: memory of a job with a part of both texts.

    Vectors and candidates take 100 times the bytes of a part where a sentence has 40; shorter ones take more, and a job
    that is tried again gets twice as much.
    """
    return (4000 + 100 * plan.text_mb() // plan.preset.mine.parts) * attempt


def block_mb(wildcards, attempt):
    """Resource function: memory of a job with a block of cells, whose vectors lie in each cell that they look up."""
    mine = plan.preset.mine
    return (4000 + 60 * mine.probes * plan.text_mb() // mine.parts) * attempt


def receipts_of(job, names):
    """Receipts of a job's inputs, whose times do not count.

    A finished job reports no inputs, so that an input that is made again does not repeat it. Times count only where a
    job must run again although its receipt exists: without them Snakemake forgets the job if an input is made again.
    """
    settings = workflow.dag_settings
    needed = [
        plan.jobs[folder] for folder in job.folders if re.fullmatch(names, folder)
    ]
    receipts = [source.receipt for source in needed]
    if not plan.done(job.folder):
        if not Path(job.receipt).exists():
            return ancient(receipts)
        # Snakemake sees only that a receipt exists; if this damaged result is needed, its job runs again.
        if workflow.is_main_process:
            workflow.dag.forcefiles.add(job.receipt)
        return receipts
    if {job.verb, job.receipt} & set(settings.forcerun):
        return receipts
    present = (
        settings.forceall
        or settings.forcerun
        or all(plan.done(source.folder) for source in needed)
    )
    return ancient(receipts) if present else []
