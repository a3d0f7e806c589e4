# embeddings/PRESET/ENCODER, ablation/PRESET/KIND/VARIANT/SEED/embeddings: a vector for each distinct sentence
rule embed:
    input:
        encoder=of("encoder"),
        bitext=of("bitext"),
        benchmarks=of("benchmarks"),
    output:
        "{folder}/receipt/{key}.json",
    log:
        "logs/{folder}.{key}.log",
    wildcard_constraints:
        folder="embeddings/[^/]+/[^/]+|ablation/[^/]+/.+/embeddings",
    priority: 2
    conda:
        "../envs/orthoglot.yaml"
    threads: lambda wildcards: plan.threads(wildcards.key) or workflow.cores
    resources:
        mem_mb=lambda wildcards, threads: 6000 + 2000 * threads,
        runtime=720,
        gpu=gpu,
    params:
        job=job(),
    shell:
        "orthoglot embed - --processes {threads} <<< {params.job:q} 2>&1 | to_log {log:q}"
