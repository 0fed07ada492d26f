"use strict";
// Labels and examples come from data: they are only ever put into the page as text.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const nodes = data.nodes;
  const count = nodes.label.length;
  const root = document.documentElement;
  const byId = (id) => document.getElementById(id);
  const graph = byId("graph");

  // -- small tools ---------------------------------------------------------------------------

  function fill(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (name === "on") for (const [type, act] of Object.entries(value)) element.addEventListener(type, act);
      else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
    }
    element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
    return element;
  }
  const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
  const draw = (tag, attributes, ...children) =>
    fill(document.createElementNS(graph.namespaceURI, tag), attributes, children);
  const number = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 1 });
  const rows = (x) => number.format(x);
  const score = (x) => (x === null || x === undefined ? "–" : x.toFixed(3));
  const short = (x) => (x === null || x === undefined ? "–" : x.toFixed(2));
  const percent = (x) => (x === null || x === undefined ? "–" : `${(100 * x).toFixed(x > 0 && x < 0.1 ? 1 : 0)} %`);
  const ratio = (a, b) => (b > 0 ? a / b : null);
  const plural = (n, one, many) => `${rows(n)} ${n === 1 ? one : many}`;
  const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

  // -- the graph -----------------------------------------------------------------------------

  const children = Array.from({ length: count }, () => []);
  for (let v = 1; v < count; v++) for (const p of nodes.parents[v]) children[p].push(v);
  const depth = data.levels.length;
  const unseen = new Set(data.unseen);
  const shared = nodes.parents.filter((above) => above.length > 1).length;
  const name = (v) => nodes.label[v];
  function reach(v, next) {
    const found = new Set();
    const todo = [v];
    while (todo.length) for (const u of next(todo.pop())) if (u > 0 && !found.has(u)) { found.add(u); todo.push(u); }
    return found;
  }
  const above = (v) => reach(v, (u) => nodes.parents[u]);
  const below = (v) => reach(v, (u) => children[u]);
  const column = (f) => Array.from({ length: count }, (_, v) => (v === 0 ? null : f(v)));
  const values = {
    f1: column((v) => ratio(2 * nodes.right[v], nodes.support[v] + nodes.predicted[v])),
    precision: column((v) => ratio(nodes.right[v], nodes.predicted[v])),
    recall: column((v) => ratio(nodes.right[v], nodes.support[v])),
    area: column((v) => (nodes.area ? nodes.area[v] : null)),
  };
  const measures = { f1: "F1", precision: "Precision", recall: "Recall" };
  if (nodes.area) measures.area = "AU(PRC)";
  let colour = "f1";
  let selected = 0;
  const page = 25;
  let limit = page;
  const sorting = { key: "support", down: true };

  // -- colour --------------------------------------------------------------------------------

  const ramps = {
    light: { score: [[0, "#8a2f05"], [0.25, "#d0651f"], [0.5, "#f2b27a"], [0.7, "#f1e6d8"], [0.85, "#a9cbe3"], [1, "#2d76b3"]],
      count: [[0, "#f3f6f9"], [0.5, "#8fb6d6"], [1, "#1c4f80"]], empty: "#e9ebee" },
    dark: { score: [[0, "#ff9a52"], [0.25, "#c9712f"], [0.5, "#855634"], [0.7, "#45474c"], [0.85, "#345a7c"], [1, "#4c90c9"]],
      count: [[0, "#1b2027"], [0.5, "#4579a5"], [1, "#a8d6fb"]], empty: "#2a3038" },
  };
  let printing = false;
  const theme = () => (printing ? "light" : root.dataset.theme);
  const hex = (text) => [1, 3, 5].map((i) => parseInt(text.slice(i, i + 2), 16));
  function mix(stops, t) {
    let i = 1;
    while (i < stops.length - 1 && stops[i][0] < t) i++;
    const [t0, a] = stops[i - 1];
    const [t1, b] = stops[i];
    const s = Math.min(Math.max((t - t0) / (t1 - t0), 0), 1);
    const [from, to] = [hex(a), hex(b)];
    return from.map((x, j) => Math.round(x + s * (to[j] - x)));
  }
  const css = (rgb) => `rgb(${rgb.join(",")})`;
  const colourOf = (v) => (values[colour][v] === null ? hex(ramps[theme()].empty) : mix(ramps[theme()].score, values[colour][v]));
  function inkOn(rgb) {
    const [r, g, b] = rgb.map((x) => (x / 255) ** 2.2);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.2 ? "#12161b" : "#ffffff";
  }

  // -- overview ------------------------------------------------------------------------------

  const tile = (term, value, note) => el("div", {}, el("dt", {}, term), el("dd", {}, value, note ? el("small", {}, note) : null));
  const meter = (x) => el("span", { class: "meter", "aria-hidden": "true" }, el("i", { style: `width:${100 * (x || 0)}%` }));

  function overview() {
    const { model, scores } = data;
    byId("subtitle").append([
      [...model.steps, model.name].join(" + ") + (model.local_classifiers.length ? ` of ${model.local_classifiers.join(", ")}` : ""),
      plural(data.rows, "row", "rows"), `${plural(count - 1 - unseen.size, "class", "classes")} of the model in ${plural(depth, "level", "levels")}`,
      data.date].join(" · "));
    byId("tiles").append(
      tile("Hierarchical F1", score(scores.f1)), tile("Precision (hP)", score(scores.precision)), tile("Recall (hR)", score(scores.recall)),
      tile("Jaccard", score(scores.jaccard)), tile("Exact match", percent(scores.exact)),
      scores.area === undefined ? null : tile("AU(PRC)", score(scores.area), `classes ${score(scores.area_macro)}, weighted ${score(scores.area_weighted)}`),
      scores.area === undefined ? null : tile("Ranking loss", score(scores.ranking_loss), `coverage error ${rows(scores.coverage_error)}`),
      tile("Several parents", rows(shared), `of ${plural(count - 1, "class", "classes")}`));
    const head = ["Level", "Classes here", "Labels", "Precision", "Recall", "F1", ...(scores.area === undefined ? [] : ["AU(PRC)"])];
    byId("levels").append(
      el("thead", {}, el("tr", {}, head.map((text) => el("th", { scope: "col" }, text)))),
      el("tbody", {}, data.levels.map((row) => el("tr", {},
        el("td", {}, String(row.level)), el("td", {}, rows(row.classes)), el("td", {}, rows(row.labels)), el("td", {}, short(row.precision)),
        el("td", {}, short(row.recall)), el("td", {}, short(row.f1)), scores.area === undefined ? null : el("td", {}, short(row.area))))));
    byId("sizes").append(...sizeChart());
  }

  function sizeChart() {
    const { true: t, predicted: p } = data.sizes;
    const used = t.map((_, i) => i).filter((i) => t[i] + p[i] > 0);
    const last = Math.max(...used, 1);
    const most = Math.max(...t, ...p, 1);
    const [width, height, base] = [420, 170, 140];
    const step = (width - 20) / (last + 1);
    const bar = (kind, i, x) => draw("rect", { class: kind, x, width: step * 0.36, y: base - (120 * x0(kind, i)) / most, height: (120 * x0(kind, i)) / most });
    function x0(kind, i) { return (kind === "true" ? t : p)[i]; }
    const parts = [];
    for (let i = 0; i <= last; i++) {
      const x = 10 + i * step;
      parts.push(bar("true", i, x + step * 0.1), bar("predicted", i, x + step * 0.5),
        draw("text", { x: x + step / 2, y: base + 16, "text-anchor": "middle" }, i === 9 ? "9+" : String(i)));
    }
    return [draw("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Rows by their number of labels, true and predicted" },
      draw("line", { class: "axis", x1: 0, x2: width, y1: base, y2: base }), parts),
    el("ul", { class: "key", style: "margin-left:10px" }, [["true", "true"], ["predicted", "predicted"]].map(([kind, text]) =>
      el("li", {}, draw("svg", { width: 12, height: 12 }, draw("rect", { class: kind, width: 12, height: 12 })), text))),
    el("p", { class: "caption" }, "Most specific labels only.")];
  }

  // -- the picture -----------------------------------------------------------------------------

  const most = 60;
  function shownNodes() {
    const which = byId("which").value;
    if (which === "near" && selected) {
      const down = [...below(selected)].sort((a, b) => nodes.support[b] - nodes.support[a]).slice(0, most);
      return new Set([selected, ...above(selected), ...down.flatMap((v) => [v, ...[...above(v)].filter((u) => below(selected).has(u))])]);
    }
    const order = Array.from({ length: count - 1 }, (_, i) => i + 1).sort((a, b) => nodes.support[b] - nodes.support[a] || a - b);
    const found = new Set();
    for (const v of order) {
      if (found.size >= most) break;
      for (const u of [v, ...above(v)]) found.add(u);
    }
    return found;
  }

  function place(shown) {
    const columns = Array.from({ length: depth }, () => []);
    for (const v of [...shown].sort((a, b) => a - b)) columns[nodes.level[v] - 1].push(v);
    const used = columns.filter((list) => list.length);
    const at = new Map();
    const near = (v, next) => {
      const found = next(v).filter((u) => at.has(u)).map((u) => at.get(u));
      return found.length ? found.reduce((a, b) => a + b, 0) / found.length : null;
    };
    const settle = (list) => list.forEach((v, i) => at.set(v, (i + 0.5) / list.length));
    used.forEach(settle);
    // Each class stands near the middle of its parents, then of its children, a few times.
    for (let turn = 0; turn < 8; turn++) {
      const order = turn % 2 ? [...used].reverse() : used;
      for (const list of order) {
        const key = new Map(list.map((v) => [v, near(v, turn % 2 ? (u) => children[u] : (u) => nodes.parents[u]) ?? at.get(v)]));
        list.sort((a, b) => key.get(a) - key.get(b) || a - b);
        settle(list);
      }
    }
    return used;
  }

  function paint() {
    const shown = shownNodes();
    const columns = place(shown);
    const tallest = Math.max(...columns.map((list) => list.length), 1);
    const width = Math.max(byId("canvas").clientWidth || 800, 150 * columns.length);
    const height = Math.max(tallest * 26, 160);
    const step = (width - 20) / columns.length;
    const room = Math.max(Math.floor((step - 34) / 6.6), 6);
    const at = new Map();
    columns.forEach((list, i) => list.forEach((v, j) => at.set(v, [16 + i * step, ((j + 0.5) * height) / list.length])));
    const largest = Math.log1p(Math.max(...[...shown].map((v) => nodes.support[v]), 1));
    const family = selected ? new Set([selected, ...above(selected), ...below(selected)]) : null;
    graph.replaceChildren();
    graph.setAttribute("viewBox", `0 0 ${width} ${height}`);
    graph.setAttribute("style", `min-width:${Math.min(width, 150 * columns.length)}px;height:${height}px`);
    for (const v of shown) {
      for (const p of nodes.parents[v]) {
        if (!at.has(p)) continue;
        const [[x1, y1], [x2, y2]] = [at.get(p), at.get(v)];
        const near = family && family.has(v) && family.has(p);
        graph.append(draw("path", { class: near ? "edge near" : "edge", d: `M${x1},${y1}C${(x1 + x2) / 2},${y1} ${(x1 + x2) / 2},${y2} ${x2},${y2}` }));
      }
    }
    for (const v of shown) {
      const [x, y] = at.get(v);
      const size = 4 + 6 * (largest ? Math.log1p(nodes.support[v]) / largest : 0);
      const mark = nodes.parents[v].length > 1 ? { "stroke-width": 2, stroke: "var(--ink)" } : {};
      const act = { click: () => choose(v), keydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(v); } } };
      graph.append(draw("g", { class: [v === selected ? "selected" : "", family && !family.has(v) ? "far" : ""].join(" "), tabindex: 0, role: "button", "data-node": v,
        "aria-label": `${name(v)}, ${measures[colour]} ${short(values[colour][v])}, ${plural(nodes.support[v], "row", "rows")}`, on: act },
      draw("title", {}, `${name(v)}: ${measures[colour]} ${short(values[colour][v])}, ${plural(nodes.support[v], "row", "rows")}`),
      draw("rect", { x: x - 12, y: y - 12, width: step - 8, height: 24, fill: "transparent" }),
      draw("circle", { class: "ring", cx: x, cy: y, r: size + 3 }),
      draw("circle", { cx: x, cy: y, r: size, fill: css(colourOf(v)), ...mark }),
      draw("text", { x: x + size + 5, y: y + 4, style: "paint-order:stroke;stroke:var(--page);stroke-width:3px" }, cut(name(v), room))));
    }
    const rest = count - 1 - shown.size;
    byId("hidden").textContent = (shared ? "A ring marks classes with several parents. " : "")
      + (rest > 0 ? `${plural(rest, "class is", "classes are")} not shown here; all are in the table below.` : "");
  }

  function legend() {
    const stops = ramps[theme()].score.map(([t, c]) => `${c} ${100 * t}%`).join(",");
    byId("legend").replaceChildren(el("div", { class: "ramp" }, el("i", { style: `background:linear-gradient(90deg,${stops})` }),
      el("div", {}, el("span", {}, "0"), el("span", {}, measures[colour]), el("span", {}, "1"))),
    el("span", { class: "none" }, el("i", {}), "undefined"));
  }

  // -- one class -------------------------------------------------------------------------------

  const link = (v) => el("button", { type: "button", class: "link", on: { click: () => choose(v) } }, name(v));
  const barList = ([found, amounts], total) => el("ul", { class: "bars" }, found.map((u, i) =>
    el("li", { style: `--share:${Math.min(100, (100 * amounts[i]) / Math.max(total, 1))}%` }, link(u), el("span", { class: "amount" }, rows(amounts[i])))));

  function chart(curve, size, label) {
    const [w, h, left, top] = [size, size * 0.72, 30, 8];
    const x = (t) => left + t * (w - left - 8);
    const y = (t) => top + (1 - t) * (h - top - 24);
    const [recall, precision] = curve;
    let d = `M${x(0)},${y(precision[0])}`;
    recall.forEach((r, i) => { d += `L${x(r)},${y(precision[i])}`; });
    return draw("svg", { class: "chart", viewBox: `0 0 ${w} ${h}`, role: "img", "aria-label": label },
      [0, 0.5, 1].map((t) => [draw("line", { class: "grid", x1: x(0), x2: x(1), y1: y(t), y2: y(t) }), draw("line", { class: "grid", y1: y(0), y2: y(1), x1: x(t), x2: x(t) }),
        draw("text", { x: left - 5, y: y(t) + 4, "text-anchor": "end" }, String(t)), draw("text", { x: x(t), y: h - 8, "text-anchor": t === 1 ? "end" : "middle" }, String(t))]),
      draw("path", { class: "series blue", d }));
  }

  function detail(v) {
    const box = byId("detail");
    box.replaceChildren();
    if (!v) {
      box.append(el("h3", { class: "name" }, "No class selected"), el("p", { class: "muted" }, "Click a class in the graph or in the table."));
      return;
    }
    const fact = (term, value) => el("div", {}, el("dt", {}, term), el("dd", {}, value));
    box.append(el("h3", { class: "name" }, name(v)),
      el("p", { class: "where" }, `Level ${nodes.level[v]}`, unseen.has(v) ? ", unknown to the model" : ""),
      el("dl", { class: "facts" }, fact("F1", short(values.f1[v])), fact("Precision", short(values.precision[v])), fact("Recall", short(values.recall[v])),
        fact("True", rows(nodes.support[v])), fact("Predicted", rows(nodes.predicted[v])), fact("AU(PRC)", short(values.area[v]))));
    const list = (title, found) => (found.length ? [el("h4", {}, title), el("p", {}, found.slice(0, 12).flatMap((u, i) => [i ? ", " : "", link(u)]),
      found.length > 12 ? ` and ${rows(found.length - 12)} more` : "")] : []);
    box.append(...list(nodes.parents[v].length > 1 ? `${nodes.parents[v].length} parents` : "Parent", nodes.parents[v].filter((u) => u > 0)), ...list("Children", children[v]));
    const curve = data.curves[v];
    if (curve) box.append(el("h4", {}, "Precision against recall"), chart(curve, 330, `Precision-recall curve of ${name(v)}`));
    const missed = nodes.support[v] - nodes.right[v];
    if (data.confused[v]) box.append(el("h4", {}, "Predicted where it was missed ", el("small", {}, `in ${plural(missed, "row", "rows")}`)), barList(data.confused[v], missed));
    if (data.together[v]) box.append(el("h4", {}, "True in the same rows ", el("small", {}, `of ${rows(nodes.support[v])}`)), barList(data.together[v], nodes.support[v]));
  }

  function choose(v) {
    selected = selected === v ? 0 : v;
    detail(selected);
    paint();
    fillTable();
  }

  // -- curves ----------------------------------------------------------------------------------

  function curves() {
    if (!data.curve || !data.chosen) {
      byId("curves-body").append(el("p", { class: "note" }, "There are no curves, because the model has no probabilities or no row has a label."));
      return;
    }
    const grid = el("div", { class: "small" });
    const pick = el("select", {}, [["worst", "worst"], ["frequent", "most frequent"], ["best", "best"]].map(([key, text]) => el("option", { value: key }, `${text} classes`)));
    const show = () => grid.replaceChildren(...data.chosen[pick.value].filter((v) => data.curves[v]).map((v) => el("figure", {},
      chart(data.curves[v], 200, `Precision-recall curve of ${name(v)}`),
      el("figcaption", {}, link(v), el("span", {}, `AU(PRC) ${short(values.area[v])}, ${plural(nodes.support[v], "row", "rows")}`)))));
    pick.addEventListener("change", show);
    byId("curves-body").append(
      el("div", { class: "columns", style: "grid-template-columns:repeat(auto-fit,minmax(min(100%,420px),1fr))" }, el("div", { class: "pooled" }, el("h3", {}, "All classes together"),
        chart(data.curve, 440, "Precision-recall curve of all pairs of row and class"),
        el("p", { class: "caption" }, `Precision (up) against recall (right) over all pairs of row and class; the area is ${score(data.scores.area)}.`)),
      el("div", {}, el("h3", {}, "By level"), el("table", {}, el("tbody", {}, data.levels.map((row) => el("tr", {}, el("td", {}, `Level ${row.level}`), el("td", {}, meter(row.area), score(row.area)))))),
        el("p", { class: "caption" }, "The area under the curve of the classes of each level."))),
      el("div", { class: "controls screen", style: "margin-top:22px" }, el("label", {}, "Curves of the ", pick)), grid);
    show();
  }

  // -- together --------------------------------------------------------------------------------

  function matrix() {
    const found = data.matrix.nodes;
    const kind = byId("kind").value;
    const lines = data.matrix[kind];
    byId("matrix-note").textContent = kind === "together"
      ? "The share of the rows of the class on the left that also have the class above. The diagonal shows the number of rows of the class."
      : "The share of the rows of the class on the left in which it was missed and the class above was wrongly predicted. The diagonal shows the share in which it was found.";
    const cell = (i, j) => {
      const share = ratio(lines[i][j], nodes.support[found[i]]) || 0;
      const diagonal = i === j;
      const rgb = mix(ramps[theme()].count, diagonal && kind === "together" ? 0 : share);
      const text = diagonal && kind === "together" ? rows(lines[i][j]) : lines[i][j] ? Math.round(100 * share) || "<1" : "";
      return el("td", { style: `background:${css(rgb)};color:${inkOn(rgb)}${diagonal && kind === "instead" ? ";outline:1px solid var(--muted)" : ""}`, title: `${name(found[i])}, ${name(found[j])}: ${plural(lines[i][j], "row", "rows")}` }, String(text));
    };
    byId("matrix").replaceChildren(
      el("thead", {}, el("tr", {}, el("th", {}, ""), found.map((v) => el("th", { scope: "col" }, el("span", { title: name(v) }, cut(name(v), 24)))))),
      el("tbody", {}, found.map((v, i) => el("tr", {}, el("th", { scope: "row", title: name(v) }, cut(name(v), 34)), found.map((_, j) => cell(i, j))))));
  }

  // -- rows ------------------------------------------------------------------------------------

  function examples() {
    if (!data.examples) {
      byId("examples").remove();
      document.querySelector('.bar a[href="#examples"]').remove();
      return;
    }
    const names = (list, other) => (list.length ? list.flatMap((v, i) => [i ? ", " : "", el("span", { class: other.includes(v) ? "" : "wrong" }, name(v))]) : "none");
    byId("examples-body").append(data.examples.length
      ? el("ul", { class: "examples" }, data.examples.map((row) => el("li", {}, row.text,
        el("p", { class: "caption" }, "true: ", names(row.true, row.predicted)), el("p", { class: "caption" }, "predicted: ", names(row.predicted, row.true)))))
      : el("p", {}, "All rows are correct."));
  }

  // -- the table -------------------------------------------------------------------------------

  const columnsOfTable = [["name", "Class"], ["level", "Level"], ["support", "True"], ["predicted", "Predicted"], ["precision", "Precision"], ["recall", "Recall"], ["f1", "F1"],
    ...(nodes.area ? [["area", "AU(PRC)"]] : [])];
  const keyOf = (v, key) => (key === "name" ? name(v).toLowerCase() : key in values ? values[key][v] : nodes[key][v]);
  function fillTable() {
    const text = byId("search").value.trim().toLowerCase();
    const wanted = byId("level").value;
    const found = Array.from({ length: count - 1 }, (_, i) => i + 1)
      .filter((v) => (!text || name(v).toLowerCase().includes(text)) && (!wanted || nodes.level[v] === Number(wanted)));
    const sign = sorting.down ? -1 : 1;
    found.sort((a, b) => {
      const [x, y] = [keyOf(a, sorting.key), keyOf(b, sorting.key)];
      if (x === null || y === null) return (x === null) - (y === null) || a - b;
      return sign * (x < y ? -1 : x > y ? 1 : 0) || a - b;
    });
    const shown = printing ? Math.max(limit, 100) : limit;
    const table = byId("table");
    table.querySelector("tbody")?.remove();
    table.append(el("tbody", {}, found.slice(0, shown).map((v) => el("tr", { class: v === selected ? "selected" : null },
      el("td", {}, el("button", { type: "button", class: "link", on: { click: () => { choose(v); byId("hierarchy").scrollIntoView(); } } }, name(v)),
        el("span", { class: "path" }, nodes.parents[v].filter((u) => u > 0).map(name).join(" · "))),
      el("td", {}, String(nodes.level[v])), el("td", {}, rows(nodes.support[v])), el("td", {}, rows(nodes.predicted[v])), el("td", {}, short(values.precision[v])),
      el("td", {}, short(values.recall[v])), el("td", {}, meter(values.f1[v]), short(values.f1[v])), nodes.area ? el("td", {}, short(values.area[v])) : null))));
    for (const head of table.querySelectorAll("th")) {
      head.setAttribute("aria-sort", head.dataset.key === sorting.key ? (sorting.down ? "descending" : "ascending") : "none");
    }
    byId("count").textContent = (found.length > shown ? `${rows(shown)} of ` : "") + plural(found.length, "class", "classes");
    byId("more").hidden = found.length <= shown;
  }
  function buildTable() {
    const sort = (key) => () => {
      sorting.down = sorting.key === key ? !sorting.down : ["support", "predicted"].includes(key);
      sorting.key = key;
      limit = page;
      fillTable();
    };
    byId("table").append(el("thead", {}, el("tr", {}, columnsOfTable.map(([key, text]) =>
      el("th", { scope: "col", "data-key": key, "aria-sort": "none" }, el("button", { type: "button", on: { click: sort(key) } }, text))))));
    byId("level").append(el("option", { value: "" }, "all"), ...data.levels.map((row) => el("option", { value: row.level }, String(row.level))));
    const again = () => { limit = page; fillTable(); };
    byId("search").addEventListener("input", again);
    byId("level").addEventListener("change", again);
    byId("more").addEventListener("click", () => { limit += 100; fillTable(); });
    fillTable();
  }

  // -- about, theme, start ---------------------------------------------------------------------

  function about() {
    const { model } = data;
    const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1);
    const facts = [["Model", model.name], ["Members", model.members.join(", ")], ["Preprocessing", model.steps.join(", ")], ["Local classifiers", model.local_classifiers.join(", ")],
      ...model.parameters, ...(data.choices ? data.choices.facts.map(([subject, text]) => [sentence(subject), text]) : []), ["Rows", rows(data.rows)],
      ...(data.weight === data.rows ? [] : [["Total weight", rows(data.weight)]]), ["Written", `${data.date}, hiclass ${data.version}`]];
    const notes = [
      "A row belongs to its labels and to every class above them, along all parents. All scores count these sets, without the root.",
      "The scores of a level are those of all its classes together. “Classes here” are true or predicted in at least one row.",
      "AU(PRC) is the area under the precision-recall curve: for all pairs of row and class, as the mean over the classes that are true in at least one row, and as the mean weighted by how often a class is true.",
      "The coverage error is the mean number of most probable classes that include all true classes. The ranking loss is the share of pairs of a true and another class that are in the wrong order.",
      "The best and worst classes are chosen among those with at least five true rows, if there are any.",
      data.examples ? "This file contains texts of some rows as examples." : "This file contains totals and names of classes, but no rows of the data.",
    ];
    byId("about-body").append(
      el("dl", {}, facts.filter(([, value]) => value !== "").flatMap(([term, value]) => [el("dt", {}, term), el("dd", {}, value)])),
      el("details", { open: "" }, el("summary", {}, "How to read the numbers"), el("ul", {}, notes.map((text) => el("li", {}, text)))));
  }

  function repaint() { legend(); paint(); matrix(); }
  const wish = window.matchMedia("(prefers-color-scheme: dark)");
  let chosen = null;
  function setTheme() {
    root.dataset.theme = chosen || (wish.matches ? "dark" : "light");
    byId("theme").textContent = root.dataset.theme === "dark" ? "Light mode" : "Dark mode"; // what a click gives
    repaint();
  }
  byId("theme").addEventListener("click", () => { chosen = root.dataset.theme === "dark" ? "light" : "dark"; setTheme(); });
  wish.addEventListener("change", setTheme);
  const print = (starts) => { printing = starts; repaint(); fillTable(); };
  window.addEventListener("beforeprint", () => print(true));
  window.addEventListener("afterprint", () => print(false));
  for (const [key, text] of Object.entries(measures)) byId("colour").append(el("option", { value: key }, text));
  byId("colour").addEventListener("change", () => { colour = byId("colour").value; repaint(); });
  byId("which").append(el("option", { value: "frequent" }, count - 1 > most ? "the most frequent classes" : "all classes"), el("option", { value: "near" }, "the selected class"));
  byId("which").addEventListener("change", paint);
  byId("kind").addEventListener("change", matrix);
  let width = 0;
  new ResizeObserver(() => {
    if (byId("canvas").clientWidth !== width) { width = byId("canvas").clientWidth; paint(); }
  }).observe(byId("canvas"));

  overview();
  setTheme();
  detail(0);
  curves();
  examples();
  buildTable();
  about();
})();
