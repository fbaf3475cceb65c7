"""The systems that `peers.py` compares, each in a process of its own.

Run by `peers.py` as ``python peer_systems.py SPEC``, SPEC a JSON dict. The process reads its task,
warms up, answers with a line of JSON, and then trains once from fresh parameters for each line
"go" that it gets. An answer holds seconds ("call_s": the whole call of a user; "train_s": the
epoch alone) and a score on the test rows.
"""

import gc
import json
import os
import re
import sys
import tempfile
import time
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import tasks

WARM_ROWS = 4096  # trained on before the first clock: compiled kernels, threads that are there
RENAMED = {"tindptr": "test_indptr", "tindices": "test_indices", "ty": "test_y", "V": "n_columns"}


def read_task(folder):
    """Read a task of `tasks.py`, or one whose arrays have the short names of `RENAMED`."""
    found = tasks.load(folder)
    return {RENAMED.get(name, name): array for name, array in found.items()}


def _memory(field):
    """Return a figure of this process in MB; 0 where the system does not tell."""
    try:
        status = Path("/proc/self/status").read_text()
        return int(re.search(rf"^{field}:\s+(\d+) kB", status, re.MULTILINE)[1]) / 1024
    except (OSError, TypeError):
        return 0.0


@contextmanager
def growth_of_memory(answer):
    """Write to "rss_mb" by how many MB the peak in the block exceeds what was held before."""
    gc.collect()
    try:
        Path("/proc/self/clear_refs").write_text("5")  # forget earlier peaks
    except OSError:
        pass
    before = _memory("VmRSS")
    yield
    answer["rss_mb"] = max(0.0, _memory("VmHWM") - before)


def log_loss(y, p):
    """Return the mean logistic loss of the probabilities of class 1."""
    p = np.clip(p, 1e-7, 1 - 1e-7)
    return float(-np.mean(np.where(y == 1, np.log(p), np.log1p(-p))))


class System:
    """Base of the systems.

    Parameters
    ----------
    spec : dict
        "folder" of the task, "width", "threads", "batch", and what else the system takes.
    """

    def __init__(self, spec):
        self.spec, self.task = spec, read_task(spec["folder"])
        self.y, self.test_y = self.task["y"], self.task["test_y"]
        self.binary = self.y.max() == 1
        self.prepare()

    def prepare(self):
        """Bring the task into the form that the system reads; not timed."""

    def warm(self):
        """Train on some rows, so that nothing happens for the first time in a clock."""

    def train(self):
        """Train from fresh parameters; return a dict of seconds and what was trained."""
        raise NotImplementedError

    def score(self, trained):
        """Return the accuracy, or for two classes the log-loss, on the test rows."""
        raise NotImplementedError

    def round(self):
        """Answer one request of the parent."""
        answer = {}
        with growth_of_memory(answer):
            seconds, trained = self.train()
        return {**answer, **seconds, "score": self.score(trained)}


class Estimator(System):
    """A classifier in the manner of scikit-learn, on CSR; "call_s" is `fit`."""

    def prepare(self):
        self.X, self.test_X = tasks.matrices(self.task)

    def model(self):
        """Return an estimator that is not fitted."""
        raise NotImplementedError

    def warm(self):
        self.model().fit(self.X[:WARM_ROWS], self.y[:WARM_ROWS])

    def train(self):
        model = self.model()
        start = time.perf_counter()
        model.fit(self.X, self.y)
        return {"call_s": time.perf_counter() - start}, model

    def score(self, trained):
        return trained.score(self.test_X, self.test_y)


