"""Several labels per row, read to rows and names; what follows is in ``test_targets_sets``."""

import numpy as np
import pytest
from sklearn.preprocessing import MultiLabelBinarizer

from hiclass._labels.sets import read_sets


def test_reading_names_every_label_once():
    labels = read_sets([["cat", "dog"], ["dog"], []])
    assert (labels.n_rows, labels.names) == (3, ["cat", "dog"])
    assert labels.rows.tolist() == [0, 0, 1]
    assert labels.codes.tolist() == [0, 1, 1]


BINARIZED = MultiLabelBinarizer().fit_transform([["cat", "dog"], ["pug"], ["cat", "pug"]])


@pytest.mark.parametrize(
    "convert",
    [
        np.ndarray.tolist,
        list,
        lambda y: y.astype(bool).tolist(),
        lambda y: [list(row) for row in y],  # numbers of NumPy
        lambda y: [list(row) for row in y.astype(bool)],
        lambda y: [tuple(row) for row in y.tolist()],
        lambda y: [tuple(row) for row in y.astype(float)],
    ],
)
def test_lists_of_0_and_1_that_repeat_a_label_are_refused(convert):
    row = r"\[(1, 1, 0|True, True, False|1\.0, 1\.0, 0\.0)\]"
    with pytest.raises(ValueError, match=rf"^Every row of y holds 3 times .* and row 0, {row}, "):
        read_sets(convert(BINARIZED))
