"""
The report: a model on one page
===============================

``make_report`` writes one HTML file that shows how good a model is, class by class: scores, a
zoomable hierarchy, confusions, reliability, and a slider for the confidence. The file needs no
network and no server. Below is a live report for the animals.
"""

import matplotlib.pyplot as plt
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hiclass import LocalClassifierPerParentNode, make_report
from hiclass.datasets import load_animals
from hiclass.metrics import ConfusionByLevelDisplay

animals = load_animals()
X_train, X_test, y_train, y_test = train_test_split(
    animals.data, animals.target, test_size=0.4, random_state=0
)
model = make_pipeline(
    StandardScaler(), LocalClassifierPerParentNode(LogisticRegression(C=3, max_iter=1000))
)
model.fit(X_train, y_train)

# %%
# ``report.save("animals.html")`` writes the file. In a notebook, the report is shown in place, as
# here.

report = make_report(model, X_test, y_test, title="Animals", feature_names=animals.feature_names)
report

# %%
# Everything on the page is also in ``report.data``, for example the scores.

for name, value in report.data["scores"].items():
    if isinstance(value, float):
        print(f"{name:>12}: {value:.3f}")

# %%
# For papers and slides there are displays, such as the confusion matrix of a level.

display = ConfusionByLevelDisplay.from_estimator(model, X_test, y_test, levels=[1])
display.figure_.set_size_inches(6.4, 5.6)
plt.show()
