# Mining of two texts (docs/mine.md#mine-on-several-machines). `--set-threads encode=8 search=8` gives jobs more threads.


# The distinct sentences of a text in parts
rule split:
    input:
        done(),
    output:
        made("mining/{preset}/{side}/text"),
    log:
        log_of("mining/{preset}/{side}/text"),
    benchmark:
        benchmark_of("mining/{preset}/{side}/text")
    conda:
        "../envs/orthoglot.yaml"
    threads: 1
    resources:
        mem_mb=lambda wildcards: 2000 + plan.text_mb() // 4,
        runtime=240,
    params:
        job=job,
        settings=["mine"],
    shell:
        "orthoglot study job split <<< {params.job:q} 2>&1 | to_log {log:q}"


# The vectors of a part
rule encode:
    input:
        text=done("mining/{preset}/{side}/text"),
        model=done(
            "models/{preset}/encoders/{encoder}",
            "models/{preset}/decomposers/{encoder}/{method}",
        ),
    output:
        made("mining/{preset}/{side}/vectors/{number}"),
    log:
        log_of("mining/{preset}/{side}/vectors/{number}"),
    benchmark:
        benchmark_of("mining/{preset}/{side}/vectors/{number}")
    conda:
        "../envs/orthoglot.yaml"
    threads: 1
    resources:
        mem_mb=lambda wildcards, threads: 6000 + 2000 * threads,
        runtime=1440,
        gpu=gpu,
    params:
        job=job,
        settings=["mine"],
    shell:
        "orthoglot study job encode <<< {params.job:q} 2>&1 | to_log {log:q}"


# What all parts share: where each begins, what gives each text its own mean, and the cells
rule centre:
    input:
        texts=done("mining/{preset}/{side}/text"),
        vectors=done("mining/{preset}/{side}/vectors/{number}"),
    output:
        made("mining/{preset}/centre"),
    log:
        log_of("mining/{preset}/centre"),
    benchmark:
        benchmark_of("mining/{preset}/centre")
    conda:
        "../envs/orthoglot.yaml"
    threads: 1
    resources:
        # K-means is given 50 vectors for each cell.
        mem_mb=lambda wildcards: 4000 + (plan.preset.mine.cells or 0) // 5,
        runtime=720,
    params:
        job=job,
        settings=["mine"],
    shell:
        "orthoglot study job centre <<< {params.job:q} 2>&1 | to_log {log:q}"


# A part of the source in a part of the target, and the other way
rule search:
    input:
        vectors=done("mining/{preset}/{side}/vectors/{number}"),
        centre=done("mining/{preset}/centre"),
    output:
        made("mining/{preset}/candidates/{tile}"),
    log:
        log_of("mining/{preset}/candidates/{tile}"),
    benchmark:
        benchmark_of("mining/{preset}/candidates/{tile}")
    conda:
        "../envs/orthoglot.yaml"
    threads: 1
    resources:
        mem_mb=mining_mb,
        runtime=720,
        gpu=gpu,
    params:
        job=job,
        settings=["mine"],
    shell:
        "orthoglot study job search <<< {params.job:q} 2>&1 | to_log {log:q}"


# The neighbours of a part in the whole other text
rule merge:
    input:
        vectors=done("mining/{preset}/{side}/vectors/{number}"),
        centre=done("mining/{preset}/centre"),
        candidates=done("mining/{preset}/candidates/{tile}"),
    output:
        made("mining/{preset}/{side}/neighbours/{number}"),
    log:
        log_of("mining/{preset}/{side}/neighbours/{number}"),
    benchmark:
        benchmark_of("mining/{preset}/{side}/neighbours/{number}")
    conda:
        "../envs/orthoglot.yaml"
    threads: 1
    resources:
        mem_mb=mining_mb,
        runtime=240,
    params:
        job=job,
        settings=["mine"],
    shell:
        "orthoglot study job merge <<< {params.job:q} 2>&1 | to_log {log:q}"


# The vectors of a part, by the cells that its sentences look up
rule assign:
    input:
        vectors=done("mining/{preset}/{side}/vectors/{number}"),
        centre=done("mining/{preset}/centre"),
    output:
        made("mining/{preset}/{side}/cells/{number}"),
    log:
        log_of("mining/{preset}/{side}/cells/{number}"),
    benchmark:
        benchmark_of("mining/{preset}/{side}/cells/{number}")
    conda:
        "../envs/orthoglot.yaml"
    threads: 1
    resources:
        mem_mb=mining_mb,
        runtime=720,
    params:
        job=job,
        settings=["mine"],
    shell:
        "orthoglot study job assign <<< {params.job:q} 2>&1 | to_log {log:q}"


# A block of cells: the source in the target, and the other way
rule look_up:
    input:
        cells=done("mining/{preset}/{side}/cells/{number}"),
        centre=done("mining/{preset}/centre"),
    output:
        made("mining/{preset}/blocks/{number}"),
    log:
        log_of("mining/{preset}/blocks/{number}"),
    benchmark:
        benchmark_of("mining/{preset}/blocks/{number}")
    conda:
        "../envs/orthoglot.yaml"
    threads: 1
    resources:
        mem_mb=block_mb,
        runtime=720,
    params:
        job=job,
        settings=["mine"],
    shell:
        "orthoglot study job look_up <<< {params.job:q} 2>&1 | to_log {log:q}"


# The neighbours of a part in the whole other text, out of all blocks
rule collect:
    input:
        blocks=done("mining/{preset}/blocks/{number}"),
        centre=done("mining/{preset}/centre"),
    output:
        made("mining/{preset}/{side}/collected/{number}"),
    log:
        log_of("mining/{preset}/{side}/collected/{number}"),
    benchmark:
        benchmark_of("mining/{preset}/{side}/collected/{number}")
    conda:
        "../envs/orthoglot.yaml"
    threads: 1
    resources:
        mem_mb=mining_mb,
        runtime=240,
    params:
        job=job,
        settings=["mine"],
    shell:
        "orthoglot study job collect <<< {params.job:q} 2>&1 | to_log {log:q}"


# The pairs, by falling margin
rule mine:
    input:
        texts=done("mining/{preset}/{side}/text"),
        centre=done("mining/{preset}/centre"),
        neighbours=done(
            "mining/{preset}/{side}/neighbours/{number}",
            "mining/{preset}/{side}/collected/{number}",
        ),
        cells=done("mining/{preset}/{side}/cells/{number}"),
    output:
        made("mined/{preset}"),
    log:
        log_of("mined/{preset}"),
    benchmark:
        benchmark_of("mined/{preset}")
    conda:
        "../envs/orthoglot.yaml"
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: (4000 + 8 * plan.text_mb()) * attempt,
        runtime=720,
    params:
        job=job,
        settings=["mine"],
    shell:
        "orthoglot study job mine <<< {params.job:q} 2>&1 | to_log {log:q}"