class Skembed(Estimator):
    """The classifier, for one epoch; "call_s" is `fit`, "train_s" the loop in it."""

    def prepare(self):
        from sklearn.exceptions import ConvergenceWarning

        from skembed.estimators import _base

        warnings.simplefilter("ignore", ConvergenceWarning)
        super().prepare()
        loop, self.epochs = _base.fit_epochs, []

        def timed(*args, **kwargs):
            start = time.perf_counter()
            converged = loop(*args, **kwargs)
            self.epochs.append(time.perf_counter() - start)
            return converged

        _base.fit_epochs = timed

    def model(self):
        """Return an estimator that is not fitted."""
        from skembed import EmbeddingBagClassifier

        s = self.spec
        return EmbeddingBagClassifier(
            s["width"], pooling="mean", loss=s.get("loss", "auto"), solver=s["solver"],
            learning_rate_init=s["rate"], batch_size=s["batch"], max_iter=1, early_stopping=False,
            random_state=0, n_jobs=s["threads"],
        )  # fmt: skip

    def train(self):
        seconds, model = super().train()
        return {**seconds, "train_s": self.epochs[-1]}, model

    def score(self, trained):
        if self.binary:
            return log_loss(self.test_y, trained.predict_proba(self.test_X)[:, 1])
        return super().score(trained)


class Torch(System):
    """EmbeddingBag with sparse gradients and a linear layer; only the loop is timed."""

    def prepare(self):
        import torch

        self.torch = torch
        torch.set_num_threads(self.spec["threads"])
        names = ("indptr", "indices", "test_indptr", "test_indices")
        self.rows = {n: torch.from_numpy(self.task[n].astype(np.int64)) for n in names}
        kind = np.float32 if self.binary else np.int64
        self.labels = torch.from_numpy(self.y.astype(kind))

    def model(self):
        """Return fresh modules, their loss and their optimizers."""
        torch, d, rate = self.torch, self.spec["width"], self.spec["rate"]
        torch.manual_seed(0)
        bag = torch.nn.EmbeddingBag(int(self.task["n_columns"]), d, mode="mean", sparse=True)
        torch.nn.init.uniform_(bag.weight, -1 / d, 1 / d)
        head = torch.nn.Linear(d, 1 if self.binary else int(self.y.max()) + 1)
        vectors, others = list(bag.parameters()), list(head.parameters())
        if self.spec["solver"] == "adagrad":
            return bag, head, [torch.optim.Adagrad([*vectors, *others], lr=rate)]
        sparse, dense = torch.optim.SparseAdam, torch.optim.Adam
        return bag, head, [sparse(vectors, lr=rate), dense(others, lr=rate)]

    def loop(self, bag, head, optimizers, n_rows):
        """Run over the first rows."""
        indptr, indices, batch = self.rows["indptr"], self.rows["indices"], self.spec["batch"]
        nn = self.torch.nn
        loss = nn.BCEWithLogitsLoss() if self.binary else nn.CrossEntropyLoss()
        for s in range(0, n_rows, batch):
            e = min(s + batch, n_rows)
            first, last = int(indptr[s]), int(indptr[e])
            raw = head(bag(indices[first:last], indptr[s:e] - first))
            value = loss(raw[:, 0] if self.binary else raw, self.labels[s:e])
            for optimizer in optimizers:
                optimizer.zero_grad()
            value.backward()
            for optimizer in optimizers:
                optimizer.step()

    def warm(self):
        self.loop(*self.model(), min(WARM_ROWS, len(self.y)))

    def train(self):
        bag, head, optimizers = self.model()
        start = time.perf_counter()
        self.loop(bag, head, optimizers, len(self.y))
        return {"train_s": time.perf_counter() - start}, (bag, head)

    def score(self, trained):
        bag, head = trained
        with self.torch.no_grad():
            raw = head(bag(self.rows["test_indices"], self.rows["test_indptr"][:-1]))
        if self.binary:
            return log_loss(self.test_y, raw.sigmoid().double().numpy()[:, 0])
        return float((raw.argmax(1).numpy() == self.test_y).mean())


class Factorization(Skembed):
    """The factorization machine, for one epoch."""

    def model(self):
        from skembed import FactorizationMachineClassifier

        s = self.spec
        return FactorizationMachineClassifier(
            s["width"], solver=s["solver"], learning_rate_init=s["rate"], batch_size=s["batch"],
            max_iter=1, early_stopping=False, random_state=0, n_jobs=s["threads"],
        )  # fmt: skip


