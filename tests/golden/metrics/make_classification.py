"""Golden values of classification metrics: what scikit-learn, SciPy and seqeval give, edges included.

  pip install scikit-learn seqeval; python make_classification.py > classification.json
"""
import json, math, warnings
import numpy as np
from scipy.stats import pearsonr, spearmanr
from sklearn import metrics as m
import seqeval.metrics as seq

warnings.filterwarnings("ignore")
rng = np.random.RandomState(7)
clean = lambda x: None if x is None or not math.isfinite(x) else float(x)


def averages(t, p, labels=None):
    out = {}
    for kind in ("micro", "macro"):
        out[f"precision_{kind}"], out[f"recall_{kind}"], out[f"f1_{kind}"], _ = m.precision_recall_fscore_support(
            t, p, average=kind, labels=labels, zero_division=0)
    out["f1_weighted"] = m.f1_score(t, p, average="weighted", labels=labels, zero_division=0)
    return {k: float(v) for k, v in out.items()}


def per_label(t, p, labels=None):
    return [[float(x) for x in row] for row in m.precision_recall_fscore_support(t, p, average=None, labels=labels, zero_division=0)]


def mean(values):
    values = [v for v in values if v is not None]
    return float(np.mean(values)) if values else None


def scores(t, s):
    one = [t[:, k].any() and not t[:, k].all() for k in range(t.shape[1])]
    out = {"auroc": [clean(m.roc_auc_score(t[:, k], s[:, k])) if one[k] else None for k in range(t.shape[1])],
           "average_precision": [clean(m.average_precision_score(t[:, k], s[:, k])) if t[:, k].any() else None for k in range(t.shape[1])]}
    out["auroc_macro"], out["average_precision_macro"] = mean(out["auroc"]), mean(out["average_precision"])
    return out


def multi(name, t, s, threshold=0.5):
    t, s = np.array(t), np.array(s, np.float32)
    p = (s > threshold).astype(int)
    expected = averages(t, p)
    expected["accuracy"] = float((t == p).mean())
    expected["exact_match"] = float(m.accuracy_score(t, p))
    expected["f1_samples"] = float(m.f1_score(t, p, average="samples", zero_division=0))
    expected["mcc"] = float(np.mean([m.matthews_corrcoef(a, b) for a, b in zip(t, p)]))
    present = [m.f1_score(t[:, k], p[:, k], zero_division=0) for k in range(t.shape[1]) if t[:, k].any() or p[:, k].any()]
    expected["f1_macro_present"] = float(np.mean(present)) if present else 0.0
    ranked = scores(t, s)
    expected["auroc_macro"], expected["average_precision_macro"] = ranked["auroc_macro"], ranked["average_precision_macro"]
    expected["log_loss"] = float(np.mean([m.log_loss(t[:, k], s[:, k].astype(float), labels=[0, 1]) for k in range(t.shape[1])]))
    return dict(name=name, truth=t.tolist(), probabilities=s.astype(float).round(6).tolist(), threshold=threshold, expected=expected,
                per_label=per_label(t, p), auroc=ranked["auroc"], average_precision=ranked["average_precision"])


def single(name, t, p, labels, probabilities=None):
    expected = averages(t, p, list(range(labels)))
    # scikit-learn's micro average of named labels counts as the one of all: the accuracy.
    expected["accuracy"] = float(m.accuracy_score(t, p))
    expected["mcc"] = float(m.matthews_corrcoef(t, p))
    if probabilities is not None:
        s = np.array(probabilities, np.float32)
        onehot = np.eye(labels, dtype=int)[t]
        ranked = scores(onehot[:, 1:], s[:, 1:]) if labels == 2 else scores(onehot, s)
        expected["auroc_macro"], expected["average_precision_macro"] = ranked["auroc_macro"], ranked["average_precision_macro"]
        expected["log_loss"] = float(-np.mean(np.log(np.clip(s[np.arange(len(t)), t].astype(float), 1.2e-7, 1 - 1.2e-7))))
    return dict(name=name, truth=list(map(int, t)), predicted=list(map(int, p)), labels=labels, expected=expected,
                probabilities=None if probabilities is None else np.array(probabilities, np.float32).astype(float).tolist(),
                per_label=per_label(t, p, list(range(labels))))


