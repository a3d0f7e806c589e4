# What every rule shares. A rule's output is a marker that is there exactly when its job is done (workflow/jobs.py);
# inputs only give the order, so none of their times counts.
# Of jobs that could start, those that most others wait for go first (priority): the last encoder is trained before the
# first is decomposed, so that both are decomposed side by side.
import shlex


# Not a folder within one: decomposers of an encoder called tokens are none.
wildcard_constraints:
    preset="[^/]+",


SOURCE = shlex.quote(str(Path(HERE, "src"))).replace("{", "{{").replace("}", "}}")
shell.prefix(f"set -euo pipefail; export PYTHONPATH={SOURCE}; ")


def job(folder):
    """Input function: the job file of the output folder that the wildcards name."""
    return lambda wildcards: ancient(str(plan.job(folder.format(**wildcards)).file))


def needs(folder):
    """Input function: the markers of the jobs that must be done before."""
    return lambda wildcards: ancient(plan.first(folder.format(**wildcards)))


def threads_of(folder):
    """Thread function: what the learning in this output folder takes."""
    return lambda wildcards: plan.threads(folder.format(**wildcards))


def jobs_of(part):
    """Input function: the job files of all decomposers that one process trains."""
    return lambda wildcards: ancient(
        [str(plan.jobs[folder].file) for folder in plan.part(part.format(**wildcards))]
    )


def needs_of(part):
    """Input function: the markers of the jobs that must be done before any of them."""
    return lambda wildcards: ancient(plan.first(*plan.part(part.format(**wildcards))))
