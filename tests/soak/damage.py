"""Damaged and hostile files, extreme options: one sentence each, no crash, nothing foreign touched."""
import copy
import json
import os
import shutil
import struct

from program import HASHED, TRAINING, Failure, check_sentence, go_on_to_the_end, make_reference

BEST = "best.safetensors"


def read_safetensors(path):
    data = path.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    return json.loads(data[8:8 + length]), data[8 + length:]


def write_safetensors(path, header, body):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


# What a value of JSON may be replaced by.
VALUES = (None, True, -1, 0, 1, 2**31, 2**63, 2**64, 1e300, 0.5, "", "nan", "F64", "\x1b[31m", [], {},
          [0], [[[0]]], {"a": 1}, "x" * 10000)


def places_in(value, path=()):
    """Every place in a JSON value."""
    yield path
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield from places_in(part, (*path, key))


def changed_json(value, draw):
    """The value as text, changed in one place or two by its structure."""
    value = json.loads(json.dumps(value))
    for _ in range(draw.choice((1, 1, 2))):
        path = draw.choice([place for place in places_in(value) if place] or [()])
        if not path:
            break
        holder = value
        for key in path[:-1]:
            holder = holder[key]
        kind = draw.randrange(4)
        if kind == 0:
            del holder[path[-1]]
        elif kind == 1 and isinstance(holder, dict):
            holder[draw.choice(("other", "__metadata__", "\u0000", "mlp.0.bias"))] = holder.pop(path[-1])
        elif kind == 2 and isinstance(holder[path[-1]], (int, float)):
            holder[path[-1]] = holder[path[-1]] + draw.choice((-1, 1, 4, 1000, 2**40))
        else:
            holder[path[-1]] = copy.deepcopy(draw.choice(VALUES))  # which may be changed next
    text = json.dumps(value).encode()
    kind = draw.randrange(8)
    if kind == 0:
        at = draw.randrange(max(1, len(text)))
        text = text[:at] + draw.choice((b"[" * 100000, b"\xff", b"\x00", b"{\"a\":" * 5000)) + text[at:]
    elif kind == 1:
        text = text[:draw.randrange(max(1, len(text)))]
    elif kind == 2:
        text = text.replace(b"{", b'{"epoch": 3, "epoch": 3, ', 1)
    return text


def damage_json(path, draw):
    path.write_bytes(changed_json(json.loads(path.read_text()), draw))


def damage_tensors(path, draw):
    header, body = read_safetensors(path)
    kind = draw.randrange(6)
    names = [name for name in header if name != "__metadata__"]
    name = draw.choice(names)
    if kind == 0:  # a tensor of another shape, whole otherwise
        header[name]["shape"] = [*header[name]["shape"], 1]
    elif kind == 1:  # another type of the same size
        header[name]["dtype"] = {"F32": "I32", "I64": "F64"}.get(header[name]["dtype"], "F16")
    elif kind == 2:  # one is missing, or is called otherwise
        if draw.random() < 0.5:
            header["other"] = header[name]
        del header[name]
    elif kind == 3:  # two change places
        other = draw.choice(names)
        header[name], header[other] = header[other], header[name]
    elif kind == 4:
        body = body[:draw.randrange(len(body) + 1)] + os.urandom(draw.randrange(9))
    else:
        header = changed_json(header, draw)
    write_safetensors(path, header, body)


def damage_bytes(path, draw):
    data = bytearray(path.read_bytes())
    for _ in range(draw.randint(1, 4)):
        data[draw.randrange(len(data))] = draw.randrange(256)
    path.write_bytes(bytes(data[:draw.randrange(len(data))] if draw.random() < 0.3 else data))


def damage_kind(path, draw):
    """Something else stands in the place of a file."""
    path.unlink()
    kind = draw.randrange(5)
    if kind == 0:
        path.mkdir()
    elif kind == 1:
        os.mkfifo(path)
    elif kind == 2:
        path.symlink_to(path.name)
    elif kind == 3:
        path.symlink_to("/dev/zero")
    # otherwise nothing


def last_checkpoint(folder):
    return next(folder.glob("checkpoints/step-*-final"))


def patient_run(program):
    """A run that keeps its best states, too: it could end early, but does not."""
    folder = program.new_folder()
    ended = program.run([*TRAINING, "--set", "patience=6", "--out", folder])
    if ended.code != 0 or not (last_checkpoint(folder) / BEST).exists():
        raise Failure(f"the program does not train with patience: {ended.err[-300:]}")
    return folder


