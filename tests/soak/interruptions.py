"""Kills, errors of the system, full disks, two processes at once: a run ends with the same bits."""
import re
import shutil
import signal
import subprocess
import time

from program import (HASHED, MODEL, SECONDS, TRAINING, Failure, check_sentence, final_model, go_on_to_the_end,
                     make_reference)

CALLS = ("openat", "write", "fsync", "rename", "mkdir", "unlink", "unlinkat", "close", "flock", "rmdir")
ERRORS = ("ENOSPC", "EIO", "EACCES", "EMFILE", "EROFS", "EDQUOT")


def why_it_does_not_run(command):
    """Returns why a command that an attack needs does not work on this machine; nothing if it does."""
    if not shutil.which(command[0]):
        return f"there is no {command[0]}"
    tried = subprocess.run(command, capture_output=True, text=True, check=False)
    said = (tried.stderr.strip().splitlines() or [f"exit code {tried.returncode}"])[-1]
    return None if tried.returncode == 0 else f"{command[0]} does not work: {said}"


def why_no_tracing():
    return why_it_does_not_run(["strace", "-o", "/dev/null", "true"])


def why_no_mounting():
    return why_it_does_not_run(["unshare", "-rm", "sh", "-c", "mount -t tmpfs tmpfs /mnt"])


def kill_runs(program, training, reference, draw, count):
    killed, folder = 0, program.new_folder()
    while killed < count:
        begun = (folder / "run.json").exists()
        process = program.start(["train", "--resume", folder, "--checkpoint-every", "7"] if begun else
                                [*training, "--out", folder])
        try:
            process.wait(timeout=draw.uniform(0.0, 0.25))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            killed += 1
        ended = program.finish(process)
        if ended.code != -signal.SIGKILL:
            check_sentence(ended, "after a kill", codes=(0,))
            if final_model(folder) != reference:
                raise Failure("after kills at random: other bits")
            folder = program.new_folder()
    go_on_to_the_end(program, folder, reference, "after kills at random", training)
    return killed


def kills_at_random(program, reference, draw, count):
    """kill -9 after a random time, again and again, until a run ends by itself."""
    return kill_runs(program, TRAINING, reference, draw, count)


def kills_of_an_engine(program, reference, draw, count):
    """The same to a run of an engine that keeps states of its own: hash tables."""
    return kill_runs(program, HASHED, make_reference(program, HASHED)[0], draw, count)


def calls_on(folder, program, command, calls=CALLS):
    """Returns which calls of a command concern a folder: their kinds, and numbers among those."""
    log = program.folder / "strace.log"
    program.run(command, ["strace", "-y", "-o", log, "-e", ",".join(calls)])
    seen, found = {}, []
    for line in log.read_text(errors="replace").splitlines():
        match = re.match(r"(\w+)\(", line)
        if match:
            call = match[1]
            seen[call] = seen.get(call, 0) + 1
            if str(folder) in line:
                found.append((call, seen[call]))
    return found


def calls_of_a_training(program):
    folder = program.new_folder()
    return calls_on(folder, program, [*TRAINING, "--out", folder])


def inject(program, command, place, what):
    call, number = place
    ended = program.run(command, ["strace", "-o", "/dev/null", "-e", f"trace={call}",
                                  "-e", f"inject={call}:{what}:when={number}"])
    return ended, f"{what} at {call} number {number}"


def kills_at_calls(program, reference, draw, count):
    """kill -9 right at a system call on the folder of the run."""
    places, killed = calls_of_a_training(program), 0
    for _ in range(4 * count):
        folder = program.new_folder()
        ended, name = inject(program, [*TRAINING, "--out", folder], draw.choice(places),
                             "signal=KILL")
        if ended.code in (-signal.SIGKILL, 128 + signal.SIGKILL):
            killed += 1
        else:  # a run that has fewer lines of progress to write, a second apart, has fewer calls
            check_sentence(ended, name, codes=(0,))
        go_on_to_the_end(program, folder, reference, name)
        if killed == count:
            return killed
    raise Failure(f"of {4 * count} kills at calls {killed} happened")


