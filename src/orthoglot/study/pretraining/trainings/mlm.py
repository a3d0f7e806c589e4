"""A small XLM-R from scratch, by masked language modelling alone: languages stay apart in it."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tokenizers
import torch
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors
from torch import Tensor
from torch.nn import functional
from transformers import PreTrainedTokenizerFast, XLMRobertaConfig, XLMRobertaForMaskedLM

from orthoglot.encoders.base import placed, resolve_device
from orthoglot.encoders.packed import BLOCK, Packed, pack, reads_packed
from orthoglot.encoders.pretrained import save_checkpoint
from orthoglot.encoders.token_lists import Ragged
from orthoglot.encoders.tokenization import CheckpointTokenizer
from orthoglot.random_streams import derive
from orthoglot.study.pretraining.collate import Hidden, hidden_of
from orthoglot.study.pretraining.inputs import Inputs, RunOptions
from orthoglot.study.pretraining.kinds.mlm import MlmSettings
from orthoglot.study.pretraining.masking import IGNORED, hidden_tokens
from orthoglot.study.pretraining.networks import last_states
from orthoglot.study.pretraining.sampling import RowSampler, length_batches
from orthoglot.study.pretraining.tokenised import SPLITS, languages_of, monolingual, read_text, write_text
from orthoglot.study.pretraining.tokenizer_training import train_bpe
from orthoglot.study.pretraining.trainer import train_steps
from orthoglot.training.training_state import write_history

# The first ids in the order of XLM-R's own vocabulary.
SPECIAL = {"bos": "<s>", "pad": "<pad>", "eos": "</s>", "unk": "<unk>", "mask": "<mask>"}
BOS, PAD, EOS, UNKNOWN, MASK = range(len(SPECIAL))
# The weight decay of AdamW, and the share of the tokens to predict (BERT).
WEIGHT_DECAY, MASKED = 0.01, 0.15
# The most sentences of each language that the vocabulary is learned from.
SAMPLE = 50_000
logger = logging.getLogger(__name__)


class Masked(NamedTuple):
    """Token ids with some hidden, (B, T) or packed, whether any of (B, T) is padding, and what is hidden."""

    ids: Tensor | Packed
    padded: bool
    hidden: Hidden


def train_vocabulary(sentences: Sequence[str], size: int, max_tokens: int) -> PreTrainedTokenizerFast:
    """A BPE tokenizer with XLM-R's special tokens, `<s> ... </s>` around every sentence.

    The same sentences give the same tokens.
    """
    built = tokenizers.Tokenizer(models.BPE(unk_token=SPECIAL["unk"]))
    built.normalizer = normalizers.NFKC()
    built.pre_tokenizer = pre_tokenizers.Metaspace()
    built.decoder = decoders.Metaspace()
    train_bpe(built, sentences, size, list(SPECIAL.values()))
    built.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[("<s>", BOS), ("</s>", EOS)],
    )
    names = {f"{role}_token": piece for role, piece in SPECIAL.items()}
    return PreTrainedTokenizerFast(
        tokenizer_object=built, cls_token="<s>", sep_token="</s>", model_max_length=max_tokens, **names
    )


def masked_loss(model: XLMRobertaForMaskedLM, batch: Masked) -> dict[str, Tensor]:
    """Cross-entropy of the hidden tokens, nats per token; the head runs only where it is needed."""
    states = last_states(model.roberta, batch.ids, PAD, batch.padded).flatten(0, -2)
    loss = functional.cross_entropy(model.lm_head(states[batch.hidden.places]), batch.hidden.ids)
    return {"mlm": loss, "total": loss}


def packed_batch(shown: np.ndarray, labels: np.ndarray, device: torch.device) -> Masked:
    """A batch from ids as shown and what to predict of them, both (B, T) with padding."""
    keep = shown != PAD
    offsets = np.concatenate([[0], keep.sum(1).cumsum()])
    hidden = hidden_of(labels[keep], device, BLOCK)
    return Masked(pack(Ragged(shown[keep], offsets), PAD, device), False, hidden)


def build(settings: MlmSettings, vocabulary: int) -> XLMRobertaForMaskedLM:
    """An untrained model; its weights depend on the seed alone."""
    config = XLMRobertaConfig(
        vocab_size=vocabulary,
        hidden_size=settings.width,
        num_hidden_layers=settings.layers,
        num_attention_heads=settings.heads,
        intermediate_size=settings.feed_forward,
        # XLM-R counts positions from after the padding id.
        max_position_embeddings=settings.max_tokens + PAD + 1,
        type_vocab_size=1,
        bos_token_id=BOS,
        pad_token_id=PAD,
        eos_token_id=EOS,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(derive(settings.seed, "weights"))
        return XLMRobertaForMaskedLM(config)


def pretrain_mlm(settings: MlmSettings, name: str, inputs: Inputs, run: RunOptions, output: Path) -> None:
    """Train on both sides of the bitext as monolingual text; write a transformers checkpoint folder.

    AdamW, linear warm-up and decay; languages in proportion to their sentences. The epoch with the lowest
    validation loss is kept. The same settings and text give the same bytes on a CPU.
    The arguments are those of `orthoglot.study.jobs.pretrain.make_encoder`.
    """
    torch.set_num_threads(settings.threads)
    target = resolve_device(run.device)
    languages = languages_of(inputs.bitext)
    text = {split: monolingual(inputs.bitext, split) for split in SPLITS}
    sample = [line for lines in text["train"].values() for line in islice(lines, SAMPLE)]
    trained = train_vocabulary(sample, settings.vocabulary, settings.max_tokens)

    def ids(sentences: Sequence[str], _: str) -> Ragged:
        return Ragged.of(
            trained(list(sentences), truncation=True, max_length=settings.max_tokens)["input_ids"]
        )

    tokens = {split: run.checkpoint / "tokens" / split for split in SPLITS}
    for split, folder in tokens.items():
        write_text(((code, iter(lines)) for code, lines in text[split].items()), ids, folder, inputs.bitext)
    (train, sizes), (valid, _) = ((part.sentences, part.sizes) for part in map(read_text, tokens.values()))
    sizes = tuple(size for size in sizes if size)
    logger.info(
        f"{name}: {sum(sizes)} sentences, {len(valid.lengths)} for validation, {len(languages)} languages, "
        f"{len(trained)} subwords, on {target}, seed {settings.seed}"
    )
    model = build(settings, len(trained)).to(target)
    history = _fit(settings, name, model, train, sizes, valid, run)
    save_checkpoint(
        model,
        CheckpointTokenizer(trained),
        output,
        name=name,
        dim=settings.width,
        languages=languages,
        kind=settings.kind,
        pooling=settings.pooling,
        max_tokens=settings.max_tokens,
    )
    write_history(history, output)


def _fit(
    settings: MlmSettings,
    name: str,
    model: Any,
    train: Ragged,
    sizes: Sequence[int],
    valid: Ragged,
    run: RunOptions,
) -> list[dict[str, float]]:
    vocabulary, packed = model.config.vocab_size, reads_packed(model, model.device)
    sampler = RowSampler(
        sizes=sizes,
        batch_size=settings.batch_size,
        steps=settings.steps,
        steps_per_epoch=settings.validate_every,
        temperature=1.0,
        seed=settings.seed,
    )
    optimizer = torch.optim.AdamW(
        model.parameters(),
        lr=settings.learning_rate,
        weight_decay=WEIGHT_DECAY,
        fused=True,
        capturable=model.device.type == "cuda",
    )

    def masked(text: Ragged, rows: np.ndarray, generator: np.random.Generator) -> Masked:
        shown, labels = hidden_tokens(
            text.padded(rows, PAD), MASKED, MASK, vocabulary, generator, special=len(SPECIAL)
        )
        if packed:
            return packed_batch(shown, labels, model.device)
        ids = placed(torch.from_numpy(shown), model.device)
        return Masked(ids, bool((shown == PAD).any()), hidden_of(labels, model.device))

    def batches(epoch: int, first: int) -> Iterator[Masked]:
        for step, rows in enumerate(sampler.batches(epoch, train.lengths)[first:], start=first):
            yield masked(train, rows, np.random.default_rng(derive(settings.seed, "mask", epoch, step)))

    def validate() -> dict[str, float]:
        # The same masks every time, so that epochs can be compared.
        generator = np.random.default_rng(derive(settings.seed, "validation"))
        count = -(-len(valid.lengths) // settings.batch_size)
        total, tokens = 0.0, 0
        for rows in length_batches(np.arange(len(valid.lengths)), valid.lengths, count, generator):
            batch = masked(valid, rows, generator)
            hidden = int((batch.hidden.ids != IGNORED).sum())
            total += float(masked_loss(model, batch)["mlm"]) * hidden
            tokens += hidden
        return {"mlm": total / tokens, "total": total / tokens}

    return train_steps(
        settings,
        settings,
        run,
        name,
        model,
        optimizer,
        schedule="linear",
        loss=partial(masked_loss, model),
        batches=batches,
        smaller=lambda size: masked(
            train, np.arange(len(train.lengths))[:size], np.random.default_rng(settings.seed)
        ),
        validate=validate,
        captured=packed,
    )


TRAIN = pretrain_mlm
