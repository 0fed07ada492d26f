"""The report on sets of classes in a real browser: see test_inspect_report_browser."""

import numpy as np
import pytest
from browser_helpers import chromium, find, find_all, prefer, resize, text, wait_until

from hiclass import LocalClassifierPerParentNode, make_report

pytestmark = pytest.mark.heavy

EVIL = "</script><script>window.harm = 1</script><img src=x onerror='window.harm = 2'>"
PETS = {"pet": [EVIL, "dog"], "feline": [EVIL, "lion"], "canine": ["dog", "wolf"]}
KINDS = [[EVIL], ["lion"], ["dog"], ["wolf"], [EVIL, "dog"]]


@pytest.fixture(scope="module")
def report():
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 5, 200)
    places = np.array([[5, 5, 0], [0, 5, 0], [5, 0, 5], [0, 0, 5], [5, 5, 5]], dtype=float)
    X = places[kind] + rng.normal(scale=3, size=(200, 3))
    y = [KINDS[k] for k in kind]
    model = LocalClassifierPerParentNode(hierarchy=PETS, multi_label=True).fit(X[:120], y[:120])
    return make_report(model, X[120:], y[120:], examples=[f"row {i} {EVIL}" for i in range(80)])


@pytest.mark.parametrize("width", [390, 1360])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_shows_the_graph_curves_and_classes_together(report, tmp_path, width, scheme):
    path = tmp_path / "report.html"
    report.save(path)
    data = report.data
    with chromium(width, 900) as browser:
        prefer(browser, scheme)
        resize(browser, width, 900)
        browser.get(path.as_uri())
        assert find(browser, "html").get_attribute("data-theme") == scheme
        tiles = {
            t.text.split("\n")[0]: t.text.split("\n")[1] for t in find_all(browser, "#tiles div")
        }
        assert tiles["Hierarchical F1"] == f"{data['scores']['f1']:.3f}"
        assert tiles["AU(PRC)"] == f"{data['scores']['area']:.3f}"
        # Every class once, and a line to each parent.
        assert len(find_all(browser, "#graph g[data-node]")) == len(data["nodes"]["label"]) - 1
        edges = sum(len([p for p in above if p]) for above in data["nodes"]["parents"])
        assert len(find_all(browser, "#graph path.edge")) == edges
        assert len(find_all(browser, "#levels tbody tr")) == 2
        assert len(find_all(browser, "#matrix tbody tr")) == len(data["matrix"]["nodes"])
        assert len(find_all(browser, "#curves figure")) == len(data["chosen"]["worst"])
        assert len(find_all(browser, "#examples li")) == len(data["examples"])
        lion = data["nodes"]["label"].index("lion")
        browser.execute_script(
            "document.querySelector(`g[data-node='${arguments[0]}']`)"
            ".dispatchEvent(new Event('click'))", lion,
        )  # fmt: skip
        wait_until(browser, lambda: text(browser, "#detail h3") == "lion")
        assert "feline" in text(browser, "#detail")
        assert find_all(browser, "#detail svg.chart path.series")
        browser.execute_script(
            "const s = document.getElementById('search'); s.value = 'wol';"
            "s.dispatchEvent(new Event('input'))"
        )
        assert [row.text.split("\n")[0] for row in find_all(browser, "#table tbody tr")] == ["wolf"]
        assert browser.execute_script("return window.harm") is None
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
        assert not browser.get_log("browser")
