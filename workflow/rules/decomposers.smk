# models/PRESET/decomposers/ENCODER/METHOD: a folder seedN for each seed
rule decompose:
    input:
        encoder=of("encoder"),
        embeddings=of("embeddings"),
        bitext=of("bitext"),
    output:
        "{folder}/receipt/{key}.json",
    log:
        "logs/{folder}.{key}.log",
    wildcard_constraints:
        folder="models/[^/]+/decomposers/[^/]+/[^/]+",
    priority: 1
    conda:
        "../envs/orthoglot.yaml"
    threads: 1
    resources:
        mem_mb=8000,
        runtime=720,
        gpu=gpu,
    params:
        job=job(),
    shell:
        "orthoglot decompose - <<< {params.job:q} 2>&1 | to_log {log:q}"
