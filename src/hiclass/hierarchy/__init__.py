"""The hierarchy of classes: a tree or a DAG.

Input: paths, edges, a dict, a networkx graph or JSON. Output: an immutable :class:`Hierarchy` whose
nodes are numbers, which all rooms above use. Labels are looked up only here. Public; all rooms may
call it.
"""

from hiclass.hierarchy._hierarchy import Hierarchy

__all__ = ["Hierarchy"]
