"""Names of types that all rooms share."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.intp]
FloatArray = npt.NDArray[np.float64]
AnyArray = npt.NDArray[Any]
