"""What follows from the times of training steps on a GPU: goals, fractions of the roofline, the page."""
from measuring import OUT_OF_TIME, difference, shown, table

# What one NVIDIA H200 was measured to do: products of large matrices (FLOP/s), copies (bytes read and written).
FLOPS = {"bf16": 781e12, "f16": 781e12, "tf32": 395e12, "f32": 51e12}
BYTES_PER_SECOND = 4.24e12

# Of a case: milliseconds that a step may take, or how many times as fast as the better of PyTorch's it must be.
AT_MOST, AT_LEAST = "ms", "times"
GOALS = {
    "mlp 784-512-512-10 B=128 momentum tf32": (AT_MOST, 0.06),
    "mlp 784-4096-4096-4096-10 B=1024 momentum tf32": (AT_MOST, 1.2),
    "resnet18 32x32 B=256 momentum bf16": (AT_MOST, 6),
    "gcn nodes=2708 inputs=1433 h=16 adam": (AT_MOST, 0.15),
    "transformer layer 512/8/2048 T=512 B=32 bf16 forward + backward": (AT_MOST, 2),
    "ode net width=64 depth=1024 B=64 forward + backward": (AT_MOST, 6),
    "gru T=128 B=64 inputs=512 h=512": (AT_LEAST, 1),
    "gru T=128 B=64 inputs=512 h=512 tf32": (AT_LEAST, 1),
    "mlp 784-1024-1024-10 B=128 adam": (AT_LEAST, 1.5),
    "mlp 784-1024-1024-10 B=128 adam bf16": (AT_LEAST, 1.5),
    "mlp 784-1024-1024-10 B=8192 adam": (AT_LEAST, 1),
    "mlp 784-1024-1024-10 B=8192 adam bf16": (AT_LEAST, 1),
    "transformer d=768 heads=12 T=1024 B=8 adam bf16": (AT_LEAST, 1),
    "gradient penalty cnn 32x32 B=64 adam": (AT_LEAST, 1.5),
}


def ratio(case):
    """Returns how many times as fast as the better of PyTorch's a step is; None where one of them is missing."""
    theirs = [case[way]["milliseconds"] for way in ("eager", "graph") if "milliseconds" in case.get(way, {})]
    ours = case.get("antichain", {}).get("milliseconds")
    return min(theirs) / ours if theirs and ours else None


def goal_text(name):
    kind, number = GOALS[name]
    return f"≤ {number:g} ms" if kind == AT_MOST else f"≥ {number:g} ×"


def is_met(name, case):
    """Returns whether a case meets its goal; None where it was not measured."""
    kind, number = GOALS[name]
    found = case.get("antichain", {}).get("milliseconds") if kind == AT_MOST else ratio(case)
    if found is None:
        return None
    return found <= number if kind == AT_MOST else found >= number


def least_milliseconds(ours):
    """Returns what a step takes at least: its arithmetic, or what it must move, whichever takes longer."""
    arithmetic = sum(flops / FLOPS["tf32" if dtype == "f32" and ours["tf32"] else dtype]
                     for dtype, flops in ours["flops"].items())
    return 1e3 * max(arithmetic, ours["bytes"] / BYTES_PER_SECOND)


def gradient_text(entry):
    if entry is None:
        return "–"
    if "error" not in entry:
        return f"none: {entry['reason']}"
    batch = f" (B={entry['batch']})" if entry["batch"] != entry["step_batch"] else ""
    return f"{entry['error']:.1e}{batch}"


def peer_gradient_text(entry):
    if entry is None:
        return "–"
    return f"{entry['error']:.1e}" if "error" in entry else f"none: {entry['reason']}"


def conclusions(name, case):
    """Returns what follows from a case's measurements; None for what does not yet."""
    ours = case.get("antichain", {})
    of_roofline = least_milliseconds(ours) / ours["milliseconds"] if "milliseconds" in ours else None
    return {"ratio": ratio(case), "goal": goal_text(name), "met": is_met(name, case), "of_roofline": of_roofline}


def kept_cases(before, now):
    """Returns the cases of an earlier page that may stay beside new ones, each with the commit that it is of.

    Raises ValueError where they may not: times of another machine or of another PyTorch are no comparison."""
    differs = difference(before["machine"], now["machine"])
    if not differs and before["pytorch"] != now["pytorch"]:
        differs = f"PyTorch {before['pytorch']} then, {now['pytorch']} now"
    if differs:
        raise ValueError(f"the other cases were measured elsewhere ({differs}); measure all of them, or write to another --out")
    return {name: {"commit": before["machine"]["commit"]} | case for name, case in before["steps"].items()}


