"""What benchmarks/run_multigrid measures, part by part. Each part ends when its time is over, with what it has until
then: numbers of seeds are in the results."""
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measuring import ROOT

LAYERS = ["--set", "layers=256"]
NETS = {  # settings and epochs, before gradients are looked at
    "small first weights, smoothness 1e-4, 200 epochs": (["initial=0.001", "smoothness=1e-4"], 200),
    "small first weights, smoothness 1e-5, 200 epochs": (["initial=0.001", "smoothness=1e-5"], 200),
    "small first weights, 60 epochs": (["initial=0.001"], 60),
    "small first weights, 200 epochs": (["initial=0.001"], 200),
    "Glorot's first weights, 60 epochs": ([], 60),
}
COARSE = ["matched", "matched3", "plain"]
COARSENING = [4, 8, 16]
CYCLES = [1, 2, 3]
SIZES = [(8, 256, 100), (8, 1024, 100), (64, 256, 64), (64, 1024, 64), (8, 1024, 1)]  # width, layers, batch
SEEDS = range(5)
SMOOTH = ["--set", "initial=0.001", "--set", "smoothness=1e-5"]
# Small versions of what is published: recipe, settings, steps of an interval.
TASKS = {
    "Peaks": (["peaks-odenet", "--set", "layers=64", *SMOOTH, "--epochs", 60], 8),
    "MNIST": (["mnist-odenet", "--set", "layers=16", *SMOOTH, "--set", "schedule=constant", "--epochs", 1, "--max-steps", 150], 4),
    "Fashion-MNIST": (["fashion-odenet", "--set", "layers=16", *SMOOTH, "--set", "schedule=constant", "--epochs", 1,
                       "--max-steps", 150], 4),
    "HAR": (["har-gru", "--set", "cell=implicit", "--set", "hidden=32", "--epochs", 2], 4),
    "Indian Pines": (["hyperspectral-odenet", "--set", "scene=indian-pines", "--set", "layers=32", *SMOOTH, "--epochs", 60], 8),
}
NESTED_SEEDS = range(12)
NESTED_SETTINGS = [(tikhonov, initial) for tikhonov in (1e-5, 1e-7) for initial in (0, 1e-6)]
NESTED_EPOCHS = 40  # of each net: 10 + 20 + 40 work units, epochs of the deepest
SERIAL_EPOCHS = 70
WIDTHS = [(8, 100), (16, 100), (64, 64)]  # and batches, of 1024 layers
RESIDUAL_CYCLES = range(1, 8)
QUICK_STEPS = ["--max-steps", 5]




def multigrid(**options):
    return "multigrid:when=always," + ",".join(f"{name}={value}" for name, value in options.items())


class Program:
    """Runs the program and returns the last line that it prints, which is JSON."""

    def __init__(self, path, data, is_strict=True):
        self.path, self.data, self.is_strict = path, data, is_strict

    def __call__(self, *arguments):
        run = subprocess.run([str(argument) for argument in (self.path, "--json", *arguments)], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, cwd=ROOT, check=False)
        lines = run.stdout.strip().splitlines()
        result = json.loads(lines[-1]) if lines else {"error": f"ended with status {run.returncode}"}
        if "error" in result and self.is_strict:
            raise SystemExit(f"benchmarks/run_multigrid: {' '.join(map(str, arguments))}: {result['error']}")
        return result


def tell(part, text):
    print(f"benchmarks/run_multigrid: {part}: {text}", file=sys.stderr, flush=True)


class Budget:
    """The time that a part may take."""

    def __init__(self, minutes):
        self.end = time.monotonic() + 60 * minutes

    def is_spent(self):
        return time.monotonic() > self.end


def gradients(program, quick, budget):
    found = {}
    for net, (settings, epochs) in list(NETS.items())[:1 if quick else None]:
        if budget.is_spent():
            break
        with tempfile.TemporaryDirectory() as folder:
            run = Path(folder) / "run"
            trained = program("train", "peaks-odenet", *LAYERS, *(word for item in settings for word in ("--set", item)),
                              "--epochs", 3 if quick else epochs, "--out", run)
            rows = []
            for coarse in COARSE:
                for m in COARSENING[-1:] if quick else COARSENING:
                    for k in CYCLES:
                        check = program("gradcheck", run, "--engine", multigrid(coarse=coarse, coarsening=m, cycles=k))
                        rows.append({"coarse": coarse, "m": m, "cycles": k, "cosine": check["cosine"],
                                     "error": check["max_relative_error"]})
            found[net] = {"test_accuracy": trained["test_accuracy"], "rows": rows}
            tell("gradients", f"{net}: {trained['test_accuracy']:.3f}")
    return found


def speed(program, quick, budget):
    found = []
    for width, layers, batch in SIZES[:1] if quick else SIZES:
        if budget.is_spent():
            break
        size = ["--set", f"width={width}", "--set", f"layers={layers}", "--batch", batch]
        row = {"width": width, "layers": layers, "batch": batch}
        for name, engine in {"serial": "backprop", "auto": "multigrid", "cycle": multigrid(coarsening=16, cycles=1),
                             "cycles": multigrid(coarsening=16, cycles=2)}.items():
            row[name] = program("bench", "peaks-odenet", *size, "--engine", engine)["step_seconds"]
        found.append(row)
        tell("speed", row)
    return found


