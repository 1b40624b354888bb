"""The tables of docs/results/hashing.md, of what benchmarks/run_hashing has measured."""
from measuring import table

MEASURES = ["precision_at_1", "precision_at_3", "precision_at_5", "propensity_precision_at_1",
            "propensity_precision_at_3", "propensity_precision_at_5"]
MEASURE_HEADS = ["P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5"]
SHARES = [0.05, 0.1, 0.25, 0.5]
GPU_BATCHES = (128, 256, 1024)
GPU_TRAINED = ("dense, GPU", "hashed, GPU", "hashed, CPU")  # rows that are runs; the others are steps


def number(entry, key, form="{:,.0f}", factor=1):
    return form.format(factor * entry[key]) if entry.get(key) is not None else "–"


def against(entry, other, key):
    return f"{entry[key] / other[key]:.1f}" if entry.get(key) and other.get(key) else "–"


def label_table(runs):
    dense = runs.get("dense", runs.get("dense, GPU", {}))
    rows = []
    for name, entry in runs.items():
        if "reason" in entry:
            rows.append([name, f"none: {entry['reason']}", *["–"] * (len(MEASURES) + 5)])
            continue
        system = f"{name} ({entry['system']})" if "system" in entry else name
        rows.append([system, *(number(entry, key, "{:.2f}", 100) for key in MEASURES),
                     number(entry, "later_samples_per_second"), against(entry, dense, "later_samples_per_second"),
                     number(entry, "seconds", "{:.1f}"), number(entry, "active_share", "{:.2f}", 100),
                     f"{number(entry, 'peak_bytes', '{:.2f}', 2 ** -30)} ({number(entry, 'resident_bytes', '{:.2f}', 2 ** -30)})"])
    return table(["method", *MEASURE_HEADS, "samples/s", "× dense", "training s", "active %", "GiB planned (process)"], rows)


def gpu_tables(runs):
    """Milliseconds of steps by batch, and the trainings."""
    steps = {name: entry for name, entry in runs.items() if name not in GPU_TRAINED}
    ways = list(dict.fromkeys(name.rsplit(", ", 1)[0] for name in steps))
    rows = []
    for way in ways:
        cells = [steps.get(f"{way}, {batch}", {}) for batch in GPU_BATCHES]
        hashed = [steps.get(f"hashed{', tf32' if 'tf32' in way else ''}, {batch}", {}) for batch in GPU_BATCHES]
        rows.append([way, *(f"{number(cell, 'milliseconds', '{:.3f}')} ({against(cell, other, 'milliseconds')})"
                            for cell, other in zip(cells, hashed))])
    by_batch = table(["step, ms (× the hashed one)", *(f"batch {batch}" for batch in GPU_BATCHES)], rows)
    trained = {name: entry for name, entry in runs.items() if name in GPU_TRAINED}
    return f"{by_batch}\n\n{label_table(trained)}" if trained else by_batch


def mnist_table(runs):
    rows = []
    for name in dict.fromkeys(key.split(", ")[0] for key in runs):
        cells = [runs["dense"]] * len(SHARES) if name == "dense" else [runs.get(f"{name}, {share:g}", {}) for share in SHARES]
        rows.append([name, *(number(entry, "test_accuracy", "{:.2f}", 100) for entry in cells)])
    return table(["active part", *(f"{100 * share:g} %" for share in SHARES)], rows)


def choice_table(runs):
    rows = []
    for name, entry in runs.items():
        if "reason" in entry:
            rows.append([*name.split(", "), f"none: {entry['reason']}", *["–"] * 4])
            continue
        best = min(entry["dense"], entry["hashed"])
        rows.append([*name.split(", "), *(f"{1e3 * entry[way]:.3f}" for way in ("dense", "hashed", "chosen")),
                     f"{entry['chosen'] / entry['dense']:.2f}", f"{entry['chosen'] / best:.2f}"])
    return table(["labels", "hidden units", "batch", "dense, ms", "hashed, ms", "chosen, ms", "chosen / dense",
                  "chosen / best"], rows)


def thread_table(runs):
    counts = sorted({int(name.split(", ")[1]) for name in runs})
    rows = [[name, *(f"{number(runs.get(f'{name}, {count}', {}), 'later_samples_per_second')} "
                     f"({number(runs.get(f'{name}, {count}', {}), 'precision_at_1', '{:.1f}', 100)})" for count in counts)]
            for name in dict.fromkeys(key.split(", ")[0] for key in runs)]
    return table(["updates", *(f"{count} threads" for count in counts)], rows)


def published_table(runs):
    entry = runs["hashed"]
    if "reason" in entry:
        return f"It could not be done: {entry['reason']}."
    return table(["points", "GB of text", "s until it ended", "s of training", "steps", "samples/s", "GB, states and values",
                  "GB, process"],
                 [[f"{entry['points']:,}", number(entry, "file_bytes", "{:.2f}", 1e-9), number(entry, "wall_seconds"),
                   number(entry, "seconds", "{:.1f}"), number(entry, "steps"), number(entry, "samples_per_second"),
                   number(entry, "peak_bytes", "{:.2f}", 1e-9), number(entry, "resident_bytes", "{:.2f}", 1e-9)]])
