# Methods that train together, with every seed (`decomposition: {stacked: true}`)
rule stack:
    input:
        encoder=done("models/{preset}/encoders/{encoder}"),
        vectors=done("embeddings/{preset}/{encoder}"),
        bitext=done("data/{preset}/bitext/{pair}"),
    output:
        made("models/{preset}/decomposers/{encoder}/_stacks/{stack}"),
    log:
        log_of("models/{preset}/decomposers/{encoder}/_stacks/{stack}"),
    benchmark:
        benchmark_of("models/{preset}/decomposers/{encoder}/_stacks/{stack}")
    priority: 2
    conda:
        "../envs/orthoglot.yaml"
    threads: 1
    resources:
        mem_mb=16000,
        runtime=1440,
        gpu=gpu,
    params:
        job=job,
        settings=["methods", "decomposition", "seeds", "embedding"],
    shell:
        "orthoglot study job stack <<< {params.job:q} 2>&1 | to_log {log:q}"


# A method fitted to an encoder's vectors, or taken out of its stack, in a folder seedN for each seed, of a closed form the first
rule decompose:
    input:
        encoder=done("models/{preset}/encoders/{encoder}"),
        vectors=done("embeddings/{preset}/{encoder}"),
        bitext=done("data/{preset}/bitext/{pair}"),
        stack=done("models/{preset}/decomposers/{encoder}/_stacks/{stack}"),
    output:
        made("models/{preset}/decomposers/{encoder}/{method}"),
    log:
        log_of("models/{preset}/decomposers/{encoder}/{method}"),
    benchmark:
        benchmark_of("models/{preset}/decomposers/{encoder}/{method}")
    priority: 1
    conda:
        "../envs/orthoglot.yaml"
    threads: 1
    resources:
        mem_mb=8000,
        runtime=720,
        gpu=gpu,
    params:
        job=job,
        settings=["methods", "decomposition", "seeds", "embedding"],
    shell:
        "orthoglot study job decompose <<< {params.job:q} 2>&1 | to_log {log:q}"
