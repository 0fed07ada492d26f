"""Documents with several subjects, each a path: "Other" occurs in two places and is two classes.

python examples/documents_multi_label.py
"""

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from hiclass import LocalClassifierPerNode, LocalClassifierPerParentNode
from hiclass.metrics import f1

WORDS = {
    ("Science", "Physics"): "quantum particle energy field relativity",
    ("Science", "Biology"): "cell gene protein species evolution",
    ("Science", "Other"): "experiment journal laboratory measurement",
    ("Society", "Politics"): "election parliament minister vote law",
    ("Society", "Economy"): "market inflation bank trade tax",
    ("Society", "Other"): "culture museum festival neighbourhood",
    ("Sport",): "match team season coach goal",
}
COMMON = ["the", "report", "says", "today", "new", "people", "year", "about", "after", "first"]


def make_documents(n_documents: int = 900, seed: int = 0):
    """Return documents and, for each, the list of its subjects as paths."""
    rng = np.random.default_rng(seed)
    subjects = list(WORDS)
    documents, y = [], []
    for _ in range(n_documents):
        size = rng.choice([0, 1, 2, 3], p=[0.05, 0.5, 0.35, 0.1])
        own = [subjects[i] for i in rng.choice(len(subjects), size=size, replace=False)]
        words = list(rng.choice(COMMON, size=12))
        for subject in own:
            words += list(rng.choice(WORDS[subject].split(), size=2))
        other = subjects[rng.integers(len(subjects))]
        words.append(rng.choice(WORDS[other].split()))  # a word of another subject
        rng.shuffle(words)
        documents.append(" ".join(words))
        y.append(own)
    return documents, y


def main() -> None:
    documents, y = make_documents()
    X_train, X_test, y_train, y_test = train_test_split(documents, y, random_state=0)

    # Texts are passed to the local classifiers, so each has its own vocabulary.
    text = make_pipeline(TfidfVectorizer(), LogisticRegression(C=10))
    for kind in (LocalClassifierPerParentNode, LocalClassifierPerNode):
        model = kind(text, multi_label=True, threshold="tuned").fit(X_train, y_train)
        predicted = model.predict(X_test)
        print(f"{kind.__name__}: hF {f1(y_test, predicted, multi_label=True):.3f}")

    print("\nThe hierarchy was read from the paths:")
    print(model.hierarchy_)
    for document, found in list(zip(X_test, predicted, strict=True))[:3]:
        print(f"\n{document}\n  -> {found}")

    probabilities = model.predict_node_proba(["the quantum bank about inflation and energy"])[0]
    print("\nProbabilities for 'the quantum bank about inflation and energy':")
    for node in np.argsort(-probabilities)[1:6]:
        print(f"  {probabilities[node]:.2f} {model.hierarchy_.describe(node)}")


if __name__ == "__main__":
    main()
