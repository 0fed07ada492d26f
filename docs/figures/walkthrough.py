"""Errors against the share of rows that get a label: the model and the rows of the walkthrough."""

import matplotlib.pyplot as plt
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from hiclass import LocalClassifierPerParentNode
from hiclass.datasets import load_icd10cm
from hiclass.metrics import AutomationDisplay

diagnoses = load_icd10cm(levels=3, as_frame=True).frame.drop_duplicates("group")
levels = ["chapter", "block", "category"]
six = diagnoses["chapter"].str.match("(6|9|10|11|12|14) ")
rows = diagnoses.loc[six, ["text", *levels]].sample(frac=1, random_state=0)
train, valid = rows[:3000], rows[3000:6000]

model = make_pipeline(
    TfidfVectorizer(sublinear_tf=True),
    LocalClassifierPerParentNode(LogisticRegression(C=30, max_iter=1000), decoding="best_path"),
).fit(train["text"], train[levels])

plt.rcParams["font.size"] = 11
figure, ax = plt.subplots(figsize=(6.0, 3.6), facecolor="none")
display = AutomationDisplay.from_estimator(model, valid["text"], valid[levels], ax=ax)
for line, level in zip(display.lines_, levels, strict=True):
    line.set_label(level)
ax.axhline(0.05, color="0.45", ls="--", lw=1, label="5 % wrong")
ax.legend(loc="upper left", frameon=False)
ax.set_facecolor("none")
ax.set_xlim(0.2, 1.01)  # further left, intervals are too wide to say anything