def reopened(checkpoint):
    """Turns a checkpoint of a run that has ended into one of its last step but one."""
    state = json.loads((checkpoint / "state.json").read_text())
    epoch = state["epoch"] - 1
    batches, step = state["step"] // epoch, state["step"] - 1
    state.update(finished=False, epoch=epoch, batch=batches - 1, step=step)
    (checkpoint / "state.json").write_text(json.dumps(state))
    return checkpoint.rename(checkpoint.with_name(f"step-{step:08}"))


DAMAGES = (("state.json", damage_json), ("run.json", damage_json),
           ("model.safetensors", damage_tensors), ("model.safetensors", damage_tensors),
           ("model.safetensors", damage_bytes), ("state.json", damage_bytes),
           ("run.json", damage_bytes), ("model.safetensors", damage_kind),
           ("state.json", damage_kind), ("run.json", damage_kind))
DAMAGES_OF_THE_BEST = ((BEST, damage_tensors), (BEST, damage_bytes), (BEST, damage_kind))


def damaged_runs(program, reference, draw, count):
    """Files of a run, changed by their structure: they are refused or used, never believed blindly."""
    _, plain = reference
    patient, hashed = patient_run(program), make_reference(program, HASHED)[1]
    for number in range(count):
        folder = program.new_folder()
        origin = draw.choice((plain, patient, patient, hashed))
        has_best = origin == patient
        shutil.copytree(origin, folder)
        # A run that goes on computes with what it has read.
        checkpoint = last_checkpoint(folder)
        if draw.random() < 0.5:
            checkpoint = reopened(checkpoint)
        name, damage = draw.choice(DAMAGES + (DAMAGES_OF_THE_BEST if has_best else ()))
        damage((folder if name == "run.json" else checkpoint) / name, draw)
        command = draw.choice((["eval"], ["train", "--resume"]))
        # A changed run.json may ask for more epochs than anybody wants to wait for.
        limit = ["--max-steps", "100"] if command[0] == "train" else []
        check_sentence(program.run([*command, folder, *limit]),
                       f"round {number}: {name} by {damage.__name__}, {command[0]}", codes=(0, 1, 2))
        shutil.rmtree(folder, ignore_errors=True)
    return count


def hostile_caches(program, reference, draw, count):
    """Files that others have put into the folder of compiled code: not run, not waited for, not lost."""
    model, _ = reference
    kept = dict(program.environment)
    try:
        for number in range(count):
            cache = program.new_folder()
            code = cache / "code"
            shutil.copytree(program.folder / "cache", cache) if (program.folder / "cache").exists() \
                else cache.mkdir()
            code.mkdir(mode=0o700, exist_ok=True)
            (cache / "thesis.tar").write_text("years")
            files = sorted(code.glob("*.o"))
            for path in files:
                draw.choice((damage_bytes, damage_kind, damage_bytes))(path, draw)
            if len(files) > 1 and draw.random() < 0.5 and all(path.is_file() for path in files[:2]):
                data = [path.read_bytes() for path in files[:2]]
                files[0].write_bytes(data[1])
                files[1].write_bytes(data[0])
            if draw.random() < 0.3:
                code.chmod(0o777)
            program.environment["ANTICHAIN_CACHE"] = str(cache)
            go_on_to_the_end(program, program.new_folder(), model, f"cache {number}")
            if (cache / "thesis.tar").read_text() != "years":
                raise Failure("a foreign file in the cache was lost")
    finally:
        program.environment = kept
    return count


NUMBERS = ("-1", "0", "1", "2", "1e308", "-1e308", "nan", "inf", "9223372036854775807",
           "9223372036854775808", "1e-320", "", " ", "0x10", "1;2", "\x1b[2J", "%s%n", "x" * 300)
OPTIONS = ("--seed", "--epochs", "--batch", "--precision", "--device", "--level", "--disable-pass",
           "--memory-budget", "--checkpoint-every", "--keep", "--engine", "--threads", "--log-level",
           "--data")
SETTINGS = ("lr", "hidden", "momentum", "patience", "clip", "optimiser", "schedule", "noise", "arms",
            "points", "weight_decay", "none")


def extreme_options(program, reference, draw, count):
    """Options that nobody would give: one sentence, or the run."""
    for _ in range(count):
        value = draw.choice(NUMBERS)
        extra = [draw.choice(OPTIONS), value] if draw.random() < 0.5 else \
            ["--set", f"{draw.choice(SETTINGS)}={value}"]
        ended = program.run(["train", "spirals", "--max-steps", "2", "--out", program.new_folder(),
                             *([] if "hidden" in extra[1] else ["--set", "hidden=5"]), *extra])
        check_sentence(ended, f"options {extra}")
    return count
