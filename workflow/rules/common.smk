# What every rule shares. A rule's first input is its job file: newer than the output exactly when the job is due
# (workflow/jobs.py); the receipts of earlier jobs only give the order.

shell.prefix(f"set -euo pipefail; export PYTHONPATH={HERE}/src; ")


def job(folder):
    """Input function: the job file of the output folder that the wildcards name."""
    return lambda wildcards: str(plan.jobs[folder.format(**wildcards)].file)


def needs(folder):
    """Input function: the receipts of the jobs that must be done before."""
    return lambda wildcards: ancient(plan.jobs[folder.format(**wildcards)].needs)
