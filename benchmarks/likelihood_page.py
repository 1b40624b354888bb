"""What follows from the figures of benchmarks/run_likelihood: goals, conclusions, the page, plots."""
import statistics

from gpu.gpu_page import FLOPS
from measuring import table
from plots import line_plot

# Accuracy in % and seconds per epoch, as Zhang's talk gives them.
TALK = {
    "mnist-mlp": {"back-propagation": (99.5, 77), "F": (92.2, 189), "L": (92.2, 225), "M": (99.5, 58)},
    "agnews-rnn": {"back-propagation": (88.3, 195), "F": (84.2, 275), "L": (84.3, 327), "M": (88.4, 140)},
    "cora-gcn": {"back-propagation": (80.4, 111), "F": (75.6, 203), "L": (75.2, 259), "M": (78.8, 103)},
}
BELOW = "below back-propagation"
# Least accuracy in % (or how far it may be below back-propagation's), and most time of an epoch, of back-propagation's.
GOALS = {
    "mnist-mlp": {"F": (95.5, 2.5), "L": (97.5, 2), "M": ({BELOW: 0.1}, 1)},
    "agnews-rnn": {"F": (86, None), "L": (86, None), "M": (88.4, 0.7)},
    "cora-gcn": {"L": (79, None), "M": (80.4, 0.93)},
}
ROBUST_GOAL = ("likelihood, threshold", 54, "back-propagation, relu", 28)  # %, under FGSM
LAYERS = ["hidden_1", "hidden_2", "out"]
BASE = "back-propagation"
DEVICES = {"cpu": "CPU", "cuda": "GPU"}


def good(runs):
    return [run for run in runs or [] if "reason" not in run]


def reason_of(runs):
    return next((run["reason"] for run in runs or [] if "reason" in run), "not run")


def mean_of(runs, value):
    found = [value(run) for run in good(runs)]
    return statistics.mean(found) if found else None


def shown(runs, value, digits):
    """Returns the mean over the seeds, with their deviation, or why there is none."""
    found = [value(run) for run in good(runs)]
    if not found:
        return f"none: {reason_of(runs)}"
    spread = f" ± {statistics.stdev(found):.{digits}f}" if len(found) > 1 else ""
    return f"{statistics.mean(found):.{digits}f}{spread}"


def number(runs, value, digits):
    """Likewise, without the reason: another column of the row gives it."""
    return shown(runs, value, digits) if good(runs) else "–"


def accuracy_in(run):
    return 100 * run["test_accuracy"]


def epoch_seconds(run):
    return run["seconds"] / max(run["epochs"], 1)


def cosine_in(layer):
    return lambda run: run["reports"].get(f"cosine/{layer}.weight", 0)


def mode_of(name):
    return name if name == BASE else name.split(":")[0]


def ratio_to_base(ways, name):
    own, base = mean_of(ways[name], epoch_seconds), mean_of(ways[BASE], epoch_seconds)
    return own / base if own and base else None


def verdicts(recipe, ways, name):
    """Returns of each part of a way's goal what it is and whether it is met; nothing where there is none."""
    goal = GOALS.get(recipe, {}).get(mode_of(name))
    own = mean_of(ways[name], accuracy_in)
    if goal is None or own is None:
        return []
    least, most = goal
    if isinstance(least, dict):
        base = mean_of(ways[BASE], accuracy_in)
        least = None if base is None else base - least[BELOW]
    found = [] if least is None else [(f"≥ {least:.1f} %", own >= least)]
    ratio = ratio_to_base(ways, name)
    return found + ([(f"≤ {most:g} ×", ratio <= most)] if most and ratio else [])


def goal_text(recipe, ways, name):
    return ", ".join(f"{what} {'met' if met else 'missed'}" for what, met in verdicts(recipe, ways, name)) or "–"


def talk_text(recipe, name):
    figures = TALK.get(recipe, {}).get(mode_of(name))
    return f"{figures[0]} %, {figures[1]} s" if figures else "–"


def shortfalls(runs):
    """Returns a sentence for every goal that no way of its mode meets as a whole."""
    lines = []
    for recipe, goals in GOALS.items():
        ways = runs.get(recipe, {})
        for mode in goals:
            names = [name for name in ways if mode_of(name) == mode]
            tried = {name: verdicts(recipe, ways, name) for name in names}
            if not any(tried.values()):
                lines.append(f"- {recipe}, {mode}: no figures")
            elif not any(found and all(met for _, met in found) for found in tried.values()):
                lines.append(f"- {recipe}, {mode}: " + "; ".join(
                    f"{name[3:]}: {mean_of(ways[name], accuracy_in):.2f} %, {ratio_to_base(ways, name) or 0:.1f} ×, "
                    f"{goal_text(recipe, ways, name)}" for name, found in tried.items() if found))
    return lines


