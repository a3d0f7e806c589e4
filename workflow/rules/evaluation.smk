
rule evaluate:
    input:
        job=job("evaluations/{preset}/{encoder}/{method}"),
        needs=needs("evaluations/{preset}/{encoder}/{method}"),
    output:
        "evaluations/{preset}/{encoder}/{method}/receipt.json",
    log:
        "logs/{preset}/evaluate/{encoder}.{method}.log",
    conda:
        "../envs/orthoglot.yaml"
    threads: 1
    shell:
        "orthoglot evaluate {input.job} 2>&1 | tee {log}"


rule report:
    input:
        job=job("results"),
        needs=needs("results"),
    output:
        "results/receipt.json",
    log:
        "logs/report.log",
    conda:
        "../envs/orthoglot.yaml"
    threads: 1
    shell:
        "orthoglot report {input.job} 2>&1 | tee {log}"


rule stage_evaluation:
    input:
        plan.outputs("evaluate", "report"),
