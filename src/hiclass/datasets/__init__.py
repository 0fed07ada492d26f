"""Data with hierarchies of classes: tables, texts, downloads and a generator."""

from hiclass.datasets._animals import load_animals
from hiclass.datasets._complaints import fetch_consumer_complaints
from hiclass.datasets._icd10cm import load_icd10cm
from hiclass.datasets._newsgroups import fetch_20newsgroups
from hiclass.datasets._synthetic import make_hierarchical_classification

__all__ = [
    "fetch_20newsgroups",
    "fetch_consumer_complaints",
    "load_animals",
    "load_icd10cm",
    "make_hierarchical_classification",
]
