"""What happens at the desk: rows are taken, coded, skipped and taken back, by several people."""

import json

import pytest
from desk_helpers import PATHS, REASON, TREE, make_desk
from hypothesis import given, settings
from hypothesis import strategies as st

from hiclass._serving.desk.desk import LEASE, SKIPPED, DeskError

NODES = [TREE.find(path) for path in PATHS]
LOAN = TREE.find(("Loan",))


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "r.journal"


@pytest.fixture
def desk(path, clock):
    return make_desk(path, clock)


def again(desk):
    """The same desk after a restart."""
    desk.journal.close()
    return make_desk(desk.journal.path)


def row_of(shown):
    return None if shown is None else shown["row"]


def test_a_row_is_shown_with_all_that_is_known(desk):
    shown = desk.take("w")
    assert shown["row"] == 0
    assert shown["cells"] == [
        {"name": "id", "text": "c0", "feature": False},
        {"name": "text", "text": "charged twice", "feature": True},
        {"name": "amount", "text": "0", "feature": False},
        {"name": "source_row", "text": "1", "feature": False},
    ]
    first = shown["suggestions"][0]
    assert [step["label"] for step in first["path"]] == ["Card", "Charge"]
    assert first["probability"] == 0.5
    assert len(desk.show(1)["suggestions"]) == 2
    assert desk.show(1)["cells"][2]["text"] == ""
    assert desk.show(2)["reasons"] == json.loads(REASON)
    assert desk.show(2)["suggestions"][0]["path"][1] == {
        "node": NODES[2], "label": "Car", "title": "Car loan",
    }  # fmt: skip
    assert desk.show(2)["identical"] == 1
    assert shown["reasons"] is None


def test_decisions_are_counted_and_survive(desk):
    for row, node in enumerate([NODES[0], NODES[2], LOAN, SKIPPED, NODES[0]]):
        assert row_of(desk.take("w")) == row
        assert desk.decide("w", "anna", row, node, comment=f"row {row}") == 1
    expected = {
        "total": 6, "left": 1, "taken": 0, "coded": 4, "skipped": 1,
        "first": 1, "above": 1, "listed": 3,
    }  # fmt: skip
    # Row 1: its second suggestion. Row 2: above its first. Row 4: its second, too.
    assert desk.progress() == expected
    restarted = again(desk)
    assert restarted.progress() == expected
    assert restarted.decisions() == desk.decisions()
    assert row_of(restarted.take("w")) == 5
    found = restarted.decisions()[2]
    assert (found.node, found.comment, found.by) == (LOAN, "row 2", "anna")


def test_two_pages_never_have_the_same_row(desk):
    assert row_of(desk.take("w")) == 0
    assert row_of(desk.take("v")) == 1
    assert row_of(desk.take("w")) == 0  # what it had is free for itself
    desk.decide("w", "a", 0, NODES[0])
    assert row_of(desk.take("w")) == 2
    desk.leave("v")
    assert row_of(desk.take("u")) == 1
    assert desk.progress()["taken"] == 2


def test_a_row_of_a_page_that_went_silent_is_given_to_others(desk, clock):
    assert row_of(desk.take("w")) == 0
    clock.now += LEASE - 1
    desk.stay("w")
    clock.now += LEASE - 1
    assert row_of(desk.take("v")) == 1
    clock.now += 2
    assert row_of(desk.take("v")) == 0
    # It comes back, and does nothing twice.
    with pytest.raises(DeskError, match="Another person has taken this row"):
        desk.decide("w", "a", 0, NODES[0])
    desk.decide("v", "b", 0, NODES[1])
    with pytest.raises(DeskError) as error:
        desk.decide("w", "a", 0, NODES[0])
    assert error.value.kind == "taken"
    assert desk.decisions()[0].by == "b"
    # If nobody else has come, it may decide after all.
    assert row_of(desk.take("w")) == 1
    clock.now += 2 * LEASE
    assert desk.decide("w", "a", 1, NODES[0]) == 1


def test_what_is_sent_again_after_a_lost_reply_is_done_already(desk):
    assert desk.decide("w", "a", 2, NODES[2], comment="c", identical=True) == 2
    assert row_of(desk.take("w")) == 0
    # The reply was lost: the page still shows row 2, and its person decides again.
    assert desk.decide("w", "a", 2, NODES[2], comment="c", identical=True) == 2
    assert desk.progress()["coded"] == 2
    assert desk.progress()["taken"] == 0
    # One undo takes back all of it: nothing was written twice.
    for node, comment in ((NODES[0], "c"), (NODES[2], "other"), (SKIPPED, "c")):
        with pytest.raises(DeskError, match="You have already coded this row differently"):
            desk.decide("w", "a", 2, node, comment=comment)
    with pytest.raises(DeskError, match="Another person"):
        desk.decide("v", "b", 2, NODES[2], comment="c")
    assert row_of(again(desk).undo("w", "a")) == 2


def test_skipping_once_more_can_be_taken_back_by_itself(desk):
    desk.decide("w", "a", 0, SKIPPED)
    desk.decide("w", "a", 0, SKIPPED)
    desk.undo("w", "a")
    assert desk.progress()["skipped"] == 1


def test_undo_takes_back_the_last_own_decision(desk):
    for row in range(3):
        desk.decide("w", "anna" if row != 1 else "bert", row, NODES[row], comment=f"c{row}")
    shown = desk.undo("w", "anna")
    assert (shown["row"], shown["comment"]) == (2, "c2")
    assert desk.progress()["coded"] == 2
    desk.decide("w", "anna", 2, NODES[0])
    assert row_of(desk.undo("w", "anna")) == 2
    assert row_of(desk.undo("w", "anna")) == 0
    with pytest.raises(DeskError, match="There is nothing to undo"):
        desk.undo("w", "anna")
    restarted = again(desk)
    assert restarted.progress() == desk.progress() | {"taken": 0}
    # Also after a restart.
    assert row_of(restarted.undo("w", "bert")) == 1
    assert restarted.progress()["left"] == 6


