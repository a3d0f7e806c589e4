# data/PRESET/invented/CORPUS: invented languages with every kind of gold label
rule generate:
    output:
        "{folder}/receipt/{key}.json",
    log:
        "logs/{folder}.{key}.log",
    wildcard_constraints:
        folder="data/[^/]+/invented/[^/]+",
    conda:
        "../envs/orthoglot.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        job=job(),
    shell:
        "orthoglot generate - <<< {params.job:q} 2>&1 | to_log {log:q}"


# data/PRESET/opus/CORPUS: archives from OPUS, the only job that uses the network
rule fetch:
    output:
        "{folder}/receipt/{key}.json",
    log:
        "logs/{folder}.{key}.log",
    wildcard_constraints:
        folder="data/[^/]+/opus/[^/]+",
    conda:
        "../envs/orthoglot.yaml"
    threads: 4  # archives that it fetches at once
    resources:
        mem_mb=2000,
        runtime=720,
    params:
        job=job(),
    shell:
        "orthoglot fetch - <<< {params.job:q} 2>&1 | to_log {log:q}"


# data/PRESET/benchmarks/BENCHMARK: a test set in the form that all tasks read
rule benchmark:
    input:
        sources=of("roots"),
    output:
        "{folder}/receipt/{key}.json",
    log:
        "logs/{folder}.{key}.log",
    wildcard_constraints:
        folder="data/[^/]+/benchmarks/[^/]+",
    conda:
        "../envs/orthoglot.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        job=job(),
    shell:
        "orthoglot benchmark - <<< {params.job:q} 2>&1 | to_log {log:q}"


# data/PRESET/bitext/PAIR: clean sentence pairs without those of the benchmarks, in three splits
rule prepare:
    input:
        sources=of("roots"),
        benchmarks=of("benchmarks"),
    output:
        "{folder}/receipt/{key}.json",
    log:
        "logs/{folder}.{key}.log",
    wildcard_constraints:
        folder="data/[^/]+/bitext/[^/]+",
    conda:
        "../envs/orthoglot.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        job=job(),
    shell:
        "orthoglot prepare - <<< {params.job:q} 2>&1 | to_log {log:q}"


# data/PRESET/text/LANGUAGE: clean text without translations, in shards
rule shard:
    input:
        sources=of("roots"),
        bitext=of("bitext"),
        benchmarks=of("benchmarks"),
    output:
        "{folder}/receipt/{key}.json",
    log:
        "logs/{folder}.{key}.log",
    wildcard_constraints:
        folder="data/[^/]+/text/[^/]+",
    conda:
        "../envs/orthoglot.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        job=job(),
    shell:
        "orthoglot shard - <<< {params.job:q} 2>&1 | to_log {log:q}"