def soft(z):
    e = np.exp(z - z.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


T = (rng.rand(40, 6) < 0.3).astype(int)
S = np.clip(T * 0.3 + rng.rand(40, 6) * 0.7, 0.001, 0.999).round(3)
absent = T.copy(); absent[:, 2] = 0
quiet = S.copy(); quiet[:, 2] = 0.01
everywhere = T.copy(); everywhere[:, 1] = 1
ties = np.round(S * 4) / 4 * 0.98 + 0.01
multi_cases = [
    multi("plain", T, S), multi("kote threshold", T, S, 0.3),
    multi("label absent, never predicted", absent, quiet), multi("label absent, predicted", absent, S),
    multi("no prediction at all", T, np.full((40, 6), 0.2)), multi("nothing true", np.zeros((5, 6), int), S[:5]),
    multi("all empty", np.zeros((5, 6), int), np.full((5, 6), 0.1)), multi("label always true", everywhere, S),
    multi("ties", T, ties), multi("one row", T[:1], S[:1])]
t3 = rng.randint(0, 3, 50); z3 = rng.randn(50, 3); z3[np.arange(50), t3] += 1
t2 = rng.randint(0, 2, 30); z2 = rng.randn(30, 2); z2[np.arange(30), t2] += 1
t5 = rng.randint(0, 3, 30); p5 = rng.randint(0, 3, 30); p5[p5 == 1] = 4
single_cases = [
    single("three classes", t3, soft(z3).argmax(1), 3, soft(z3)), single("two classes", t2, soft(z2).argmax(1), 2, soft(z2)),
    single("classes absent or predicted only", t5, p5, 6), single("constant prediction", t3, np.zeros(50, int), 3),
    single("one class true", np.zeros(10, int), np.array([0, 1] * 5), 2, soft(z2[:10])), single("one example", [1], [1], 3)]
a, b = rng.randn(25).astype(np.float32), rng.randn(25).astype(np.float32)
b += a
tied = np.round(a)
pairs = [dict(a=x.astype(float).tolist(), b=y.astype(float).tolist(), pearson=clean(pearsonr(x.astype(float), y.astype(float))[0]), spearman=clean(spearmanr(x, y)[0]))
         for x, y in ((a, b), (tied, b), (tied, np.round(b)), (np.ones(5, np.float32), b[:5]))]
tags = [dict(name="BIO", truth=[["B-PER", "I-PER", "O", "B-LOC"], ["O", "B-ORG", "I-ORG", "I-ORG"]], predicted=[["B-PER", "I-PER", "O", "B-ORG"], ["O", "B-ORG", "I-ORG", "O"]]),
        dict(name="I without B, neighbours", truth=[["I-PER", "I-PER", "B-PER", "I-LOC", "O"]], predicted=[["B-PER", "I-PER", "I-PER", "I-LOC", "I-LOC"]]),
        dict(name="BIOES", truth=[["S-LOC", "B-PER", "I-PER", "E-PER", "O", "E-PER"]], predicted=[["S-LOC", "B-PER", "I-PER", "E-PER", "S-PER", "O"]]),
        dict(name="nothing predicted", truth=[["B-PER", "O"]], predicted=[["O", "O"]]),
        dict(name="nothing at all", truth=[["O", "O"]], predicted=[["O", "O"]]),
        dict(name="suffix", suffix=True, truth=[["PER-B", "PER-I", "O", "LOC-B"]], predicted=[["PER-B", "O", "O", "LOC-B"]])]
for case in tags:
    t, p, k = case["truth"], case["predicted"], dict(suffix=case.pop("suffix", False), zero_division=0)
    case["expected"] = {f"{f.__name__.split('_')[0]}_{avg}": float(f(t, p, average=avg, **k))
                        for f in (seq.precision_score, seq.recall_score, seq.f1_score) for avg in ("micro", "macro")
                        if case["name"] != "nothing at all" or avg == "micro"}
    case["expected"]["accuracy"] = float(seq.accuracy_score(t, p))
print(json.dumps(dict(multi_label=multi_cases, single_label=single_cases, correlation=pairs, entities=tags), ensure_ascii=False))
