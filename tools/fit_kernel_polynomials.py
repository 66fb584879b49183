#!/usr/bin/env python3
"""Minimax polynomials of src/kernels/math-inl.h: prints float32 coefficients and the error of each fit.

Needs numpy and mpmath. Fits in double by Lawson's reweighted least squares, rounds the coefficients to
float32 one after the other from the lowest degree (refitting the rest), and measures the relative error
in double arithmetic; rounding of the float32 evaluation comes on top.
"""
import mpmath as mp
import numpy as np


def lawson(basis, target, weight, fixed):
    """Coefficients of sum c_i basis_i ~ target, minimax in weight; fixed holds the first ones."""
    rest = target - basis[:, : len(fixed)] @ np.array(fixed, dtype=float) if fixed else target
    free = basis[:, len(fixed) :]
    w = np.ones(len(target))
    best, best_error = None, np.inf
    for _ in range(100):
        scale = np.sqrt(w) * weight
        c = np.linalg.lstsq(free * scale[:, None], rest * scale, rcond=None)[0]
        error = np.abs((free @ c - rest) * weight)
        if error.max() < best_error:
            best, best_error = c, error.max()
        w *= error / error.max() + 1e-12
        w /= w.sum()
    return best, best_error


def fit(name, x, target, weight, degree):
    basis = np.vander(x, degree + 1, increasing=True)
    fixed = []
    _, ideal = lawson(basis, target, weight, fixed)
    while len(fixed) <= degree:
        c, _ = lawson(basis, target, weight, fixed)
        fixed.append(float(np.float32(c[0])))
    error = np.abs((basis @ np.array(fixed) - target) * weight).max()
    print(f"// {name}: degree {degree}, error {error:.2e} (ideal {ideal:.2e})")
    print(", ".join(f"{np.float32(c):.9g}f" for c in fixed))


def chebyshev(a, b, n=400):
    return (a + b) / 2 + (b - a) / 2 * np.cos(np.pi * (np.arange(n) + 0.5) / n)


def main():
    # exp(r) = 1 + r + r^2 p(r), |r| <= ln(2)/2
    r = chebyshev(-0.34658, 0.34658)
    fit("exp", r, (np.expm1(r) - r) / r**2, r**2 / np.exp(r), 4)
    # log(1+f) = f - f^2/2 + f^3 p(f), 1+f in [sqrt(1/2), sqrt(2)]; relative to |f|
    f = chebyshev(np.sqrt(0.5) - 1, np.sqrt(2) - 1)
    fit("log", f, (np.log1p(f) - f + f * f / 2) / f**3, np.abs(f) ** 3 / np.abs(np.log1p(f)), 8)
    # Phi(-t) = exp(-t^2/2) s P(s), s = 1/(1 + 0.35 t): relative
    t = chebyshev(0, 14, 600)
    s = 1 / (1 + 0.35 * t)
    y = np.array([float(mp.erfc(mp.mpf(v) / mp.sqrt(2)) * mp.exp(mp.mpf(v) ** 2 / 2) / 2) for v in t])
    fit("normal tail", s, y / s, s / y, 8)
    # erf(x) = x + x p(x^2), |x| <= 1: relative
    x = chebyshev(1e-3, 1)
    y = np.array([float(mp.erf(v)) for v in x])
    fit("erf", x * x, y / x - 1, x / y, 6)
    # tanh(x) = x + x^3 p(x^2), |x| <= 0.625: relative
    x = chebyshev(1e-3, 0.626)
    y = np.tanh(x)
    fit("tanh", x * x, (y / x - 1) / x**2, x**3 / y, 5)


main()
