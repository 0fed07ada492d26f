"""Rows, paths and limits of the service that the tests ask."""

from hiclass._serving.service import Limits

ROWS = [
    {"text": f"{word} and {word}", "amount": i, "state": "BY" if i % 2 else "NW", "day": day}
    for i, (word, day) in enumerate(
        [("wheels", "2024-01-05"), ("house", "2024-02-06"), ("card", "2023-03-07")] * 8
    )
]
PATHS = [["Loan", "Car"], ["Loan", "House"], ["Card", ""]] * 8
LIMITS = Limits(max_rows=5, max_bytes=2000, max_paths=4, timeout=5, threads=2, max_waiting=2)
