"""Words without knowing the language, and their subwords: one chain of stock `tokenizers` steps.

Steps: signs that only steer the layout go, other white space becomes a blank, NFKC, lower case, words by one rule.

A word is

- a longest run of letters, marks and digits; an apostrophe or a hyphen between two such runs stays inside
  ("mba'éichapa", "state-of-the-art"), and so does one of . , : between two digits ("1,000.5", "10:30"); or
- a longest run of one and the same other sign: "...", "!!", "—".

Letters of scripts without spaces are one run, in which SentencePiece finds the units. Moses' rules differ in what
needs the language: they part "don't" before and "l'été" after the apostrophe, and leave the period at
abbreviations. The chain is stored whole in tokenizer.json, so that other programs cut text the same way.
"""

from __future__ import annotations

from sentencepiece import SentencePieceProcessor
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

_RUN = r"[\p{L}\p{M}\p{N}]+"
_WORD = rf"{_RUN}(?:(?:['’‐-]|(?<=\p{{N}})[.,:](?=\p{{N}})){_RUN})*|([^\p{{L}}\p{{M}}\p{{N}}\s])\1*"
# Soft hyphens, joiners and direction marks stand within words. The zero-width space and the non-joiner part them,
# in Khmer and in Persian, and Nmt makes them blanks.
_LAYOUT = "(?![\u200b\u200c])\\p{Cf}"

_NORMALIZER = normalizers.Sequence(
    [
        normalizers.Replace(Regex(_LAYOUT), ""),
        normalizers.Nmt(),
        normalizers.NFKC(),
        normalizers.Lowercase(),
    ]
)
_WORDS = pre_tokenizers.Split(Regex(_WORD), behavior="removed", invert=True)


def words(sentence: str) -> list[str]:
    """The words of a sentence, lower-cased, without white space."""
    return [word for word, _ in _WORDS.pre_tokenize_str(_NORMALIZER.normalize_str(sentence))]


def subword_chain(pieces: SentencePieceProcessor, unknown: int) -> Tokenizer:
    """From raw sentence to the ids that SentencePiece gives to its words joined by blanks.

    SentencePiece joins the two neighbours whose union has the best score, wherever a piece was cut; BPE joins by rank
    of the pair. So a piece's pairs are all its cuts into two pieces, in order of the pieces' scores. As in
    SentencePiece, a run of unknown characters is one unknown id, and the reserved pieces have no pairs, so that text
    never becomes one.

    Args:
        pieces: a BPE model trained on such words with the normalisation rule "identity".
        unknown: id of the unknown piece.
    """
    vocabulary = {pieces.id_to_piece(number): number for number in range(pieces.get_piece_size())}
    learnt = [
        piece
        for piece, number in vocabulary.items()
        if not (pieces.is_control(number) or pieces.is_unknown(number))
    ]
    known = set(learnt)
    pairs = [
        (piece[:cut], piece[cut:])
        for piece in sorted(learnt, key=lambda piece: -pieces.get_score(vocabulary[piece]))
        for cut in range(1, len(piece))
        if piece[:cut] in known and piece[cut:] in known
    ]
    chain = Tokenizer(
        models.BPE(vocab=vocabulary, merges=pairs, unk_token=pieces.id_to_piece(unknown), fuse_unk=True)
    )
    chain.normalizer = _NORMALIZER
    chain.pre_tokenizer = pre_tokenizers.Sequence(
        [_WORDS, pre_tokenizers.Metaspace(prepend_scheme="always", split=False)]
    )
    chain.decoder = decoders.Metaspace(prepend_scheme="always")
    return chain
