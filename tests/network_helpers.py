"""Networks with a seed; the module may be imported where PyTorch is missing."""

from hypothesis import strategies as st

LOSSES = st.sampled_from(["conditional", "leaf"])


def network(**params):
    from hiclass.torch import HierarchicalSoftmaxClassifier

    return HierarchicalSoftmaxClassifier(**({"random_state": 0} | params))


def quick_network(**params):
    """Three epochs, for what must hold however much was learned."""
    return network(**({"max_epochs": 3} | params))
