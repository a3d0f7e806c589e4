rule decompose:
    input:
        jobs=jobs_of("models/{preset}/decomposers/{encoder}/{part}"),
        needs=needs_of("models/{preset}/decomposers/{encoder}/{part}"),
    output:
        touch(".jobs/models/{preset}/decomposers/{encoder}/{part}.done"),
    log:
        "logs/{preset}/decompose/{encoder}.{part}.log",
    priority: 1
    conda:
        "../envs/orthoglot.yaml"
    threads: 1
    shell:
        "orthoglot decompose {input.jobs} 2>&1 | tee {log}"


rule stage_decomposers:
    input:
        plan.markers("decompose"),
