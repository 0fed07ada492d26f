"""The hierarchy of classes, a tree or a DAG, whose nodes are numbers.

Comes in: paths, edges, a dict, a networkx graph or JSON. Goes out: a frozen :class:`Hierarchy`,
which every room above uses by its numbers. Labels are looked up here, and nowhere between encoding
and decoding. Public; all rooms may call it.
"""

from hiclass.hierarchy._hierarchy import Hierarchy

__all__ = ["Hierarchy"]
