
rule embed:
    input:
        job=job("embeddings/{preset}/{encoder}"),
        needs=needs("embeddings/{preset}/{encoder}"),
    output:
        touch(".jobs/embeddings/{preset}/{encoder}.done"),
    log:
        "logs/{preset}/embed/{encoder}.log",
    priority: 2
    conda:
        "../envs/orthoglot.yaml"
    threads: 1
    shell:
        "orthoglot embed {input.job} 2>&1 | tee {log}"


rule stage_embeddings:
    input:
        plan.markers("embed"),
