"""The page on performance: its text, and the tables that `performance.py` has measured."""

import re

import limits
import peers
import scaling

PAGE = """\
# Performance, measured

`python tests/bench/performance.py` measures all of this and writes the page; `--only GROUP` makes
it measure a part again. All data are drawn from seeds by `tests/bench/tasks.py`.

{when}

## How to read it, and what to do

- **Read ratios, not seconds.** A ratio compares two systems that took turns in the same minutes on
  the same machine. Above 1, skembed is faster.
- **Pass float32.** `dtype=np.float32` in a vectorizer or encoder halves the memory that the table
  takes and that an epoch moves. Rows of the table are padded to 64 bytes, so that in float32 a row
  of width 50 takes what one of width 64 takes.
- **`n_jobs`** changes no result. It pays for long rows, wide vectors and large batches: see the
  gain in the last tables. For batches with few stored values no second thread is woken.
- **`batch_size`**: the more rows a batch has, the cheaper is a stored value, since a column that
  occurs in several of them is stepped once. But fewer steps make an epoch learn less; raise
  `learning_rate_init` with it, and look at the score.
- **Thousands of classes**: the cost of a softmax grows with their number, that of
  `loss="negative_sampling"` does not. Compare the scores.
- **Memory** is (columns that occur) × width × 4 bytes in float32; Adagrad doubles it, and early
  stopping doubles both while the fit lasts. `min_count`, or hashing into fewer columns, bounds it.
  Columns that do not occur cost nothing.
- **Predict many rows in one call.** A call has a fixed cost, which is all that a single row pays.
- The first fit on a machine compiles the kernels; later ones find them in the cache.

## The machine

{machine}

## How it was measured

- Every system of a comparison runs in a process of its own, which holds the data in the form that
  the system reads, trains once on some rows before the first clock, and stays. The systems take
  turns, for {rounds} rounds, and the table shows medians. Each round trains from fresh parameters.
- Threads: the number of the line, for OpenMP and BLAS too. Threads are not pinned. Vowpal Wabbit
  learns with one thread and reads with another, whatever the line says.
- *Epoch* is the training alone. For skembed it is the loop inside `fit`, with the draw of the order
  of rows; for PyTorch the loop over batches of arrays that are ready, in the order of the data; for
  fastText it follows from the words a second that it prints (with two threads it notices only every
  tenth of a second that it is done).
- *Call* is what a user calls. For skembed that is `fit`: check of the input, look-up of columns,
  starting vectors, epoch. For fastText and Vowpal Wabbit it includes reading a file.
- *× epoch* and *× call* are the times of a system divided by those of the system of skembed that it
  stands beside. Where a system has only one of the two times, that one counts in both columns.
- *Rate* is the learning rate, of two the one with the better score on 20,000 (clicks: 50,000) test
  rows: .05 and .1 for Adagrad. With many classes it is .3, and 2 for fastText; a third and a half
  of that score less, or as little. With pairs skembed has the best of .1, .15 and .2, the others
  one that suits them.
- *MB* is by how much the peak of memory during the training exceeds what the process held before,
  in the first round: parameters, state and work space, and for readers of files the file's content.

## Limits of the memory

`tests/bench/limits.py`: long arrays, and rows of a 1 GiB table in random order; the best of four
runs. Rows are summed ("gather"), or read, changed and written ("change"); "ahead" asks for a row 16
rows before it is due.

{streams}

Millions of rows a second:

{rows}

## Where the time of an epoch goes

`tests/bench/stages.py`: nanoseconds a stored value, Adagrad, float32. "text" has about 62 values a
row and four classes, "clicks" 39 and "short" 11 values a row and two classes. "all" is an epoch
without the clocks of the stages.

{stages}

{first_fits}

## Beside other libraries: text

200,000 rows of about 62 ones among a million columns, four classes, mean pooling, float32, batches
of 1024. PyTorch is an `EmbeddingBag` with sparse gradients and a linear layer; SparseAdam stands
beside LazyAdam, all others beside Adagrad. The last two are linear models: they learn no vectors.

{text}

## Beside other libraries: many classes

The same number of rows, two threads, width 50, batches of 256. fastText's softmax stands beside the
softmax of skembed, its hierarchical softmax beside negative sampling.

{classes}

## Beside other libraries: clicks

500,000 rows with one value of each field, two classes, mean pooling, width 16, batches of 256.

{clicks}

## Beside other libraries: pairs

Factorization machines on 500,000 rows of 39 ones among two million columns, two classes, width 8,
batches of 1024. The data are clicks of a planted machine of rank 4. PyTorch has embeddings with
sparse gradients and SparseAdam; LightFM has one half of a row as a user, the other as an item, and
so the pairs across the halves.

{pairs}

## Predictions

A fitted classifier of four classes on 220,000 rows of about 62 ones, mean pooling, float32. The
limit is that of summing rows of this size in random order, measured in turns with it; real columns
are not all alike, and the frequent ones stay in a cache. One row: median of 300 calls.

{predict}

## How the cost grows

`tests/bench/scaling.py`: nanoseconds a stored value in an epoch. Unless a table says otherwise,
rows have 60 ones that follow Zipf's law among a million columns, width 32, batches of 1024, two
classes, Adagrad. *Gain* is the time of one thread divided by that of two, which took turns.

With the size of the table:

{scaling table}

With the number of classes:

{scaling classes}

With the values a row:

{scaling row}

With the batch, on the text above:

{scaling batch}
"""
MISSING = "Not measured yet."


