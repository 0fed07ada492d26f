"""The report in a real browser: Chromium, headless, driven by selenium.

On Debian: ``apt-get install chromium chromium-driver``. Run this file as a program to draw the
pictures of docs/report.md anew, into the folder that is given.
"""

import base64
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from browser_helpers import chromium, find, find_all, prefer, press, resize, text, wait_until
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from hiclass import HierarchicalClassifier, LocalClassifierPerParentNode, make_report
from hiclass._inspect.label_errors import LabelErrors
from hiclass._inspect.shifts import Shift
from hiclass._inspect.use import OUTSIDE, UseComparison

pytestmark = pytest.mark.heavy

EVIL = [
    "</script><script>window.harm = 1</script>",
    "<img src=x onerror='window.harm = 2'>",
    "<b>bold</b> & \"quoted\" 'twice'",
    "javascript:window.harm=3 {{DATA}} \u2028 ${harm}",
]


# -- pages -------------------------------------------------------------------------------------


def tree_data(n_leaves, rows, seed=0):
    """Rows of a tree of three levels whose classes overlap more and more with depth."""
    rng = np.random.default_rng(seed)
    kinds = [
        "Alder",
        "Birch",
        "Cedar",
        "Dogwood",
        "Elm",
        "Fir",
        "Ginkgo",
        "Hazel",
        "Ironwood",
        "Juniper",
        "Katsura",
        "Larch",
    ]
    tops = kinds[: max(4, round(n_leaves ** (1 / 3)))]
    per_top = max(2, round((n_leaves / len(tops)) ** 0.5))
    groups = [(top, f"{top} group {i + 1}") for top in tops for i in range(per_top)]
    paths = [
        (*groups[i % len(groups)], f"{groups[i % len(groups)][1]}, variety {i // len(groups) + 1}")
        for i in range(n_leaves)
    ]
    target = rng.choice(n_leaves, size=rows, p=rng.dirichlet(np.full(n_leaves, 1.5)))
    target[:n_leaves] = np.arange(n_leaves)
    centres = {}
    for path in paths:
        for depth in (1, 2, 3):
            centres.setdefault(path[:depth], rng.normal(size=30) * 1.4 / depth)
    sums = np.array([sum(centres[path[:d]] for d in (1, 2, 3)) for path in paths])
    X = sums[target] + rng.normal(size=(rows, 30))
    y = [list(paths[t]) for t in target]
    for i in rng.choice(np.arange(n_leaves, rows), rows // 40, replace=False):
        y[i] = y[i][:-1]  # some paths end early
    return X, y


def tree_report(n_leaves, rows, **options):
    X, y = tree_data(n_leaves, rows)
    half = max(rows // 2, n_leaves)
    model = LocalClassifierPerParentNode(LogisticRegression(max_iter=50, tol=0.05))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # classes are many and rows few, on purpose
        model.fit(X[:half], y[:half])
    names = [f"feature {j}" for j in range(30)]
    title = options.pop("title", f"{n_leaves} kinds of trees")
    return make_report(model, X[half:], y[half:], title=title, feature_names=names, **options)


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Reports with about 20, 500 and 2,000 classes, and others with odd parts, by name."""
    folder = tmp_path_factory.mktemp("pages")
    X, y = tree_data(14, 600)
    reports = {
        "20": tree_report(14, 1200, examples=[f"row {i}" for i in range(600)]),
        "500": tree_report(430, 4000),
        "2000": tree_report(1850, 8000),
        "svm": make_report(LocalClassifierPerParentNode(LinearSVC()).fit(X, y), X, y),
        "evil": evil_report(),
        "chosen": make_report(HierarchicalClassifier(GaussianNB(), random_state=0).fit(X, y), X, y),
    }
    for name, report in reports.items():
        report.save(folder / f"{name}.html")
    (folder / "notebook.html").write_text(
        f"<!DOCTYPE html><meta charset=utf-8>{reports['evil']._repr_html_()}", encoding="utf-8"
    )
    return folder, {name: report.data for name, report in reports.items()}


def evil_report():
    X = np.eye(4)
    y = [[EVIL[0], EVIL[1]], [EVIL[0], EVIL[2]], [EVIL[3], EVIL[1]], [EVIL[3], EVIL[2]]]
    model = LocalClassifierPerParentNode().fit(X, y)
    wrong = [y[1], y[0], y[3], y[2]]
    suspects = LabelErrors(
        rows=np.array([2, 0]),
        probability=np.array([0.9, 0.25]),
        level=np.array([2, 1]),
        given=[(EVIL[3], EVIL[1]), (EVIL[0], EVIL[1])],
        suggested=[(EVIL[3], EVIL[2]), (EVIL[3],)],
        confidence=np.array([[0.1, 0.8], [np.nan, 0.0]]),
        shares=np.array([0.02, 0.2]),
    )
    compared = UseComparison(
        n_then=1200,
        n_now=1,
        shifts=(
            Shift("share of rows labelled at level 1", 0.5, 0.5, 1.0, "Fisher's exact"),
            Shift(f"feature {EVIL[0]}", 0.25, np.nan, 1e-9, EVIL[1]),
            Shift(OUTSIDE, 0.125, 0.25, 0.002, "Kolmogorov-Smirnov"),
        ),
        classes=(Shift(EVIL[1], 0.02, 0.4, 0.001),),
        features=(Shift(f"feature {EVIL[0]}", 0.25, np.nan, 1e-9),),
        max_false_alarms=0.005,
        guarantee=EVIL[3],
    )
    options = {"feature_names": EVIL, "examples": EVIL, "label_errors": suspects, "use": compared}
    return make_report(model, X, wrong, title=EVIL[0], **options)


# -- the browser -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def one_browser():
    with chromium() as browser:
        yield browser


@pytest.fixture
def view(one_browser, pages):
    """Open a page by its name; afterwards there must be no error in the console."""
    folder, data = pages
    resize(one_browser, 1360, 900)
    prefer(one_browser, "light")
    one_browser.get_log("browser")

    def open_page(name):
        one_browser.get((folder / f"{name}.html").as_uri())
        return one_browser, data.get(name)

    yield open_page
    errors = one_browser.get_log("browser")
    assert not errors, errors


def box(browser, node):
    return find(browser, f'#tree g[data-node="{node}"]')


def focused(browser):
    return browser.execute_script("return document.activeElement.dataset.node ?? null")


def first_child(data, node):
    return data["nodes"]["parent"].index(node, node + 1)


# -- loading -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["20", "500", "2000", "svm"])
@pytest.mark.parametrize("width", [1360, 390])
def test_it_loads_without_errors_and_without_network(view, name, width):
    browser, _ = view(name)
    resize(browser, width, 800)
    browser, data = view(name)
    assert text(browser, "h1") == data["title"]
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0
    n_boxes = len(find_all(browser, "#tree g"))
    assert n_boxes > min(len(data["nodes"]["label"]), 300) / 2
    assert len(find_all(browser, "#levels tbody tr")) == len(data["levels"])
    tiles = {t.text.split("\n")[0]: t.text.split("\n")[1] for t in find_all(browser, "#tiles div")}
    assert tiles["Hierarchical F1"] == f"{data['scores']['f1']:.3f}"
    # Nothing sticks out to the side.
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width


def test_a_model_without_probabilities_says_so(view):
    browser, _ = view("svm")
    assert "has no probabilities" in text(browser, "#confidence")
    assert not find_all(browser, "#threshold")
    colours = [option.text for option in find_all(browser, "#colour option")]
    assert "Mean confidence" not in colours
    assert "Confidence" not in text(browser, "#table thead")


def test_choices_and_candidates_are_shown_where_a_model_has_chosen(view):
    browser, data = view("chosen")
    found = data["choices"]
    assert len(find_all(browser, "#choices tbody tr")) == len(found["candidates"]) > 1
    name = found["candidates"][found["chosen"]]
    assert text(browser, "#choices tr.chosen td").split("\n")[0] == f"{name} chosen"
    assert all(fact in text(browser, "#choices dl") for _, fact in found["facts"])
    browser, _ = view("20")
    assert not find_all(browser, "#choices, a[href='#choices']")


def cells_of(browser, table):
    return browser.execute_script(
        "return [...document.querySelectorAll(`${arguments[0]} tbody tr`)]"
        ".map((row) => [...row.cells].map((cell) => cell.textContent))",
        table,
    )


@pytest.mark.parametrize("width", [1360, 390])
def test_labels_that_are_probably_wrong_are_shown_if_they_are_given(view, width):
    browser, _ = view("20")
    assert not find_all(browser, "#label-errors, a[href='#label-errors']")
    resize(browser, width, 800)
    browser, _ = view("evil")
    lead = text(browser, "#label-errors .lead")
    assert "Of 2 labels, 1 is more probably wrong than correct" in lead
    assert "wrong labels: 2.0 % from level 1 on, 20 % from level 2 on" in lead
    is_open = find(browser, "#label-errors details").get_attribute("open") is not None
    assert is_open == (width == 1360)
    cells = cells_of(browser, "#suspects")
    then, none = " \N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK} ", "\N{EN DASH}"
    given, likelier = then.join([EVIL[3], EVIL[1]]), then.join([EVIL[3], EVIL[2]])
    assert cells == [
        ["3", "90 %", "2", given, likelier, "0.10 / 0.80"],
        ["1", "25 %", "1", then.join(EVIL[:2]), EVIL[3], f"{none} / 0.00"],
    ]
    # What both paths share is muted.
    shared = find_all(browser, "#suspects tbody tr:first-child span.muted")
    assert [span.get_attribute("textContent") for span in shared] == [EVIL[3]] * 2
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [1360, 390])
def test_what_has_changed_is_shown_if_it_is_given(view, width):
    browser, _ = view("20")
    assert not find_all(browser, "#use, a[href='#use']")
    resize(browser, width, 800)
    browser, _ = view("evil")
    lead, outside = (part.text for part in find_all(browser, "#use .lead"))
    assert "1,200 old rows were compared with 1 new row" in lead
    assert "2 of 3 comparisons differ significantly, most clearly feature" in lead
    assert (
        "its mean was 0.125 then, 0.25 now. Rows resemble the classes significantly less" in outside
    )
    assert find(browser, "#use .note").get_attribute("textContent") == EVIL[3]
    is_open = find(browser, "#use details").get_attribute("open") is not None
    assert is_open == (width == 1360)
    none, answered = "\N{EN DASH}", "share of rows labelled at level 1"
    assert cells_of(browser, "#compared") == [
        [f"feature {EVIL[0]}", "0.25", none, EVIL[1], "< 0.0001", "< 0.0001", "yes"],
        [OUTSIDE, "0.125", "0.25", "Kolmogorov-Smirnov", "0.0020", "0.0040", "yes"],
        [answered, "0.5", "0.5", "Fisher's exact", "1.0000", "1.0000", "no"],
    ]
    assert cells_of(browser, "#moved-classes") == [[EVIL[1], "2.0 %", "40 %", "0.0010"]]
    assert cells_of(browser, "#moved-features") == [
        [f"feature {EVIL[0]}", "0.25", none, "< 0.0001"]
    ]
    caption = find(browser, "#use .caption").get_attribute("textContent")
    assert "is at most 0.5 %, the probability" in caption
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width


def test_a_notebook_shows_it_in_a_frame(view):
    browser, _ = view("notebook")
    browser.switch_to.frame(find(browser, "iframe"))
    assert text(browser, "h1") == EVIL[0]
    assert len(find_all(browser, "#tree g")) == 7
    browser.switch_to.default_content()


# -- the icicle and the details ----------------------------------------------------------------


def test_a_click_on_a_node_shows_what_is_known_about_it(view):
    browser, data = view("20")
    node = first_child(data, 0)
    box(browser, node).click()
    nodes = data["nodes"]
    assert text(browser, "#detail .name") == nodes["label"][node]
    facts = dict(zip(*(
        [e.text for e in find_all(browser, f"#detail .facts {tag}")] for tag in ("dt", "dd")
    ), strict=True))  # fmt: skip
    assert facts["Rows"] == str(nodes["support"][node])
    assert facts["Precision"] == f"{nodes['right'][node] / nodes['predicted'][node]:.3f}"
    assert facts["Recall"] == f"{nodes['right'][node] / nodes['support'][node]:.3f}"
    assert "Strongest features" in text(browser, "#detail")
    assert "feature " in text(browser, "#detail .features")
    assert find(browser, "#detail svg.chart .dot")
    assert box(browser, node).get_attribute("aria-selected") == "true"


def test_confusions_and_examples_of_a_class_are_shown_and_lead_on(view):
    browser, data = view("20")
    steps = data["steps"]
    true, predicted = steps["true"][0], steps["predicted"][0]
    nodes = data["nodes"]
    assert nodes["parent"][true] == nodes["parent"][predicted]
    find(browser, "#search").send_keys(nodes["label"][true])
    find(browser, f'#table tr[data-node="{true}"] button').click()
    shown = text(browser, "#detail")
    assert nodes["label"][predicted] in shown
    assert "Confused with siblings" in shown
    assert "Wrongly classified rows" in shown
    example = data["examples"]["text"][data["examples"]["node"][true][0]]
    assert example in [e.text.split("\n")[0] for e in find_all(browser, "#detail .examples li")]
    find(browser, "#detail .bars button").click()
    assert text(browser, "#detail .name") == nodes["label"][predicted]


def test_a_second_click_zooms_and_the_trail_leads_back(view):
    browser, data = view("500")
    node = first_child(data, 0)
    before = box(browser, node).size["height"]
    box(browser, node).click()
    box(browser, node).click()
    assert box(browser, node).size["height"] > before
    label = data["nodes"]["label"][node]
    assert text(browser, "#crumbs [aria-current]") == label
    assert len(find_all(browser, "#tree g")) < 200
    find(browser, "#crumbs button").click()
    assert text(browser, "#crumbs [aria-current]") == "All classes"
    assert box(browser, node).size["height"] == pytest.approx(before, abs=1)


def test_colours_and_heights_can_be_chosen(view):
    browser, data = view("500")
    node = first_child(data, 0)

    def fill():
        return box(browser, node).find_element("css selector", "rect").get_attribute("fill")

    seen = {fill()}
    for option in ("support", "confidence", "gap"):
        find(browser, f'#colour option[value="{option}"]').click()
        seen.add(fill())
    assert len(seen) == 4
    assert "overconfident" in text(browser, "#legend")
    before = box(browser, node).size["height"]
    find(browser, '#height option[value="classes"]').click()
    assert box(browser, node).size["height"] != before


# -- keyboard ----------------------------------------------------------------------------------


def test_the_hierarchy_works_with_the_keyboard_alone(view):
    browser, data = view("500")
    parent = data["nodes"]["parent"]
    press(browser, "TAB")
    assert browser.switch_to.active_element.text == "Skip to the hierarchy"
    while focused(browser) is None:
        press(browser, "TAB")
    assert focused(browser) == "0"
    first = first_child(data, 0)
    second = parent.index(0, first + 1)
    press(browser, "ARROW_RIGHT")
    assert focused(browser) == str(first)
    assert text(browser, "#detail .name") == data["nodes"]["label"][first]
    press(browser, "ARROW_DOWN")
    assert focused(browser) == str(second)
    press(browser, "ARROW_UP", "HOME", "END")
    last = max(v for v in range(1, len(parent)) if parent[v] == 0)
    assert focused(browser) == str(last)
    press(browser, "HOME", "ENTER")
    assert text(browser, "#crumbs [aria-current]") == data["nodes"]["label"][first]
    assert focused(browser) == str(first)
    press(browser, "ARROW_RIGHT")
    assert parent[int(focused(browser))] == first
    press(browser, "ARROW_LEFT", "ESCAPE")
    assert text(browser, "#crumbs [aria-current]") == "All classes"
    assert focused(browser) == str(first)
    # One stop of the Tab key for the whole tree, and a ring that can be seen.
    assert len(find_all(browser, '#tree g[tabindex="0"]')) == 1
    cursor = find(browser, "#cursor")
    assert float(cursor.get_attribute("height")) > 1
    assert cursor.value_of_css_property("stroke-width") == "3.5px"


def test_nothing_is_lost_while_zooming_is_in_motion(view):
    browser, data = view("500")
    prefer(browser, "light", motion="no-preference")
    while focused(browser) is None:
        press(browser, "TAB")
    for _ in range(4):
        press(browser, "ARROW_RIGHT", "ARROW_RIGHT", "ENTER")
        time.sleep(0.6)  # the zoom takes a quarter of a second
        chosen = focused(browser)
        assert chosen is not None
        assert text(browser, "#detail .name") == data["nodes"]["label"][int(chosen)]
        assert browser.find_elements("css selector", "#icicle [data-node], [role=treeitem]")
        press(browser, "ESCAPE", "ESCAPE", "ESCAPE")
        time.sleep(0.6)
        press(browser, "HOME", "ARROW_DOWN")


def test_a_node_too_small_to_see_is_zoomed_to(view):
    browser, data = view("2000")
    leaf = len(data["nodes"]["label"]) - 1
    find(browser, "#search").send_keys(data["nodes"]["label"][leaf])
    find(browser, f'#table tr[data-node="{leaf}"] button').click()
    assert text(browser, "#detail .name") == data["nodes"]["label"][leaf]
    if data["nodes"]["support"][leaf]:
        assert box(browser, leaf).size["height"] >= 10


def test_a_class_without_rows_can_be_chosen_and_left(view):
    browser, data = view("2000")
    empty = data["nodes"]["support"].index(0)
    find(browser, "#search").send_keys(data["nodes"]["label"][empty])
    find(browser, f'#table tr[data-node="{empty}"] button').click()
    assert text(browser, "#detail .name") == data["nodes"]["label"][empty]
    assert not find_all(browser, f'#tree g[data-node="{empty}"]')
    assert len(find_all(browser, '#tree g[tabindex="0"]')) == 1
    find(browser, "#detail .where button").click()
    assert text(browser, "#detail .name") == data["nodes"]["label"][path_of(data, empty)[0]]


def path_of(data, node):
    found = []
    while node:
        found.insert(0, node)
        node = data["nodes"]["parent"][node]
    return found


def test_roles_are_those_of_a_tree(view):
    browser, data = view("20")
    assert find(browser, "#tree").get_attribute("role") == "tree"
    node = first_child(data, 0)
    element = box(browser, node)
    assert element.get_attribute("role") == "treeitem"
    assert element.get_attribute("aria-level") == "2"
    assert data["nodes"]["label"][node] in element.get_attribute("aria-label")


# -- table -------------------------------------------------------------------------------------


def shown_nodes(browser):
    return browser.execute_script(
        "return [...document.querySelectorAll('#table tbody tr')].map((r) => +r.dataset.node)"
    )


def test_search_finds_words_in_any_part_of_a_path(view):
    browser, data = view("500")
    label = data["nodes"]["label"]
    find(browser, "#search").send_keys("birch VARIETY 2")
    words = ("Birch", "variety", "2")
    expected = {v for v in range(1, len(label)) if all(word in label[v] for word in words)}
    assert set(shown_nodes(browser)) == expected
    assert text(browser, "#count") == f"{len(expected)} classes"
    find(browser, "#search").send_keys(" no such class")
    assert text(browser, "#count") == "0 classes"
    find(browser, "#search").clear()
    find(browser, '#level option[value="1"]').click()
    assert len(shown_nodes(browser)) == data["nodes"]["parent"][1:].count(0)


def test_columns_sort_in_both_directions(view):
    browser, data = view("500")
    support = data["nodes"]["support"]
    find(browser, '#table th[data-key="support"] button').click()
    found = [support[v] for v in shown_nodes(browser)]
    assert found == sorted(found, reverse=True)
    head = find(browser, '#table th[data-key="support"]')
    assert head.get_attribute("aria-sort") == "descending"
    find(browser, '#table th[data-key="support"] button').click()
    found = [support[v] for v in shown_nodes(browser)]
    assert found == sorted(found)
    assert head.get_attribute("aria-sort") == "ascending"
    find(browser, '#table th[data-key="name"] button').click()
    names = [data["nodes"]["label"][v] for v in shown_nodes(browser)]
    assert names[0] == "Alder"


def test_long_tables_come_in_parts(view):
    browser, _ = view("2000")
    assert len(shown_nodes(browser)) == 25
    assert text(browser, "#count").startswith("25 of ")
    find(browser, "#more").click()
    assert len(shown_nodes(browser)) == 125


def test_paper_has_more_of_the_table_and_all_notes(view):
    browser, _ = view("2000")
    browser.execute_script("window.dispatchEvent(new Event('beforeprint'))")
    assert len(shown_nodes(browser)) == 100
    browser.execute_script("window.dispatchEvent(new Event('afterprint'))")
    assert len(shown_nodes(browser)) == 25


@pytest.mark.parametrize("is_open", [True, False])
def test_printing_leaves_notes_as_they_were(view, is_open):
    browser, _ = view("20")
    notes = find(browser, "#about-body details")
    assert notes.get_attribute("open") is not None
    if not is_open:
        find(browser, "#about-body summary").click()
    for _ in range(2):  # some browsers say it twice
        browser.execute_script("window.dispatchEvent(new Event('beforeprint'))")
        assert notes.get_attribute("open") is not None
    browser.execute_script("window.dispatchEvent(new Event('afterprint'))")
    assert (notes.get_attribute("open") is not None) == is_open


def test_notes_that_were_opened_on_a_phone_stay_open_after_printing(view):
    browser, _ = view("20")
    resize(browser, 390, 844)
    browser.refresh()
    notes = find(browser, "#about-body details")
    find(browser, "#about-body summary").click()
    for event in ("beforeprint", "afterprint"):
        browser.execute_script(f"window.dispatchEvent(new Event('{event}'))")
        assert notes.get_attribute("open") is not None
    resize(browser, 1280, 900)


def test_what_is_long_is_folded_on_a_phone(view):
    browser, _ = view("2000")
    resize(browser, 390, 844)
    browser.refresh()
    assert len(shown_nodes(browser)) == 10
    size = "return [document.documentElement.scrollHeight, document.documentElement.scrollWidth]"
    height, width = browser.execute_script(size)
    assert height < 7000
    assert width == 390
    notes = find(browser, "#about-body details")
    assert notes.get_attribute("open") is None
    find(browser, "#about-body summary").click()
    assert notes.get_attribute("open") is not None
    resize(browser, 1280, 900)


def test_numbers_of_classes_say_what_they_count(view):
    browser, data = view("20")
    known = len(data["nodes"]["label"]) - 1 - len(data["unseen"])
    assert f"{known} classes of the model in " in text(browser, "#subtitle")
    assert "Classes of the model" in text(browser, "#tiles")
    assert "Classes here" in text(browser, "#levels")


def test_dots_of_a_reliability_curve_have_their_counts(view):
    browser, data = view("500")
    found = data["reliability"]
    counts = [w for v, w in zip(found["node"], found["count"], strict=True) if v == 0]
    charts = find_all(browser, "#confidence svg.chart")
    shown = [e.text for e in charts[-1].find_elements("css selector", ".counts")]
    assert shown
    assert set(shown) <= {f"{count:,}" for count in counts}
    assert len(charts[-1].find_elements("css selector", ".dot")) == len(counts)
    assert f"{counts[0]:,} predictions with confidence" in charts[-1].get_attribute("aria-label")


# -- confidence --------------------------------------------------------------------------------


def test_the_slider_shows_coverage_and_precision_live(view):
    browser, data = view("500")
    found = data["thresholds"]

    def tiles():
        parts = [tile.text.split("\n") for tile in find_all(browser, "#live div")]
        return {part[0]: part[1] for part in parts}

    def expected(i):
        kept, right = (sum(level[i] for level in found[key]) for key in ("kept", "right"))
        return f"{right / kept:.3f}"

    assert tiles()["Precision (hP)"] == expected(0) == f"{data['scores']['precision']:.3f}"
    find(browser, "#threshold").click()  # in the middle
    press(browser, "END")
    assert text(browser, "#threshold-value") == "1.00"
    press(browser, *["ARROW_LEFT"] * 20)
    assert text(browser, "#threshold-value") == "0.80"
    assert tiles()["Precision (hP)"] == expected(80)
    coverage = 100 * found["kept"][0][80] / data["weight"]
    assert tiles()["Coverage"] == f"{coverage:.0f} %"
    first = find(browser, "#live-levels tr").text.split()
    assert first[1].replace(",", "") == str(found["kept"][0][80])


# -- themes and print --------------------------------------------------------------------------


def background(browser):
    return browser.execute_script("return getComputedStyle(document.body).backgroundColor")


def test_dark_mode_follows_the_system_and_the_button(view):
    browser, data = view("20")
    light, node = background(browser), first_child(data, 0)
    colour = box(browser, node).find_element("css selector", "rect").get_attribute("fill")
    prefer(browser, "dark")
    wait_until(browser, lambda: background(browser) != light)
    dark_colour = box(browser, node).find_element("css selector", "rect").get_attribute("fill")
    assert dark_colour != colour
    button = find(browser, "#theme")
    assert button.text == "Light mode"  # what a click gives
    button.click()
    assert background(browser) == light
    assert button.text == "Dark mode"
    view("20")  # a page that is opened in the dark starts dark
    assert background(browser) != light


def test_it_prints_in_light_colours_without_controls(view):
    browser, data = view("20")
    light, node = background(browser), first_child(data, 0)
    colour = box(browser, node).find_element("css selector", "rect").get_attribute("fill")
    find(browser, "#theme").click()
    browser.execute_script("window.dispatchEvent(new Event('beforeprint'))")
    prefer(browser, "light", media="print")
    assert background(browser) == light
    assert box(browser, node).find_element("css selector", "rect").get_attribute("fill") == colour
    for selector in (".bar", "#search", "#colour", "#threshold"):
        assert not find(browser, selector).is_displayed(), selector
    assert find(browser, "#table").is_displayed()
    pdf = browser.execute_cdp_cmd("Page.printToPDF", {})["data"]
    assert base64.b64decode(pdf).startswith(b"%PDF")


# -- names that are attacks --------------------------------------------------------------------


def test_names_with_html_or_script_are_shown_as_text(view):
    browser, _ = view("evil")
    assert text(browser, "h1") == EVIL[0]
    assert browser.title == EVIL[0]
    for button in range(len(find_all(browser, "#table tbody button"))):
        find_all(browser, "#table tbody button")[button].click()
    shown = browser.execute_script("return document.querySelector('main').textContent")
    for name in EVIL[:3]:
        assert name in shown
    cells = browser.execute_script(
        "return [...document.querySelectorAll('#table tbody button')].map((b) => b.textContent)"
    )
    assert set(cells) == {"".join(name) for name in EVIL}
    features = browser.execute_script(
        "return [...document.querySelectorAll('#detail .features dt')].map((e) => e.textContent)"
    )
    assert set(features) <= set(EVIL)
    assert features
    assert not find_all(browser, "img")
    assert not find_all(browser, "main script")
    assert not find_all(browser, "#detail .features b, #table b, #suspects b, #use b")
    assert browser.execute_script("return window.harm") is None
    assert len(find_all(browser, "script")) == 2


# -- pictures ----------------------------------------------------------------------------------


def test_on_a_phone_the_bar_is_one_line_and_long_labels_of_suspects_fit_the_screen_of_a_desk(view):
    browser, _ = view("evil")
    resize(browser, 390, 844)
    assert browser.execute_script("return document.querySelector('header').offsetHeight") < 60
    resize(browser, 1280, 900)
    wide = "return document.querySelector('#suspects').getBoundingClientRect().right"
    assert 0 < browser.execute_script(wide) <= 1280


def draw_pictures(folder):
    """Draw the pictures of the page on reports."""
    page = Path(folder).resolve() / "page.html"
    pictures = [
        ("report", tree_report(60, 4000), "light", 1240),
        ("report_dark", tree_report(1850, 16000), "dark", 1080),
    ]
    with chromium(1280, 900) as browser:
        for name, report, scheme, height in pictures:
            report.save(page)
            prefer(browser, scheme)
            browser.get(page.as_uri())
            resize(browser, 1280, height)
            if scheme == "light":
                node = box(browser, first_child(report.data, 0) + 1)
                click = "arguments[0].dispatchEvent(new MouseEvent('click'))"  # without hovering
                browser.execute_script(click, node)
            shot = browser.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
            (Path(folder) / f"{name}.png").write_bytes(base64.b64decode(shot["data"]))
    page.unlink()


if __name__ == "__main__":
    draw_pictures(sys.argv[1])
