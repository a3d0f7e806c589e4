# models/PRESET/tokens/DIGEST: text as token ids, for all trainings that tokenise alike
rule tokenise:
    input:
        bitext=of("bitext"),
        text=of("corpora"),
        start=of("start"),
    output:
        "{folder}/receipt/{key}.json",
    log:
        "logs/{folder}.{key}.log",
    wildcard_constraints:
        folder="(models|ablation)/[^/]+/tokens/[^/]+",
    priority: 3
    conda:
        "../envs/orthoglot.yaml"
    threads: lambda wildcards: plan.threads(wildcards.key) or workflow.cores
    resources:
        mem_mb=8000,
        runtime=240,
    params:
        job=job(),
    shell:
        "RAYON_NUM_THREADS={threads} orthoglot tokenise - --processes {threads} <<< {params.job:q} 2>&1 | to_log {log:q}"


# models/PRESET/encoders/ENCODER, ablation/PRESET/KIND/VARIANT/SEED/encoder: a trained or linked encoder
rule pretrain:
    input:
        bitext=of("bitext"),
        text=of("corpora"),
        tokens=of("tokens"),
        start=of("start"),
        teacher=of("teacher"),
    output:
        "{folder}/receipt/{key}.json",
    log:
        "logs/{folder}.{key}.log",
    wildcard_constraints:
        folder="models/[^/]+/encoders/[^/]+|ablation/[^/]+/.+/encoder",
    priority: 3
    conda:
        "../envs/orthoglot.yaml"
    threads: lambda wildcards: plan.threads(wildcards.key) or workflow.cores
    resources:
        mem_mb=16000,
        runtime=1440,
        gpu=gpu,
    params:
        job=job(),
    shell:
        "orthoglot pretrain - <<< {params.job:q} 2>&1 | to_log {log:q}"