def accuracy(program, quick, budget):
    """Trained exactly, by one cycle, and by as many as are needed; evaluated by the same and step by step."""
    found = {}
    tolerant = Program(program.path, program.data, is_strict=False)
    for seed in [0] if quick else SEEDS:
        for task, (arguments, m) in TASKS.items():
            if budget.is_spent() or "missing" in found.get(task, {}):
                continue
            engines = {"exact": "backprop", "1 cycle": multigrid(coarsening=m, cycles=1),
                       "adaptive": multigrid(coarsening=m, cycles=1, adaptive=50)}
            for name, engine in engines.items():
                with tempfile.TemporaryDirectory() as folder:
                    run = Path(folder) / "run"
                    trained = tolerant("train", *arguments, *(QUICK_STEPS if quick else []), "--seed", seed, "--engine", engine,
                                       "--data", program.data, "--out", run)
                    if "error" in trained:
                        found[task] = {"missing": trained["error"]}
                        break
                    steps = program("eval", run, "--engine", "backprop", "--data", program.data)
                    found.setdefault(task, {}).setdefault(name, []).append(
                        {"by_engine": trained["test_accuracy"], "by_steps": steps["test_accuracy"]})
            tell("accuracy", f"{task}, seed {seed}: {found.get(task)}")
    return found


def gru(program, quick, budget):
    """The talk's four variants of a GRU, trained by cycles; then cosines of gradients of the one that works."""
    size = ["--set", "hidden=32", *(QUICK_STEPS if quick else ["--epochs", 3])]
    variants = {
        "classic on all grids": (["cell=gru"], {"coarse": "same"}),
        "classic, implicit on coarse grids": (["cell=mixed"], {"coarse": "rescaled"}),
        "implicit, variable step": (["cell=implicit", "step=0.125"], {"coarse": "rescaled"}),
        "implicit, step 1": (["cell=implicit"], {"coarse": "rescaled"}),
        "implicit, step 1, matched coarse steps": (["cell=implicit"], {}),
    }
    found = {}
    for name, (settings, options) in variants.items():
        cell = [word for item in settings for word in ("--set", item)]
        entry = {}
        for trained_by, engine in {"exact": "backprop", "cycles": multigrid(coarsening=4, levels=3, cycles=2, backward_cycles=1,
                                                                          **options)}.items():
            if budget.is_spent():
                break
            with tempfile.TemporaryDirectory() as folder:
                run = Path(folder) / "run"
                trained = program("train", "har-gru", "--data", program.data, *cell, *size, "--engine", engine, "--out", run)
                entry[trained_by] = trained["test_accuracy"]
                if trained_by == "exact":
                    check = program("gradcheck", run, "--data", program.data, "--engine",
                                    multigrid(coarsening=4, levels=3, cycles=2, backward_cycles=1, **options))
                    entry["cosine"] = check["cosine"]
                else:
                    entry["by_steps"] = program("eval", run, "--data", program.data, "--engine", "backprop")["test_accuracy"]
        if len(entry) == 4:
            found[name] = entry
            tell("gru", f"{name}: {entry}")
    return found


def peaks_run(program, folder, width, tikhonov, initial, seed, epochs, nested, quick):
    return program("train", "peaks-odenet", "--set", "published=talk", "--set", f"width={width}", "--set", "layers=32",
                   "--set", f"tikhonov={tikhonov}", "--set", f"initial={initial}", "--seed", seed,
                   "--epochs", 2 if quick else epochs, "--set", f"nested={nested}", "--out", Path(folder) / "run")


def nested(program, quick, budget):
    """Nested iteration against training the deep net alone, with the same work."""
    found = {str(width): {"nested": [], "not nested": []} for width in (5, 8)}
    for seed in [0] if quick else NESTED_SEEDS:
        for tikhonov, initial in NESTED_SETTINGS[:1] if quick else NESTED_SETTINGS:
            for width in (5, 8):
                if budget.is_spent():
                    return found
                for name, nets, epochs in (("nested", 3, NESTED_EPOCHS), ("not nested", 1, SERIAL_EPOCHS)):
                    with tempfile.TemporaryDirectory() as folder:
                        trained = peaks_run(program, folder, width, tikhonov, initial, seed, epochs, nets, quick)
                        found[str(width)][name].append(trained["test_accuracy"])
        tell("nested", f"seed {seed} done")
    return found


def accuracy_curve(folder):
    """Returns the test accuracy after each epoch of a run."""
    state = max((Path(folder) / "checkpoints").glob("*/state.json"), key=lambda path: path.stat().st_mtime)
    return [point["value"] for point in json.loads(state.read_text())["history"]["test/accuracy"]]


