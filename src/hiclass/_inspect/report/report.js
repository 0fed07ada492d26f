"use strict";
// Labels, features and examples come from data: they are only ever put into the page as text.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const nodes = data.nodes;
  const count = nodes.label.length;
  const root = document.documentElement;
  const byId = (id) => document.getElementById(id);
  const tree = byId("tree");

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
    fill(document.createElementNS(tree.namespaceURI, tag), attributes, children);

  const number = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 1 });
  const rows = (x) => number.format(x);
  const score = (x) => (x === null || x === undefined ? "–" : x.toFixed(3));
  const short = (x) => (x === null || x === undefined ? "–" : x.toFixed(2));
  const percent = (x) => (x === null || x === undefined ? "–" : `${(100 * x).toFixed(x > 0 && x < 0.1 ? 1 : 0)} %`);
  const ratio = (a, b) => (b > 0 ? a / b : null);
  const plural = (n, one, many) => `${rows(n)} ${n === 1 ? one : many}`;

  // -- the tree ------------------------------------------------------------------------------

  const children = Array.from({ length: count }, () => []);
  const level = new Array(count).fill(0);
  for (let v = 1; v < count; v++) {
    children[nodes.parent[v]].push(v);
    level[v] = level[nodes.parent[v]] + 1;
  }
  const depth = Math.max(...data.levels.map((row) => row.level), level.reduce((a, b) => Math.max(a, b), 0));
  const leaves = children.map((below) => (below.length ? 0 : 1));
  for (let v = count - 1; v > 0; v--) leaves[nodes.parent[v]] += leaves[v];
  const unseen = new Set(data.unseen);
  const known = count - 1 - unseen.size;
  // What a number of classes counts: those of the model, and those that only the rows have.
  const onlyHere = unseen.size ? `${rows(unseen.size)} more only in these rows` : "";
  const name = (v) => (v === 0 ? "All classes" : nodes.label[v]);
  // The first text of a class, where classes have texts.
  const title = (v) => (nodes.text && nodes.text[v]) || "";
  function path(v) {
    const found = [];
    for (; v > 0; v = nodes.parent[v]) found.unshift(v);
    return found;
  }
  const pathText = (v) => (v === 0 ? "no class" : path(v).map(name).join(" › "));

  const column = (f) => Array.from({ length: count }, (_, v) => (v === 0 ? null : f(v)));
  const values = {
    f1: column((v) => ratio(2 * nodes.right[v], nodes.support[v] + nodes.predicted[v])),
    precision: column((v) => ratio(nodes.right[v], nodes.predicted[v])),
    recall: column((v) => ratio(nodes.right[v], nodes.support[v])),
    support: nodes.support,
    missed: column((v) => nodes.support[v] - nodes.right[v]),
    mistakes: nodes.mistakes,
  };
  const measures = {
    f1: { name: "F1", kind: "score" },
    precision: { name: "Precision", kind: "score" },
    recall: { name: "Recall", kind: "score" },
    support: { name: "Rows", kind: "count" },
    mistakes: { name: "Errors below", kind: "count" },
  };
  if (nodes.confidence) {
    values.confidence = nodes.confidence;
    values.gap = column((v) =>
      nodes.confidence[v] === null || values.precision[v] === null ? null : nodes.confidence[v] - values.precision[v]);
    measures.confidence = { name: "Mean confidence", kind: "score" };
    measures.gap = { name: "Confidence − precision", kind: "gap" };
  }

  function group(list, key) {
    const found = new Map();
    list[key].forEach((v, i) => {
      if (!found.has(v)) found.set(v, []);
      found.get(v).push(i);
    });
    return found;
  }
  // A wrong step joins two children of a node, or a child and the node itself for "ends here".
  data.steps.below = data.steps.true.map((t, i) => {
    const p = data.steps.predicted[i];
    return nodes.parent[t] === nodes.parent[p] || nodes.parent[t] === p ? nodes.parent[t] : nodes.parent[p];
  });
  const wrongBelow = group(data.steps, "below");
  const goesTo = group(data.destinations, "node");
  const comesFrom = group(data.sources, "node");
  const bins = data.reliability ? group(data.reliability, "node") : new Map();

  // -- colours: orange to blue, which everyone can tell apart ---------------------------------

  const ramps = {
    light: {
      score: [[0, "#8a2f05"], [0.25, "#d0651f"], [0.5, "#f2b27a"], [0.7, "#f1e6d8"], [0.85, "#a9cbe3"], [1, "#2d76b3"]],
      gap: [[0, "#2d76b3"], [0.5, "#f1eee9"], [1, "#b8540f"]],
      count: [[0, "#eaf0f6"], [0.5, "#8fb6d6"], [1, "#1c4f80"]],
      empty: "#e9ebee",
    },
    dark: {
      score: [[0, "#ff9a52"], [0.25, "#c9712f"], [0.5, "#855634"], [0.7, "#45474c"], [0.85, "#345a7c"], [1, "#4c90c9"]],
      gap: [[0, "#4c90c9"], [0.5, "#45474c"], [1, "#ff9a52"]],
      count: [[0, "#252e38"], [0.5, "#4579a5"], [1, "#a8d6fb"]],
      empty: "#2a3038",
    },
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
  const largest = {};
  for (const key of ["support", "mistakes"]) largest[key] = values[key].slice(1).reduce((a, b) => Math.max(a, b), 1);
  function position(key, x) {
    if (measures[key].kind === "gap") return (x + 0.5) / 1;
    if (measures[key].kind === "count") return Math.log1p(x) / Math.log1p(largest[key]);
    return x;
  }
  function colourOf(v) {
    const x = v === 0 ? null : values[colour][v];
    if (x === null || x === undefined) return hex(ramps[theme()].empty);
    return mix(ramps[theme()][measures[colour].kind], position(colour, x));
  }
  // Dark or white text, whichever has more contrast.
  function inkOn(rgb) {
    const [r, g, b] = rgb.map((x) => (x / 255) ** 2.2);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.2 ? "#12161b" : "#ffffff";
  }
  const shown = (key, v) => {
    const x = v === 0 ? null : values[key][v];
    if (x === null || x === undefined) return "–";
    if (measures[key].kind === "count") return rows(x);
    return measures[key].kind === "gap" ? (x > 0 ? "+" : "") + x.toFixed(2) : short(x);
  };

  // -- overview ------------------------------------------------------------------------------

  const tile = (term, value, note) => el("div", {}, el("dt", {}, term), el("dd", {}, value, note ? el("small", {}, note) : null));
  const meter = (x) => el("span", { class: "meter", "aria-hidden": "true" }, el("i", { style: `width:${100 * (x || 0)}%` }));

  function overview() {
    const inner = children.slice(1).filter((below) => below.length).length;
    byId("subtitle").append(
      [[...data.model.steps, data.model.name].join(" + ") + (data.model.local_classifiers.length ? ` of ${data.model.local_classifiers.join(", ")}` : ""),
        plural(data.rows, "row", "rows"), `${plural(known, "class", "classes")} of the model in ${plural(depth, "level", "levels")}`,
        data.date].join(" · "));
    const whole = data.levels.length ? data.levels[0].reached : 0;
    byId("tiles").append(
      tile("Hierarchical F1", score(data.scores.f1)),
      tile("Precision (hP)", score(data.scores.precision)),
      tile("Recall (hR)", score(data.scores.recall)),
      tile("Exact match", percent(data.scores.exact)),
      tile("Coverage", percent(whole), "rows with a label"),
      tile("Classes of the model", rows(known), onlyHere || `${rows(leaves[0])} leaves, ${rows(inner)} inner`));
    const soft = Boolean(nodes.confidence);
    const head = ["Level", "Classes here", "Rows", "Reached", "Accuracy", "Precision", "Recall", "F1"];
    if (soft) head.push("Confidence", "Calib. error");
    byId("levels").append(
      el("thead", {}, el("tr", {}, head.map((text) => el("th", { scope: "col" }, text)))),
      el("tbody", {}, data.levels.map((row) => el("tr", {},
        el("td", {}, String(row.level)), el("td", {}, rows(row.n_classes)), el("td", {}, rows(row.support)),
        el("td", {}, percent(row.reached)), el("td", {}, short(row.accuracy)), el("td", {}, short(row.precision)),
        el("td", {}, short(row.recall)), el("td", {}, short(row.f1)),
        soft ? [el("td", {}, short(row.confidence)), el("td", {}, short(row.calibration_error))] : null))));
    byId("depths").append(depthChart());
  }

  function depthChart() {
    const { true: truth, predicted } = data.depths;
    const shownDepths = truth.map((_, d) => d).filter((d) => truth[d] + predicted[d] > 0);
    const top = Math.max(...truth, ...predicted);
    const [width, high, bar] = [420, 42, 13];
    const chart = draw("svg", { class: "chart", viewBox: `0 0 ${width} ${shownDepths.length * high + 26}`, role: "img",
      "aria-label": "Number of rows by the length of the true and the predicted path" });
    shownDepths.forEach((d, i) => {
      const y = i * high;
      chart.append(draw("text", { x: 0, y: y + 21 }, d === 0 ? "empty" : plural(d, "level", "levels")));
      [["true", truth[d]], ["predicted", predicted[d]]].forEach(([kind, x], j) => {
        const length = Math.max((x / top) * (width - 150), x > 0 ? 1 : 0);
        chart.append(draw("rect", { class: kind, x: 66, y: y + 3 + j * (bar + 2), width: length, height: bar, rx: 2 }),
          draw("text", { x: 72 + length, y: y + 13.5 + j * (bar + 2) }, rows(x)));
      });
    });
    const y = shownDepths.length * high + 12;
    chart.append(draw("rect", { class: "true", x: 66, y, width: 12, height: 10, rx: 2 }), draw("text", { x: 83, y: y + 9 }, "true"),
      draw("rect", { class: "predicted", x: 126, y, width: 12, height: 10, rx: 2 }), draw("text", { x: 143, y: y + 9 }, "predicted"));
    return chart;
  }

  // -- the icicle ----------------------------------------------------------------------------

  let colour = "f1";
  let heights = "rows";
  let selected = 0;
  let zoomed = 0;
  const start = new Float64Array(count); // where a node begins and how high it is, as parts of all
  const span = new Float64Array(count);
  const boxes = new Map();
  const cursor = draw("rect", { id: "cursor" });
  const strip = 24;
  let view = { top: 0, size: 1, level: 0 };
  let moving = 0;
  tree.append(cursor);

  function layout() {
    const size = heights === "rows" ? nodes.support : leaves;
    start[0] = 0;
    span[0] = 1;
    for (let v = 0; v < count; v++) {
      let at = start[v];
      for (const child of children[v]) {
        start[child] = at;
        span[child] = size[v] > 0 ? (span[v] * size[child]) / size[v] : 0;
        at += span[child];
      }
    }
  }

  function frame() {
    // On paper the width of the window means nothing.
    const width = printing ? 760 : Math.max(byId("icicle").clientWidth, 240);
    const height = width < 560 ? 420 : 560;
    const left = depth - level[zoomed];
    const columns = Math.max(Math.min(left, Math.floor((width - strip) / 104)), 1);
    return { width, height, columns, wide: (width - strip) / columns };
  }

  function place(v, box) {
    const at = level[v] - view.level;
    const x = at <= 0 ? at * strip : strip + (at - 1) * box.wide;
    const y = ((start[v] - view.top) / view.size) * box.height;
    return { x, y, wide: at <= 0 ? strip : box.wide, high: (span[v] / view.size) * box.height };
  }

  function shortened(text, room) {
    const most = Math.floor(room / 6.9);
    return text.length <= most ? text : most > 2 ? `${text.slice(0, most - 1)}…` : "";
  }

  // The first click selects; the next one zooms in, or out again.
  function press(v) {
    if (v !== selected) choose(v, true);
    else if (v === zoomed) zoom(nodes.parent[v]);
    else if (children[v].length) zoom(v);
  }

  function box(v) {
    if (boxes.has(v)) return boxes.get(v);
    const made = draw("g", { role: "treeitem", "aria-level": level[v] + 1, tabindex: -1, "data-node": v,
      "aria-expanded": children[v].length ? "true" : null, on: {
        click: () => press(v),
        dblclick: () => children[v].length && zoom(v),
        pointermove: (event) => tip(v, event),
        pointerleave: () => { byId("tip").hidden = true; },
      } }, draw("rect", {}), draw("text", {}), draw("text", { class: "value" }));
    boxes.set(v, made);
    tree.insertBefore(made, cursor);
    return made;
  }

  function paint() {
    const area = frame();
    tree.setAttribute("viewBox", `0 0 ${area.width} ${area.height}`);
    const seen = new Set();
    const stack = [zoomed];
    while (stack.length) {
      const v = stack.pop();
      const at = place(v, area);
      const hidden = at.high < 0.12 || at.y > area.height || at.y + at.high < 0 || level[v] - view.level > area.columns;
      if (hidden && v !== zoomed) continue; // the box that is zoomed to is always there, also while zooming
      seen.add(v);
      paintBox(v, at, area);
      stack.push(...children[v]);
    }
    for (const [v, element] of boxes) {
      if (seen.has(v)) continue;
      element.remove();
      boxes.delete(v);
    }
    if (!seen.has(selected)) { // a class without rows has no height: the Tab key still finds the tree
      cursor.setAttribute("width", 0);
      boxes.get(zoomed).setAttribute("tabindex", 0);
    }
  }

  function paintBox(v, at, area) {
    const element = box(v);
    const [rect, text, value] = element.children;
    const y = Math.max(at.y, 0);
    const high = Math.min(at.y + at.high, area.height) - y;
    const gap = high > 7 ? 1 : high > 3.5 ? 0.5 : 0;
    const rgb = colourOf(v);
    const set = (part, attributes) => { for (const [key, x] of Object.entries(attributes)) part.setAttribute(key, x); };
    set(rect, { x: at.x, y, width: Math.max(at.wide - 1, 0), height: Math.max(high - gap, 0.1), fill: `rgb(${rgb.join(",")})` });
    const stand = at.wide <= strip;
    const ink = inkOn(rgb);
    const fits = stand ? high > 60 : high >= 13.5;
    text.textContent = fits ? shortened(name(v), stand ? high - 12 : at.wide - 12) : "";
    value.textContent = !stand && v > 0 && high >= 32 ? shortened(`${measures[colour].name} ${shown(colour, v)} · ${rows(nodes.support[v])}`, at.wide - 10) : "";
    const middle = y + high / 2;
    set(text, { fill: ink, x: at.x + 7, y: value.textContent ? middle - 3 : middle + 4.5 });
    set(value, { fill: ink, x: at.x + 7, y: middle + 12.5 });
    if (stand) set(text, { "text-anchor": "middle", x: 0, y: 0, transform: `translate(${at.x + strip / 2 + 4} ${middle}) rotate(-90)` });
    else { text.removeAttribute("transform"); text.removeAttribute("text-anchor"); }
    set(element, { "aria-label": `${name(v)}, ${measures[colour].name} ${shown(colour, v)}, ${plural(nodes.support[v], "row", "rows")}`,
      "aria-selected": v === selected, tabindex: v === selected ? 0 : -1 });
    if (v === selected) set(cursor, { x: at.x + 1, y: y + 1, width: Math.max(at.wide - 3, 1), height: Math.max(high - gap - 2, 1) });
  }

  function zoom(v) {
    if (!children[v].length) v = nodes.parent[v];
    zoomed = v;
    const target = { top: start[v], size: span[v] || 1, level: level[v] };
    const focused = tree.contains(document.activeElement);
    const from = { ...view };
    const began = performance.now();
    const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches || count > 6000;
    cancelAnimationFrame(moving);
    crumbs();
    const step = (now) => {
      const t = still ? 1 : Math.min(Math.max(now - began, 0) / 240, 1); // a frame may have begun before the click
      const s = t === 1 ? 1 : 1 - (1 - t) ** 3;
      view = { top: from.top + s * (target.top - from.top), size: from.size + s * (target.size - from.size),
        level: from.level + s * (target.level - from.level) };
      paint();
      if (t < 1) moving = requestAnimationFrame(step);
      else if (focused) focusBox();
    };
    step(began + (still ? 1000 : 0));
  }

  function focusBox() {
    const element = boxes.get(selected);
    if (element && document.activeElement !== element) element.focus({ preventScroll: true });
  }

  // Zoom so that a node can be seen.
  function reveal(v) {
    const inside = path(v).includes(zoomed) || zoomed === 0;
    const high = (span[v] / (span[zoomed] || 1)) * frame().height;
    const far = level[v] - level[zoomed] > frame().columns;
    if (inside && high >= 10 && !far) return paint();
    let above = v === 0 ? 0 : nodes.parent[v];
    while (above > 0 && span[above] === 0) above = nodes.parent[above];
    return zoom(above);
  }

  function choose(v, focus) {
    selected = v;
    reveal(v);
    detail(v);
    for (const row of byId("table").querySelectorAll("tr.selected")) row.classList.remove("selected");
    if (focus) { paint(); focusBox(); }
  }

  function crumbs() {
    const trail = [0, ...path(zoomed)];
    byId("crumbs").replaceChildren(...trail.flatMap((v, i) => [
      i ? el("span", { "aria-hidden": "true" }, "›") : null,
      i === trail.length - 1 ? el("span", { "aria-current": "true" }, name(v))
        : el("button", { type: "button", class: "link", on: { click: () => { zoom(v); choose(v); } } }, name(v)),
    ]).filter(Boolean));
  }

  function tip(v, event) {
    const hint = byId("tip");
    const area = byId("icicle").getBoundingClientRect();
    hint.replaceChildren(el("b", {}, name(v)), title(v) ? el("div", {}, title(v)) : "", v === 0 ? plural(nodes.support[0], "row", "rows")
      : `${measures[colour].name} ${shown(colour, v)} · ${plural(nodes.support[v], "row", "rows")}`);
    hint.hidden = false;
    const x = event.clientX - area.left + 14;
    hint.style.left = `${Math.max(Math.min(x, area.width - hint.offsetWidth - 4), 0)}px`;
    hint.style.top = `${event.clientY - area.top + 16}px`;
  }

  tree.addEventListener("keydown", (event) => {
    const v = selected;
    const peers = v === 0 ? [0] : children[nodes.parent[v]].filter((c) => span[c] > 0 || c === v);
    const i = peers.indexOf(v);
    const below = children[v].filter((c) => span[c] > 0);
    const moves = {
      ArrowRight: () => (below.length ? below[0] : v),
      ArrowLeft: () => (v === 0 ? 0 : nodes.parent[v]),
      ArrowDown: () => peers[Math.min(i + 1, peers.length - 1)],
      ArrowUp: () => peers[Math.max(i - 1, 0)],
      Home: () => peers[0],
      End: () => peers[peers.length - 1],
    };
    if (event.key in moves) choose(moves[event.key](), true);
    else if (event.key === "Enter" || event.key === " ") zoom(v);
    else if (event.key === "Escape" || event.key === "Backspace") {
      zoom(nodes.parent[zoomed]);
    } else return;
    event.preventDefault();
  });

  function legend() {
    const { kind } = measures[colour];
    const stops = ramps[theme()][kind];
    const ramp = Array.from({ length: 21 }, (_, i) => `rgb(${mix(stops, i / 20).join(",")}) ${5 * i}%`).join(",");
    const top = largest[colour];
    const ticks = { score: ["0", "0.5", "1"], gap: ["−0.5 unsure", "0", "overconfident +0.5"], count: ["0", "log", rows(top)] }[kind];
    byId("legend").replaceChildren(
      el("div", { class: "ramp" }, el("i", { style: `background:linear-gradient(90deg,${ramp})` }), el("div", {}, ticks.map((text) => el("span", {}, text)))),
      el("div", { class: "none" }, el("i", {}), "undefined"));
  }

  // -- what is known about one class -----------------------------------------------------------

  const jump = (v, text) => el("button", { type: "button", class: "link", on: { click: () => choose(v) } }, text || name(v));
  function barList(entries, total) {
    const top = Math.max(...entries.map((entry) => entry.weight), 1e-9);
    return el("ul", { class: "bars" }, entries.map((entry) => el("li", { style: `--share:${(100 * entry.weight) / top}%` },
      entry.label, el("span", { class: "amount" }, rows(entry.weight), total > 0 ? ` · ${percent(entry.weight / total)}` : ""))));
  }
  const part = (title, note, ...content) => el("div", {}, el("h4", {}, title, note ? el("small", {}, ` ${note}`) : null), ...content);
  const end = (text) => el("span", { class: "end" }, text);

  function siblings(v) {
    const parent = nodes.parent[v];
    const { true: truth, predicted, weight } = data.steps;
    const list = (mine, other, words) => (wrongBelow.get(parent) || []).filter((i) => mine[i] === v).slice(0, 6)
      .map((i) => ({ weight: weight[i], label: other[i] === parent ? end(words) : jump(other[i]) }));
    const out = list(truth, predicted, "path ends above");
    const back = list(predicted, truth, "path should end above");
    return [
      out.length ? part("Confused with siblings", "of its rows", barList(out, nodes.support[v])) : null,
      back.length ? part("Siblings confused with it", "of its predictions", barList(back, nodes.predicted[v])) : null,
    ];
  }

  function turns(v) {
    const { true: truth, predicted, weight } = data.steps;
    const one = (c) => (c === v ? end("ends here") : jump(c));
    const found = (wrongBelow.get(v) || []).slice(0, 6).map((i) => ({ weight: weight[i],
      label: el("span", {}, one(truth[i]), " → ", one(predicted[i])) }));
    return found.length ? part("Errors at this step", "true → predicted", barList(found, nodes.mistakes[v])) : null;
  }

  // The part of a path that tells it from the path of another node.
  function apart(other, v) {
    const mine = new Set(path(v).slice(0, -1));
    const rest = path(other).filter((a) => !mine.has(a));
    return rest.length ? rest.map(name).join(" › ") : name(other);
  }

  function places(v, index, list, title, note) {
    const found = index.get(v) || [];
    // Nothing new where all of them are siblings.
    if (found.every((i) => list.end[i] > 0 && nodes.parent[list.end[i]] === nodes.parent[v])) return null;
    return part(title, note, barList(found.slice(0, 6).map((i) => ({ weight: list.weight[i],
      label: list.end[i] === 0 ? end("no class") : path(v).includes(list.end[i]) ? el("span", {}, jump(list.end[i]), end(" (ends there)")) : jump(list.end[i], apart(list.end[i], v)) })), 0));
  }

  function curve(v, size) {
    const found = bins.get(v);
    if (!found) return null;
    const { confidence, right, count, weight } = data.reliability;
    const amount = (i) => plural(count[i], "prediction", "predictions") + (data.weight === data.rows ? "" : `, weight ${rows(weight[i])}`);
    const [left, bottom, counts] = [46, 30, 44];
    const x = (p) => left + p * (size - left - 8);
    const y = (p) => size - bottom - p * (size - bottom - 8);
    const chart = draw("svg", { class: "chart", viewBox: `0 0 ${size} ${size + counts}`, role: "img", style: `max-width:${size}px`,
      "aria-label": `Reliability curve: part that is right against confidence. ${found.map((i) =>
        `${amount(i)} with confidence ${short(confidence[i])}: ${percent(right[i])} correct`).join("; ")}` });
    for (const p of [0, 0.5, 1]) {
      chart.append(draw("line", { class: "grid", x1: x(0), x2: x(1), y1: y(p), y2: y(p) }),
        draw("text", { x: left - 6, y: y(p) + 4, "text-anchor": "end" }, p === 0.5 ? "0.5" : String(p)),
        draw("text", { x: x(p), y: size - bottom + 14, "text-anchor": "middle" }, p === 0.5 ? "0.5" : String(p)));
    }
    const top = Math.max(...found.map((i) => count[i]));
    chart.append(draw("line", { class: "ideal", x1: x(0), y1: y(0), x2: x(1), y2: y(1) }),
      draw("polyline", { class: "series blue", points: found.map((i) => `${x(confidence[i])},${y(right[i])}`).join(" "), "stroke-opacity": 0.45 }),
      ...found.map((i) => draw("circle", { class: "dot", cx: x(confidence[i]), cy: y(right[i]), r: 2.5 + 4.5 * Math.sqrt(count[i] / top) },
        draw("title", {}, `confidence ${short(confidence[i])}, accuracy ${percent(right[i])}, ${amount(i)}`))),
      draw("text", { x: x(0.5), y: size - 2, "text-anchor": "middle" }, "confidence"),
      draw("text", { x: 0, y: 0, transform: `translate(9 ${y(0.5)}) rotate(-90)`, "text-anchor": "middle" }, "accuracy"),
      draw("text", { x: left - 6, y: size + 16, "text-anchor": "end" }, "count"));
    // How many predictions each dot stands for, where there is room beside the last number.
    let before = -Infinity;
    for (const i of found) {
      if (x(confidence[i]) - before < 10) continue;
      before = x(confidence[i]);
      chart.append(draw("text", { class: "counts", x: 0, y: 0, "text-anchor": "end", transform: `translate(${before + 3.5} ${size + 7}) rotate(-90)` }, rows(count[i])));
    }
    return chart;
  }

  function features(v) {
    return (data.features.node[v] || []).map((id) => {
      const set = data.features.sets[id];
      const by = data.features.classifiers[set.by];
      const title = `Strongest features${by.member ? `, ${by.member}` : ""}`;
      if (by.kind === "other") {
        return part(title, "", el("p", { class: "caption" }, `${by.classifier} has neither weights nor feature importances.`));
      }
      const top = Math.max(...set.value.map(Math.abs), 1e-12);
      const both = set.value.some((x) => x < 0);
      const list = el("dl", { class: "features" }, set.feature.map((f, i) => {
        const x = set.value[i];
        const share = (Math.abs(x) / top) * (both ? 50 : 100);
        const left = both ? (x < 0 ? 50 - share : 50) : 0;
        return [el("dt", {}, data.features.names[f]),
          el("div", { class: "track", "aria-hidden": "true" }, el("i", { class: x < 0 ? "against" : "for", style: `left:${left}%;width:${share}%` })),
          el("dd", {}, (both && x > 0 ? "+" : "") + x)];
      }));
      const caption = by.kind === "linear" ? `${by.classifier}: weight of this class minus the mean of its siblings.`
        : `${by.classifier}: importance for the whole local decision, not for this class alone.`;
      return part(title, "", set.feature.length ? list : null, el("p", { class: "caption" }, caption));
    });
  }

  function examples(v) {
    const found = data.examples && (v === 0 ? null : data.examples.node[v]);
    if (!found) return null;
    const { text, true: truth, predicted, confidence } = data.examples;
    return part("Wrongly classified rows", "", el("ul", { class: "examples" }, found.map((i) => el("li", {}, text[i],
      el("p", { class: "caption" }, `${pathText(truth[i])} → ${pathText(predicted[i])}`, confidence ? ` · ${short(confidence[i])}` : "")))));
  }

  function detail(v) {
    const fact = (term, value) => el("div", {}, el("dt", {}, term), el("dd", {}, value));
    const kind = v === 0 ? [`${plural(known, "class", "classes")} of the model`, onlyHere].filter(Boolean).join(", ")
      : children[v].length ? `level ${level[v]} · ${plural(children[v].length, "child", "children")}` : `level ${level[v]} · leaf`;
    const above = path(v).slice(0, -1);
    byId("detail").replaceChildren(...[
      el("div", {}, el("div", { class: "where" }, above.flatMap((a) => [jump(a), " › "])),
        el("h3", { class: "name" }, name(v)), title(v) ? el("p", { class: "title" }, title(v)) : null,
        el("div", { class: "where" }, kind, unseen.has(v) ? " · unknown to the model" : "")),
      el("dl", { class: "facts" }, fact("Rows", rows(nodes.support[v])),
        v === 0 ? fact("Wrong at level 1", rows(nodes.mistakes[0])) : fact("Predicted", rows(nodes.predicted[v])),
        v === 0 ? null : fact("Missed", rows(values.missed[v])),
        ...(v === 0 ? [] : [fact("Precision", score(values.precision[v])), fact("Recall", score(values.recall[v])), fact("F1", score(values.f1[v]))]),
        v > 0 && nodes.confidence ? fact("Confidence", score(nodes.confidence[v])) : null,
        v > 0 && children[v].length ? fact("Wrong below", rows(nodes.mistakes[v])) : null),
      v === 0 ? null : siblings(v),
      children[v].length ? turns(v) : null,
      v === 0 ? null : places(v, goesTo, data.destinations, "Missed rows", "predicted instead"),
      v === 0 ? null : places(v, comesFrom, data.sources, "Wrong predictions", "true class"),
      features(v),
      bins.has(v) ? part("Reliability", v === 0 ? "labels of all levels" : "of its predictions", curve(v, 230)) : null,
      examples(v),
    ].flat().filter(Boolean));
  }

  // -- confidence ------------------------------------------------------------------------------

  function confidence() {
    const body = byId("confidence-body");
    const found = data.thresholds;
    if (!found) {
      body.append(el("p", { class: "note" }, "This model has no probabilities, so no confidences can be shown. Fit it with calibration=\"temperature\" or with local classifiers that have predict_proba."));
      return;
    }
    const sum = (lists, i) => lists.reduce((total, list) => total + list[i], 0);
    const at = (i) => {
      const kept = sum(found.kept, i);
      const right = sum(found.right, i);
      return { precision: ratio(right, kept), recall: ratio(right, found.labels), f1: ratio(2 * right, kept + found.labels),
        coverage: found.kept[0][i] / data.weight, whole: found.whole[i] / data.weight, exact: found.exact[i] / data.weight };
    };
    const points = Array.from({ length: 101 }, (_, i) => at(i));
    const slider = el("input", { id: "threshold", type: "range", min: 0, max: 100, step: 1, value: 0, "aria-labelledby": "threshold-label" });
    const output = el("output", { for: "threshold", id: "threshold-value" });
    const live = el("dl", { id: "live", class: "tiles", "aria-live": "polite" });
    const table = el("tbody", { id: "live-levels" });
    const line = draw("line", { class: "now" });
    // Drawn at the size that it will have, so that its text is readable on a phone.
    const [width, height, left, right, bottom] = [Math.min(Math.max(body.clientWidth, 300), 680), 270, 44, 10, 30];
    const x = (p) => left + p * (width - left - right);
    const y = (p) => 8 + (1 - p) * (height - 8 - bottom);
    const chart = draw("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Precision and coverage against the threshold" });
    for (const p of [0, 0.25, 0.5, 0.75, 1]) {
      chart.append(draw("line", { class: "grid", x1: x(0), x2: x(1), y1: y(p), y2: y(p) }),
        draw("text", { x: left - 6, y: y(p) + 4, "text-anchor": "end" }, percent(p)),
        draw("text", { x: x(p), y: height - bottom + 15, "text-anchor": "middle" }, String(p)));
    }
    const series = [["precision", "precision (hP)", "blue"], ["coverage", "rows with a label", "orange"], ["whole", "paths not truncated", "ink"]];
    const dots = [];
    for (const [key, , style] of series) {
      const drawn = points.map((point, i) => [i / 100, point[key]]).filter(([, p]) => p !== null);
      chart.append(draw("polyline", { class: `series ${style}`, points: drawn.map(([t, p]) => `${x(t).toFixed(1)},${y(p).toFixed(1)}`).join(" ") }));
      dots.push([key, draw("circle", { class: `mark ${style}`, r: 4 })]);
    }
    chart.append(line, ...dots.map(([, dot]) => dot), draw("text", { x: x(0.5), y: height - 1, "text-anchor": "middle" }, "threshold"));
    const key = el("ul", { class: "key" }, series.map(([, text, style]) => el("li", {},
      draw("svg", { width: 26, height: 8, "aria-hidden": "true" }, draw("line", { class: `series ${style}`, x1: 0, x2: 26, y1: 4, y2: 4, "stroke-width": 2 })), text)));

    const update = () => {
      const i = Number(slider.value);
      const point = points[i];
      output.textContent = (i / 100).toFixed(2);
      slider.setAttribute("aria-valuetext", `${(i / 100).toFixed(2)}: precision ${percent(point.precision)}, coverage ${percent(point.coverage)}`);
      live.replaceChildren(tile("Precision (hP)", score(point.precision)), tile("Coverage", percent(point.coverage), "rows with a label"),
        tile("Whole paths", percent(point.whole), "not truncated"), tile("Exact match", percent(point.exact)), tile("F1 (hF)", score(point.f1)));
      table.replaceChildren(...found.kept.map((kept, l) => el("tr", {}, el("td", {}, String(l + 1)), el("td", {}, rows(kept[i])),
        el("td", {}, meter(kept[i] / data.weight), percent(kept[i] / data.weight)), el("td", {}, score(ratio(found.right[l][i], kept[i]))))));
      for (const [key, value] of Object.entries({ x1: x(i / 100), x2: x(i / 100), y1: y(1), y2: y(0) })) line.setAttribute(key, value);
      for (const [key, dot] of dots) {
        dot.setAttribute("visibility", point[key] === null ? "hidden" : "visible");
        dot.setAttribute("cx", x(i / 100));
        dot.setAttribute("cy", y(point[key] || 0));
      }
    };
    slider.addEventListener("input", update);
    body.append(
      el("p", { class: "muted lead", id: "threshold-label" }, "Keep only labels with at least this probability. Paths are truncated after their last label (min_confidence)."),
      el("div", { class: "confidence" },
        el("div", {}, el("div", { class: "slider" }, el("span", { class: "muted" }, "Threshold"), slider, output), live, chart, key),
        el("div", {}, el("h3", {}, "By level, at this threshold"),
          el("div", { class: "scroll" }, el("table", {}, el("thead", {}, el("tr", {}, ["Level", "Labels kept", "Of all rows", "Precision"].map((text) => el("th", { scope: "col" }, text)))), table)),
          el("h3", { style: "margin-top:26px" }, "Reliability of all labels"), curve(0, 280))));
    update();
  }

  // -- automation ------------------------------------------------------------------------------

  function leaveOut(id) {
    byId(id).remove();
    document.querySelector(`.bar nav a[href="#${id}"]`).remove();
  }

  function automation() {
    const found = data.automation;
    if (!found || !found.levels.length) { leaveOut("automation"); return; }
    const body = byId("automation-body");
    const steps = found.levels[0].answered.length - 1;
    const select = el("select", { id: "automation-level" }, found.levels.map((of, i) => el("option", { value: i }, `level ${of.level}`)));
    select.value = String(found.levels.length - 1);
    const slider = el("input", { id: "automation-share", type: "range", min: 0, max: steps, step: 1, value: Math.round(steps / 2), "aria-labelledby": "automation-label" });
    const output = el("output", { for: "automation-share", id: "automation-value" });
    const live = el("dl", { id: "automation-live", class: "tiles", "aria-live": "polite" });
    const [width, height, left, right, bottom] = [Math.min(Math.max(body.clientWidth, 300), 680), 270, 44, 10, 30];
    const chart = draw("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Error against the share of rows labelled by the model" });
    const x = (p) => left + p * (width - left - right);
    let top = 1;
    const y = (p) => 8 + (1 - Math.min(p / top, 1)) * (height - 8 - bottom);
    const at = (of, i) => ({ answered: of.answered[i], wrong: of.wrong[i], share: of.answered[i] / found.rows,
      error: ratio(of.wrong[i], of.answered[i]), lower: of.lower[i], upper: of.upper[i], threshold: of.threshold[i] });

    const update = () => {
      const of = found.levels[Number(select.value)];
      const points = of.answered.map((_, i) => at(of, i)).filter((point) => point.answered > 0);
      const now = at(of, Number(slider.value));
      // The wide intervals of the few surest rows would hide the rest.
      top = Math.min(1, 1.15 * Math.max(0.05, points[points.length - 1].upper, ...points.map((point) => point.error)));
      const shown = (list) => list.map(([share, p]) => `${x(share).toFixed(1)},${y(p).toFixed(1)}`).join(" ");
      const band = [...points.map((point) => [point.share, point.upper]), ...points.map((point) => [point.share, point.lower]).reverse()];
      const ticks = [0, 0.25, 0.5, 0.75, 1].flatMap((p) => [draw("line", { class: "grid", x1: x(0), x2: x(1), y1: y(p * top), y2: y(p * top) }),
        draw("text", { x: left - 6, y: y(p * top) + 4, "text-anchor": "end" }, percent(p * top)),
        draw("text", { x: x(p), y: height - bottom + 15, "text-anchor": "middle" }, percent(p))]);
      chart.replaceChildren(...ticks, draw("polygon", { class: "band", points: shown(band) }),
        draw("polyline", { class: "series blue", points: shown(points.map((point) => [point.share, point.error])) }),
        draw("line", { class: "now", x1: x(now.share), x2: x(now.share), y1: y(top), y2: y(0) }),
        ...(now.error === null ? [] : [draw("circle", { class: "mark blue", r: 4, cx: x(now.share), cy: y(now.error) })]),
        draw("text", { x: x(0.5), y: height - 1, "text-anchor": "middle" }, "rows labelled by the model"));
      const interval = now.lower === null ? "" : `${percent(now.lower)} to ${percent(now.upper)}`;
      output.textContent = percent(now.share);
      slider.setAttribute("aria-valuetext", `${percent(now.share)} of the rows labelled, ${percent(now.error)} of them wrong`);
      live.replaceChildren(tile("Labelled", percent(now.share), plural(now.answered, "row", "rows")),
        tile("Wrong among them", percent(now.error), interval ? `95 % interval ${interval}` : ""),
        tile("For review", rows(found.rows - now.answered), `of ${plural(found.rows, "row", "rows")}`),
        tile("Confidence", now.threshold === null ? "–" : now.threshold.toFixed(4), "at least"));
    };
    slider.addEventListener("input", update);
    select.addEventListener("change", update);
    body.append(
      el("p", { class: "muted lead", id: "automation-label" }, "The model labels the most confident rows, and people review the others. The interval holds for one position of the slider at a time. To choose a threshold with a guarantee, use guarantee_error."
        + (found.truncated ? " The thresholds of the model (min_confidence) are not applied here." : "")),
      el("div", { class: "controls screen" }, el("label", {}, "Level ", select)),
      el("div", { class: "confidence" },
        el("div", {}, el("div", { class: "slider" }, el("span", { class: "muted" }, "Rows labelled"), slider, output), live, chart),
        el("div", {}, promises(found.promises))));
    update();
  }

  function promises(found) {
    if (!found) return el("p", { class: "note" }, "This model has no guarantee. To add one, call guarantee_error(model, X, y) with labelled rows that it was not fitted on.");
    const amount = (value) => (found.kind === "cost" ? value.toPrecision(3) : percent(value));
    const what = found.kind === "cost" ? "Mean cost" : "Wrong";
    const branches = found.table.some((row) => row.branch);
    return [el("h3", {}, "Guarantee"),
      el("div", { class: "scroll" }, el("table", { id: "promises" },
        el("thead", {}, el("tr", {}, ["Level", ...(branches ? ["Branch"] : []), `${what} at most`, "Confidence", "Labelled", what].map((text) => el("th", { scope: "col" }, text)))),
        el("tbody", {}, found.table.map((row) => el("tr", {}, el("td", {}, String(row.level)), branches ? el("td", {}, row.branch || "all others") : null, el("td", {}, amount(row.limit)),
          row.reason ? el("td", { colspan: 3 }, row.reason) : [el("td", {}, row.threshold.toFixed(4)), el("td", {}, percent(row.share)), el("td", {}, amount(row.loss))]))))),
      el("p", { class: "caption" }, `With ${percent(found.certainty)} certainty, from ${plural(found.rows, "calibration row", "calibration rows")}, for rows from the same source. The last two columns describe the calibration rows.`)];
  }

  // -- labels that are probably wrong ----------------------------------------------------------

  function labelErrors() {
    const found = data.label_errors;
    if (!found) { leaveOut("label-errors"); return; }
    const shares = found.shares.map((share, i) => `${percent(share)} from level ${i + 1} on`).join(", ");
    // What is right in both paths is muted: the difference is what people look for.
    const labels = (labels, from) => labels.map((label, i) => [i ? " › " : "", el("span", { class: i < from - 1 ? "muted" : null }, label)]);
    byId("label-errors-body").append(
      el("p", { class: "muted lead" }, `Every row was scored by models that were fitted on other rows. Of ${plural(found.rows, "label", "labels")}, ${rows(found.likely)} ${found.likely === 1 ? "is" : "are"} more probably wrong than correct. Estimated share of wrong labels: ${shares}.`),
      el("details", { open: narrow ? null : "" }, el("summary", {}, `The ${plural(found.table.length, "most suspicious row", "most suspicious rows")}`),
        el("div", { class: "scroll" }, el("table", { id: "suspects" },
          el("thead", {}, el("tr", {}, ["Row", "Probability of an error", "From level", "Label", "Suggested", "Probabilities"].map((text) => el("th", { scope: "col" }, text)))),
          el("tbody", {}, found.table.map((row) => el("tr", {}, el("td", {}, rows(row.row + 1)), el("td", {}, percent(row.probability)), el("td", {}, String(row.level)),
            el("td", {}, labels(row.given, row.level)), el("td", {}, labels(row.suggested, row.level)), el("td", {}, row.confidence.map(short).join(" / "))))))),
        el("p", { class: "caption" }, "Rows are counted from 1, as in the output of hiclass label-errors; find_label_errors in Python counts from 0. The last column shows the probability of the given and of the suggested label at that level.")));
  }

  // -- then and now: whether the model still sees what it was made for ---------------------------

  function use() {
    const found = data.use;
    if (!found) { leaveOut("use"); return; }
    const amount = (x) => (x === null ? "–" : String(Number(x.toPrecision(3))));
    const chance = (p) => (p < 0.0001 ? "< 0.0001" : p.toFixed(4));
    const limit = `${Number((100 * found.max_false_alarms).toPrecision(3))} %`;
    const thenNow = (row) => `${amount(row.then)} then, ${amount(row.now)} now`;
    const total = found.tests.length;
    const verdict = found.changed
      ? `${found.changed} of ${plural(total, "comparison", "comparisons")} ${found.changed === 1 ? "differs" : "differ"} significantly, most clearly ${found.tests[0].what}: ${thenNow(found.tests[0])}.`
      : `No significant change in ${plural(total, "comparison", "comparisons")}.`;
    const outside = found.outside === null ? null : found.tests[found.outside];
    const strangers = outside && `Rows that belong to no class have a high outside score, from 0 to 1; its mean was ${thenNow(outside)}. ${
      found.outside >= found.changed ? "The difference is not significant."
        : outside.now > outside.then ? "Rows resemble the classes significantly less than before. Some may belong to no class." : "It has changed significantly, but rows do not resemble the classes less than before."}`;
    const table = (id, columns, body) => el("div", { class: "scroll" }, el("table", { id },
      el("thead", {}, el("tr", {}, columns.map((text) => el("th", { scope: "col" }, text)))), el("tbody", {}, body)));
    const cells = (row, show) => [el("td", {}, row.what), el("td", {}, show(row.then)), el("td", {}, show(row.now))];
    const most = (id, kind, title, list, show, caption) => (list.length
      ? el("div", {}, el("h3", {}, title), table(id, [kind, "Then", "Now", "p-value"],
        list.map((row) => el("tr", {}, cells(row, show), el("td", {}, chance(row.p_value))))), el("p", { class: "caption" }, caption))
      : null);
    byId("use-body").append(
      el("p", { class: "muted lead" }, `${plural(found.then, "old row was", "old rows were")} compared with ${plural(found.now, "new row", "new rows")}, without labels. ${verdict}`),
      ...(strangers ? [el("p", { class: "muted lead" }, strangers)] : []),
      ...(found.guarantee ? [el("p", { class: "note" }, found.guarantee)] : []),
      ...(found.not_compared.length ? [el("p", { class: "muted" }, `Not compared: ${found.not_compared.join("; ")}.`)] : []),
      el("details", { open: narrow ? null : "" }, el("summary", {}, "All comparisons"),
        table("compared", ["Compared", "Then", "Now", "Test", "p-value", "Adjusted", "Changed"],
          found.tests.map((row, i) => el("tr", {}, cells(row, amount), el("td", {}, row.test), el("td", {}, chance(row.p_value)), el("td", {}, chance(row.adjusted)),
            el("td", {}, i < found.changed ? "yes" : "no")))),
        el("p", { class: "caption" }, `Means, or shares of rows. A change is significant if its p-value, adjusted for all comparisons (Holm), is at most ${limit}, the probability of an alarm if nothing has changed.`),
        el("div", { class: "columns" },
          most("moved-classes", "Class", "Classes that changed most", found.classes, percent, "Shares of the predicted classes. Each p-value refers to one class only."),
          most("moved-features", "Feature", "Features that changed most", found.features, amount, "Means, or shares of rows that have the feature. The first p-value is adjusted for all features; the others refer to one feature only."))));
  }

  // -- the table of classes --------------------------------------------------------------------

  const columnsOfTable = [
    { key: "name", name: "Class" }, { key: "level", name: "Level" }, { key: "support", name: "Rows", kind: "count" },
    { key: "missed", name: "Missed", kind: "count" }, { key: "precision", name: "Precision" }, { key: "recall", name: "Recall" },
    { key: "f1", name: "F1" }, ...(nodes.confidence ? [{ key: "confidence", name: "Confidence" }] : [])];
  // Few rows at first: the sections below must not be far away, above all on a phone.
  const narrow = window.matchMedia("(max-width: 600px)").matches;
  const page = narrow ? 10 : 25;
  const sorting = { key: "missed", down: true };
  let limit = page;
  const paths = Array.from({ length: count }, (_, v) => `${pathText(v)} ${title(v)}`.toLowerCase());
  const order = new Intl.Collator(undefined, { numeric: true });

  function matching() {
    const words = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const only = byId("level").value;
    const found = [];
    for (let v = 1; v < count; v++) {
      if (only && level[v] !== Number(only)) continue;
      if (words.every((word) => paths[v].includes(word))) found.push(v);
    }
    const { key, down } = sorting;
    const value = key === "level" ? (v) => level[v] : (v) => values[key][v];
    const sign = down ? -1 : 1;
    return found.sort((a, b) => {
      if (key === "name") return sign * order.compare(name(a), name(b)) || a - b;
      const [x, y] = [value(a), value(b)];
      if (x === null || y === null) return (x === null) - (y === null) || a - b; // undefined comes last
      return sign * (x - y) || a - b;
    });
  }

  function fillTable() {
    const found = matching();
    const most = printing ? Math.max(limit, 100) : limit;
    const body = el("tbody", {}, found.slice(0, most).map((v) => el("tr", { "data-node": v, class: v === selected ? "selected" : null },
      el("td", {}, el("button", { type: "button", class: "link", on: { click: () => { choose(v); byId("hierarchy").scrollIntoView(); } } }, name(v)), title(v) ? el("span", { class: "muted" }, ` ${title(v)}`) : null,
        level[v] > 1 ? el("span", { class: "path" }, path(nodes.parent[v]).map(name).join(" › ")) : null),
      el("td", {}, String(level[v])), el("td", {}, rows(nodes.support[v])), el("td", {}, rows(values.missed[v])),
      el("td", {}, short(values.precision[v])), el("td", {}, short(values.recall[v])), el("td", {}, meter(values.f1[v]), short(values.f1[v])),
      nodes.confidence ? el("td", {}, short(nodes.confidence[v])) : null)));
    const table = byId("table");
    table.querySelector("tbody")?.remove();
    table.append(body);
    for (const head of table.querySelectorAll("th")) {
      head.setAttribute("aria-sort", head.dataset.key === sorting.key ? (sorting.down ? "descending" : "ascending") : "none");
    }
    byId("count").textContent = (found.length > most ? `${rows(most)} of ` : "") + plural(found.length, "class", "classes")
      + (unseen.size && found.length === count - 1 ? `, ${rows(unseen.size)} of them unknown to the model` : "");
    byId("more").hidden = found.length <= most;
  }

  function buildTable() {
    const sort = (key) => () => {
      sorting.down = sorting.key === key ? !sorting.down : !["name", "level"].includes(key) && key !== "f1" && key !== "precision" && key !== "recall";
      sorting.key = key;
      limit = page;
      fillTable();
    };
    byId("table").append(el("thead", {}, el("tr", {}, columnsOfTable.map(({ key, name: text }) =>
      el("th", { scope: "col", "data-key": key, "aria-sort": "none" }, el("button", { type: "button", on: { click: sort(key) } }, text))))));
    byId("level").append(el("option", { value: "" }, "all"), ...Array.from({ length: depth }, (_, i) => el("option", { value: i + 1 }, String(i + 1))));
    const again = () => { limit = page; fillTable(); };
    byId("search").addEventListener("input", again);
    byId("level").addEventListener("change", again);
    byId("more").addEventListener("click", () => { limit += 100; fillTable(); });
    fillTable();
  }

  // -- what was chosen -------------------------------------------------------------------------

  function choices() {
    const { choices: found } = data;
    if (!found) {
      leaveOut("choices");
      return;
    }
    const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1);
    const facts = el("dl", {}, found.facts.flatMap(([subject, text]) => [el("dt", {}, sentence(subject)), el("dd", {}, text)]));
    if (!found.candidates.length) {
      byId("choices-body").append(facts);
      return;
    }
    const order = found.scores.map((_, i) => i).sort((a, b) => found.scores[b] - found.scores[a]);
    const all = found.scores.every((x) => x >= 0 && x <= 1);
    byId("choices-body").append(facts, el("div", {},
      el("h3", {}, "Candidates, scored on held-out training rows"),
      el("div", { class: "scroll" }, el("table", {},
        el("thead", {}, el("tr", {}, ["Candidate", found.measure].map((text) => el("th", { scope: "col" }, text)))),
        el("tbody", {}, order.map((i) => el("tr", { class: i === found.chosen ? "chosen" : null },
          el("td", {}, found.candidates[i], i === found.chosen ? [" ", el("small", {}, "chosen")] : null),
          el("td", {}, all ? meter(found.scores[i]) : null, score(found.scores[i]))))))),
      el("p", { class: "caption" }, "A product of several models is chosen unless a single model is significantly better.")));
  }

  // -- about -----------------------------------------------------------------------------------

  function about() {
    const { model } = data;
    const facts = [["Model", model.name], ["Members", model.members.join(", ")], ["Preprocessing", model.steps.join(", ")],
      ["Local classifiers", model.local_classifiers.join(", ")], ...model.parameters, ["Rows", rows(data.rows)],
      ...(data.weight === data.rows ? [] : [["Total weight", rows(data.weight)]]), ["Written", `${data.date}, hiclass ${data.version}`]];
    const notes = [
      "Hierarchical precision, recall and F1 count every label on a path: with the true path A › B and the predicted path A › C, one of two labels is correct.",
      "“Classes of the model” are those that it was fitted on, at all levels. “Classes here” are the classes of a level in the true or predicted paths of these rows.",
      "The scores of a level are means over its “classes here”, without the other levels. “Reached” is the share of predicted paths that reach the level.",
      "Precision, recall and F1 of a class count the rows at or below it. A score is undefined if there are no such rows.",
      "An error is counted at the first step at which the predicted path leaves the true path, so every wrong row is counted once.",
      "The calibration error is the mean difference between confidence and accuracy over ten bins. In a reliability curve, bins with fewer than ten predictions, or less than 1 % of all, are merged.",
      "Weights of linear classifiers are comparable only between features of a similar scale.",
      data.examples ? "This file contains texts of some rows as examples." : "This file contains totals and names of classes and features, but no rows of the data.",
    ];
    byId("about-body").append(
      el("dl", {}, facts.filter(([, value]) => value !== "").flatMap(([term, value]) => [el("dt", {}, term), el("dd", {}, value)])),
      el("details", { open: narrow ? null : "" }, el("summary", {}, "How to read the numbers"), el("ul", {}, notes.map((text) => el("li", {}, text)))));
  }

  // -- theme, print, start ---------------------------------------------------------------------

  function repaint() { legend(); paint(); }
  const wish = window.matchMedia("(prefers-color-scheme: dark)");
  let chosen = null;
  function setTheme() {
    root.dataset.theme = chosen || (wish.matches ? "dark" : "light");
    const dark = root.dataset.theme === "dark";
    byId("theme").textContent = dark ? "Light mode" : "Dark mode"; // what a click gives
    repaint();
  }
  byId("theme").addEventListener("click", () => { chosen = root.dataset.theme === "dark" ? "light" : "dark"; setTheme(); });
  wish.addEventListener("change", setTheme);
  let folded = []; // what paper unfolds, and what is folded again afterwards
  function print(starts) {
    if (starts && !printing) folded = [...document.querySelectorAll("details:not([open])")];
    printing = starts;
    for (const part of folded) part.open = starts;
    repaint();
    fillTable();
  }
  window.addEventListener("beforeprint", () => print(true));
  window.addEventListener("afterprint", () => print(false));
  for (const [key, { name: text }] of Object.entries(measures)) byId("colour").append(el("option", { value: key }, text));
  byId("colour").addEventListener("change", () => { colour = byId("colour").value; repaint(); });
  byId("height").addEventListener("change", () => { heights = byId("height").value; layout(); zoom(zoomed); });
  let width = 0;
  new ResizeObserver(() => {
    if (byId("icicle").clientWidth !== width) { width = byId("icicle").clientWidth; paint(); }
  }).observe(byId("icicle"));

  layout();
  crumbs();
  overview();
  setTheme();
  detail(0);
  confidence();
  automation();
  labelErrors();
  use();
  buildTable();
  choices();
  about();
})();