def test_undo_leaves_alone_what_others_have_done_since(desk):
    desk.decide("w", "anna", 0, SKIPPED)
    assert row_of(desk.take("v", skipped=True)) == 0
    with pytest.raises(DeskError, match="nothing to undo"):
        desk.undo("w", "anna")  # somebody is looking at it
    desk.decide("v", "bert", 0, NODES[1])
    with pytest.raises(DeskError, match="nothing to undo"):
        desk.undo("w", "anna")
    assert row_of(desk.undo("v", "bert")) == 0
    assert desk.progress()["skipped"] == 1  # as it was before
    desk.leave("v")
    assert row_of(desk.undo("w", "anna")) == 0
    assert desk.progress()["left"] == 6


def test_skipped_rows_can_be_gone_through_again(desk):
    for row in range(6):
        desk.decide("w", "a", row, SKIPPED if row in (1, 4) else NODES[0])
    assert desk.take("w") is None
    assert row_of(desk.take("w", skipped=True)) == 1
    desk.decide("w", "a", 1, NODES[3])
    assert row_of(desk.take("w", skipped=True)) == 4
    assert row_of(desk.take("v", skipped=True)) is None
    assert desk.progress()["coded"] == 5


def test_a_row_that_is_skipped_once_more_does_not_hide_the_other_skipped_rows(desk):
    for row in (1, 3, 4):
        desk.decide("w", "a", row, SKIPPED)
    seen = [row_of(desk.take("w", skipped=True))]
    for _ in range(3):
        desk.decide("w", "a", seen[-1], SKIPPED)
        seen.append(row_of(desk.take("w", skipped=True, after=seen[-1])))
    assert seen == [1, 3, 4, 1]


def test_identical_rows_are_decided_together_if_wanted(desk):
    assert desk.decide("w", "a", 2, NODES[2], identical=True) == 2
    assert sorted(desk.decisions()) == [2, 5]
    assert desk.progress()["first"] == 1  # row 5 was suggested something else
    desk.undo("w", "a")
    assert desk.progress()["left"] == 6
    desk.leave("w")
    for _ in range(6):
        shown = desk.take("v")
        if shown["row"] == 5:
            break
        desk.decide("v", "b", shown["row"], SKIPPED)
    # Row 5 is on another screen, and row 2 is decided already.
    assert desk.decide("w", "a", 2, NODES[2], identical=True) == 1
    assert desk.show(2)["identical"] == 1


@pytest.mark.parametrize(
    ("row", "node", "options", "kind"),
    [
        (6, 1, {}, "unknown_row"),
        (-1, 1, {}, "unknown_row"),
        (0, 0, {}, "unknown_class"),
        (0, -2, {}, "unknown_class"),
        (0, TREE.n_nodes, {}, "unknown_class"),
        (0, 1, {"comment": "x" * 2001}, "too_long"),
    ],
)
def test_what_does_not_exist_is_refused(desk, row, node, options, kind):
    with pytest.raises(DeskError) as error:
        desk.decide("w", "a", row, node, **options)
    assert error.value.kind == kind
    assert desk.progress()["left"] == 6


def test_what_cannot_be_written_has_not_happened(desk, monkeypatch):
    desk.take("w")

    def full(entry):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(desk.journal, "append", full)
        with pytest.raises(OSError, match="No space"):
            desk.decide("w", "a", 0, NODES[0])
        assert desk.progress()["left"] == 6
        assert row_of(desk.take("v")) == 1  # the row still belongs to the page
    desk.decide("w", "a", 0, NODES[0])
    assert desk.progress()["coded"] == 1


def test_classes_are_found_and_browsed(desk):
    (found,) = desk.find("mortgage")
    assert [step["label"] for step in found["path"]] == ["Loan", "House"]
    assert found["path"][1]["title"] == "Mortgage"
    assert found["below"] == 0
    top = desk.browse(0)
    assert top["path"] == []
    assert [(child["label"], child["below"]) for child in top["children"]] == [
        ("Card", 2), ("Loan", 3),
    ]  # fmt: skip
    below = desk.browse(LOAN, 1)
    assert [child["label"] for child in below["children"]] == ["House", "Student"]
    assert (below["total"], below["path"][0]["label"]) == (3, "Loan")
    for node in (-1, TREE.n_nodes):
        with pytest.raises(DeskError, match=f"There is no class {node}"):
            desk.browse(node)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["take", "code", "skip", "undo", "again"]),
            st.sampled_from("abc"),
            st.integers(1, TREE.n_nodes - 1),
            st.booleans(),
        ),
        max_size=40,
    )
)
def test_a_restart_has_the_state_that_was_left(tmp_path_factory, steps):
    desk = make_desk(tmp_path_factory.mktemp("desk") / "j")
    has = {}
    for kind, who, node, identical in steps:
        if kind in ("take", "again"):
            has[who] = row_of(desk.take(who, skipped=kind == "again"))
            held = [row for row in has.values() if row is not None]
            assert len(held) == len(set(held))
        elif kind == "undo":
            try:
                has[who] = row_of(desk.undo(who, who))
            except DeskError:
                continue
        elif has.get(who) is not None:
            row = has.pop(who)
            desk.decide(who, who, row, SKIPPED if kind == "skip" else node, identical=identical)
    restarted = again(desk)
    assert restarted.progress() == desk.progress() | {"taken": 0}
    assert restarted.decisions() == desk.decisions()
    restarted.journal.close()
