# Text as token ids, for all trainings that tokenise alike
rule tokenise:
    input:
        bitext=done("data/{preset}/bitext/{pair}"),
        text=done("data/{preset}/text/{language}"),
        start=done("models/{preset}/encoders/{encoder}"),
    output:
        made("models/{preset}/tokens/{tokens}"),
    log:
        log_of("models/{preset}/tokens/{tokens}"),
    benchmark:
        benchmark_of("models/{preset}/tokens/{tokens}")
    priority: 3
    conda:
        "../envs/orthoglot.yaml"
    threads: cores
    resources:
        mem_mb=8000,
        runtime=240,
    params:
        job=job,
        settings=["encoders"],
    shell:
        "RAYON_NUM_THREADS={threads} orthoglot study job tokenise --processes {threads} <<< {params.job:q} 2>&1 | to_log {log:q}"


# A trained encoder, or one that was trained elsewhere
rule pretrain:
    input:
        bitext=done("data/{preset}/bitext/{pair}"),
        text=done("data/{preset}/text/{language}"),
        tokens=done("models/{preset}/tokens/{tokens}"),
        before=done("models/{preset}/encoders/{encoder}"),
    output:
        made("models/{preset}/encoders/{encoder}"),
    log:
        log_of("models/{preset}/encoders/{encoder}"),
    benchmark:
        benchmark_of("models/{preset}/encoders/{encoder}")
    priority: 3
    conda:
        "../envs/orthoglot.yaml"
    threads: cores
    resources:
        mem_mb=lambda wildcards: 18000 * plan.processes(wildcards.key),
        runtime=1440,
        nodes=1,
        gpu=gpu,
    params:
        job=job,
        settings=["encoders", "variants"],
    shell:
        "orthoglot study job pretrain <<< {params.job:q} 2>&1 | to_log {log:q}"