# What is measured of a case, in this order: what it is called in the page's data, and whether PyTorch does it.
PARTS = {"antichain": False, "eager": True, "graph": True, "gradients": False, "peer_gradients": True}


def missing_parts(case, has_peer=True):
    """Returns what has still to be measured of a case: what is not there, and what ran out of time.

    Any other reason for a figure that is not there is a finding. PyTorch's gradients are of our batch."""
    def is_missing(part):
        return part not in case or case[part].get("reason", "").startswith(OUT_OF_TIME)
    parts = [part for part, by_peer in PARTS.items() if (has_peer or not by_peer) and is_missing(part)]
    if "gradients" in case and "batch" not in case["gradients"]:
        parts = [part for part in parts if part != "peer_gradients"]
    return parts


def other_commits(found):
    """Says which cases are of other commits than the page."""
    others = {}
    for name, case in found["steps"].items():
        if case.get("commit", found["machine"]["commit"]) != found["machine"]["commit"]:
            others.setdefault(case["commit"], []).append(name)
    return " ".join(f"Of commit {commit}: {', '.join(names)}." for commit, names in others.items())


def row(name, case):
    def cell(way):
        return shown(case[way], 3) if way in case else "–"

    def number(value):
        return "–" if value is None else f"{value:.2f}"
    ours, found = case.get("antichain", {}), conclusions(name, case)
    work = ["–", "–"]
    if "milliseconds" in ours:
        work = [f"{sum(ours['flops'].values()) / 1e9:.1f}", f"{ours['plan_bytes'] / 2**20:.1f}"]
    cells = [name, *map(cell, ("antichain", "eager", "graph")), number(found["ratio"]), found["goal"],
             {True: "yes", False: "no", None: "–"}[found["met"]], number(found["of_roofline"]), *work,
             gradient_text(case.get("gradients")), peer_gradient_text(case.get("peer_gradients"))]
    return [text.replace("|", "/") for text in cells]


def report(found):
    about = found["machine"]
    header = ["step", "Antichain ms", "PyTorch ms", "CUDA graph ms", "best of PyTorch / Antichain", "goal", "met",
              "of roofline", "GFLOP", "plan MiB", "gradient error", "PyTorch's"]
    steps = found["steps"].items()
    met = [is_met(name, case) for name, case in steps]
    return "\n\n".join([
        "# GPU benchmarks",
        f"Written by `benchmarks/gpu/run`: {about['gpu']}, driver {about['driver']}, {about['processor']}, "
        f"{about['threads']} threads, {about['date']}, commit {about['commit']}, PyTorch {found['pytorch']}. "
        f"{met.count(True)} of {len(met)} goals are met. {other_commits(found)}".rstrip(),
        table(header, [row(name, case) for name, case in steps]),
        "Times are those of a step in bursts of ten, medians over bursts: the data lies on the GPU, and a burst ends when its "
        "last loss is on the host, in all three columns. PyTorch runs with its fused optimisers and chooses among cuDNN's convolutions by trying them; the column "
        "\"CUDA graph\" replays its whole step. tf32: products of f32 may round their factors to tf32, on both sides; f32 "
        "otherwise. bf16: mixed precision, parameters and optimiser in f32, on PyTorch's side by autocast. Forward + backward: "
        "without an optimiser.",
        "GFLOP counts the matrix products and convolutions of the compiled step, among them those that a chain computes again "
        "on its way back; sparse products are not counted. \"Of roofline\" is the time that a step cannot go below, relative "
        f"to what it took: the products at {FLOPS['bf16'] / 1e12:.0f} (bf16), {FLOPS['tf32'] / 1e12:.0f} (tf32) or "
        f"{FLOPS['f32'] / 1e12:.0f} (f32) TFLOP/s, or {BYTES_PER_SECOND / 1e12:.2f} TB/s for what it must read and write once "
        "(parameters, optimiser states, data), whichever takes longer; these ceilings were measured on an H200. \"Plan\" is the "
        "memory of all values in between, without parameters and optimiser states.",
        "Gradient error: the largest over all parameters of max |g - g64| / max |g64|, where g64 is the gradient of the same "
        "model at the same parameters in f64, computed by the CPU, or by the GPU for models with convolutions; with fewer "
        "examples than in a step where B is given. Parameters whose gradient is 0 but for rounding are left out. \"PyTorch's\" is the same for "
        "PyTorch at parameters of its own, against its own f64. Rounding to tf32 or bf16 switches units of relu on and off whose "
        "inputs are near 0; each changes what one example adds to a gradient. Models without relu (GRU, transformer) have the errors of "
        "rounding alone.",
    ]) + "\n"
