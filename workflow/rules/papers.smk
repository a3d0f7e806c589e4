# tables/PAPER: a paper's published numbers next to those of this run; tables/KIND: next to an ablation of this run.
for folder in plan.tables():

    rule:
        name:
            f"tabulate_{Path(folder).name}"
        input:
            results=done("results", by=folder),
            variants=done(
                "ablation/{preset}/{paper}/{variant}/{seed}/encoder",
                "ablation/{preset}/{paper}/{variant}/{seed}/evaluation",
                by=folder,
            ),
        output:
            plan.job(folder).receipt,
            report(
                f"{folder}/{Path(folder).name}-table.html",
                caption="../report/paper.rst",
                category="Papers",
            ),
        log:
            f"logs/{folder}.{plan.job(folder).key}.log",
        benchmark:
            f"logs/{folder}.{plan.job(folder).key}.tsv"
        conda:
            "../envs/orthoglot.yaml"
        threads: 1
        resources:
            mem_mb=8000,
            runtime=60,
        params:
            job=job_of(folder),
            settings=["evaluation", "variants"],
        shell:
            "orthoglot study job tabulate <<< {params.job:q} 2>&1 | to_log {log:q}"
