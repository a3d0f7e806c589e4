# On demand: every variant of a kind of encoder, trained and measured like any encoder but in a folder of its own, which
# no DVC stage watches (an encoder that they start from lies with the preset's own); then the paper's tables with these
# beside them.
use rule tokenise as tokenise_variants with:
    input:
        job=job("ablation/{preset}/tokens/{tokens}"),
        needs=needs("ablation/{preset}/tokens/{tokens}"),
    output:
        touch(".jobs/ablation/{preset}/tokens/{tokens}.done"),
    log:
        "logs/{preset}/ablation/{tokens}.tokenise.log",
    threads: threads_of("ablation/{preset}/tokens/{tokens}")


use rule pretrain as pretrain_variant with:
    input:
        job=job("ablation/{preset}/{kind}/{variant}/{seed}/encoder"),
        needs=needs("ablation/{preset}/{kind}/{variant}/{seed}/encoder"),
    output:
        touch(".jobs/ablation/{preset}/{kind}/{variant}/{seed}/encoder.done"),
    log:
        "logs/{preset}/ablation/{kind}.{variant}.{seed}.pretrain.log",
    threads: threads_of("ablation/{preset}/{kind}/{variant}/{seed}/encoder")


use rule embed as embed_variant with:
    input:
        job=job("ablation/{preset}/{kind}/{variant}/{seed}/embeddings"),
        needs=needs("ablation/{preset}/{kind}/{variant}/{seed}/embeddings"),
    output:
        touch(".jobs/ablation/{preset}/{kind}/{variant}/{seed}/embeddings.done"),
    log:
        "logs/{preset}/ablation/{kind}.{variant}.{seed}.embed.log",


use rule evaluate as evaluate_variant with:
    input:
        job=job("ablation/{preset}/{kind}/{variant}/{seed}/evaluation"),
        needs=needs("ablation/{preset}/{kind}/{variant}/{seed}/evaluation"),
    output:
        touch(".jobs/ablation/{preset}/{kind}/{variant}/{seed}/evaluation.done"),
    log:
        "logs/{preset}/ablation/{kind}.{variant}.{seed}.evaluate.log",


rule tabulate_variants:
    input:
        job=job("tables/{kind}"),
        needs=needs("tables/{kind}"),
    output:
        touch(".jobs/tables/{kind}.done"),
    log:
        "logs/tabulate/{kind}.log",
    wildcard_constraints:
        kind="|".join(ENCODER_PAPERS),
    conda:
        "../envs/orthoglot.yaml"
    threads: 1
    shell:
        "orthoglot tabulate {input.job} 2>&1 | tee {log}"


# Targets: all ablations of the preset, or that of one kind.
rule:
    name:
        "ablation"
    input:
        lambda wildcards: plan.ablations(),


for kind in ENCODER_PAPERS:

    rule:
        name:
            f"ablation_{kind.replace('-', '_')}"
        input:
            f".jobs/tables/{kind}.done",
