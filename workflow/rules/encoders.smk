# For every encoder that is trained on pairs here; those that cut text alike share one folder.
rule tokenise:
    input:
        job=job("models/{preset}/tokens/{tokens}"),
        needs=needs("models/{preset}/tokens/{tokens}"),
    output:
        touch(".jobs/models/{preset}/tokens/{tokens}.done"),
    log:
        "logs/{preset}/tokenise/{tokens}.log",
    priority: 3
    conda:
        "../envs/orthoglot.yaml"
    threads: threads_of("models/{preset}/tokens/{tokens}")
    shell:
        "RAYON_NUM_THREADS={threads} orthoglot tokenise {input.job} 2>&1 | tee {log}"


rule pretrain:
    input:
        job=job("models/{preset}/encoders/{encoder}"),
        needs=needs("models/{preset}/encoders/{encoder}"),
    output:
        touch(".jobs/models/{preset}/encoders/{encoder}.done"),
    log:
        "logs/{preset}/pretrain/{encoder}.log",
    priority: 3
    conda:
        "../envs/orthoglot.yaml"
    threads: threads_of("models/{preset}/encoders/{encoder}")
    shell:
        "orthoglot pretrain {input.job} 2>&1 | tee {log}"


rule stage_encoders:
    input:
        plan.markers("tokenise", "pretrain"),
