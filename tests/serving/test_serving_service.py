"""Requests as plain data: what is taken, what is refused and why, what comes back."""

import json

import numpy as np
import pytest
from serving_helpers import ROWS

import hiclass
from hiclass._serving.service import Limits, RequestError, Service


def error_of(function, *arguments):
    with pytest.raises(RequestError) as caught:
        function(*arguments)
    return caught.value.status, caught.value.content["error"]


def body(content):
    return json.dumps(content).encode()


def test_predictions_are_those_of_the_pipeline(service, pipeline, row):
    rows = [row, {**ROWS[2], "amount": None, "state": None}]
    found = service.predict(rows)
    labels = pipeline.predict(rows)
    confidence = hiclass.predict_confidence(pipeline, rows)
    for i, entry in enumerate(found):
        assert entry["path"] == [label for label in labels[i] if label]
        known = confidence[i][~np.isnan(confidence[i])]
        assert entry["confidence"] == pytest.approx(known, abs=1e-6)
        assert list(entry) == ["path", "confidence"]
    assert found[0]["path"] == ["Loan", "Car"]
    assert len(found[1]["path"]) == 1


def test_the_most_probable_paths_come_in_order(service, pipeline, row):
    (entry,) = service.predict([row], k=4)
    paths, proba = hiclass.predict_paths(pipeline, [row], k=4)
    shown = [[label for label in path if label] for path in paths[0]]
    assert [found["path"] for found in entry["paths"]] == shown[:3]  # there are three
    assert [found["probability"] for found in entry["paths"]] == pytest.approx(
        proba[0][:3], abs=1e-6
    )


def test_one_row_and_several(service, row):
    assert service.parse(body({"row": row})) == ([row], True)
    assert service.parse(body({"rows": [row, row]})) == ([row, row], False)


def test_the_model_is_described(service, pipeline):
    found = service.describe()
    assert found["levels"] == [{"name": "product", "classes": 2}, {"name": "kind", "classes": 2}]
    assert (found["classes"], found["leaves"], found["min_confidence"]) == (4, 3, 0.0)
    assert found["features"][:2] == [
        {"name": "text", "kind": "text"},
        {"name": "amount", "kind": "numbers"},
    ]
    assert found["hiclass"] == hiclass.__version__
    assert found["limits"]["max_rows"] == 5
    json.dumps(found)
    assert Service(pipeline, ["a", "b"], name="m").limits == Limits()


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "Expecting value, at line 1, column 1"),
        (b"{'row': 1}", "Expecting property name enclosed in double quotes, at line 1, column 2"),
        (b'{"row": \xff}', "byte 9 is not UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"row": ' + b"1" * 5000 + b"}", "more than 4,300 digits"),
        (
            b'{"row": {"amount": NaN}}',
            "contains NaN, which is not valid JSON. Send null",
        ),
        (b'{"row": {"amount": -Infinity}}', "contains -Infinity"),
    ],
    ids=lambda value: repr(value[:30]),
)
def test_what_is_not_json_is_refused(service, content, problem):
    status, error = error_of(service.parse, content)
    assert (status, error["kind"]) == (400, "malformed_json")
    assert problem in error["message"]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (1, "The request is a number. Send one row as"),
        ([], "The request is a list."),
        (None, "The request is null."),
        ("x", "The request is a text."),
        ({}, 'The request is an object without "row" and "rows".'),
        ({"row": {}, "rows": []}, 'The request is an object with both "row" and "rows".'),
        ({"rows": [], "k": 5}, "The request has 'k' besides its rows."),
        ({"rows": {}}, '"rows" is an object. Send a list of rows.'),
        ({"rows": []}, '"rows" is an empty list. Send at least one row.'),
    ],
    ids=str,
)
def test_another_form_of_request_is_refused(service, content, problem):
    status, error = error_of(service.parse, body(content))
    assert status == 422
    assert problem in error["message"]


