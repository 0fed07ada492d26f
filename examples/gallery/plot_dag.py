"""
Classes with several parents
============================

A dog is a canine and a pet. In a directed acyclic graph (DAG) a class may have several parents, and
a row of the class belongs to all of them. You can pass such a hierarchy as a dict, as edges or as a
networkx graph.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
from sklearn.ensemble import RandomForestClassifier

from hiclass import Hierarchy, LocalClassifierPerParentNode
from hiclass.datasets import load_animals
from hiclass.metrics import f1

# %%
# We classify animals by their kind and by how they move. Bats are mammals and fliers, whales are
# mammals and swimmers.

animals = load_animals(as_frame=True)
frame = animals.frame
print(frame["class"].value_counts().head(3).to_string())


def kind_of(row):
    """Return the kind of an animal, from its class and how it moves."""
    if row["class"] == "Mammalia":
        if row["flies"]:
            return "bat"
        return "sea mammal" if row["legs"] < 4 and row["swims"] else "land mammal"
    if row["class"] == "Aves":
        return "flying bird" if row["flies"] else "flightless bird"
    if row["class"] in ("Actinopterygii", "Chondrichthyes"):
        return "fish"
    return "insect" if row["class"] == "Insecta" else None


kinds = frame.apply(kind_of, axis=1)
known = kinds.notna().to_numpy()
edges = {
    "mammal": ["bat", "sea mammal", "land mammal"],
    "bird": ["flying bird", "flightless bird"],
    "flier": ["bat", "flying bird", "insect"],
    "swimmer": ["sea mammal", "fish"],
}
hierarchy = Hierarchy.from_dict(edges)
print(hierarchy)

# %%
# To make the task harder, we leave out the columns about legs, wings, flying and swimming. The
# model sees body, size, food, habitat and activity.

columns = [
    i
    for i, name in enumerate(load_animals().feature_names)
    if name not in ("legs", "wings", "flies", "swims")
]
X = load_animals().data[known][:, columns]
y = kinds[known].to_list()
test = np.arange(len(y)) % 3 == 0
labels = np.array(y)
model = LocalClassifierPerParentNode(
    RandomForestClassifier(n_estimators=100, min_samples_leaf=2, random_state=0),
    hierarchy=hierarchy,
)
model.fit(X[~test], labels[~test])
predicted = model.predict(X[test])
print(f"hF on {test.sum()} unseen animals: {f1(labels[test], predicted, hierarchy=hierarchy):.3f}")

# %%
# Here are two sea mammals. A class is never more probable than any of its parents, so *sea mammal*
# is probable only if *mammal* and *swimmer* are. The orca is predicted correctly. For the elephant
# seal, which comes ashore, *land mammal* and *sea mammal* are about equally probable, and the model
# chooses the wrong one.

names = frame["name"][known].to_numpy()[test]
sea = labels[test] == "sea mammal"
shown = [int(np.flatnonzero(sea & (predicted == labels[test]))[0])]
shown += [int(np.flatnonzero(sea & (predicted != labels[test]))[0])]
place = {}
for level, nodes in enumerate(hierarchy.nodes_by_level[1:], start=1):
    for i, node in enumerate(nodes):
        place[hierarchy.labels[node]] = ((i + 0.5) / len(nodes), -level)
graph = hierarchy.to_networkx().subgraph(place)


def draw(ax, row):
    """Draw the graph with the probabilities of one row."""
    probability = model.predict_node_proba(X[test][[row]])[0]
    nx.draw_networkx_edges(graph, place, ax=ax, edge_color="#b7bec6", arrows=False, width=1.5)
    for name, (x, y_place) in place.items():
        p = probability[hierarchy.find(name)]
        fill = plt.get_cmap("Blues")(0.1 + 0.75 * p)
        ax.text(
            x,
            y_place,
            f"{name.replace(' ', chr(10))}\n{p:.0%}",
            ha="center",
            va="center",
            size=9,
            color="white" if p > 0.5 else "black",
            bbox={"boxstyle": "round,pad=0.4", "fc": fill, "ec": "white"},
        )
    ax.set_title(f"{names[row]}: predicted {predicted[row]}", loc="left", size=11)
    ax.margins(0.1, 0.28)
    ax.set_axis_off()


fig, axes = plt.subplots(2, 1, figsize=(6.6, 6.4), layout="constrained")
for ax, row in zip(axes, shown, strict=True):
    draw(ax, row)
plt.show()
