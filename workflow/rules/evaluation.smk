# evaluations/PRESET/ENCODER/METHOD, ablation/PRESET/KIND/VARIANT/SEED/evaluation: scores of every task, view and seed
rule evaluate:
    input:
        encoder=of("encoder"),
        embeddings=of("embeddings"),
        decomposers=of("decomposers"),
        bitext=of("bitext"),
        benchmarks=of("benchmarks"),
    output:
        "{folder}/receipt/{key}.json",
    log:
        "logs/{folder}.{key}.log",
    wildcard_constraints:
        folder="evaluations/[^/]+/[^/]+/[^/]+|ablation/[^/]+/.+/evaluation",
    conda:
        "../envs/orthoglot.yaml"
    threads: 1
    resources:
        mem_mb=8000,
        runtime=240,
        gpu=gpu,
    params:
        job=job(),
    shell:
        "orthoglot evaluate-job - <<< {params.job:q} 2>&1 | to_log {log:q}"


# results/: all records, their tables and figures, and one HTML page
rule report:
    input:
        evaluations=of("evaluations", "results"),
        decomposers=of("decomposers", "results"),
        encoders=of("encoders", "results"),
        bitext=of("bitext", "results"),
        text=of("text", "results"),
    output:
        plan.job("results").receipt,
        page=report(
            "results/report.html", caption="../report/page.rst", category="Report"
        ),
        tables=report(
            "results/tables.md", caption="../report/tables.rst", category="Report"
        ),
        answer=report(
            "results/figures/answer.svg",
            caption="../report/answer.rst",
            category="Figures",
        ),
        training=report(
            "results/figures/training.svg",
            caption="../report/training.rst",
            category="Figures",
        ),
    log:
        f"logs/results.{plan.job('results').key}.log",
    conda:
        "../envs/orthoglot.yaml"
    threads: 1
    resources:
        mem_mb=8000,
        runtime=60,
    params:
        job=job("results"),
    shell:
        "orthoglot report - <<< {params.job:q} 2>&1 | to_log {log:q}"
