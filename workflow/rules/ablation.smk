# On demand: every variant of EMS, trained and measured like any encoder but in a folder of its own, which no DVC stage
# watches; then the printed table with these beside it.
use rule pretrain as pretrain_variant with:
    input:
        job=job("ablation/{preset}/{variant}/{seed}/encoder"),
        needs=needs("ablation/{preset}/{variant}/{seed}/encoder"),
    output:
        touch(".jobs/ablation/{preset}/{variant}/{seed}/encoder.done"),
    log:
        "logs/{preset}/ablation/{variant}.{seed}.pretrain.log",
    threads: threads_of("ablation/{preset}/{variant}/{seed}/encoder")


use rule embed as embed_variant with:
    input:
        job=job("ablation/{preset}/{variant}/{seed}/embeddings"),
        needs=needs("ablation/{preset}/{variant}/{seed}/embeddings"),
    output:
        touch(".jobs/ablation/{preset}/{variant}/{seed}/embeddings.done"),
    log:
        "logs/{preset}/ablation/{variant}.{seed}.embed.log",


use rule evaluate as evaluate_variant with:
    input:
        job=job("ablation/{preset}/{variant}/{seed}/evaluation"),
        needs=needs("ablation/{preset}/{variant}/{seed}/evaluation"),
    output:
        touch(".jobs/ablation/{preset}/{variant}/{seed}/evaluation.done"),
    log:
        "logs/{preset}/ablation/{variant}.{seed}.evaluate.log",


rule ablation:
    input:
        job=job("tables/ems"),
        needs=needs("tables/ems"),
    output:
        touch(".jobs/tables/ems.done"),
    log:
        "logs/tabulate/ems.log",
    conda:
        "../envs/orthoglot.yaml"
    threads: 1
    shell:
        "orthoglot ablation {input.job} 2>&1 | tee {log}"
