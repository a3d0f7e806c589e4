ruleorder: gather > evaluate


# Scores of every task, part and seed
rule evaluate:
    input:
        encoder=done("models/{preset}/encoders/{encoder}"),
        vectors=done("embeddings/{preset}/{encoder}"),
        decomposers=done("models/{preset}/decomposers/{encoder}/{method}"),
        bitext=done("data/{preset}/bitext/{pair}"),
        benchmarks=done("data/{preset}/benchmarks/{benchmark}"),
    output:
        made("evaluations/{preset}/{encoder}/{method}"),
    log:
        log_of("evaluations/{preset}/{encoder}/{method}"),
    benchmark:
        benchmark_of("evaluations/{preset}/{encoder}/{method}")
    conda:
        "../envs/orthoglot.yaml"
    threads: 1
    resources:
        mem_mb=8000,
        runtime=240,
        gpu=gpu,
    params:
        job=job,
        settings=["encoders", "evaluation"],
    shell:
        "orthoglot study job evaluate <<< {params.job:q} 2>&1 | to_log {log:q}"


# All records, their tables and figures, and one HTML page
rule report:
    input:
        evaluations=done("evaluations/{preset}/{encoder}/{method}", by="results"),
        decomposers=done("models/{preset}/decomposers/{encoder}/{method}", by="results"),
        encoders=done("models/{preset}/encoders/{encoder}", by="results"),
        bitext=done("data/{preset}/bitext/{pair}", by="results"),
        text=done("data/{preset}/text/{language}", by="results"),
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
    benchmark:
        f"logs/results.{plan.job('results').key}.tsv"
    conda:
        "../envs/orthoglot.yaml"
    threads: 1
    resources:
        mem_mb=8000,
        runtime=60,
    params:
        job=job_of("results"),
        settings=["loss", "methods", "evaluation"],
    shell:
        "orthoglot study job report <<< {params.job:q} 2>&1 | to_log {log:q}"


# An encoder that goes on training on a benchmark, and what it scores
rule finetune:
    input:
        encoder=done("models/{preset}/encoders/{encoder}"),
        benchmarks=done("data/{preset}/benchmarks/{benchmark}"),
    output:
        made("evaluations/{preset}/{encoder}/fine-tuning/{benchmark}/seed{seed}"),
    log:
        log_of("evaluations/{preset}/{encoder}/fine-tuning/{benchmark}/seed{seed}"),
    benchmark:
        benchmark_of(
            "evaluations/{preset}/{encoder}/fine-tuning/{benchmark}/seed{seed}"
        )
    conda:
        "../envs/orthoglot.yaml"
    threads: cores
    resources:
        mem_mb=32000,
        runtime=2880,
        gpu=gpu,
    params:
        job=job,
        settings=["fine_tuning"],
    shell:
        "orthoglot study job finetune <<< {params.job:q} 2>&1 | to_log {log:q}"


# The records of an encoder's fine-tunings
rule gather:
    input:
        fine_tuned=done(
            "evaluations/{preset}/{encoder}/fine-tuning/{benchmark}/seed{seed}"
        ),
    output:
        made("evaluations/{preset}/{encoder}/fine-tuned"),
    log:
        log_of("evaluations/{preset}/{encoder}/fine-tuned"),
    benchmark:
        benchmark_of("evaluations/{preset}/{encoder}/fine-tuned")
    conda:
        "../envs/orthoglot.yaml"
    threads: 1
    resources:
        mem_mb=8000,
        runtime=60,
    params:
        job=job,
        settings=["encoders", "evaluation"],
    shell:
        "orthoglot study job gather <<< {params.job:q} 2>&1 | to_log {log:q}"
