# What can be named on the command line: the stages of dvc.yaml, every folder and its main files, tables of papers.
for stage, verbs in STAGES.items():

    rule:
        name:
            f"stage_{stage}"
        input:
            plan.receipts(*verbs),


# The rule is named like the path: a file that exists would not be made again, a rule asks for its receipt.
for path, receipt in plan.targets():

    rule:
        name:
            path
        input:
            receipt,

    # Snakemake keeps a name for each rule, and copies all names for each job: minutes for thousands of jobs.
    workflow.globals.pop(f"__{path}", None)


# The last step before encoders are trained.
rule tokens:
    input:
        plan.receipts("tokenise"),


# The tables and ablations below run more than `all`. An ablation that the preset does not allow is an error when it is named.
for paper in DECOMPOSER_PAPERS:

    rule:
        name:
            f"{paper}-table"
        input:
            plan.job(f"tables/{paper}").receipt,


for suite in SUITES:

    rule:
        name:
            f"{PAPERS[suite].suite}-table"
        input:
            plan.job(f"tables/{suite}").receipt,


# Every table that the preset allows, those of its ablations too.
rule papers:
    input:
        [plan.job(folder).receipt for folder in plan.tables()],


rule ablation:
    input:
        lambda wildcards: plan.ablations(),


for kind in ENCODER_PAPERS:

    rule:
        name:
            f"ablation_{kind.replace('-', '_')}"
        input:
            lambda wildcards, kind=kind: plan.job(f"tables/{kind}").receipt,


# The pairs of two texts: --config source=en.txt target=sw.txt, or `mine` in the preset.
rule mined:
    input:
        lambda wildcards: plan.job(f"mined/{plan.name}").receipt,
