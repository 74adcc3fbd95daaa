#!/usr/bin/env python3
"""tools/fit-costs, given rows that a model with other costs would have measured, finds costs that choose as well. Takes the paths of
fit-costs and of the build folder."""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

fit_costs, build = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
TRUE = "round=3e-6,message=9e-6,moved_byte=3e-11,reduced_byte=4e-10,cores=2"


def rows_of(ranks, transport="tcp"):
    for size in [4, 256, 4096, 16384, 65536, 262144, 1 << 20, 1 << 22, 1 << 24]:
        said = subprocess.run([build / "tools" / "tutti-plan", "cost", "all_reduce", "--ranks", str(ranks), "--bytes", str(size), "--costs", TRUE],
                              check=True, text=True, capture_output=True).stdout
        for words in (line.split() for line in said.splitlines()[2:]):
            if words[0] != "chosen:":
                yield {"op": "all_reduce", "transport": transport, "ranks": ranks, "bytes": size, "algorithm": words[0], "time_us_median": float(words[5])}


def run(*words):
    return subprocess.run([sys.executable, fit_costs, "--build", build, *map(str, words)], text=True, capture_output=True)


def expect(claim, text):
    if not claim:
        sys.exit(f"fit_costs_test: {text}")


with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / "rows.json"
    path.write_text(json.dumps([row for ranks in (2, 3, 4, 8) for row in rows_of(ranks)]))
    done = run(path, "--costs", "cores=2")
    expect(done.returncode == 0, done.stderr)
    losses = [int(value) for value in re.findall(r"largest loss (\d+)%", done.stdout)]
    expect(losses[0] > 10 and losses[1] <= 5, f"largest losses before and after: {losses}, expected above 10 and at most 5\n{done.stdout}")
    fitted = dict(re.findall(r"(\w+)=([^,\n]+)", done.stdout.splitlines()[-1].removeprefix("TUTTI_COSTS=")))
    for name, value in re.findall(r"(\w+)=([^,]+)", TRUE):
        expect(0.4 < float(fitted[name]) / float(value) < 2.5, f"{name} is {fitted[name]}, expected about {value}")

    path.with_name("shm.json").write_text(json.dumps(list(rows_of(4, "shm"))))
    done = run(path.with_name("shm.json"), "--costs", "shm,cores=2,message=0")
    expect(done.returncode == 0 and "message=0," in done.stdout.splitlines()[-1], f"what is nothing does not stay nothing: {done.stdout}{done.stderr}")

    unfitted = run(path, "--costs", TRUE, "--no-fit")
    expect("largest loss 0%" in unfitted.stdout, f"the true costs lose something: {unfitted.stdout}")
    # The fit is not perfect; what was quickest, by name, loses nothing.
    tuning = path.with_name("tuning.txt")
    wrong = "round=1e-4,message=1e-7,cores=2"
    for most in (5, 15):
        written = run(path, "--costs", wrong, "--no-fit", "--loss", most / 100, "--write-tuning", tuning)
        expect(written.returncode == 0 and re.search(r"^tcp all_reduce 4: \d+ \w+, ", tuning.read_text(), re.M), f"no tuning: {written.stderr}{tuning.read_text()}")
        tuned = run(path, "--costs", wrong, "--no-fit", "--tuning", tuning)
        before, after = (float(re.search(r"largest loss (\d+)%", done.stdout)[1]) for done in (written, tuned))
        expect(before > 20 and after <= most, f"largest losses without and with a tuning: {before} and {after}%, expected above 20 and at most {most}")
    expect("--tuning /nowhere/tuning: No such file" in run(path, "--no-fit", "--tuning", "/nowhere/tuning").stderr, "a tuning that is not there is not told")
    expect("no rows" in run().stderr, "nothing to fit is not told")
    expect("--costs takes" in run(path, "--costs", "round").stderr, "wrong costs are not told")
    expect("cannot read /nowhere/rows: No such file" in run("/nowhere/rows").stderr, "a file that is not there is not told")
    expect("holds no rows of tutti-perf --json" in run(__file__).stderr, "a file of something else is not told")
