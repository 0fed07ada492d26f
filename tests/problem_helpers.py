"""The local problems of every strategy, as the tables have them, for tests of single strategies."""

from hiclass._problems.policies import as_policy
from hiclass._problems.strategies import STRATEGIES
from hiclass._state import Stream


def problems_per_node(index, options, policy):
    return STRATEGIES["node"].problems(index, options, as_policy(policy))


def problems_per_parent(index, options):
    return STRATEGIES["parent"].problems(index, options, None)


def problems_per_level(index, options):
    return STRATEGIES["level"].problems(index, options, None)


def problems_flat(index, options):
    return STRATEGIES["flat"].problems(index, options, None)


def count_problems(strategy, options, hierarchy):
    return STRATEGIES[strategy].count(options, hierarchy)


def set_problems(strategy, index, policy=None, *, lenient=False):
    """The problems of rows that are sets of classes, the gates left out."""
    policy = None if policy is None else as_policy(policy)
    problems = STRATEGIES[strategy].set_problems(index, policy, lenient)
    return (problem for problem in problems if not problem.gate)


def set_gates(index):
    problems = STRATEGIES["node"].set_problems(index, as_policy("siblings"), True)
    return (problem for problem in problems if problem.gate)


def count_set_problems(strategy, index):
    return STRATEGIES[strategy].count_sets(index)


def plan(strategy, index, layout, policy=""):
    """What a batch updates."""
    columns = STRATEGIES[strategy].columns
    columns = None if columns is None else columns(index.hierarchy, layout)
    stream = Stream(layout, columns, True, policy, (), True)
    return STRATEGIES[strategy].plan(index, stream)
