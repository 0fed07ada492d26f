"""Networks that learn a whole hierarchy at once, with PyTorch: the extra ``torch``."""

try:
    import torch  # noqa: F401
except ImportError as error:
    raise ImportError(
        "hiclass.torch needs PyTorch, which is not installed. Install it with: pip install torch"
    ) from error

from hiclass.torch import _deciders as _deciders  # registers how networks decide
from hiclass.torch._classifier import HierarchicalSoftmaxClassifier
from hiclass.torch._head import HierarchicalHead, HierarchicalLoss
from hiclass.torch._sources import ArrayBatches, ArrowBatches

__all__ = [
    "ArrayBatches",
    "ArrowBatches",
    "HierarchicalHead",
    "HierarchicalLoss",
    "HierarchicalSoftmaxClassifier",
]