def test_too_many_rows_are_refused(service, row):
    status, error = error_of(service.parse, body({"rows": [row] * 6}))
    assert (status, error["kind"]) == (413, "too_many_rows")
    assert "The request has 6 rows, but at most 5 are allowed. Send them in several" in error[
        "message"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "kind", "column", "problem"),
    [
        ({"texd": "x"}, "unknown_column", "texd", "Row 2 has a column \"texd\", which the model "
         "does not have. Did you mean 'text'? Send exactly these columns: text, amount"),
        ({"?" * 99: "x"}, "unknown_column", "?" * 60, "does not have. Send exactly these columns"),
        ({"text": 5}, "wrong_type", "text", "Row 2: 5 in the column 'text' is a number. Send a"),
        ({"text": ["a" * 99]}, "wrong_type", "text", 'aaaaaaa... in the column'),
        ({"amount": {}}, "wrong_type", "amount", "{} in the column 'amount' is an object. Send a"),
        ({"state": []}, "wrong_type", "state", "is a list. Send a text or a number, or null"),
        ({"day": True}, "wrong_type", "day", "true in the column 'day' is true or false. Send a"),
    ],
)  # fmt: skip
def test_a_wrong_cell_names_value_row_and_column(service, row, change, kind, column, problem):
    status, error = error_of(service.parse, body({"rows": [row, row | change]}))
    assert (status, error["kind"], error["row"]) == (422, kind, 2)
    assert error["column"] == column
    assert problem in error["message"]


def test_a_missing_column_is_named(service, row):
    del row["amount"]
    status, error = error_of(service.parse, body({"row": row}))
    assert (status, error["kind"], error["row"], error["column"]) == (
        422, "missing_column", 1, "amount",
    )  # fmt: skip
    assert error["message"] == (
        "Row 1 has no column 'amount'. Send all columns: text, amount, state, day. Use null for an "
        "empty cell."
    )


def test_a_row_that_is_none_is_named(service, row):
    _, error = error_of(service.parse, body({"rows": [row, [1]]}))
    assert (error["kind"], error["row"]) == ("wrong_type", 2)
    assert "Row 2 is a list. Send an object" in error["message"]


def test_of_many_columns_some_are_listed(service, row):
    service.columns = {f"c{i}": "text" for i in range(30)}
    _, error = error_of(service.parse, body({"row": {}}))
    assert "c18, c19 and 10 more (GET /model). Use null for an empty cell" in error["message"]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"amount": "much"}, "Row 2: 'much' in the column 'amount' is not a number"),
        ({"amount": 10**400}, "in the column 'amount' is too large a number"),
        ({"amount": 1e999}, "Row 2"),
        ({"day": "someday"}, "Row 2: 'someday' in the column 'day' is not a date"),
    ],
)
def test_a_cell_that_is_not_what_its_column_holds_is_named(service, row, change, problem):
    status, error = error_of(service.predict, [row, row | change])
    assert (status, error["kind"], error["row"]) == (422, "wrong_type", 2)
    assert error["column"] == next(iter(change))
    assert problem in error["message"]


@pytest.mark.parametrize("change", [{"amount": "12"}, {"amount": True}, {"state": 7}])
def test_cells_as_files_have_them_are_taken(service, row, change):
    rows, _ = service.parse(body({"row": row | change}))
    assert service.predict(rows)[0]["path"]


def test_half_a_character_can_be_replied_to(service, row):
    _, error = error_of(service.parse, b'{"row": {"\\ud800": 1}}')
    json.dumps(error, ensure_ascii=False).encode("utf-8")
    assert error["column"] == "?"
    assert service.predict([row | {"text": "half \ud800"}])[0]["path"]


@pytest.mark.parametrize(
    ("given", "expected"), [([], None), ([("k", "1")], 1), ([("k", "9"), ("k", "4")], 4)]
)
def test_the_number_of_paths(service, given, expected):
    assert service.paths_wanted(given) == expected


@pytest.mark.parametrize("text", ["0", "5", "-1", "x", "", "1.5", "²", "9" * 99])
def test_a_wrong_number_of_paths_is_refused(service, text):
    status, error = error_of(service.paths_wanted, [("k", text)])
    assert (status, error["kind"]) == (422, "wrong_parameter")
    assert f"k={text[:60]} is not a whole number from 1 to 4. Send such" in error["message"]


def test_an_unknown_parameter_is_refused(service):
    _, error = error_of(service.paths_wanted, [("top", "3")])
    assert error["kind"] == "unknown_parameter"
    assert 'The address has an unknown parameter "top"' in error["message"]
