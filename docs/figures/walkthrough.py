"""Precision against coverage, per level: the model and the rows of the walkthrough."""

import matplotlib.pyplot as plt
from _draw import BLUE, GREEN, GREY, ORANGE
from matplotlib.ticker import PercentFormatter
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from hiclass import LocalClassifierPerParentNode, predict_confidence
from hiclass.datasets import load_icd10cm
from hiclass.metrics import automation_curve

diagnoses = load_icd10cm(levels=3, as_frame=True).frame.drop_duplicates("group")
levels = ["chapter", "block", "category"]
six = diagnoses["chapter"].str.match("(6|9|10|11|12|14) ")
rows = diagnoses.loc[six, ["text", *levels]].sample(frac=1, random_state=0)
train, valid = rows[:3000], rows[3000:6000]

model = make_pipeline(
    TfidfVectorizer(sublinear_tf=True),
    LocalClassifierPerParentNode(LogisticRegression(C=30, max_iter=1000), decoding="best_path"),
).fit(train["text"], train[levels])

predicted = model.predict(valid["text"])
confidence = predict_confidence(model, valid["text"])

plt.rcParams["font.size"] = 11
figure, ax = plt.subplots(figsize=(6.0, 3.8), facecolor="none", layout="constrained")
ax.set_facecolor("none")
for number, (level, color) in enumerate(zip(levels, (BLUE, GREEN, ORANGE), strict=True), start=1):
    curve = automation_curve(valid[levels], predicted, confidence, level=number)
    some = slice(None, None, 15)  # of thousands of thresholds
    share, error = curve.share[some], curve.error[some]
    ax.plot(share, 1 - error, color=color, lw=2, label=level)
    upper, lower = 1 - curve.lower[some], 1 - curve.upper[some]
    ax.fill_between(share, lower, upper, color=color, alpha=0.15, lw=0)
ax.axhline(0.95, color=GREY, ls="--", lw=1, label="95 % correct")
ax.set(xlabel="coverage: share of rows that get a label", ylabel="precision of these labels")
ax.set_xlim(0.2, 1.01)  # further left, the intervals are too wide
ax.set_ylim(0.78, 1.005)
ax.set_yticks([0.8, 0.85, 0.9, 0.95, 1])
ax.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
ax.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
ax.spines[["top", "right"]].set_visible(False)
ax.legend(loc="lower left", frameon=False)
