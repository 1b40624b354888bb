"""The page and the plots that benchmarks/run_multigrid makes of its results."""
import statistics

from measuring import table
from multigrid_parts import COARSE, COARSENING, CYCLES
from plots import line_plot

# The talk's table of validation accuracy (12 runs of each of 4 settings): mean, median, most, least, deviation.
TALK = {"5": {"nested": (86.7, 88.0, 97.0, 66.0, 7.69), "not nested": (85.0, 88.5, 95.0, 20.0, 11.7)},
        "8": {"nested": (92.3, 94.0, 99.0, 72.5, 5.18), "not nested": (90.7, 91.8, 96.5, 57.0, 6.08)}}


def percent(value, digits=2):
    return f"{100 * value:.{digits}f}"


def mean(rows, key):
    return statistics.fmean(row[key] for row in rows)


def gradients_section(found):
    lines = ["## Gradients of trained nets", "`peaks-odenet`, width 8, 256 layers, T = 5: the cosine of the angle between the "
             "gradient that cycles find and the exact one (float64), and the largest relative error of a parameter.", ""]
    for net, entry in found.items():
        def row_of(coarse, m):
            rows = [row for row in entry["rows"] if row["coarse"] == coarse and row["m"] == m]
            return [coarse, str(m), *(f"{row['cosine']:.6f}" for row in rows), *(f"{row['error']:.1e}" for row in rows)]
        lines += [f"### {net[0].upper()}{net[1:]} (test accuracy {percent(entry['test_accuracy'], 1)} %)",
                  table(["coarse step", "m", *(f"cosine, {k} cycle{'s' * (k > 1)}" for k in CYCLES),
                         *(f"error, {k}" for k in CYCLES)],
                        [row_of(coarse, m) for coarse in COARSE for m in COARSENING
                         if any(row["coarse"] == coarse and row["m"] == m for row in entry["rows"])]), ""]
    return lines + ["![error over cycles, m = 16](multigrid_errors.svg)", ""]


def speed_section(found):
    return ["## A training step", "`peaks-odenet`, milliseconds; `auto` is what `--engine multigrid` chooses.", "",
            table(["width", "layers", "batch", "step by step", "auto", "1 cycle, m = 16", "2 cycles, m = 16"],
                  [[str(row["width"]), str(row["layers"]), str(row["batch"]),
                    *(f"{1000 * row[name]:.2f}" for name in ("serial", "auto", "cycle", "cycles"))] for row in found]), ""]


def accuracy_section(found):
    rows = []
    for task, entry in found.items():
        if "missing" in entry:
            rows.append([task, "", "", "", "", f"not measured: {entry['missing']}"])
            continue
        for name, seeds in entry.items():
            rows.append([task, name, str(len(seeds)), percent(mean(seeds, "by_engine")), percent(mean(seeds, "by_steps")),
                         percent(mean(seeds, "by_engine") - mean(seeds, "by_steps"))])
    return ["## Accuracy", "Means over seeds, in %; the gap is between evaluation by cycles and step by step. The tasks are small "
            "versions of the published ones (`TASKS` in benchmarks/multigrid_parts.py); of Indian Pines, the data at hand have "
            "695 spectra with labels, of some 10 000.", "",
            table(["task", "trained by", "seeds", "evaluated by the same", "step by step", "gap"], rows), ""]


def gru_section(found):
    return ["## Recurrent cells", "`har-gru`, 32 units, 3 epochs, in the talk's four variants: accuracy trained exactly; the cosine "
            "of that net's gradient by cycles (3 grids, m = 4, 2 cycles forward, 1 back) with the exact one; accuracy trained by "
            "such cycles, evaluated by them and step by step.", "",
            table(["variant", "trained exactly", "cosine", "trained by cycles", "then step by step"],
                  [[name, percent(entry["exact"]), f"{entry['cosine']:.4f}", percent(entry["cycles"]), percent(entry["by_steps"])]
                   for name, entry in found.items()]), ""]


def nested_section(found):
    rows = []
    for width, entry in found.items():
        for name, values in entry.items():
            if len(values) < 2:
                continue
            ours = [100 * value for value in values]
            numbers = (statistics.fmean(ours), statistics.median(ours), max(ours), min(ours), statistics.stdev(ours))
            rows.append([width, name, str(len(ours)),
                         *(f"{own:.1f} ({talk:g})" for own, talk in zip(numbers, TALK[width][name]))])
    return ["## Nested iteration", "`peaks-odenet --set published=talk`, 32 layers, trained with the same work, epochs of the deepest "
            "net: nets of 8, 16 and 32 layers for 40 epochs each, or that of 32 layers for 70. Test accuracy in % over seeds and four "
            "settings (Tikhonov 1e-5, 1e-7; first weights 0, 1e-6); in brackets, what the talk has.", "",
            table(["channels", "", "runs", "mean", "median", "most", "least", "deviation"], rows), ""]


