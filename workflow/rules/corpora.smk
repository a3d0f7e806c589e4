
rule generate:
    input:
        job=job("data/{preset}/invented/{corpus}"),
        needs=needs("data/{preset}/invented/{corpus}"),
    output:
        touch(".jobs/data/{preset}/invented/{corpus}.done"),
    log:
        "logs/{preset}/generate/{corpus}.log",
    conda:
        "../envs/orthoglot.yaml"
    threads: 1
    shell:
        "orthoglot generate {input.job} 2>&1 | tee {log}"


rule fetch:
    input:
        job=job("data/{preset}/opus/{corpus}"),
        needs=needs("data/{preset}/opus/{corpus}"),
    output:
        touch(".jobs/data/{preset}/opus/{corpus}.done"),
    log:
        "logs/{preset}/fetch/{corpus}.log",
    conda:
        "../envs/orthoglot.yaml"
    threads: 1
    shell:
        "orthoglot fetch {input.job} 2>&1 | tee {log}"


rule benchmark:
    input:
        job=job("data/{preset}/benchmarks/{benchmark}"),
        needs=needs("data/{preset}/benchmarks/{benchmark}"),
    output:
        touch(".jobs/data/{preset}/benchmarks/{benchmark}.done"),
    log:
        "logs/{preset}/benchmark/{benchmark}.log",
    conda:
        "../envs/orthoglot.yaml"
    threads: 1
    shell:
        "orthoglot benchmark {input.job} 2>&1 | tee {log}"


rule prepare:
    input:
        job=job("data/{preset}/bitext/{pair}"),
        needs=needs("data/{preset}/bitext/{pair}"),
    output:
        touch(".jobs/data/{preset}/bitext/{pair}.done"),
    log:
        "logs/{preset}/prepare/{pair}.log",
    conda:
        "../envs/orthoglot.yaml"
    threads: 1
    shell:
        "orthoglot prepare {input.job} 2>&1 | tee {log}"


rule shard:
    input:
        job=job("data/{preset}/text/{language}"),
        needs=needs("data/{preset}/text/{language}"),
    output:
        touch(".jobs/data/{preset}/text/{language}.done"),
    log:
        "logs/{preset}/shard/{language}.log",
    conda:
        "../envs/orthoglot.yaml"
    threads: 1
    shell:
        "orthoglot shard {input.job} 2>&1 | tee {log}"


rule stage_corpora:
    input:
        plan.markers("generate", "fetch", "benchmark", "prepare", "shard"),
