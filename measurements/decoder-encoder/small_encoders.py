"""A small decoder encoder in the form of Qwen3-Embedding, and its control, trained on translations (README.md).

The decoder sees what comes before a token and gives its last state; the control has the same network, sees both sides
and gives the mean. Both are folders of sentence-transformers.
"""

from __future__ import annotations

import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer
from tables import lines
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from torch import Tensor
from torch.nn import functional
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3Model

INSTRUCTION = "Instruct: Translate\nQuery:"
END = "<|endoftext|>"
POOLING = {"decoder": "lasttoken", "control": "mean"}
TEMPERATURE, RATE, WARMUP, CHUNK = 0.05, 2e-3, 0.1, 50
# Codes of a language in the Bible, and in the messages of Scratch, Mozilla and Wikipedia's app.
BIBLES = {"de": "deu", "es": "spa", "fr": "fra", "nl": "nld", "zh": "cmn"}
MESSAGES = {
    "ar": ("", "ar", "ar"),
    "de": ("de", "de", "de"),
    "es": ("es", "es-ES", "es"),
    "fr": ("fr", "fr", "fr"),
    "nl": ("nl", "nl", "nl"),
    "ro": ("ro", "ro", "ro"),
    "zh": ("zh-cn", "zh-CN", "zh"),
}
Pair = tuple[str, str]


def key(text: str) -> str:
    """The letters and digits of a text in lower case."""
    return "".join(filter(str.isalnum, text.casefold()))


def free_text(shared: Path, more: Path, tested: Iterable[str]) -> tuple[dict[str, list[Pair]], ...]:
    """Pairs of English with each language, to train encoders on and to fit methods on.

    No side is a tested sentence, and no side of the second is one of the first.
    """
    known = {key(text) for text in tested}
    parts: tuple[dict[str, list[Pair]], ...] = (defaultdict(list), defaultdict(list))
    for code, messages in MESSAGES.items():
        files = [shared / f"parallel/{corpus}.en-{code}.tsv.gz" for corpus in ("anki", "tico19", "tldr")]
        pairs = [(line[0], line[1]) for file in files if file.is_file() for line in lines(file)]
        sides = [("bible_nt/bible.{}", "eng", BIBLES.get(code, ""))]
        sets = ("l10n_scratch", "l10n_mozilla", "l10n_wikipedia_android")
        sides += [(name + "/l10n.{}", "en", tag) for name, tag in zip(sets, messages, strict=True)]
        for form, english, foreign in sides:
            if foreign:
                columns = [
                    [line[0] for line in lines(more / f"{form.format(tag)}.tsv.gz")]
                    for tag in (english, foreign)
                ]
                pairs += zip(*columns, strict=True)
        once: set[str] = set()
        for pair in pairs:
            both = [key(side) for side in pair]
            if all(side and side not in known and side not in once for side in both):
                once.update(both)
                parts[crc32(both[0].encode()) % 10 == 0][code].append(pair)
        generator = np.random.default_rng(1)
        for part in parts:
            part[code] = [part[code][row] for row in generator.permutation(len(part[code]))]
    taught = {key(side) for pairs in parts[0].values() for pair in pairs for side in pair}
    for code, pairs in parts[1].items():
        parts[1][code] = [pair for pair in pairs if not {key(side) for side in pair} & taught]
    return parts


def byte_pairs(texts: Iterable[str], vocabulary: int) -> PreTrainedTokenizerFast:
    """A tokenizer of byte pairs as Qwen has it: an end token, padded on the left."""
    built = Tokenizer(models.BPE())
    built.normalizer = normalizers.NFC()
    built.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    built.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary, special_tokens=[END], initial_alphabet=alphabet, show_progress=False
    )
    built.train_from_iterator((INSTRUCTION + text for text in texts), trainer)
    built.post_processor = processors.TemplateProcessing(
        single=f"$A {END}", special_tokens=[(END, built.token_to_id(END))]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=built, eos_token=END, pad_token=END, padding_side="left", model_max_length=512
    )


