"""Test, then train: how good is a model while it learns, and how does a new class affect it?

Handwritten digits arrive in batches. Every batch is first predicted, so that its score is for
unseen rows, and then learned. The digit nine appears halfway. The model adds the new class with its
first batch. Run it with `python examples/prequential.py [picture.svg]`; the picture needs
matplotlib.
"""

import sys

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import SGDClassifier

from hiclass import LocalClassifierPerNode
from hiclass.metrics import f1

PATH_OF_DIGIT = {
    0: ("round", "closed", "zero"),
    1: ("straight", "open", "one"),
    2: ("round", "open", "two"),
    3: ("round", "open", "three"),
    4: ("straight", "closed", "four"),
    5: ("round", "open", "five"),
    6: ("round", "closed", "six"),
    7: ("straight", "open", "seven"),
    8: ("round", "closed", "eight"),
    9: ("round", "closed", "nine"),
}
BATCH = 30
NEW = 9
WINDOW = 5  # number of batches in the moving average


def batches(seed=0):
    """Yield X and y of every batch; the new digit occurs in the second half only."""
    images, digits = load_digits(return_X_y=True)
    rng = np.random.default_rng(seed)
    old, new = (rng.permutation(np.flatnonzero(mask)) for mask in (digits != NEW, digits == NEW))
    half = len(digits) // 2
    later = rng.permutation(np.concatenate([old[half:], new]))
    order = np.concatenate([old[:half], later])
    y = np.array([PATH_OF_DIGIT[d] for d in digits.tolist()], dtype=object)
    for start in range(0, len(order), BATCH):
        rows = order[start : start + BATCH]
        yield images[rows] / 16, y[rows]


def run():
    """Return, per batch, the rows seen before, its hF, and the hF of its nines."""
    model = LocalClassifierPerNode(SGDClassifier(loss="log_loss", alpha=1e-4), random_state=0)
    seen, rows, scores, new_scores = 0, [], [], []
    for X, y in batches():
        if seen:
            predicted = model.predict(X)
            new = y[:, -1] == "nine"
            rows.append(seen)
            scores.append(f1(y, predicted))
            new_scores.append(f1(y[new], predicted[new]) if new.any() else np.nan)
        model.partial_fit(X, y)
        seen += len(y)
    return np.array(rows), np.array(scores), np.array(new_scores)


def smooth(values):
    """Return the moving average, without missing values."""
    windows = [values[max(0, i + 1 - WINDOW) : i + 1] for i in range(len(values))]
    known = [w[~np.isnan(w)] for w in windows]
    return np.array([k.mean() if len(k) else np.nan for k in known])


def draw(rows, scores, new_scores, file):
    """Draw the curves."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    first = rows[np.argmax(~np.isnan(new_scores))]
    fig, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
    ax.plot(rows, scores, color="tab:blue", alpha=0.25)
    ax.plot(rows, smooth(scores), color="tab:blue", label=f"all digits, mean of {WINDOW} batches")
    ax.plot(rows, smooth(new_scores), color="tab:orange", label="the new digit alone")
    ax.axvline(first, color="tab:gray", linestyle="--", label="the first nines")
    ax.set(xlabel="rows learned before", ylabel="hF of the next batch", ylim=(0, 1.02))
    ax.set_title("Test, then train: a new class appears halfway")
    ax.legend(loc="lower center")
    fig.savefig(file)


def main():
    rows, scores, new_scores = run()
    new = ~np.isnan(new_scores)
    first = int(np.argmax(new))
    print(f"{len(rows) + 1} batches of {BATCH} digits; nine appears after {rows[first]} rows")
    print(f"hF of the 10 batches before it   {scores[first - 10 : first].mean():.3f}")
    print(f"hF of the batch with the first   {scores[first]:.3f}", end="")
    print(f"  (its nines: {new_scores[first]:.3f})")
    print(f"hF of the last 10 batches        {scores[-10:].mean():.3f}", end="")
    print(f"  (their nines: {np.nanmean(new_scores[-10:]):.3f})")
    if len(sys.argv) > 1:
        draw(rows, scores, new_scores, sys.argv[1])


if __name__ == "__main__":
    main()
