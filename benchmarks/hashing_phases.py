"""Where the time of a training step over very many labels goes, by `antichain bench --profile`."""
import math

from measuring import measured, table

# Ops by what they are for; the rest are the values of the layers, their gradients and the losses.
PHASES = {"hash": ("hash_queries",), "query": ("active_units",),
          "rehash": ("rehash_rows", "hash_data", "update_hash_tables")}
LAYERS, UPDATE, REHASH = "layers", "update", "rehash"
BENCH_SECONDS = 1800
EVERY_STEP = "rehash=1,rehash_growth=1"  # to see what it takes: in a usual step nothing is due


def bench(program, recipe, *arguments, threads=None):
    """Returns what `antichain bench` says, or the reason why it says nothing."""
    command = [program, "--json", *(["--threads", threads] if threads else []), "bench", recipe, "--seed", "0", *arguments]
    return measured(*map(str, command), timeout=BENCH_SECONDS)


def phase_of(op):
    named = next((phase for phase, ops in PHASES.items() if op in ops), None)
    return named or (UPDATE if op.endswith("_update") and op != "add_update" else LAYERS)


def phases_of(profile):
    """Returns seconds by phase."""
    seconds = {}
    for row in profile:
        phase = phase_of(row["op"])
        seconds[phase] = seconds.get(phase, 0) + row["seconds"]
    return seconds


def schedule(program):
    """Returns the steps to the first time that rows are hashed, and the factor by which they become more."""
    options = {option["name"]: option for option in measured(program, "--json", "engines", "hashing")["options"]}
    return float(options["rehash"]["default"]), float(options["rehash_growth"]["default"])


def times_hashed(steps, first, growth):
    """Returns how often rows are hashed in so many steps."""
    times, at, interval = 0, first, first
    while at <= steps:
        times, interval = times + 1, interval * growth
        at += math.floor(interval)
    return times


def phases(program, sizes, way, engine, steps):
    """Returns seconds of a step by phase. The time of hashing rows is that of one time, spread over the steps of a run."""
    by = ["--engine", engine] if engine else []
    usual = bench(program, "xmc-planted", *sizes, *way, *by, "--profile", "--steps", 10)
    if "reason" in usual:
        return usual
    found = {"step": usual["step_seconds"]} | phases_of(usual["profile"])
    if engine is None:
        return found
    always = bench(program, "xmc-planted", *sizes, *way, "--engine", f"{engine},{EVERY_STEP},rehash_rows=all", "--profile",
                   "--steps", 3, "--warm-up", 1)
    if "reason" in always:
        return always
    once = phases_of(always["profile"])[REHASH]
    return found | {"once": once, REHASH: found.get(REHASH, 0) + once * times_hashed(steps, *schedule(program)) / steps}


def phase_table(runs):
    heads = {"hash": "hashing of inputs", "query": "active units", LAYERS: "layers, forward and backward",
             UPDATE: "updates of rows", REHASH: "hashing of rows", "step": "step (median)", "once": "all rows hashed once"}
    rows = [[name, *(f"{1e3 * entry[head]:.2f}" if head in entry else "–" for head in heads)] if "reason" not in entry
            else [name, f"none: {entry['reason']}", *["–"] * (len(heads) - 1)] for name, entry in runs.items()]
    return table(["", *heads.values()], rows)
