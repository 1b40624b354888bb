"""The goals of training over very many labels, computed from what benchmarks/run_hashing has measured."""
from measuring import table

LESS, MORE = "at most", "at least"
POINT = 0.01  # of precision


def runs(found, part):
    return found.get(part, {}).get("runs", {})


def ratio(found, part, key="later_samples_per_second"):
    hashed, dense = runs(found, part).get("hashed", {}), runs(found, part).get("dense", {})
    return hashed[key] / dense[key] if hashed.get(key) and dense.get(key) else None


def of_hashed(key, factor=1):
    def value(found, part):
        entry = runs(found, part).get("hashed", {})
        return factor * entry[key] if entry.get(key) is not None else None
    return value


def precision_lost(dense_of):
    """P@1 of dense minus that of hashed, in points, after the last epoch that both have; dense_of(found) is the dense run."""
    def value(found, part):
        curves = [[precision for _, precision in entry.get("curves", {}).get("test/precision_at_1", [])]
                  for entry in (dense_of(found), runs(found, part).get("hashed", {}))]
        epochs = min(map(len, curves))
        return (curves[0][epochs - 1] - curves[1][epochs - 1]) / POINT if epochs > 0 else None
    return value


GB = 1e-9
LARGE_DENSE = "dense, GPU"  # a row of the part `gpu`
# Part, what, which way, how much, how it is measured, format.
GOALS = [
    ("planted", "30,000 labels: × samples/s of dense", MORE, 12, ratio, "{:.1f}"),
    ("planted", "30,000 labels: points of P@1 below dense, after as many epochs", LESS, 1,
     precision_lost(lambda found: runs(found, "planted").get("dense", {})), "{:.2f}"),
    ("planted", "30,000 labels: GB of memory, states and planned values", LESS, 0.25, of_hashed("peak_bytes", GB), "{:.2f}"),
    ("large", "670,091 labels: × samples/s of dense", MORE, 60, ratio, "{:.1f}"),
    ("large", "670,091 labels: samples/s", MORE, 12000, of_hashed("later_samples_per_second"), "{:,.0f}"),
    ("large", "670,091 labels: points of P@1 below dense (on the GPU), after as many epochs", LESS, 1,
     precision_lost(lambda found: runs(found, "gpu").get(LARGE_DENSE, {})), "{:.2f}"),
    ("large", "670,091 labels: GB of memory, states and planned values", LESS, 2.2, of_hashed("peak_bytes", GB), "{:.2f}"),
]


def verdict(way, goal, value):
    if value <= goal if way == LESS else value >= goal:
        return "met"
    return f"missed: {value / goal:.2f} of what was to be" if way == MORE else f"missed: {value / goal:.2f} × what was to be"


def goal_table(found):
    """Returns the table of goals, with what is short of them; goals of parts that were not run say so."""
    rows = []
    for part, what, way, goal, measure, form in GOALS:
        value = measure(found, part)
        rows.append([what, f"{way} {form.format(goal)}", form.format(value) if value is not None else "–",
                     verdict(way, goal, value) if value is not None else "not measured"])
    return table(["", "goal", "measured", ""], rows)
