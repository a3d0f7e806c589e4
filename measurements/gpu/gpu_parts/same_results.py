"""Part 1: a GPU finds what a CPU finds, twice the same, and nothing waits for it within a step."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch
from torch import Tensor

from gpu_parts import ROOT, models, vectors
from gpu_parts.measuring import COUNTED, graphs_of_steps, logged, profiled, waits, without_graph
from gpu_parts.result import Part
from orthoglot import catalogue
from orthoglot.decomposers.base import Decomposition, unit
from orthoglot.decomposers.modules import Maps
from orthoglot.encoders.folder import load_encoder
from orthoglot.encoders.packed import reads_packed
from orthoglot.objectives import TERMS, is_trained
from orthoglot.objectives.base import Adversary, Pairs, resolve
from orthoglot.random_streams import Draws, stream
from orthoglot.search.hits import hits
from orthoglot.search.neighbours import nearest
from orthoglot.study import config
from orthoglot.study.pretraining import trainer
from orthoglot.study.pretraining.collate import EmsCollator
from orthoglot.study.pretraining.emma_x_collate import EmmaXCollator
from orthoglot.study.pretraining.emma_x_phases import EmmaXState, ParallelModel, TextModel
from orthoglot.study.pretraining.kinds.emma_x import EmmaXSettings
from orthoglot.study.pretraining.kinds.ems import EmsSettings
from orthoglot.study.pretraining.tokenised import Text
from orthoglot.study.pretraining.trainings import emma_x
from orthoglot.study.pretraining.trainings.ems import EmsModel
from orthoglot.training import decompose, loop, stack
from orthoglot.training.batching import Batch, make_batches
from orthoglot.training.settings import DecompositionSettings
from orthoglot.training.speed import Stopwatch

CPU = torch.device("cpu")
EIGHT = {"steps": 8, "validate_every": 8, "warmup_steps": 2, "sampling_temperature": 1.0}
LANGUAGES = 4
# What the log says of a training that is not packed, compiled or captured; a good GPU says none of it.
LACKING = ("sentences are read with padding", "not compiled", "steps are not captured")
# Columns that say whether bits are equal.
SAME = ("twice the same", "from host memory the same", "without a graph the same")
# Relative differences |a - b| / |a| in float32, and in bfloat16, which keeps 8 bits.
TERM, GRADIENT, ENCODED, TRAINED, BFLOAT16 = 1e-5, 1e-4, 1e-4, 5e-3, 5e-2


def measure(part: Part) -> None:
    """Compare, and count what waits."""
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.set_num_threads(min(2, torch.get_num_threads()))
    part.notes.append(
        f"Tolerances, relative: loss terms {TERM:g}, gradients {GRADIENT:g}, encoded vectors {ENCODED:g}; trained "
        f"weights {TRAINED:g} of how far training moved them; bfloat16 {BFLOAT16:g}. Float32 products are not rounded "
        "to TF32."
    )
    said: list[str] = []
    for piece in (terms, trainings, encoder_steps, captured_steps, encoding, retrieval, kill_and_resume):
        name, before = piece.__name__.replace("_", " "), part.seconds
        with part.tried(name), logged() as lines:
            piece(part)
        if piece in (encoder_steps, captured_steps):
            said += lines
        part.row("Time", piece=name, seconds=part.seconds - before)
    rows = [row for table in part.tables.values() for row in table["rows"]]
    worst = [row["what"] for row in rows if row.get("within") is False]
    part.goal("comparisons outside their tolerance", 0, float(len(worst)), most=True)
    again = [row["what"] for row in rows for same in SAME if row.get(same) is False]
    part.goal("trainings that do not repeat their bits", 0, float(len(again)), most=True)
    counted = part.tables.get("Waiting within steps", {"rows": []})["rows"]
    part.goal(
        "places where a step waits",
        0,
        float(sum(row["places"] for row in counted)) if counted else None,
        most=True,
    )
    lacking = {lack: sorted({line for line in said if lack in line}) for lack in LACKING}
    for lack, reasons in lacking.items():
        part.row("What the log of EMS and Emma-X says", line=lack, said=bool(reasons), why="; ".join(reasons))
    part.goal(
        "parts of a fast step that the log says are absent",
        0,
        float(sum(map(bool, lacking.values()))),
        most=True,
    )
    for what, which in {"tolerances": worst, "the same bits": again}.items():
        if which:
            part.failures.append({"what": what, "reason": ", ".join(which), "optional": "False"})


def difference(a: Tensor, b: Tensor) -> float:
    """|a - b| / |a| over all numbers, computed in float64."""
    a, b = (one.detach().cpu().double().flatten() for one in (a, b))
    return float((a - b).norm() / a.norm().clamp(min=1e-9))


def compared(part: Part, table: str, name: str, found: float, tolerance: float, **more: Any) -> None:
    """A row of a comparison."""
    part.row(table, what=name, difference=found, tolerance=tolerance, within=bool(found <= tolerance), **more)


def terms(part: Part) -> None:
    """Values and gradients of every term of the decomposers."""
    dim, pairs = part.size((256, 512), (16, 32))
    made = vectors.data(4 * pairs, dim, LANGUAGES, CPU)
    batches = make_batches(
        made.train, "dream", batch_size=pairs, drop_last=True, order=Draws(0, "o"), partners=Draws(0, "p")
    )
    maps = [torch.randn(dim, dim, generator=stream(number)) for number in (1, 2)]
    for name in TERMS:
        values, slopes = [], []
        for device in (CPU, part.device):
            term = resolve(name)
            if isinstance(term, type):
                term = term(dim=dim, n_languages=LANGUAGES, generator=stream(3)).to(device)
            batch = Batch(*(getattr(batches[0], field.name).to(device) for field in fields(Batch)))
            sentence = made.vectors.to(device)[batch.rows]
            leaves = [(sentence @ weight.to(device) / dim**0.5).requires_grad_() for weight in maps]
            given = Pairs(
                Decomposition(sentence, *leaves),
                batch.language_id,
                batch.other,
                batch.peer,
                batch.active,
                LANGUAGES,
            )
            value = term(given) + (term.discriminate(given) if isinstance(term, Adversary) else 0)
            found = torch.autograd.grad(value, leaves, allow_unused=True, materialize_grads=True)
            values.append(value)
            slopes.append(torch.cat(found))
        compared(part, "Loss terms", name, difference(*values), TERM)
        compared(part, "Loss terms", f"{name}, gradient", difference(*slopes), GRADIENT)


def trainings(part: Part) -> None:
    """Every trained method of the catalogue: CPU against GPU, twice the same, and read from host memory."""
    dim, pairs, size = part.size((128, 4096, 256), (8, 48, 16))
    data = vectors.data(pairs, dim, LANGUAGES, CPU)
    recipe = DecompositionSettings(learning_rate=1e-4, batch_size=size, max_epochs=2, patience=2)
    methods = config.load(ROOT / "params.yaml").methods
    # Methods with a recipe of their own have the terms of others, and up to 10,000 epochs.
    found = {
        name: method
        for name, method in methods.items()
        if is_trained(method.architecture) and method.recipe(recipe) == recipe
    }
    for name in part.size(tuple(found), ("dream", "meat+oracle", "seed-centred", "langsae")):
        with part.tried(f"training {name}"):
            train_method(part, name, found[name], recipe, data)
    for name in part.size(("seed", "dream+oracle", "meat+oracle"), ("meat+oracle",)):
        with part.tried(f"stack {name}"):
            train_stack(part, name, methods[name], recipe, data)
    seed = methods["seed"]
    some = vectors.data(size * 8, dim, LANGUAGES, part.device, valid=size)
    counted(part, "SEED", lambda: one_epoch(seed, recipe, some, part.device), 16)


def train_method(
    part: Part, name: str, method: Any, recipe: DecompositionSettings, data: decompose.Data
) -> None:
    """One method: CPU against GPU, twice the same, and read from host memory."""

    def trained(device: torch.device) -> dict[str, Tensor]:
        _, centred = decompose.subtract(data, method.centre)
        found, _ = decompose.train(method, recipe, name, centred, seed=1, device=device, checkpoint=None)
        return {key: torch.from_numpy(value) for key, value in found.items()}

    before = Maps(
        method.architecture, data.vectors.shape[1], stream(1, "maps"), **method.own_settings
    ).state_dict()
    a, b, again = trained(CPU), trained(part.device), trained(part.device)
    with mock.patch.object(decompose, "fits", return_value=False):
        streamed = trained(part.device)
    with without_graph():
        eager = trained(part.device)
    moved = torch.cat([(a[key] - before[key]).flatten() for key in a])
    apart = torch.cat([(a[key] - b[key]).flatten() for key in a])
    compared(
        part,
        "Decomposers after two epochs",
        name,
        float(apart.norm() / moved.norm()),
        TRAINED,
        **{
            "twice the same": equal(b, again),
            "from host memory the same": equal(b, streamed),
            "without a graph the same": equal(b, eager),
        },
    )


def train_stack(
    part: Part, name: str, method: Any, recipe: DecompositionSettings, data: decompose.Data
) -> None:
    """Three trainings on the GPU: a stack against each alone, twice the same, and read from host memory."""
    seeds = (1, 2, 3)
    entries = [stack.Entry(method, recipe, name, seed) for seed in seeds]

    def stacked() -> dict[str, Tensor]:
        found = stack.train_stack(entries, data, device=part.device, checkpoint=None)
        return {
            f"{seed}.{key}": torch.from_numpy(value)
            for seed, (weights, _) in zip(seeds, found, strict=True)
            for key, value in weights.items()
        }

    alone, before = {}, {}
    for seed in seeds:
        found, _ = decompose.train(method, recipe, name, data, seed=seed, device=part.device, checkpoint=None)
        start = Maps(method.architecture, data.vectors.shape[1], stream(seed, "maps")).state_dict()
        alone |= {f"{seed}.{key}": torch.from_numpy(value) for key, value in found.items()}
        before |= {f"{seed}.{key}": value for key, value in start.items()}
    together, again = stacked(), stacked()
    with mock.patch.object(decompose, "fits", return_value=False):
        streamed = stacked()
    with without_graph():
        eager = stacked()
    moved = torch.cat([(alone[key] - before[key]).flatten() for key in alone])
    apart = torch.cat([(alone[key] - together[key]).flatten() for key in alone])
    compared(
        part,
        "Three decomposers as a stack after two epochs, against each alone",
        name,
        float(apart.norm() / moved.norm()),
        TRAINED,
        **{
            "twice the same": equal(together, again),
            "from host memory the same": equal(together, streamed),
            "without a graph the same": equal(together, eager),
        },
    )


def one_epoch(method: Any, recipe: DecompositionSettings, data: decompose.Data, device: torch.device) -> None:
    """Training with its loop, but for preparation and validation."""
    decompose.train(method, recipe, "counted", data, seed=1, device=device, checkpoint=None)


def equal(a: Mapping[str, Tensor], b: Mapping[str, Tensor]) -> bool:
    """Whether all bits are equal."""
    return all(torch.equal(a[key].cpu(), b[key].cpu()) for key in a)


def counted(part: Part, name: str, work: Callable[[], object], steps: int) -> None:
    """What waits within the loop of steps: validation, reading terms and preparation are left out."""
    inside: list[str] = []
    for places in during_steps(lambda: waits(part.device), work):
        inside += places
    kernels: Counter[str] = Counter()
    # On a CPU there is nothing to count, and counting is slow: one trial suffices.
    if part.on_gpu or name == "SEED":
        kernels.update(dict.fromkeys(COUNTED, 0))
        for counts in during_steps(lambda: profiled(part.device), work):
            kernels.update(counts)
    # Terms are read every 50 steps and at the end of an epoch, which is what `Terms.read` is for.
    waiting = sorted({place for place in inside if "training/loop.py" not in place})
    part.row(
        "Waiting within steps",
        what=name,
        places=len(waiting),
        **{"where": ", ".join(waiting) or "nowhere", "steps profiled": steps, **kernels},
    )


def during_steps(measure: Callable[[], AbstractContextManager[Any]], work: Callable[[], object]) -> list[Any]:
    """What is measured while the steps of each epoch of a training are timed."""
    results: list[Any] = []
    with ExitStack() as measuring:

        class Watch(Stopwatch):
            def start(self) -> None:
                super().start()
                results.append(measuring.enter_context(measure()))

            def stop(self) -> None:
                measuring.close()
                super().stop()

        with mock.patch.object(loop, "Stopwatch", Watch):
            work()
    return results


def ems_settings(part: Part, **changed: Any) -> EmsSettings:
    """Sizes of ems-small, or tiny ones; without dropout, whose draws differ between devices."""
    found: Any = config.load(ROOT / "params.yaml").encoders["ems-small"]
    tiny = {"layers": 1, "width": 16, "heads": 2, "feed_forward": 32}
    network = found.network.model_copy(
        update={**part.size({}, tiny), "dropout": 0.0, "attention_dropout": 0.0}
    )
    own = {"batch_size": part.size(64, 8), "learning_rate": 1e-4, "chunk_tokens": 512, **EIGHT, **changed}
    return found.model_copy(update={"network": network, **own})


def emma_x_settings(part: Part, **changed: Any) -> EmmaXSettings:
    """Emma-X with masked language modelling, as its code has it."""
    found: Any = config.load(ROOT / "params.yaml").encoders["emma-x-paper"]
    return found.model_copy(
        update={
            "parallel": found.parallel.model_copy(update={"batch_size": part.size(32, 8), **EIGHT}),
            "text": found.text.model_copy(update={"batch_size": part.size(64, 8), "known_pairs": 4, **EIGHT}),
            "mlm": found.mlm.model_copy(update={"weight": 1.0}),
            "processes": 1,
            "precision": "float32",
            "chunk_tokens": 512,
            "queue": part.size(256, 16),
            **changed,
        }
    )


def ems_model(
    part: Part, settings: EmsSettings, device: torch.device, place: Path
) -> tuple[Any, EmsModel, trainer.MakeBatch]:
    """A prepared training, its model and its batches, the same for every device."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        encoder = models.new(settings.network, part.size(4000, 200))  # type: ignore[arg-type]
        model = EmsModel(settings, encoder, LANGUAGES).to(device)
    prepared = models.training(
        settings, encoder, device, place, pairs=part.size(2000, 100), languages=LANGUAGES
    )
    collator = EmsCollator(settings, encoder, device)

    def make_batch(split: Any, rows: np.ndarray, number: int) -> Any:
        return collator(prepared.corpus[split], rows, np.random.default_rng(number))

    return prepared, model, make_batch


