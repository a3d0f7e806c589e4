
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


rule tabulate:
    input:
        job=job("tables/{paper}"),
        needs=needs("tables/{paper}"),
    output:
        touch(".jobs/tables/{paper}.done"),
    log:
        "logs/tabulate/{paper}.log",
    wildcard_constraints:
        paper="oracle|seed",
    conda:
        "../envs/orthoglot.yaml"
    threads: 1
    shell:
        "orthoglot tabulate {input.job} 2>&1 | tee {log}"


# Targets on demand: a paper's tables with the numbers of this run beside the printed ones.
rule:
    name:
        "oracle-table"
    input:
        ".jobs/tables/oracle.done",


rule:
    name:
        "seed-table"
    input:
        ".jobs/tables/seed.done",