def network(kind: str, vocabulary: int, width: int, layers: int) -> Qwen3Model:
    """Qwen 3 with random weights; the control sees both sides."""
    config = Qwen3Config(
        vocab_size=vocabulary,
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=width // 64,
        num_key_value_heads=max(1, width // 128),
        head_dim=64,
        intermediate_size=2 * width,
        max_position_embeddings=512,
        is_causal=kind == "decoder",
        attn_implementation="eager",  # of short sentences it is the fastest on a CPU
    )
    torch.manual_seed(1)
    return Qwen3Model(config)


def batches(pairs: dict[str, list[Pair]], size: int, count: int) -> Iterator[list[Pair]]:
    """Batches of pairs of like length; languages are drawn by the root of how many pairs they have."""
    generator = np.random.default_rng(1)
    shares = np.sqrt([len(texts) for texts in pairs.values()])
    left: dict[str, list[int]] = {code: [] for code in pairs}
    for start in range(0, count, CHUNK):
        chunk = min(CHUNK, count - start)
        drawn = []
        for code in generator.choice([*pairs], size=chunk * size, p=shares / shares.sum()):
            if not left[code]:
                left[code] = generator.permutation(len(pairs[code])).tolist()
            drawn.append(pairs[code][left[code].pop()])
        drawn.sort(key=lambda pair: sum(map(len, pair)))
        for place in generator.permutation(chunk):
            yield drawn[place * size : (place + 1) * size]


def pooled(
    model: Qwen3Model, tokenizer: PreTrainedTokenizerFast, kind: str, texts: Sequence[str], longest: int
) -> Tensor:
    """Vectors of length 1 of texts, of which `longest` tokens are read."""
    tokens = tokenizer(list(texts), truncation=True, max_length=longest, padding=True, return_tensors="pt")
    ids, mask = tokens["input_ids"], tokens["attention_mask"]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        states = model(input_ids=ids, attention_mask=mask, use_cache=False).last_hidden_state
    states = states.float()
    means = (states * mask[:, :, None]).sum(dim=1) / mask.sum(dim=1, keepdim=True)
    return functional.normalize(states[:, -1] if kind == "decoder" else means, dim=1)


def train(
    kind: str,
    pairs: dict[str, list[Pair]],
    tokenizer: PreTrainedTokenizerFast,
    output: Path,
    *,
    width: int = 256,
    layers: int = 4,
    steps: int,
    batch: int = 256,
    longest: int = 32,
) -> list[float]:
    """Train one encoder to find translations within a batch, in both directions; returns the loss of each step.

    Both sides get the instruction, as the catalogue's entries of Qwen3-Embedding give it to every sentence.
    """
    model = network(kind, len(tokenizer), width, layers).train()
    optimiser = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.01)
    warmup = max(1, round(WARMUP * steps))
    rates = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min((step + 1) / warmup, (steps - step) / (steps - warmup))
    )
    losses = []
    for drawn in batches(pairs, batch, steps):
        first, second = (
            pooled(model, tokenizer, kind, [INSTRUCTION + text for text in side], longest)
            for side in zip(*drawn, strict=True)
        )
        cosines, right = first @ second.T / TEMPERATURE, torch.arange(len(drawn))
        loss = (functional.cross_entropy(cosines, right) + functional.cross_entropy(cosines.T, right)) / 2
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        rates.step()
        optimiser.zero_grad()
        losses.append(loss.item())
        if len(losses) % 25 == 0:
            sys.stderr.write(f"{kind}, step {len(losses)}: loss {np.mean(losses[-25:]):.3f}\n")
    save(model, tokenizer, kind, output)
    return losses


def save(model: Qwen3Model, tokenizer: PreTrainedTokenizerFast, kind: str, output: Path) -> None:
    """Write Transformer, Pooling and Normalize, as Qwen3-Embedding has them."""
    with tempfile.TemporaryDirectory() as bare:
        model.save_pretrained(bare)
        tokenizer.save_pretrained(bare)
        transformer: Any = Transformer(bare)
    steps = [transformer, Pooling(model.config.hidden_size, POOLING[kind]), Normalize()]
    whole = SentenceTransformer(modules=steps, device="cpu", prompts={"query": INSTRUCTION, "document": ""})
    whole.save(str(output), create_model_card=False)