def accuracy_section(runs):
    parts = []
    for recipe, ways in runs.items():
        rows = []
        for name, found in ways.items():
            ratio = ratio_to_base(ways, name)
            rows.append([name, shown(found, accuracy_in, 2), number(found, epoch_seconds, 2),
                         f"{ratio:.2f}" if ratio else "–", f"{mean_of(found, lambda run: run['epochs']) or 0:.0f}",
                         f"{mean_of(found, lambda run: run.get('reports', {}).get('noisy_runs', 0)) or 0:.0f}",
                         talk_text(recipe, name), goal_text(recipe, ways, name)])
        parts += [f"### {recipe}", table(["", "accuracy, %", "s per epoch", "× back-propagation's", "epochs",
                                          "noisy forward passes a step", "talk", "goal"], rows)]
    missed = shortfalls(runs)
    return "\n\n".join([*parts, "Goals that no setting meets as a whole:" if missed else "All goals are met.",
                        *(["\n".join(missed)] if missed else [])])


def grid(head, runs, layer):
    columns = list(next(iter(runs.values())))
    return table([head, *columns], [[name, *(shown(row.get(column), cosine_in(layer), 3) for column in columns)]
                                    for name, row in runs.items()])


def layer_grids(head, runs, prefix):
    plots = " ".join(f"![{name} by {head}](likelihood_{prefix}_{slug(name)}.svg)" for name in runs if is_plotted(name))
    return "\n\n".join([*(f"**{layer}**\n\n{grid(head, runs, layer)}" for layer in LAYERS), plots])


def is_plotted(name):
    return name in ("F, Hadamard", "L, Hadamard, masked", "L", "F")


def slug(name):
    return name.split(",")[0].lower()


def sites_section(runs):
    return "\n\n".join(f"**{recipe}**\n\n" + table(["noisy layers", "accuracy, %", "training, s"], [
        [n, shown(found, accuracy_in, 2), number(found, lambda run: run["seconds"], 1)] for n, found in by_count.items()])
        for recipe, by_count in runs.items()) + "\n\n![accuracy by noisy layers](likelihood_sites.svg)"


def robustness_section(runs):
    columns = list(next(iter(runs.values())))
    rows = [[name, *(shown(row.get(column), accuracy_in, 2) for column in columns)] for name, row in runs.items()]
    name, least, base, of_base = ROBUST_GOAL
    own, other = runs.get(name, {}), mean_of(runs.get(base, {}).get("fgsm:0.1"), accuracy_in)
    attacks = {what: mean_of(own.get(what), accuracy_in) for what in columns if what.startswith("fgsm")}
    attacks = {what: accuracy for what, accuracy in attacks.items() if accuracy is not None}
    if not attacks or other is None:
        return table(["", *columns], rows) + "\n\nNo figures for the goal."
    said = "; ".join(f"{what}: {accuracy:.1f} %, {'met' if accuracy >= least else 'missed'}" for what, accuracy in attacks.items())
    return table(["", *columns], rows) + (
        f"\n\nGoal: ≥ {least} % with threshold units where back-propagation has about {of_base} %. {said}. {base}: {other:.1f} %. "
        f"What an attacker can do is the least of them, {min(attacks.values()):.1f} %, or less.")


def copies_per_second(copies):
    return lambda run: int(copies) * run["samples_per_second"]


def throughput_section(runs):
    rows = []
    for precision, by_copies in runs.items():
        for copies, found in by_copies.items():
            rate = mean_of(found, lambda run: run["flops_per_step"] / run["step_seconds"])
            share = f"{rate / FLOPS[precision]:.2f}" if rate and precision in FLOPS else "–"
            rows.append([precision, copies, shown(found, lambda run: 1e3 * run["step_seconds"], 2),
                         number(found, lambda run, n=copies: copies_per_second(n)(run) / 1e6, 3),
                         f"{rate / 1e12:.2f}" if rate else "–", share])
    return table(["precision", "copies", "ms per step", "million samples × copies / s", "TFLOP/s", "of roofline"], rows) + (
        "\n\n![throughput by copies](likelihood_throughput.svg)")


