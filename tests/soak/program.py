"""The program under attack, and what must hold whatever is done to it."""
import os
import re
import signal
import subprocess
import tempfile
from pathlib import Path

# Small runs that write a checkpoint every few steps: most of their time goes into files.
TRAINING = ["train", "spirals", "--epochs", "6", "--batch", "100", "--set", "hidden=5", "--seed", "1",
            "--checkpoint-every", "7"]
STEPS = 60
MODEL = f"checkpoints/step-{STEPS:08}-final/model.safetensors"
# One of an engine that keeps states of its own from step to step.
HASHED = ["train", "xmc-planted", "--epochs", "2", "--batch", "20", "--seed", "1", "--checkpoint-every", "7",
          *(part for setting in ("features=100", "labels=200", "train=300", "test=40", "hidden=8", "output=hashed")
            for part in ("--set", setting)), "--engine", "out=hashing:when=always,share=0.1"]
SECONDS = 120  # that a command of this size may take on a busy machine


class Failure(Exception):
    """What must not happen: told with what was done."""


class Ended:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err


class Program:
    def __init__(self, path, folder):
        self.path, self.folder = str(path), Path(folder)
        self.environment = {**os.environ, "ANTICHAIN_CACHE": str(self.folder / "cache"),
                            "ANTICHAIN_THREADS": "1"}
        self.environment.pop("OMP_NUM_THREADS", None)
        self.count = 0

    def start(self, arguments, before=(), **options):
        return subprocess.Popen([*before, self.path, *map(str, arguments)], stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                env=self.environment, **options)

    def finish(self, process):
        try:
            out, err = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise Failure(f"still running after {SECONDS} s: {process.args}") from None
        return Ended(process.returncode, out.decode(errors="replace"), err.decode(errors="replace"))

    def run(self, arguments, before=(), **options):
        return self.finish(self.start(arguments, before, **options))

    def new_folder(self):
        self.count += 1
        return self.folder / f"run-{self.count}"


def check_sentence(ended, what, codes=(0, 1, 2)):
    """A command ends by itself, and one that fails says why in one sentence."""
    tail = ended.err.strip().splitlines()
    if ended.code < 0 or ended.code >= 128:
        number = -ended.code if ended.code < 0 else ended.code - 128
        raise Failure(f"{what}: ended by {signal.Signals(number).name}: {ended.err[-300:]}")
    if ended.code not in codes:
        raise Failure(f"{what}: exit code {ended.code}: {ended.err[-300:]}")
    if ended.code == 0:
        return
    if not tail or not tail[-1].startswith("antichain: "):
        raise Failure(f"{what}: exit code {ended.code} without a sentence: {ended.err[-300:]!r}")
    for wrong in ("please report", "basic_string", "std::", ": Success"):
        if wrong in tail[-1]:
            raise Failure(f"{what}: {tail[-1]}")
    if re.search(r"[\x00-\x08\x0b-\x1f]", tail[-1]):
        raise Failure(f"{what}: control characters: {tail[-1]!r}")


def final_model(folder):
    """Returns the bytes of the parameters that a run ended with; nothing where it did not end."""
    return b"".join(path.read_bytes() for path in folder.glob("checkpoints/step-*-final/model.safetensors"))


def make_reference(program, training=TRAINING):
    """Returns the bytes that every run must end with, and that run's folder."""
    folder = program.new_folder()
    ended = program.run([*training, "--out", folder])
    if ended.code != 0:
        raise Failure(f"the program does not train: {ended.err}")
    return final_model(folder), folder


def go_on_to_the_end(program, folder, reference, what, training=TRAINING):
    """A run that was disturbed ends with the same bits; one that had not begun begins anew."""
    if not (folder / "run.json").exists():
        folder = program.new_folder()
        ended = program.run([*training, "--out", folder])
    else:
        ended = program.run(["train", "--resume", folder, "--checkpoint-every", "7"])
    if ended.code != 0:
        raise Failure(f"{what}: it does not go on: {ended.err[-300:]}")
    if final_model(folder) != reference:
        raise Failure(f"{what}: it ends with other bits")
    left = [path for path in folder.rglob("*") if path.name.startswith((".aside", ".antichain-"))
            and path.parent.name == "checkpoints"]
    if left:
        raise Failure(f"{what}: {left} was left behind")


def temporary_folder():
    return tempfile.TemporaryDirectory(prefix="antichain-soak-")
