
rule pretrain:
    input:
        job=job("models/{preset}/encoders/{encoder}"),
        needs=needs("models/{preset}/encoders/{encoder}"),
    output:
        touch(".jobs/models/{preset}/encoders/{encoder}.done"),
    log:
        "logs/{preset}/pretrain/{encoder}.log",
    conda:
        "../envs/orthoglot.yaml"
    threads: threads_of("models/{preset}/encoders/{encoder}")
    shell:
        "orthoglot pretrain {input.job} 2>&1 | tee {log}"


rule stage_encoders:
    input:
        plan.markers("pretrain"),
