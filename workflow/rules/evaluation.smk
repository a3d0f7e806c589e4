
rule evaluate:
    input:
        job=job("evaluations/{preset}/{encoder}/{method}"),
        needs=needs("evaluations/{preset}/{encoder}/{method}"),
    output:
        touch(".jobs/evaluations/{preset}/{encoder}/{method}.done"),
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
        touch(".jobs/results.done"),
    log:
        "logs/report.log",
    conda:
        "../envs/orthoglot.yaml"
    threads: 1
    shell:
        "orthoglot report {input.job} 2>&1 | tee {log}"


rule stage_evaluation:
    input:
        plan.markers("evaluate", "report"),