class TorchFactorization(Torch):
    """A factorization machine of two sparse embeddings, for rows of equal size."""

    def model(self):
        torch, n, rate = self.torch, int(self.task["n_columns"]), self.spec["rate"]
        torch.manual_seed(0)
        vectors = torch.nn.Embedding(n, self.spec["width"], sparse=True)
        direct, intercept = (
            torch.nn.Embedding(n, 1, sparse=True),
            torch.nn.Parameter(torch.zeros(1)),
        )
        torch.nn.init.normal_(vectors.weight, 0, 0.05)
        torch.nn.init.zeros_(direct.weight)
        tables = [vectors.weight, direct.weight]
        adam = torch.optim.SparseAdam(tables, lr=rate), torch.optim.Adam([intercept], lr=rate)

        def raw(x):
            v = vectors(x)
            pairs = 0.5 * (v.sum(1) ** 2 - (v * v).sum(1)).sum(1)
            return intercept + direct(x).sum((1, 2)) + pairs

        return raw, None, adam

    def loop(self, raw, head, optimizers, n_rows):
        x, batch = self.rows["indices"].reshape(len(self.y), -1), self.spec["batch"]
        loss = self.torch.nn.BCEWithLogitsLoss()
        for s in range(0, n_rows, batch):
            e = min(s + batch, n_rows)
            value = loss(raw(x[s:e]), self.labels[s:e])
            for optimizer in optimizers:
                optimizer.zero_grad()
            value.backward()
            for optimizer in optimizers:
                optimizer.step()

    def score(self, trained):
        x = self.rows["test_indices"].reshape(len(self.test_y), -1)
        with self.torch.no_grad():
            return log_loss(self.test_y, trained[0](x).sigmoid().double().numpy())


class LightFM(System):
    """Row r as the meeting of user r and item r, who share its fields: pairs across the halves."""

    def prepare(self):
        import scipy.sparse as sp
        from lightfm import LightFM as Model

        rows = sp.vstack(tasks.matrices(self.task), format="csr")
        n_fields = int(np.diff(rows.indptr).max())
        half, self.model = n_fields // 2, Model
        x = rows.indices.reshape(-1, n_fields)
        self.features = {}
        for name, part in (("user_features", x[:, :half]), ("item_features", x[:, half:])):
            starts = np.arange(len(x) + 1) * part.shape[1]
            ones = np.ones(part.size, np.float32)
            self.features[name] = sp.csr_matrix((ones, part.ravel(), starts), rows.shape)
        self.n = len(x)

    def fit(self, n_rows):
        """Return a model trained on the first rows."""
        import scipy.sparse as sp

        s, at = self.spec, np.arange(n_rows, dtype=np.int32)
        model = self.model(
            no_components=s["width"], loss="logistic", learning_schedule="adagrad",
            learning_rate=s["rate"], random_state=0,
        )  # fmt: skip
        sign = np.where(self.y[:n_rows] == 1, 1, -1).astype(np.float32)
        clicks = sp.coo_matrix((sign, (at, at)), shape=(self.n, self.n))
        start = time.perf_counter()
        model.fit(clicks, epochs=1, num_threads=s["threads"], **self.features)
        return {"train_s": time.perf_counter() - start}, model

    def warm(self):
        self.fit(min(WARM_ROWS, len(self.y)))

    def train(self):
        return self.fit(len(self.y))

    def score(self, trained):
        at = np.arange(len(self.y), self.n, dtype=np.int32)
        raw = trained.predict(at, at, num_threads=1, **self.features)
        return log_loss(self.test_y, 1 / (1 + np.exp(-raw)))


class FastText(System):
    """fastText on a file of tokens; "train_s" follows from the words a second that it prints."""

    def prepare(self):
        import fasttext

        self.fasttext = fasttext
        self.tokens = len(self.task["indices"]) + 2 * len(self.y)  # a label and an end each row

    def train(self):
        s, printed = self.spec, tempfile.TemporaryFile()
        own = os.dup(2)
        os.dup2(printed.fileno(), 2)
        try:
            start = time.perf_counter()
            model = self.fasttext.train_supervised(
                s["files"] + "/train.txt", dim=s["width"], epoch=1, minCount=1, bucket=0,
                thread=s["threads"], lr=s["rate"], loss=s["loss"], verbose=2,
            )  # fmt: skip
            seconds = time.perf_counter() - start
        finally:
            os.dup2(own, 2)
            os.close(own)
        printed.seek(0)
        rates = re.findall(rb"words/sec/thread:\s*(\d+)", printed.read())
        train = self.tokens / (int(rates[-1]) * s["threads"])
        return {"call_s": seconds, "train_s": train}, model

    def score(self, trained):
        return trained.test(self.spec["files"] + "/test.txt")[1]


