"""The search of the pages finds what newcomers look for.

It ranks pages with a matching title or heading first, so each query has a heading with its words.
"""

import re

import pytest
from page_helpers import ROOT

QUERIES = {
    "human review": "guide/coding.md",
    "FAQ": "faq.md",
    "imbalanced": "faq.md",
    "add class": "faq.md",
    "threshold": "guide/decoding.md",
    "precision": "guide/decoding.md",
    "GPU": "faq.md",
    "embeddings": "guide/embeddings.md",
}


@pytest.mark.parametrize(("query", "page"), QUERIES.items())
def test_a_heading_of_the_page_has_the_words_of_the_query(query, page):
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", text, flags=re.S), re.M)
    found = [{word.rstrip("s") for word in re.findall(r"\w+", head.lower())} for head in headings]
    assert any({word.rstrip("s") for word in query.lower().split()} <= words for words in found)
