"""What the scripts that measure share: running programs, telling where and when, tables in Markdown."""
import datetime
import json
import os
import platform
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs" / "results"
TIMEOUT_SECONDS = 900  # of one process
OUT_OF_TIME = "took more than"  # begins the reason of a process that was ended


def output_of(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT).stdout


def build(preset, option, targets):
    """Configures a preset with an option switched on and builds some targets."""
    subprocess.run(["cmake", "--preset", preset, f"-D{option}=ON"], check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", "--preset", preset, "--target", *targets], check=True, cwd=ROOT)


def threads():
    return int(os.environ.get("OMP_NUM_THREADS", os.cpu_count()))


def measured(*command, timeout=TIMEOUT_SECONDS):
    """Returns the JSON that a program prints, or the reason why there is none."""
    same_cores = os.environ | {"OMP_NUM_THREADS": str(threads()), "OMP_PROC_BIND": "close"}
    try:
        run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT,
                             env=same_cores, timeout=timeout)
    except subprocess.TimeoutExpired:
        return {"reason": f"{OUT_OF_TIME} {timeout:.0f} s"}
    if run.returncode != 0 or not run.stdout:
        return {"reason": (run.stderr.strip().splitlines() or [f"exit status {run.returncode}"])[-1]}
    return json.loads(run.stdout)


def commit():
    """Returns $ANTICHAIN_COMMIT, for programs that were built elsewhere, or the commit of this tree."""
    if "ANTICHAIN_COMMIT" in os.environ:
        return os.environ["ANTICHAIN_COMMIT"]
    command = ["git", "describe", "--always", "--dirty"]
    try:
        known = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=ROOT).stdout
    except FileNotFoundError:
        known = ""  # a machine without git
    return known.strip() or "unknown"


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    return {
        "processor": names[0] if names else platform.machine(),
        "threads": threads(),
        "date": str(datetime.date.today()),
        "commit": commit(),
    }


def gpu():
    """Returns what the driver says about the first GPU."""
    try:
        found = output_of("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader").splitlines()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        return {"gpu": "no GPU", "driver": "unknown"}
    name, driver = found.rsplit(",", 1)
    return {"gpu": name.strip(), "driver": driver.strip()}


def difference(before, now):
    """Says what keeps figures of two machines from one table; nothing where they may stand side by side."""
    for what in ("gpu", "driver", "processor", "threads"):
        if before.get(what) != now.get(what):
            return f"{what} {before.get(what)} then, {now.get(what)} now"
    return ""


def shown(entry, digits=2):
    return f"{entry['milliseconds']:.{digits}f}" if "milliseconds" in entry else f"none: {entry['reason']}"


def table(header, rows):
    return "\n".join(["| " + " | ".join(header) + " |", "|---" * len(header) + "|",
                      *("| " + " | ".join(row) + " |" for row in rows)])


def write(folder, name, found, page):
    """Writes <name>.json and <name>.md into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (folder / f"{name}.md").write_text(page, encoding="utf-8")