def work_section(_):
    return ["### Accuracy over work", "One seed, 8 channels; a unit of work is an epoch of the deepest net.", "",
            "![test accuracy over work units](multigrid_work.svg)", ""]


def published_section(found):
    return ["## Published settings", "`peaks-odenet --set published=paper` (T = 1, smooth ReLU, L-BFGS with back-tracking on all "
            "examples, 130 iterations) and `published=talk` (T = 5, tanh, Adam).", "",
            table(["", "test accuracy, %", "train loss", "seconds"],
                  [[name, percent(row["test_accuracy"]), f"{row['train_loss']:.4f}", f"{row['seconds']:.1f}"]
                   for name, row in found.items()]), ""]


def serial_section(found):
    return ["## A gradient on one core", f"`peaks-odenet`, {found['layers']} layers, {found['batch']} examples, step by step with its "
            f"update: {found['step_seconds']:.3f} s.", ""]


def threads_section(found):
    names = [name for name in found[0] if name not in ("width", "batch", "threads")] if found else []
    rows, best = [], []
    for width in dict.fromkeys(row["width"] for row in found):
        own = [row for row in found if row["width"] == width]
        rows += [[str(width), str(row["batch"]), str(row["threads"]), *(f"{1000 * row[name]:.2f}" for name in names)]
                 for row in own]
        fastest = {name: min(row[name] for row in own) for name in names}
        cycles = min(names[1:], key=fastest.get)
        best.append(f"width {width}: {fastest[names[0]] / fastest[cycles]:.2f} ({cycles})")
    return ["## Threads", "`peaks-odenet`, 1024 layers, a training step in milliseconds; in cycles, each thread steps through intervals "
            "of its own (`groups=32`). The fastest step by step against the fastest by cycles, each with the number of threads that suits "
            "it: " + ", ".join(best) + ".", "", table(["width", "batch", "threads", *names], rows), ""]


def residuals_section(_):
    return ["## Residuals", "`peaks-odenet`, 128 layers, trained for 10 epochs: the residual of the states behind so many V-cycles.",
            "", "![residuals of V-cycles](multigrid_residuals.svg)", ""]


SECTIONS = {"gradients": gradients_section, "residuals": residuals_section, "speed": speed_section, "threads": threads_section,
            "serial": serial_section, "accuracy": accuracy_section, "gru": gru_section, "nested": nested_section,
            "work": work_section, "published": published_section}


def page_of(results):
    lines = ["# Engine `multigrid`, measured", "", "Written by `benchmarks/run_multigrid`. How it is meant: "
             "[multigrid.md](../multigrid.md).", ""]
    for part, section in SECTIONS.items():
        if part in results:
            lines += section(results[part]["found"])
    for part, entry in results.items():
        where = entry["machine"]
        lines.append(f"`{part}`: {where['processor']}, {where['threads']} threads, {where['date']}, {where['commit']}.  ")
    return "\n".join(lines) + "\n"


def plots_of(results):
    """Returns plots (SVG) by the names of their files."""
    plots = {}
    if "gradients" in results:
        net = next(iter(results["gradients"]["found"].values()))
        series = {coarse: [(row["cycles"], max(row["error"], 1e-9)) for row in net["rows"]
                           if row["coarse"] == coarse and row["m"] == 16] for coarse in COARSE}
        plots["multigrid_errors.svg"] = line_plot(series, "cycles", "largest relative error", linear_x=True)
    if "residuals" in results:
        series = {f"{name}{', adjoint' if problem == 'adjoint' else ''}": [(k, max(value, 1e-9)) for k, value in points[problem]]
                  for name, points in results["residuals"]["found"].items() for problem in ("forward", "adjoint")
                  if problem == "forward" or name == "matched, m = 8"}
        plots["multigrid_residuals.svg"] = line_plot(series, "V-cycles", "residual", linear_x=True)
    if "work" in results:
        series = {name: [(units, 100 * value) for units, value in points] for name, points in results["work"]["found"].items()}
        plots["multigrid_work.svg"] = line_plot(series, "work units", "test accuracy, %", linear_x=True, linear_y=True)
    return plots
