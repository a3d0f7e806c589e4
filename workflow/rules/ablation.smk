# What the variants of an ablation are trained on
use rule tokenise as tokenise_variant with:
    input:
        bitext=done("data/{preset}/bitext/{pair}"),
        text=done("data/{preset}/text/{language}"),
        start=done("models/{preset}/encoders/{encoder}"),
    output:
        made("ablation/{preset}/tokens/{tokens}"),
    log:
        log_of("ablation/{preset}/tokens/{tokens}"),
    benchmark:
        benchmark_of("ablation/{preset}/tokens/{tokens}")


# A variant of an encoder
use rule pretrain as pretrain_variant with:
    input:
        bitext=done("data/{preset}/bitext/{pair}"),
        text=done("data/{preset}/text/{language}"),
        tokens=done("ablation/{preset}/tokens/{tokens}"),
        before=done("models/{preset}/encoders/{encoder}"),
    output:
        made("ablation/{preset}/{paper}/{variant}/{seed}/encoder"),
    log:
        log_of("ablation/{preset}/{paper}/{variant}/{seed}/encoder"),
    benchmark:
        benchmark_of("ablation/{preset}/{paper}/{variant}/{seed}/encoder")


# Its vectors
use rule embed as embed_variant with:
    input:
        encoder=done("ablation/{preset}/{paper}/{variant}/{seed}/encoder"),
        bitext=done("data/{preset}/bitext/{pair}"),
        benchmarks=done("data/{preset}/benchmarks/{benchmark}"),
    output:
        made("ablation/{preset}/{paper}/{variant}/{seed}/embeddings"),
    log:
        log_of("ablation/{preset}/{paper}/{variant}/{seed}/embeddings"),
    benchmark:
        benchmark_of("ablation/{preset}/{paper}/{variant}/{seed}/embeddings")


# Its scores
use rule evaluate as evaluate_variant with:
    input:
        encoder=done("ablation/{preset}/{paper}/{variant}/{seed}/encoder"),
        vectors=done("ablation/{preset}/{paper}/{variant}/{seed}/embeddings"),
        bitext=done("data/{preset}/bitext/{pair}"),
        benchmarks=done("data/{preset}/benchmarks/{benchmark}"),
    output:
        made("ablation/{preset}/{paper}/{variant}/{seed}/evaluation"),
    log:
        log_of("ablation/{preset}/{paper}/{variant}/{seed}/evaluation"),
    benchmark:
        benchmark_of("ablation/{preset}/{paper}/{variant}/{seed}/evaluation")