def errors_at_calls(program, reference, draw, count):
    """A system call on the folder of the run fails once."""
    places = [place for place in calls_of_a_training(program) if place[0] not in ("close", "flock")]
    for _ in range(count):
        error, folder = draw.choice(ERRORS), program.new_folder()
        ended, name = inject(program, [*TRAINING, "--out", folder], draw.choice(places),
                             f"error={error}")
        check_sentence(ended, name)
        if ended.code == 2 and error in ("ENOSPC", "EIO", "EDQUOT", "EMFILE"):
            raise Failure(f"{name}: called the user's mistake: {ended.err}")
        go_on_to_the_end(program, folder, reference, name)
    return count


def errors_at_reading(program, reference, draw, count):
    """A system call that reads a run fails once: that is no fault of its files."""
    command = ["eval", reference[1]]
    places = calls_on(reference[1], program, command, ("openat", "read"))
    for _ in range(count):
        error = draw.choice(("EIO", "ENOMEM", "EMFILE"))
        ended, name = inject(program, command, draw.choice(places), f"error={error}")
        check_sentence(ended, name, codes=(0, 1))
    return count


FULL_DISK = r"""
mount -t tmpfs -o size=$SIZE tmpfs "$PLACE" || exit 99
"$@" --out "$PLACE/run"; code=$?
mount -o remount,size=64m "$PLACE"
[ $code -eq 0 ] || [ ! -e "$PLACE/run/run.json" ] ||
  "$PROGRAM" train --resume "$PLACE/run" --checkpoint-every 7 > /dev/null || exit 98
[ ! -e "$PLACE/run/run.json" ] || cp "$PLACE/run/$MODEL" "$PLACE.model" || exit 97
exit $code
"""


def full_disks(program, reference, draw, count):
    """A disk of a few pages, which gets more room before the run goes on."""
    for _ in range(count):
        size = 4096 * draw.randint(1, 40)
        place = program.new_folder()
        place.mkdir()
        environment = {**program.environment, "PLACE": str(place), "SIZE": str(size),
                       "MODEL": MODEL, "PROGRAM": program.path}
        process = subprocess.Popen(["unshare", "-rm", "sh", "-c", FULL_DISK, "sh", program.path,
                                    *TRAINING], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=environment)
        ended, what = program.finish(process), f"a disk of {size} bytes"
        if ended.code in (97, 98, 99):
            raise Failure(f"{what}: code {ended.code}: {ended.err[-300:]}")
        check_sentence(ended, what, codes=(0, 1))
        model = place.with_suffix(".model")
        if model.exists() and model.read_bytes() != reference:
            raise Failure(f"{what}: other bits")
    return count


def two_processes(program, reference, draw, count):
    """Two processes want one folder: one gets it, the other says so, and nothing is disturbed."""
    done = 0
    while done < count:
        folder = program.new_folder()
        if draw.random() < 0.5:
            command = [*TRAINING, "--out", folder]
        else:
            process = program.start([*TRAINING, "--out", folder])
            time.sleep(draw.uniform(0, 0.1))
            process.kill()
            process.communicate(timeout=SECONDS)
            if not (folder / "run.json").exists():
                continue
            command = ["train", "--resume", folder, "--checkpoint-every", "7"]
        first = program.start(command)
        time.sleep(draw.uniform(0, 0.05))
        ends = [program.finish(each) for each in (program.start(command), first)]
        for ended in ends:
            check_sentence(ended, "two processes", codes=(0, 2))
        if all(ended.code != 0 for ended in ends):
            raise Failure(f"two processes: neither trains: {[ended.err for ended in ends]}")
        if (folder / MODEL).read_bytes() != reference:
            raise Failure("two processes: other bits")
        done += 1
    return done


def signals(program, reference, draw, count):
    """SIGINT, SIGTERM and SIGHUP at random: a checkpoint, the right exit code, the same bits."""
    for _ in range(count):
        which = draw.choice((signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
        folder = program.new_folder()
        process = program.start([*TRAINING, "--out", folder])
        time.sleep(draw.uniform(0, 0.2))
        process.send_signal(which)
        ended = program.finish(process)
        # Before the training has begun a signal ends the program as it ends any.
        if ended.code not in (0, 128 + which, -which):
            raise Failure(f"{which.name}: exit code {ended.code}: {ended.err[-300:]}")
        begun = any(folder.glob("checkpoints/step-*"))
        if ended.code == -which and begun and not (folder / MODEL).exists():
            raise Failure(f"{which.name}: the training ended without a checkpoint of its last step")
        if ended.code != 0:
            go_on_to_the_end(program, folder, reference, which.name)
    return count
