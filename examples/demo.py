"""A tour in two parts: the listing of the HiClass paper, then handwritten digits in three levels.

Run it with `python examples/demo.py` where hiclass is installed; it needs no optional libraries.
"""

from time import perf_counter

import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from hiclass import (
    FlatClassifier,
    Hierarchy,
    LocalClassifierPerLevel,
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
)
from hiclass.metrics import f1

# How a digit is printed. "closed" and "open" occur twice: they are different classes.
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
LEVEL_NAMES = ("stroke", "shape", "digit")
MODELS = (
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
    LocalClassifierPerLevel,
    FlatClassifier,
)


def show_listing_of_the_paper():
    """Train and score on two rows, as the listing of the paper does."""
    X_train = X_test = [[1, 2], [3, 4]]
    Y_train = Y_test = [
        ["Animal", "Mammal", "Cat"],
        ["Animal", "Reptile", "Turtle"],
    ]

    rf = RandomForestClassifier()
    lcpn = LocalClassifierPerNode(local_classifier=rf)
    lcpn.fit(X_train, Y_train)
    predictions = lcpn.predict(X_test)

    print(f"f1: {f1(y_true=Y_test, y_pred=predictions)}")


def compare_models(X_train, X_test, y_train, y_test):
    """Print one line per model and return the fitted models."""
    width = max(len(model_class.__name__) for model_class in MODELS)
    print(f"{'model':{width}}", *(f"{name:>7}" for name in (*LEVEL_NAMES, "hF", "fit s")))
    fitted = []
    for model_class in MODELS:
        model = model_class(LogisticRegression(max_iter=1000))
        start = perf_counter()
        model.fit(X_train, y_train)
        seconds = perf_counter() - start

        predicted = model.predict(X_test)
        # Correct at a level means correct down to it: "closed" occurs in two classes.
        accuracies = np.logical_and.accumulate(predicted == y_test, axis=1).mean(axis=0)
        figures = [f"{value:7.3f}" for value in (*accuracies, f1(y_test, predicted))]
        print(f"{model_class.__name__:{width}}", *figures, f"{seconds:7.2f}")
        fitted.append(model)
    return fitted


def show_predictions(model, X_test, y_test):
    """Print the most and the least certain paths, with the probability of each node."""
    paths = model.predict(X_test)
    confidences = model.predict_confidence(X_test)
    order = np.argsort(confidences[:, -1], kind="stable")
    for row in [*order[:4], *order[-2:]]:
        steps = zip(paths[row], confidences[row], strict=True)
        path = " > ".join(f"{label} {confidence:.2f}" for label, confidence in steps)
        remark = "" if (paths[row] == y_test[row]).all() else f"   (true: {y_test[row][-1]})"
        print(f"  {path}{remark}")


def main():
    """Run both parts."""
    print("The listing of the paper, two rows:\n")
    show_listing_of_the_paper()

    images, digits = load_digits(return_X_y=True)
    X = images / 16  # pixels from 0 to 1
    y = np.array([PATH_OF_DIGIT[digit] for digit in digits])
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.3, stratify=digits, random_state=0
    )

    print("\nHandwritten digits in a hierarchy of three levels:\n")
    print(Hierarchy.from_paths(y))

    print(f"\nTrained on {len(X_train)} images, tested on {len(X_test)}: accuracy per level, hF\n")
    fitted = compare_models(X_train, X_test, y_train, y_test)
    print(
        "\nThe flat baseline is best here: a linear model separates single digits better than these"
    )
    print("artificial groups, as the accuracy at the first level shows.")

    print("\nThe four least and the two most certain paths, one classifier per parent node:\n")
    show_predictions(fitted[MODELS.index(LocalClassifierPerParentNode)], X_test, y_test)


if __name__ == "__main__":
    main()