def train_ems(part: Part, settings: EmsSettings, device: torch.device, place: Path) -> dict[str, Tensor]:
    """Weights after the product's own training."""
    prepared, model, make_batch = ems_model(part, settings, device, place)
    captured = EmsCollator(settings, prepared.encoder, device).captured
    trainer.train_on_pairs(prepared, settings, model, make_batch, captured=captured)
    return {key: value.cpu() for key, value in model.state_dict().items()}


def train_emma_x(
    part: Part, settings: EmmaXSettings, label: str, device: torch.device, place: Path
) -> dict[str, Tensor]:
    """Weights after one phase."""
    prepared, state, collator = emma_x_state(part, settings, device, place)
    if label == "text":
        draw = np.random.default_rng(5)
        text = Text(models.ragged(100, prepared.encoder.vocabulary, 60, draw), (50, 50))
        model: Any = TextModel(state, settings)
        batches = partial(collator.text, text=text)
    else:
        model = ParallelModel(state, settings, frozenset(["encoder", "classifier"]))
        batches = partial(collator.pairs, hide=True)
    emma_x._train(prepared, settings, label, model.to(device), batches, collator, [])
    return {key: value.cpu() for key, value in state.state_dict().items()}


def emma_x_state(
    part: Part, settings: EmmaXSettings, device: torch.device, place: Path
) -> tuple[Any, EmmaXState, EmmaXCollator]:
    """A prepared training, its networks and its batches."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(2)
        encoder = models.continued("tiny", predicts=True, dropout=0.0)
        state = EmmaXState(settings, encoder.network, encoder.dim).to(device)
    prepared = models.training(
        settings, encoder, device, place, pairs=part.size(2000, 100), languages=LANGUAGES
    )
    return prepared, state, EmmaXCollator(settings, prepared.inputs.bitext, encoder, prepared.corpus, device)


def encoder_steps(part: Part) -> None:
    """Eight steps of EMS and of both phases of Emma-X, in float32; the first loss in bfloat16."""
    with tempfile.TemporaryDirectory() as scratch:
        places = (Path(scratch) / str(number) for number in range(1000))
        ems, emma = ems_settings(part), emma_x_settings(part)
        ways: dict[str, Callable[[torch.device], dict[str, Tensor]]] = {
            "EMS": lambda device: train_ems(part, ems, device, next(places)),
            "Emma-X, Phase 1": lambda device: train_emma_x(part, emma, "parallel", device, next(places)),
            "Emma-X, Phase 2": lambda device: train_emma_x(part, emma, "text", device, next(places)),
        }
        starts = {
            "EMS": ems_model(part, ems, CPU, next(places))[1],
            "Emma-X": emma_x_state(part, emma, CPU, next(places))[1],
        }
        for name, train in ways.items():
            with part.tried(name):
                a, b, again = train(CPU), train(part.device), train(part.device)
                start = starts[name.partition(",")[0]].encoder.named_parameters(prefix="encoder")
                whole = {key: value.detach() for key, value in start}
                first, second = (
                    torch.cat([(one[key] - whole[key]).flatten() for key in whole]) for one in (a, b)
                )
                compared(
                    part,
                    "Encoders after eight steps",
                    name,
                    difference(first, second),
                    TRAINED,
                    **{"twice the same": equal(b, again)},
                )
                counted(part, name, lambda: train(part.device), 8)  # noqa: B023
        with part.tried("bfloat16"):
            losses = []
            for device, precision in ((CPU, "float32"), (part.device, "bfloat16")):
                settings = ems_settings(part, precision=precision)
                _, model, make_batch = ems_model(part, settings, device, next(places))
                batch = make_batch("train", np.arange(settings.batch_size), 0)
                losses.append(model(batch)["total"])
            compared(
                part,
                "Encoders after eight steps",
                "EMS, first loss in bfloat16",
                difference(*losses),
                BFLOAT16,
            )


@mock.patch.object(trainer, "COMPILES_FROM", 0)
def captured_steps(part: Part) -> None:
    """Steps of EMS in bfloat16, which a GPU reads packed, compiles and captures: twice the same bits."""
    steps = part.size(60, 4)
    settings = ems_settings(part, precision="bfloat16", steps=steps, validate_every=steps)
    with tempfile.TemporaryDirectory() as scratch, graphs_of_steps() as graphs:
        first, again = (train_ems(part, settings, part.device, Path(scratch) / name) for name in "ab")
    part.row(
        "EMS in bfloat16, layers compiled",
        what=f"EMS, {steps} steps in bfloat16",
        **{"twice the same": equal(first, again)},
        packed=reads_packed(models.new(settings.network, 10).network.model, part.device),  # type: ignore[arg-type]
        graphs=sum(len(graph._captured) for graph in graphs),
    )


def encoding(part: Part) -> None:
    """Vectors of a random XLM-R, and of me5-small where its folder is."""
    with tempfile.TemporaryDirectory() as scratch:
        folders = {
            "random XLM-R": models.write_encoder(
                Path(scratch) / "encoder", part.size("xlmr-base", "tiny"), "mean"
            )
        }
        folders |= {name: place for name, place in real_encoders().items() if not part.tiny}
        for name, folder in folders.items():
            text = models.sentences(part.size(2000, 40), part.size(models.WORDS, 400))
            one = torch.from_numpy(load_encoder(folder, "cpu").encode(text[: part.size(200, 40)], "", 2048))
            for precision, tolerance in (("float32", ENCODED), ("bfloat16", BFLOAT16)):
                encoder = load_encoder(folder, str(part.device), precision)  # type: ignore[arg-type]
                other = torch.from_numpy(encoder.encode(text, "", 8192))[: len(one)]
                compared(part, "Encoding", f"{name}, {precision}", difference(one, other), tolerance)


def real_encoders() -> dict[str, Path]:
    """me5-small, if `orthoglot get` has put it into `weights`, as an encoder folder."""
    from orthoglot.encoders.frozen_folder import link
    from orthoglot.encoders.kinds.pretrained import PretrainedSettings

    found = {}
    for name in ("me5-small", "me5-small-4bit"):
        place = ROOT / "weights" / name
        if (place / "config.json").is_file():
            folder = Path(tempfile.mkdtemp())
            settings = PretrainedSettings(
                kind="pretrained",
                checkpoint=str(place),
                revision="",
                pooling="mean",
                prefix="query: ",
                licence="MIT",
            )
            link(settings, name, folder)
            found[name] = folder
    return found


def retrieval(part: Part) -> None:
    """Hits of translations among vectors that either device made."""
    dim, pairs = part.size((256, 2000), (16, 50))
    method = catalogue.method("seed")
    maps = Maps(method.architecture, dim, stream(1, "maps"))
    made = vectors.data(pairs, dim, LANGUAGES, CPU)
    found = []
    for device in (CPU, part.device):
        meaning = copy.deepcopy(maps).to(device)(made.vectors.to(device)).meaning.detach().cpu().numpy()
        sides = meaning[:pairs], meaning[len(meaning) // 2 :][:pairs]
        found.append(np.concatenate(hits(*sides, str(device))))
    x, y = map(unit, sides)
    on_cpu, here = (np.stack(nearest(x, y, 4, device=str(device))) for device in (CPU, part.device))
    compared(part, "Retrieval", "share of other neighbours of the same", float((on_cpu != here).mean()), 0)
    compared(part, "Retrieval", "share of other hits", float((found[0] != found[1]).mean()), 1e-3)


SCRIPT = """
import os, sys
from pathlib import Path
import torch
from gpu_parts import same_results
from gpu_parts.result import Part
from orthoglot.training import loop
from orthoglot.training.distributed import joined, started_together
place, kill = Path(sys.argv[1]), sys.argv[2] == "kill"
part = Part(sys.argv[3] == "tiny")
if kill:
    loop.SECONDS_BETWEEN_SAVES, loop.SAVE_SHARE = 0.0, 0
    saved, now = [], loop.Saves.now
    def once(self):
        now(self)
        saved.append(1)
        if len(saved) == 3:
            os.kill(os.getpid(), 9)
    loop.Saves.now = once
