# Invented languages with every kind of gold label
rule generate:
    input:
        done(),
    output:
        made("data/{preset}/invented/{corpus}"),
    log:
        log_of("data/{preset}/invented/{corpus}"),
    benchmark:
        benchmark_of("data/{preset}/invented/{corpus}")
    conda:
        "../envs/orthoglot.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        job=job,
        settings=["corpora"],
    shell:
        "orthoglot study job generate <<< {params.job:q} 2>&1 | to_log {log:q}"


# Archives from OPUS, over the network
rule fetch:
    input:
        done(),
    output:
        made("data/{preset}/opus/{corpus}"),
    log:
        log_of("data/{preset}/opus/{corpus}"),
    benchmark:
        benchmark_of("data/{preset}/opus/{corpus}")
    conda:
        "../envs/orthoglot.yaml"
    threads: 4  # archives that it fetches at once
    resources:
        mem_mb=2000,
        runtime=720,
    params:
        job=job,
        settings=["corpora"],
    shell:
        "orthoglot study job fetch <<< {params.job:q} 2>&1 | to_log {log:q}"


# Files of a test set or corpus that have addresses, over the network
rule download:
    input:
        done(),
    output:
        made("data/{preset}/files/{entry}"),
    log:
        log_of("data/{preset}/files/{entry}"),
    benchmark:
        benchmark_of("data/{preset}/files/{entry}")
    conda:
        "../envs/orthoglot.yaml"
    threads: 4  # files that it fetches at once
    resources:
        mem_mb=2000,
        runtime=720,
    params:
        job=job,
        settings=["corpora", "benchmarks"],
    shell:
        "orthoglot study job download <<< {params.job:q} 2>&1 | to_log {log:q}"


# A test set in the form that all tasks read
rule benchmark:
    input:
        sources=done(
            "data/{preset}/invented/{corpus}",
            "data/{preset}/opus/{corpus}",
            "data/{preset}/files/{entry}",
        ),
    output:
        made("data/{preset}/benchmarks/{benchmark}"),
    log:
        log_of("data/{preset}/benchmarks/{benchmark}"),
    benchmark:
        benchmark_of("data/{preset}/benchmarks/{benchmark}")
    conda:
        "../envs/orthoglot.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=240,  # of ParaCrawl 222 million sentence pairs are read
    params:
        job=job,
        settings=["benchmarks"],
    shell:
        "orthoglot study job benchmark <<< {params.job:q} 2>&1 | to_log {log:q}"


# Of a language pair that is divided (docs/scale.md#preparing-on-several-machines), a part of its clean pairs
rule clean:
    input:
        sources=done(
            "data/{preset}/invented/{corpus}",
            "data/{preset}/opus/{corpus}",
            "data/{preset}/files/{entry}",
        ),
        benchmarks=done("data/{preset}/benchmarks/{benchmark}"),
    output:
        made("preparing/{preset}/{pair}/parts/{number}"),
    log:
        log_of("preparing/{preset}/{pair}/parts/{number}"),
    benchmark:
        benchmark_of("preparing/{preset}/{pair}/parts/{number}")
    conda:
        "../envs/orthoglot.yaml"
    threads: 1
    resources:
        mem_mb=6000,  # the keys of all benchmarks are in memory, of paracrawl 8.4 million
        runtime=240,
    params:
        job=job,
        settings=["corpora", "max_pairs", "pair_parts", "cleaning", "splits"],
    shell:
        "orthoglot study job clean <<< {params.job:q} 2>&1 | to_log {log:q}"


# Which of its pairs stay, and where each is written
rule choose:
    input:
        parts=done("preparing/{preset}/{pair}/parts/{number}"),
    output:
        made("preparing/{preset}/{pair}/chosen"),
    log:
        log_of("preparing/{preset}/{pair}/chosen"),
    benchmark:
        benchmark_of("preparing/{preset}/{pair}/chosen")
    conda:
        "../envs/orthoglot.yaml"
    threads: 1
    resources:
        mem_mb=6000,
        runtime=240,
    params:
        job=job,
        settings=["corpora", "max_pairs", "cleaning", "splits"],
    shell:
        "orthoglot study job choose <<< {params.job:q} 2>&1 | to_log {log:q}"


# A part of its shards
rule pack:
    input:
        parts=done("preparing/{preset}/{pair}/parts/{number}"),
        chosen=done("preparing/{preset}/{pair}/chosen"),
    output:
        made("preparing/{preset}/{pair}/shards/{number}"),
    log:
        log_of("preparing/{preset}/{pair}/shards/{number}"),
    benchmark:
        benchmark_of("preparing/{preset}/{pair}/shards/{number}")
    conda:
        "../envs/orthoglot.yaml"
    threads: 1
    resources:
        mem_mb=6000,
        runtime=240,
    params:
        job=job,
        settings=["pair_parts", "splits"],
    shell:
        "orthoglot study job pack <<< {params.job:q} 2>&1 | to_log {log:q}"


# Clean sentence pairs without those of the benchmarks, in three splits
rule prepare:
    input:
        sources=done(
            "data/{preset}/invented/{corpus}",
            "data/{preset}/opus/{corpus}",
            "data/{preset}/files/{entry}",
        ),
        benchmarks=done("data/{preset}/benchmarks/{benchmark}"),
        chosen=done("preparing/{preset}/{pair}/chosen"),
        shards=done("preparing/{preset}/{pair}/shards/{number}"),
    output:
        made("data/{preset}/bitext/{pair}"),
    log:
        log_of("data/{preset}/bitext/{pair}"),
    benchmark:
        benchmark_of("data/{preset}/bitext/{pair}")
    conda:
        "../envs/orthoglot.yaml"
    threads: 1
    resources:
        mem_mb=6000,  # the keys of all benchmarks are in memory, of paracrawl 8.4 million
        runtime=60,
    params:
        job=job,
        settings=["corpora", "max_pairs", "cleaning", "splits"],
    shell:
        "orthoglot study job prepare <<< {params.job:q} 2>&1 | to_log {log:q}"


# Clean text without translations, in shards
rule shard:
    input:
        sources=done(
            "data/{preset}/invented/{corpus}",
            "data/{preset}/opus/{corpus}",
            "data/{preset}/files/{entry}",
        ),
        bitext=done("data/{preset}/bitext/{pair}"),
        benchmarks=done("data/{preset}/benchmarks/{benchmark}"),
    output:
        made("data/{preset}/text/{language}"),
    log:
        log_of("data/{preset}/text/{language}"),
    benchmark:
        benchmark_of("data/{preset}/text/{language}")
    conda:
        "../envs/orthoglot.yaml"
    threads: 1
    resources:
        mem_mb=6000,  # likewise
        runtime=60,
    params:
        job=job,
        settings=["corpora", "cleaning"],
    shell:
        "orthoglot study job shard <<< {params.job:q} 2>&1 | to_log {log:q}"
