
rule decompose:
    input:
        job=job("models/{preset}/decomposers/{encoder}/{method}/{seed}"),
        needs=needs("models/{preset}/decomposers/{encoder}/{method}/{seed}"),
    output:
        touch(".jobs/models/{preset}/decomposers/{encoder}/{method}/{seed}.done"),
    log:
        "logs/{preset}/decompose/{encoder}.{method}.{seed}.log",
    conda:
        "../envs/orthoglot.yaml"
    threads: 1
    shell:
        "orthoglot decompose {input.job} 2>&1 | tee {log}"


rule stage_decomposers:
    input:
        plan.markers("decompose"),
