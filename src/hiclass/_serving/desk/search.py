"""Find classes while typing, by the beginnings of words in labels, texts and labels of ancestors.

The words of all classes are sorted, and the classes of every word are stored in that order. The
classes with a word that begins with the typed one are therefore one slice of an array. If no word
begins with it, parts of words are searched.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from hiclass._typing import FloatArray, IntArray
from hiclass.hierarchy import Hierarchy

_WORD = re.compile(r"\w+")
#: The weight of a word in the label itself, in the texts, and in the label of an ancestor.
_LABEL, _TEXT, _ABOVE = 4.0, 2.0, 1.0
#: The weight of a complete word, relative to a word that only begins with the query.
_WHOLE = 1.0
#: The shortest part of a word that is searched, and the largest number of words with it.
_SHORTEST_PART, _MOST_PARTS = 3, 2000
#: The largest number of words in a query; further words are ignored.
_MOST_WORDS = 12


def words_of(text: str) -> list[str]:
    """The words of a text in lower case, without accents."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    return _WORD.findall("".join(c for c in plain if not unicodedata.combining(c)))


@dataclass(frozen=True)
class _Words:
    """Sorted words and their nodes: those of word j are at starts[j]:starts[j+1]."""

    words: list[str]
    starts: IntArray
    nodes: IntArray
    joined: str
    places: IntArray

    @classmethod
    def of(cls, texts: Iterable[tuple[int, str]]) -> _Words:
        found: dict[str, list[int]] = {}
        for node, text in texts:
            for word in dict.fromkeys(words_of(text)):
                found.setdefault(word, []).append(node)
        words = sorted(found)
        starts = np.cumsum([0, *(len(found[word]) for word in words)])
        nodes = np.array([node for word in words for node in found[word]], dtype=np.intp)
        lengths = np.cumsum([0, *(len(word) + 1 for word in words)])
        return cls(words, starts, nodes, "\n".join(words), lengths)

    def matching(self, word: str) -> list[tuple[IntArray, float]]:
        """Nodes with a word that begins with this one, and those with exactly this word."""
        low = bisect_left(self.words, word)
        high = bisect_left(self.words, word + "\U0010ffff")
        if low == high:
            return [(self._containing(word), 0.0)]
        is_whole = self.words[low] == word
        whole = self.nodes[self.starts[low] : self.starts[low + 1]] if is_whole else self.nodes[:0]
        return [(self.nodes[self.starts[low] : self.starts[high]], 0.0), (whole, _WHOLE)]

    def _containing(self, part: str) -> IntArray:
        if len(part) < _SHORTEST_PART:
            return self.nodes[:0]
        found: list[IntArray] = []
        start = 0
        while len(found) < _MOST_PARTS and (at := self.joined.find(part, start)) >= 0:
            j = int(np.searchsorted(self.places, at, side="right")) - 1
            found.append(self.nodes[self.starts[j] : self.starts[j + 1]])
            start = int(self.places[j + 1])
        return np.concatenate(found) if found else self.nodes[:0]


class ClassIndex:
    """An index of the words of all classes of a tree.

    Parameters
    ----------
    hierarchy : Hierarchy
        A tree. The texts of its classes are searched, too.
    """

    def __init__(self, hierarchy: Hierarchy) -> None:
        self.hierarchy = hierarchy
        labels = [str(label) for label in hierarchy.labels.tolist()]
        nodes = range(1, hierarchy.n_nodes)
        self._labels = _Words.of((node, labels[node]) for node in nodes)
        self._texts = _Words.of((v, text) for v in nodes for text in hierarchy.texts[v])
        self._length = np.array([len(label) for label in labels], dtype=np.float64)

    def find(self, query: str, most: int = 20) -> list[int]:
        """Find the classes that contain all words of a query, best first.

        Parameters
        ----------
        query : str
            Words, or beginnings of words.
        most : int, default=20
            The largest number of classes to return.

        Returns
        -------
        list of int
            The nodes of the classes. Complete words and words in the label of the class itself rank
            higher. Ties are broken by the shorter label, then by the smaller number.
        """
        words = words_of(query[:500])[:_MOST_WORDS]
        if not words:
            return []
        total = np.zeros(self.hierarchy.n_nodes)
        own = np.zeros(self.hierarchy.n_nodes, dtype=bool)
        for word in words:
            score = self._score(word)
            own |= score > _ABOVE
            total = np.where((total >= 0) & (score > 0), total + score, -1.0)
        # If only labels of ancestors match, the class is found by browsing from there.
        found = np.flatnonzero((total > 0) & own)
        order = np.lexsort([found, self._length[found], -total[found]])
        return [int(node) for node in found[order[:most]]]

    def _score(self, word: str) -> FloatArray:
        """How well a word matches each class."""
        tree = self.hierarchy
        score = np.zeros(tree.n_nodes)
        for nodes, more in self._texts.matching(word):
            score[nodes] = _TEXT + more
        begins = self._labels.matching(word)
        for nodes, more in begins:
            score[nodes] = np.maximum(score[nodes], _LABEL + more)
        # Below a class whose label matches: its subtree is an interval.
        above = np.unique(np.concatenate([nodes for nodes, _ in begins]))
        changes = np.bincount(above, minlength=tree.n_nodes + 1)
        changes -= np.bincount(tree.subtree_end[above], minlength=tree.n_nodes + 1)
        inside = np.cumsum(changes)[:-1] > 0
        return np.where(inside & (score == 0), _ABOVE, score)
