"""Figures of the gallery as SVG."""

from sphinx_gallery.scrapers import matplotlib_scraper


def scraper(block, block_vars, gallery_conf, **kwargs):
    """Save the figures of a block, in a format that can be recoloured for dark pages."""
    return matplotlib_scraper(block, block_vars, gallery_conf, format="svg", **kwargs)