class Linear(Estimator):
    """The linear model of scikit-learn, trained by SGD; one pass."""

    def model(self):
        from sklearn.linear_model import SGDClassifier

        return SGDClassifier(
            loss="log_loss", alpha=1e-6, max_iter=1, tol=None, random_state=0,
            n_jobs=self.spec["threads"],
        )  # fmt: skip


class VowpalWabbit(System):
    """The linear one-against-all model of Vowpal Wabbit, on a file; it parses in another thread."""

    def prepare(self):
        import vowpalwabbit

        self.workspace = vowpalwabbit.Workspace

    def train(self):
        files, trained = self.spec["files"], tempfile.TemporaryDirectory()
        start = time.perf_counter()
        self.workspace(
            f"-d {files}/train.vw --oaa {self.y.max() + 1} --loss_function logistic -b 22 --quiet "
            f"-f {trained.name}/model"
        ).finish()
        return {"call_s": time.perf_counter() - start}, trained

    def score(self, trained):
        folder, files = trained.name, self.spec["files"]
        self.workspace(f"-t -i {folder}/model -d {files}/test.vw -p {folder}/y --quiet").finish()
        found = np.loadtxt(f"{folder}/y", dtype=int) - 1
        return float((found == self.test_y).mean())


class Predict(System):
    """A fitted classifier of skembed on all rows of the task, and on one row at a time."""

    N_SINGLE = 300

    def prepare(self):
        import scipy.sparse as sp

        train, test = tasks.matrices(self.task)
        self.model = Skembed.model(self)
        warnings.simplefilter("ignore")  # one epoch is not enough to converge
        self.model.fit(train, self.y)
        self.X = sp.vstack([train, test], format="csr")
        n = test.shape[0]
        self.rows = [test[i % n : i % n + 1] for i in range(self.N_SINGLE)]

    def warm(self):
        self.round()

    def round(self):
        found = {"n_values": self.X.nnz}
        for name in ("transform", "predict_proba"):
            start = time.perf_counter()
            getattr(self.model, name)(self.X)
            found[f"{name}_s"] = time.perf_counter() - start
        for name in ("predict", "predict_proba"):
            method, times = getattr(self.model, name), []
            for row in self.rows:
                start = time.perf_counter()
                method(row)
                times.append(time.perf_counter() - start)
            found[f"one_{name}_us"] = float(np.median(times)) * 1e6
        return found


class Limit(System):
    """Rows of the same size that this machine can sum; see `limits.py`."""

    def __init__(self, spec):
        self.spec = spec

    def round(self):
        import limits

        from skembed.core import padded_width

        s = self.spec
        size = padded_width(s["width"], np.float32) * 4
        return {"row_bytes": size, "limit": limits.gather_limit(size, s["threads"], s["small"])}


KINDS = {
    cls.__name__: cls
    for cls in (
        Skembed, Torch, Factorization, TorchFactorization, LightFM, FastText, Linear,
        VowpalWabbit, Predict, Limit,
    )
}  # fmt: skip


def main():
    """Answer the rounds that the parent asks for."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what libraries print goes elsewhere
    spec = json.loads(sys.argv[1])
    try:
        system = KINDS[spec["kind"]](spec)
    except ModuleNotFoundError as error:
        answers.write(json.dumps({"skipped": str(error)}) + "\n")
        return
    system.warm()
    answers.write(json.dumps({"ready": True}) + "\n")
    for _ in sys.stdin:
        answers.write(json.dumps(system.round()) + "\n")


if __name__ == "__main__":
    main()