with joined(1, part.device) as device:
    assert started_together() and torch.distributed.get_backend() == ("nccl" if part.on_gpu else "gloo")
    ones = torch.ones(3, device=device)
    torch.distributed.all_reduce(ones)
    weights = same_results.train_ems(part, same_results.ems_settings(part), device, place)
torch.save(weights, place / "weights.pt")
"""


def kill_and_resume(part: Part) -> None:
    """Under torchrun with one process, killed after three steps and started again: the weights of one that was not."""
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        (place / "run.py").write_text(SCRIPT)
        environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
        launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=1"]
        command = [*launch, str(place / "run.py"), str(place), "kill", part.size("full", "tiny")]
        found = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
        if not found.returncode or not (place / "training.pt").exists():
            raise RuntimeError(f"torchrun ended with {found.returncode}: {found.stderr[-400:]}")
        if part.tiny:
            resumed = train_ems(part, ems_settings(part), part.device, place)
        else:
            command[-2] = "finish"
            subprocess.run(command, env=environment, check=True, timeout=300)
            resumed = torch.load(place / "weights.pt", weights_only=True)
        whole = train_ems(part, ems_settings(part), part.device, place / "undisturbed")
        part.row(
            "Killed and resumed under torchrun",
            what="EMS, " + ("NCCL" if part.on_gpu else "gloo") + ", one process",
            **{"twice the same": equal(whole, resumed)},
        )
