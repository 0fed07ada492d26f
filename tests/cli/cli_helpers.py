"""Rows and files for the tests of the command line."""

import csv
import io

from hiclass._cli._features import by_kind

TARGET = ["product", "sub_product"]
WORDS = {
    ("Loan", "Car"): "engine wheels dealer monthly rate",
    ("Loan", "House"): "mortgage bank house deposit rate",
    ("Card", "Credit"): "card limit interest statement fee",
    ("Card", "Debit"): "card cash machine account fee",
    ("Other", ""): "letter phone call nobody answers",
}
HEADER = ["id", *TARGET, "narrative", "amount", "state"]


def make_rows(n=60):
    """Rows in which every class has words and amounts of its own, with a few mistakes."""
    rows = []
    for i in range(n):
        path = list(WORDS)[i % len(WORDS)]
        # Some complaints are about something else: nothing can be quite certain.
        about = (i + (i % 20 == 19)) % len(WORDS)
        words = list(WORDS.values())[about].split()
        text = f"They wrote about {words[i % 5]} and {words[(i + 1) % 5]} again, said {words[0]}"
        amount = "" if i % 10 == 0 else str(100 * about + i % 7)
        rows.append([f"c{i}", *path, text, amount, "NA" if i % 3 else "BY"])
    return rows


def contested_rows(n=100):
    """Rows of which a third have the labels of another class: no model can be sure of them."""
    rows = make_rows(n)
    for i in range(0, n, 3):
        rows[i][1:3] = list(WORDS)[(i // 3) % len(WORDS)]
    return rows


def unlabelled_rows(n):
    return [[row[0], "", "", *row[3:]] for row in make_rows(n)]


def write_csv(path, rows, header=HEADER, **options):
    with path.open("w", newline="", encoding=options.pop("encoding", "utf-8")) as file:
        csv.writer(file, **options).writerows([header, *rows])
    return path


def read(text):
    return list(csv.DictReader(io.StringIO(text)))


def columns(model):
    """The features of a model by kind."""
    return by_kind(model.features.columns_)
