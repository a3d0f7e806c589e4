# A vector for each distinct sentence
rule embed:
    input:
        encoder=done("models/{preset}/encoders/{encoder}"),
        bitext=done("data/{preset}/bitext/{pair}"),
        benchmarks=done("data/{preset}/benchmarks/{benchmark}"),
    output:
        made("embeddings/{preset}/{encoder}"),
    log:
        log_of("embeddings/{preset}/{encoder}"),
    benchmark:
        benchmark_of("embeddings/{preset}/{encoder}")
    priority: 2
    conda:
        "../envs/orthoglot.yaml"
    threads: cores
    resources:
        mem_mb=lambda wildcards, threads: 6000 + 2000 * threads,
        runtime=720,
        gpu=gpu,
    params:
        job=job,
        settings=["embedding"],
    shell:
        "orthoglot study job embed --processes {threads} <<< {params.job:q} 2>&1 | to_log {log:q}"