def work(program, quick, budget):
    """Test accuracy over work units, epochs of the deepest net, of one seed."""
    found = {}
    for name, nets, epochs in (("nested", 3, NESTED_EPOCHS), ("not nested", 1, SERIAL_EPOCHS)):
        if budget.is_spent():
            break
        with tempfile.TemporaryDirectory() as folder:
            peaks_run(program, folder, 8, 1e-5, 1e-6, 0, epochs, nets, quick)
            points, done = [], 0.0
            for net in reversed(range(nets)):
                for value in accuracy_curve(Path(folder) / "run" / Path(*["shallower"] * net)):
                    done += 0.5 ** net
                    points.append((done, value))
            found[name] = points
            tell("work", f"{name}: {points[-1]}")
    return found


def published(program, quick, budget):
    """The settings of the paper (T = 1, smooth ReLU, L-BFGS) and of the talk (T = 5, tanh)."""
    found = {}
    runs = {"paper, exact gradients": ["published=paper", "engine=backprop"],
            "paper, 2 cycles, m = 2": ["published=paper", f"engine={multigrid(coarsening=2, cycles=2, levels=2, coarse='plain')}"],
            "paper, one shot": ["published=paper", "line_search=none", "lr=0.5",
                                f"engine={multigrid(coarsening=4, cycles=1, guess='batch')}"],
            "talk, exact gradients": ["published=talk", "epochs=100", "engine=backprop"],
            "talk, 1 cycle, m = 4": ["published=talk", "epochs=100", f"engine={multigrid(coarsening=4, cycles=1)}"]}
    for name, settings in runs.items():
        if budget.is_spent():
            break
        with tempfile.TemporaryDirectory() as folder:
            started = time.monotonic()
            trained = program("train", "peaks-odenet", *(word for item in settings for word in ("--set", item)),
                              *(QUICK_STEPS if quick else []), "--out", Path(folder) / "run")
            found[name] = {"test_accuracy": trained["test_accuracy"], "train_loss": trained["train_loss"],
                           "seconds": time.monotonic() - started}
        tell("published", f"{name}: {found[name]}")
    return found


def serial(program, quick, budget):
    """A gradient of Peaks with 1024 layers and all examples, on one core."""
    layers, batch = (64, 500) if quick else (1024, 5000)
    step = program("bench", "peaks-odenet", "--set", f"layers={layers}", "--batch", batch, "--steps", 3 if quick else 10,
                   "--engine", "backprop", "--threads", 1)
    tell("serial", f"{step['step_seconds']:.3f} s")
    return {"layers": layers, "batch": batch, "step_seconds": step["step_seconds"]}


def threads(program, quick, budget):
    """The best serial run of this machine against cycles whose intervals are stepped through by threads."""
    found = []
    counts = [count for count in (1, 2, 4, 8, 16, 32) if count <= os.cpu_count()]
    solves = {f"1 cycle, m = {m}": multigrid(coarsening=m, cycles=1, groups=32) for m in (16, 32)}
    solves["1 cycle, 3 grids, m = 8"] = multigrid(coarsening=8, levels=3, cycles=1, groups=32)
    for width, batch in WIDTHS[:1] if quick else WIDTHS:
        for count in counts:
            if budget.is_spent():
                return found
            row = {"width": width, "batch": batch, "threads": count}
            for name, engine in {"step by step": "backprop", **solves}.items():
                row[name] = program("bench", "peaks-odenet", "--set", f"width={width}", "--set",
                                    f"layers={128 if quick else 1024}", "--batch", batch, "--steps", 5 if quick else 20,
                                    "--engine", engine, "--threads", count)["step_seconds"]
            found.append(row)
            tell("threads", row)
    return found


def residuals(program, quick, budget):
    """The residual of the states after each V-cycle, forward and of the adjoint."""
    found = {}
    for m, coarse in ((4, "matched"), (8, "matched"), (16, "matched"), (8, "plain")):
        points = {"forward": [], "adjoint": []}
        for cycles in RESIDUAL_CYCLES:
            if budget.is_spent():
                return found
            with tempfile.TemporaryDirectory() as folder:
                engine = multigrid(coarsening=m, cycles=cycles, coarse=coarse)
                trained = program("train", "peaks-odenet", "--set", "layers=128", *SMOOTH, "--epochs", 1 if quick else 10,
                                  "--engine", engine, "--out", Path(folder) / "run")
                reports = trained["reports"]
                points["forward"].append((cycles, reports["residual.multigrid_residual"]))
                points["adjoint"].append((cycles, reports["residual.adjoint.multigrid_residual"]))
        found[f"{coarse}, m = {m}"] = points
        tell("residuals", f"{coarse}, m = {m}: {points}")
    return found


# Parts and the minutes that each may take.
PARTS = {"gradients": (gradients, 6), "speed": (speed, 2), "accuracy": (accuracy, 20), "gru": (gru, 8), "nested": (nested, 12),
         "work": (work, 1), "published": (published, 4), "serial": (serial, 1), "threads": (threads, 4),
         "residuals": (residuals, 2)}
