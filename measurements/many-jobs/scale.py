"""What the papers' presets, a billion pairs and mining among billions would take, from rates that were measured.

    python measurements/many-jobs/scale.py                                 # the table of docs/scale.md
    python measurements/many-jobs/scale.py --core 0.05 --gpu 3 --terabyte 20    # other prices

Every rate names the page that it is from. Nothing here has been run at these sizes.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from math import ceil

from orthoglot.study.pretraining.gpu_hours import EMMA_X as PHASE_2
from orthoglot.study.pretraining.gpu_hours import EMS
from orthoglot.study.pretraining.gpu_hours import SENTENCES as LARGE

HOUR, MEGA, GIGA, TERA = 3600, 10**6, 10**9, 10**12

# Sentence pairs, or lines, of one core in a second.
PREPARED = 48_000  # measurements/ems-62-slice/README.md
LINES_TO_IDS = 50_564  # measurements/speed-of-tokenising/README.md
# Bytes of a pair in an archive, and its prepared share: the preset emma-x of `orthoglot study plan`, docs/data.md.
ARCHIVE, PREPARED_SHARE = 267.5 * GIGA / 3_115_291_462, 1.10
# Of a sentence, 8,291 a step of 304 sentences (measurements/gpu/encoders.json); bytes of an id.
TOKENS, ID = 27, 4
# An H100, measurements/gpu/README.md. Sentences a second of LaBSE's shape, and of XLM-R large's in float32.
FLOAT32, BFLOAT16 = 7_575, 24_234
EXACT = 53.5 / 1e12  # seconds a comparison of 768 numbers, both directions
# Seconds a step at 768 and at 1,024 numbers, and an epoch of SEED on 2.5 M pairs, measurements/gpu/decomposers.json.
DREAM, DREAM_ORACLE, MEAT, MEAT_ORACLE = 0.000799, 0.000938, 0.000745, 0.000902
DREAM_1024, DREAM_ORACLE_1024, MEAT_1024, MEAT_ORACLE_1024 = 0.000923, 0.00111, 0.000918, 0.00110
SEED_EPOCH = 4.13
EPOCHS, BATCH = 40, 512  # the epochs are assumed
# Mining by cells of 384 numbers, 3 looked up, measurements/fixed-cells/README.md. Processor seconds of k-means for
# 10,000 cells; of a million, 100 times the sample meets 10 times the centres of a level. Vectors a processor second: to
# the nearest of a million centres, sorted by those of 10,000, compared with 1,000 a cell (a tenth of that with 100),
# and collected, each with the start of its jobs. Pairs a second; blocks that a sentence is in, of 200, and bytes of its
# candidates in each.
KMEANS, MORE = 20, 100 * 10
TO_CENTRES, SORTED, COMPARED, COLLECTED, PAIRED = 2_000, 8_800, 8_100 / 10, 27_000, 76_000
BY_CELLS = TO_CENTRES, SORTED, COMPARED, COLLECTED
IN_BLOCKS, CANDIDATES = 2.6, 136
# Of 200 parts of each side and 200 blocks, with their receipts: text, vectors, sorted, neighbours, and of blocks.
CELLS_FILES = 2 * 200 * (1 + 3 + 6 + 3) + 200 * 5
# Files of a job with its receipt, by counting a run of `mini`: measurements/many-jobs/README.md.
PAIR, VECTORS, METHOD, SCORES, ENCODER, RESULTS = 5, 5, 4, 6, 7, 12


@dataclass(frozen=True)
class Need:
    """What something takes: bytes that are fetched and that are kept, hours, files."""

    name: str
    download: float
    disk: float
    cores: float
    gpus: float
    files: int


def needs() -> list[Need]:
    """A row for each size; vectors are float32 where nothing else is said."""
    oracle, seed, ems, emma = 5_500_225, 2_500_000, 156_177_579, 3_115_291_462
    text, every = 2 * oracle, 2 * (1024 + 1024 + 768) * oracle * 4
    steps = EPOCHS * 0.9 * oracle / BATCH
    # Twelve methods; `oracle` is taken as `dream+oracle`, ablations as what they are of.
    small = 2 * DREAM + 3 * DREAM_ORACLE + MEAT + 6 * MEAT_ORACLE
    large = 2 * DREAM_1024 + 3 * DREAM_ORACLE_1024 + MEAT_1024 + 6 * MEAT_ORACLE_1024
    fits = steps * (small + 2 * large) / HOUR
    encoding = text * (2 / FLOAT32 + 1 / LARGE) / HOUR
    archives = seed * ARCHIVE
    ids = 2 * TOKENS * ID
    billion = GIGA * ARCHIVE
    return [
        Need("`oracle`", 1.76 * GIGA, 2.42 * GIGA + every, 0.07, encoding + fits, files(12, 3, 12, oracle)),
        Need(
            "`seed-qe`",
            archives,
            archives * (1 + PREPARED_SHARE) + 2 * (2 * 768 + 2 * 1024) * seed * 4,
            seed / PREPARED / HOUR,
            # Four encoders, six methods, each taken as SEED.
            (4 * seed * (1 / FLOAT32 + 1 / LARGE) + 4 * 6 * EPOCHS * SEED_EPOCH) / HOUR,
            files(6, 4, 6, seed),
        ),
        Need(
            "`ems-62`",
            47.6 * GIGA,
            60.0 * GIGA + ems * ids,
            3.4 + 2 * ems / LINES_TO_IDS / HOUR,
            # EMS and the three LaBSE-EMS, each on four GPUs.
            4 * 4 * 733_176 / EMS / HOUR,
            files(61, 9, 0, ems),
        ),
        Need(
            "`emma-x`",
            267.5 * GIGA,
            561.8 * GIGA + emma * ids,
            18.0 + 2 * emma / LINES_TO_IDS / HOUR,
            # On four GPUs; a step of Phase 1 has 512 sentences, one of Phase 2 has 256.
            4 * (2 + 1) * 100_000 / PHASE_2 / HOUR,
            files(105, 2, 1, emma),
        ),
        Need(
            "1 G pairs, 200 languages, prepared",
            billion,
            billion * (1 + PREPARED_SHARE),
            GIGA / PREPARED / HOUR,
            0,
            files(200, 0, 0, GIGA),
        ),
        Need(
            "their 2 G sentences encoded, bfloat16, stored as float16",
            0,
            2 * GIGA * 768 * 2,
            0,
            2 * GIGA / BFLOAT16 / HOUR,
            2 * ceil(2 * GIGA / 4096),
        ),
        Need("1 G by 1 G searched, exact", 0, 2 * GIGA * 768 * 2, 0, GIGA**2 * EXACT / HOUR, 2_000),
        Need(
            "the same, 3 of a million cells, on processors",
            0,
            2 * GIGA * (384 * 4 * (1 + IN_BLOCKS) + CANDIDATES * IN_BLOCKS + 64),
            (KMEANS * MORE + sum(2 * GIGA / rate for rate in BY_CELLS) + GIGA / PAIRED) / HOUR,
            0,
            CELLS_FILES,
        ),
    ]


def files(pairs: int, encoders: int, methods: int, rows: int) -> int:
    """Files of a preset, with `original` and `centering`; training text has one for each million pairs."""
    each = (methods + 1) * METHOD + (methods + 2) * SCORES + VECTORS + ENCODER
    return pairs * PAIR + rows // MEGA + encoders * each + RESULTS


def size(number: float) -> str:
    """Bytes as a person reads them."""
    unit, name = (TERA, "TB") if number >= TERA else (GIGA, "GB")
    return f"{number / unit:.1f} {name}" if number else "–"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--core", type=float, default=0.05, help="price of an hour of one core")
    parser.add_argument("--gpu", type=float, default=3.0, help="price of an hour of an H100")
    parser.add_argument("--terabyte", type=float, default=20.0, help="price of a terabyte for a month")
    price = parser.parse_args()
    names = ("What", "Download", "Disk", "Core hours", "GPU hours", "Cost", "Files")
    sys.stdout.write(f"| {' | '.join(names)} |\n{'|---' * len(names)}|\n")
    for need in needs():
        cost = need.cores * price.core + need.gpus * price.gpu + need.disk / TERA * price.terabyte
        hours = [f"{value:,.1f}" if value else "–" for value in (need.cores, need.gpus)]
        cells = [need.name, size(need.download), size(need.disk), *hours, f"{cost:,.0f}", f"{need.files:,}"]
        sys.stdout.write(f"| {' | '.join(cells)} |\n")


if __name__ == "__main__":
    main()
