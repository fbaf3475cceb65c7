"""Measure everything that the page on performance tells, and write the page.

Run as ``python tests/bench/performance.py [--only GROUP ...] [--page-only]``. The groups are the
limits of the machine, the stages of an epoch, the comparisons of `peers.py`, and scaling. Results
are kept in a file of JSON lines, so that one group can be measured again and the page be written
from all. ``--small`` tries it all with little data, on a page of its own.
"""

import argparse
import contextlib
import datetime
import io
import json
import os
import platform
import re
import tempfile
from importlib import metadata
from pathlib import Path

import limits
import peers
import scaling
import stages
import tasks
from performance_page import page

ROOT = Path(__file__).parent.parent.parent
FOLDER = os.environ.get("SKEMBED_BENCH_DATA", tempfile.gettempdir() + "/skembed-bench")
PARTS = tuple(scaling.KINDS)
GROUPS = ("limits", "stages", *peers.GROUPS, *(f"scaling {part}" for part in PARTS))
PACKAGES = (
    "skembed", "numpy", "scipy", "scikit-learn", "numba", "llvmlite", "torch", "fasttext",
    "vowpalwabbit",
)  # fmt: skip
SMALL_SHAPES = {
    "text": (tasks.text, peers.SMALL_TEXT),
    "clicks": (tasks.clicks, peers.SMALL_CLICKS),
    "short": (tasks.clicks, dict(peers.SMALL_CLICKS, n_fields=11, seed=3)),
}
STAGE_LINES = (("text", 50, 1024), ("text", 50, 256), ("clicks", 16, 256), ("short", 16, 256))


def _read(path, pattern="(.*)"):
    """Return what a pattern finds in a file of the system, or ''."""
    try:
        found = re.search(pattern, Path(path).read_text(), re.MULTILINE)
    except OSError:
        return ""
    return found[1].strip() if found else ""


def _caches():
    names = []
    for folder in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size = (_read(folder / name) for name in ("level", "type", "size"))
        if kind != "Instruction":
            names.append(f"L{level} {size}")
    return ", ".join(names)


def _versions():
    known, found = metadata.packages_distributions(), {}
    for name in PACKAGES:
        distribution = known.get(name, [name])[0]
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[distribution] = metadata.version(distribution)
    return ", ".join(f"{name} {version}" for name, version in found.items())


def machine():
    """Return what the figures depend on, as text by name."""
    memory = _read("/proc/meminfo", r"^MemTotal:\s+(\d+)")
    try:
        system = platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        system = platform.system()
    return {
        "Processor": _read("/proc/cpuinfo", r"^model name\s*:(.*)$") or platform.machine(),
        "Family, model": _read("/proc/cpuinfo", r"^cpu family\s*:(.*)$")
        + ", "
        + _read("/proc/cpuinfo", r"^model\s*:(.*)$"),
        "Cores": str(os.cpu_count()),
        "Caches": _caches(),
        "Memory": f"{int(memory or 0) / 2**20:.0f} GiB",
        "Huge pages": _read("/sys/kernel/mm/transparent_hugepage/enabled", r"\[(\w+)\]"),
        "System": f"{system}, Linux {platform.release().partition('-')[0]}"
        if platform.system() == "Linux"
        else platform.platform(terse=True),
        "Python": platform.python_version(),
        "Packages": _versions(),
    }


def stage_records(rounds, small):
    """Yield a record of each line of `stages`, and the cost of the compiler."""
    for shape, width, batch in STAGE_LINES:
        if small:
            make, options = SMALL_SHAPES[shape]
            task = tasks.load(tasks.stored(make, **options))
        else:
            task = tasks.load(stages.SHAPES[shape]())
        loss = "log_loss" if task["y"].max() == 1 else "softmax"
        line = stages.line_of(task, loss, scaling.SOLVER, width, batch)
        for jobs in (1, 2):
            found = stages.profile(*line, jobs, rounds)
            ns = {name: s / len(line[2].indices) * 1e9 for name, s in found.items()}
            yield dict(shape=shape, width=width, batch=batch, threads=jobs, ns=ns)
    if not small:  # compiling takes long
        with contextlib.redirect_stdout(io.StringIO()) as told:
            stages.first_fits()
        yield dict(first_fits=told.getvalue().splitlines())


def measure(group, rounds, small):
    """Yield the records of a group; print them."""
    if group == "limits":
        for record in limits.measure(small=small):
            limits.show(record)
            yield record
    elif group == "stages":
        for record in stage_records(rounds, small):
            print(record, flush=True)
            yield record
    elif group in peers.GROUPS:
        for records in peers.measure(group, rounds=rounds, small=small):
            peers.show(records)
            yield from records
    else:
        for record in scaling.measure(group.removeprefix("scaling "), rounds=rounds, small=small):
            print(*(f"{k}={v}" for k, v in scaling.in_columns(record).items()), flush=True)
            yield record


def latest(path):
    """Return the records of the last finished run of each group, and what was said of the run."""
    runs, done = {}, {}
    for line in path.read_text().splitlines():
        record = json.loads(line)
        group = record["group"]
        if "run" in record:
            runs[group] = (record["run"], [])
        elif "finished" in record:
            done[group] = runs[group]
        else:
            runs[group][1].append(record)
    return done


def main():
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=GROUPS, default=GROUPS, metavar="GROUP")
    parser.add_argument("--page-only", action="store_true", help="measure nothing")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--small", action="store_true", help="little data, to try it")
    parser.add_argument("--results", type=Path, help="the file of JSON lines")
    parser.add_argument("--page", type=Path, help="where the page goes")
    options = parser.parse_args()
    name = "performance-small" if options.small else "performance"
    results = options.results or Path(FOLDER) / f"{name}.jsonl"
    target = options.page or (
        results.with_suffix(".md") if options.small else ROOT / "docs" / f"{name}.md"
    )
    results.parent.mkdir(parents=True, exist_ok=True)
    for group in () if options.page_only else options.only:
        date = datetime.datetime.now(datetime.UTC).date().isoformat()
        run = dict(date=date, rounds=options.rounds, small=options.small, machine=machine())
        print(f"\n== {group}", flush=True)
        with results.open("a") as file:
            file.write(json.dumps({"group": group, "run": run}) + "\n")
            for record in measure(group, options.rounds, options.small):
                file.write(json.dumps({**record, "group": group}) + "\n")
                file.flush()
            file.write(json.dumps({"group": group, "finished": True}) + "\n")
    target.write_text(page(latest(results)), encoding="utf-8")
    print(f"\nwritten: {target}")


if __name__ == "__main__":
    main()