def table(rows):
    """Return dicts of text as a Markdown table; the columns are those of all rows."""
    if not rows:
        return MISSING
    names = list(dict.fromkeys(name for row in rows for name in row))
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    lines += ["| " + " | ".join(row.get(n, "") for n in names) + " |" for row in rows]
    return "\n".join(lines)


def _limits(records):
    streams, rows = {}, {}
    for r in records:
        threads = f"{r['threads']} thread" + "s" * (r["threads"] > 1)
        if "row_bytes" in r:
            row = rows.setdefault(r["row_bytes"], {"Bytes a row": str(r["row_bytes"])})
            name = r["what"].replace(", asked ahead", " ahead")
            row[f"{name}, {threads}"] = f"{r['mrows_per_s']:.1f}"
        else:
            row = streams.setdefault(r["what"], {"GB/s": r["what"]})
            row[threads] = f"{r['gb_per_s']:.1f}"
    columns = ["Bytes a row"] + [
        f"{name.replace(', asked ahead', ' ahead')}, {t} thread{'s' * (t > 1)}"
        for name in limits.KERNELS
        for t in limits.THREADS
    ]
    rows = [{name: row[name] for name in columns if name in row} for row in rows.values()]
    return {"streams": table(list(streams.values())), "rows": table(rows)}


def _stages(records):
    lines = [r for r in records if "ns" in r]
    rows = [
        {
            **{name: str(r[name]) for name in ("shape", "width", "batch", "threads")},
            **{stage: f"{ns:.1f}" for stage, ns in r["ns"].items()},
        }
        for r in lines
    ]
    told = [line for r in records for line in r.get("first_fits", ())]
    text = "The cost of the compiler, in new processes:\n\n" + "\n".join(f"- {t}" for t in told)
    return {"stages": table(rows), "first_fits": text if told else ""}


def _cell(record):
    """Return what leads the lines of a cell: task, width and threads."""
    return {
        "task": record["task"],
        "width": str(record["width"]),
        "threads": str(record["threads"]),
    }


def _comparison(records):
    titles = {"epoch s": "epoch, s", "call s": "call, s", "x epoch": "× epoch", "x call": "× call"}
    rows, notes = [], {}
    for r in records:
        if "problem" in r:
            notes[r["system"]] = r["problem"]
        elif r["best"]:
            shown = peers.in_columns(r)
            rows.append({**_cell(r), **{titles.get(k, k): v for k, v in shown.items()}})
    if len({row["task"] for row in rows}) == 1:
        rows = [{k: v for k, v in row.items() if k != "task"} for row in rows]
    return table(rows) + "".join(f"\n\n{name}: {problem}." for name, problem in notes.items())


def _predictions(records):
    cells = {}
    for r in records:
        cells.setdefault((r["width"], r["threads"]), []).append(r)
    rows = []
    for cell in cells.values():
        lead = _cell(cell[0])
        del lead["task"]
        rows += [{**lead, **row} for row in peers.prediction_columns(cell)]
    return table(rows).replace(", us", ", µs")


def _when(runs):
    dates = sorted({run["date"] for run, _ in runs})
    if not dates:
        return MISSING
    when = dates[0] if len(dates) == 1 else f"between {dates[0]} and {dates[-1]}"
    small = any(run["small"] for run, _ in runs)
    return f"Measured {when}." + " TRIAL WITH LITTLE DATA: the figures say nothing." * small


def page(found):
    """Return the page.

    Parameters
    ----------
    found : dict
        Name of a group to a pair: what was said of the run, and its records.
    """
    runs = list(found.values())
    records = {group: records for group, (_, records) in found.items()}
    about = max((run for run, _ in runs), key=lambda run: run["date"], default=None)
    parts = {
        "when": _when(runs),
        "machine": MISSING if about is None else table(
            [{"What": name, "Here": value} for name, value in about["machine"].items()]
        ),
        "rounds": str(about["rounds"]) if about else "3",
        **_limits(records.get("limits", [])),
        **_stages(records.get("stages", [])),
        "predict": _predictions(records.get("predict", [])),
    }  # fmt: skip
    for name in ("text", "classes", "clicks", "pairs"):
        parts[name] = _comparison(records.get(name, []))
    for part in scaling.KINDS:
        name = f"scaling {part}"
        parts[name] = table([scaling.in_columns(r) for r in records.get(name, [])])
    return re.sub(r"\n{3,}", "\n\n", PAGE.format(**parts))