def primitives_section(runs):
    if not good(runs):
        return f"None: {reason_of(runs)}."
    rows, lines = [], []
    for entry in good(runs)[0]["primitives"]:
        for way in entry["ways"]:
            rows.append([entry["name"], way["name"], *(["none: " + way["reason"], "–", "–"] if "reason" in way else [
                f"{way['milliseconds']:.4f}", f"{way['gigabytes_per_second']:.0f}", f"{way['teraflops']:.2f}"])])
        times = {way["name"]: way["milliseconds"] for way in entry["ways"] if "milliseconds" in way}
        if len(times) > 1:
            best = min(times, key=times.get)
            others = ", ".join(f"{name} takes {time / times[best]:.1f} ×" for name, time in times.items() if name != best)
            lines.append(f"- {entry['name']}: {best} is fastest; {others} as long.")
    return table(["primitive", "way", "ms", "GB/s of operands and result", "TFLOP/s"], rows) + "\n\n" + "\n".join(lines)


SECTIONS = {
    "accuracy": ("Accuracy", "Means over seeds with their deviation; an epoch's time is that of training alone. The talk's figures "
                 "are of other machines and models.", accuracy_section),
    "cosine": ("Cosine by copies", "Between the estimate and back-propagation's gradient of the loss without noise: weights of "
               "mnist-mlp in step 5. Modes F and L have the exact gradient of the last layer.",
               lambda runs: layer_grids("copies", runs, "copies")),
    "sigma": ("Cosine by deviation", "Likewise, with 512 copies.", lambda runs: layer_grids("sigma", runs, "sigma")),
    "sites": ("Accuracy by the number of noisy layers", "`mode=mixed,cuts=N`: the narrowest layers are noisy, the others exact. "
              "mnist-mlp with 32 copies, two epochs; mnist-cnn with 8 copies, 100 steps.", sites_section),
    "robustness": ("Noise and attacks", "Accuracy in % of 784-50-10 on MNIST. `noise:S` moves pixels by normal noise, `fgsm:S` up "
                   "the sign of the loss's gradient: the model's own (of threshold units, which have none, the estimate that they were "
                   "trained by, and a finer one with 512 copies), and that of the first model. Pixels stay within 0 and 1.", robustness_section),
    "throughput": ("Throughput by copies", "`antichain bench mnist-mlp --engine likelihood:mode=full,copies=N`, batches of 128, on a "
                   "GPU with two hidden layers of 2,048. Roofline: what products reach on an H200.", throughput_section),
    "primitives": ("The talk's primitives on tensor cores", "As products for tensor cores, and as they are; 16-bit values where "
                   "nothing else is said.", primitives_section),
}


def report(found):
    page = ["# Training without a backward sweep",
            "Written by `benchmarks/run_likelihood`; what the modes are: [likelihood.md](../likelihood.md)."]
    for part, (title, what, show) in SECTIONS.items():
        for device, entry in found.items():
            if part in entry:
                here = entry[part]["machine"]
                place = here.get("gpu") or f"{here['processor']}, {here['threads']} threads"
                page += [f"## {title} ({DEVICES[device]})", f"{what} {place}, {here['date']}, commit {here['commit']}.",
                         show(entry[part]["runs"])]
    return "\n\n".join(page) + "\n"


def points(row, value):
    return [(float(x), mean_of(runs, value)) for x, runs in row.items() if mean_of(runs, value) is not None]


def write_plots(out, found):
    parts = found.get("cuda", {}) | found.get("cpu", {})
    for part, prefix, label in (("cosine", "copies", "copies"), ("sigma", "sigma", "deviation of the noise")):
        for name, row in parts.get(part, {}).get("runs", {}).items():
            if is_plotted(name):
                series = {f"{layer}.weight": points(row, cosine_in(layer)) for layer in LAYERS}
                (out / f"likelihood_{prefix}_{slug(name)}.svg").write_text(
                    line_plot(series, label, f"cosine, mode {name[0]}", linear_y=True), encoding="utf-8")
    if "sites" in parts:
        series = {recipe: points(row, accuracy_in) for recipe, row in parts["sites"]["runs"].items()}
        (out / "likelihood_sites.svg").write_text(
            line_plot(series, "noisy layers", "accuracy, %", linear_x=True, linear_y=True), encoding="utf-8")
    series = {}
    for device, entry in found.items():
        for precision, row in entry.get("throughput", {}).get("runs", {}).items():
            line = [(float(n), mean_of(runs, copies_per_second(n))) for n, runs in row.items() if good(runs)]
            series |= {f"{DEVICES[device]}, {precision}": line} if line else {}
    if series:
        (out / "likelihood_throughput.svg").write_text(
            line_plot(series, "copies", "samples × copies per second"), encoding="utf-8")
