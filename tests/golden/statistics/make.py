#!/usr/bin/env python3
"""Golden values of src/report/statistics.h: scipy 1.17, statsmodels 0.15. Writes statistics.json beside itself."""
import itertools
import json
import pathlib

import numpy as np
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestPower

random = np.random.default_rng(7)


def sign_flip(d):
    return stats.permutation_test((d,), np.mean, permutation_type="samples", n_resamples=np.inf).pvalue


def pairs():
    sets = [[0.012, 0.009], [0.01, -0.01, 0.02], [0.0, 0.0, 0.0], [0.0, 0.01, 0.02],
            [0.01, 0.01, 0.01, 0.01, 0.01], [0.1, 0.2, -0.3]]
    sets += [list(np.round(random.normal(0.01, 0.01, n), 4)) for n in (4, 5, 6, 7, 8, 10, 12, 14)]
    return [{"differences": d, "mean": float(np.mean(d)), "deviation": float(np.std(d, ddof=1)),
             "p": float(sign_flip(np.array(d)))} for d in sets]


def many():  # beyond what is enumerated: scipy's own draw, and the normal approximation agrees
    d = np.round(random.normal(0.004, 0.01, 30), 4)
    p = stats.permutation_test((d,), np.mean, permutation_type="samples", n_resamples=400_000,
                               rng=np.random.default_rng(1)).pvalue
    return {"differences": list(d), "p": float(p)}


def holm():
    sets = [[0.01, 0.04, 0.03], [0.5], [0.2, 0.2, 0.9, 0.001], [1.0, 1.0], [0.0625, 0.0625, 0.0625]]
    return [{"p": p, "adjusted": list(map(float, multipletests(p, method="holm")[1]))} for p in sets]


def bootstrap():  # of all n^n resamples; the interval of scipy's own draw lies beside it
    out = []
    for n in (5, 6):
        d = np.round(random.normal(0.01, 0.01, n), 4)
        means = np.array([np.mean(c) for c in itertools.product(d, repeat=n)])
        drawn = stats.bootstrap((d,), np.mean, method="percentile", n_resamples=50_000,
                                rng=np.random.default_rng(2)).confidence_interval
        out.append({"differences": list(d), "interval": [float(q) for q in np.quantile(means, [0.025, 0.975])],
                    "scipy": [float(drawn.low), float(drawn.high)]})
    return out


def quantiles():
    v = list(np.round(random.normal(0, 1, 11), 3))
    return {"values": v, "interval": [float(q) for q in np.quantile(v, [0.05, 0.95])]}


def seeds():  # statsmodels solves the power of the t test, which ours approximates
    return [{"effect": e, "pairs": float(TTestPower().solve_power(effect_size=e, alpha=0.05, power=0.8))}
            for e in (0.2, 0.5, 1.0, 1.5, 2.0)]


golden = {"pairs": pairs(), "many": many(), "holm": holm(), "bootstrap": bootstrap(), "quantiles": quantiles(), "seeds": seeds()}
path = pathlib.Path(__file__).with_name("statistics.json")
path.write_text(json.dumps(golden, indent=1) + "\n")
