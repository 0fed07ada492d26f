// The page of the desk. Every text from elsewhere is set as text, never as HTML.
"use strict";

const $ = (id) => document.getElementById(id);
const worker = crypto.randomUUID();
const state = {
  row: null, // what is shown
  chosen: 0, // which suggestion
  depth: [], // where the path of each suggestion ends, as an index
  skipped: false, // whether skipped rows are gone through
  busy: false, // a decision is on its way
  node: 0, // whose children are listed
  query: "",
  listed: [], // {node, ...} of the list of classes
  active: -1,
  request: 0, // number of the last request for classes
  loading: null, // its promise
};

// -- the server -------------------------------------------------------------------------------

async function ask(path, body) {
  const options = body === undefined ? {} : {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ worker, ...body }),
  };
  let reply, content;
  try {
    reply = await fetch(path, options);
    content = await reply.json();
  } catch {
    throw Object.assign(new Error(
      "The desk does not respond. It may have been stopped. Start it again with the same command; "
      + "all confirmed decisions are saved."), { kind: "gone" });
  }
  if (!reply.ok) throw Object.assign(new Error(content.error.message), { kind: content.error.kind });
  return content;
}

function complain(error) {
  $("problem").textContent = error.message;
  $("problem").hidden = false;
  $("problem").scrollIntoView({ block: "nearest" });
}

function say(text) { $("status").textContent = text; }

// One decision at a time: keys that come in between are not taken.
async function act(work) {
  if (state.busy) return;
  state.busy = true;
  try {
    const content = await work();
    $("problem").hidden = true;
    return content;
  } catch (error) {
    if (error.kind === "taken") {
      say(error.message);
      state.busy = false;
      return await act(() => take(error.message));
    }
    complain(error);
  } finally {
    state.busy = false;
  }
}

async function take(said = "") {
  show(await ask("/api/take", { skipped: state.skipped }), said);
}

async function decide(path, depth) {
  const node = path[depth].node;
  const names = path.slice(0, depth + 1).map((step) => step.label).join(" › ");
  await send({ node }, `Coded ${names}.`);
}

async function send(decision, said) {
  if (state.row === null) return;
  await act(async () => {
    const body = {
      row: state.row.row,
      comment: $("comment").value,
      identical: state.row.identical > 0 && $("identical").checked,
      skipped: state.skipped,
      ...decision,
    };
    const content = await ask("/api/decide", body);
    show(content, content.decided > 1 ? `${said} ${content.decided} rows.` : said);
  });
}

const skip = () => send({ node: null }, "Skipped.");

async function undo() {
  await act(async () => {
    const content = await ask("/api/undo", {});
    show(content, "Undone.");
  });
}

// -- elements ---------------------------------------------------------------------------------

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "text") made.textContent = value;
    else if (name === "onclick") made.addEventListener("click", value);
    else if (value !== null && value !== false) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

function nameOf(step) {
  const name = element("span", { text: step.label });
  if (step.title) name.append(element("span", { class: "title", text: ` ${step.title}` }));
  return name;
}

const percent = (share) => `${(100 * share).toFixed(share < 0.0995 || (share > 0.9949 && share < 1) ? 1 : 0)} %`;
const number = (n) => n.toLocaleString("en");

// -- the row ----------------------------------------------------------------------------------

function show(content, said = "") {
  const row = content.row;
  const p = content.progress;
  state.row = row;
  count(p);
  $("desk").hidden = row === null;
  $("end").hidden = row !== null;
  if (row === null) return finish(p, said);
  const place = state.skipped ? `Skipped row ${row.row + 1}` : `Row ${row.row + 1}`;
  $("row-name").textContent = `${place} of ${number(p.total)}`;
  $("twins").textContent = row.identical
    ? `${number(row.identical)} identical ${row.identical === 1 ? "row" : "rows"} waiting` : "";
  $("identical-line").hidden = !row.identical;
  $("identical").checked = false;
  $("identical-text").textContent = `decide ${number(row.identical)} identical `
    + `${row.identical === 1 ? "row" : "rows"} in the same way`;
  $("comment").value = row.comment;
  showCells(row);
  showReasons(row.reasons);
  state.chosen = 0;
  state.depth = row.suggestions.map((s) => s.path.length - 1);
  showSuggestions();
  state.query = $("query").value = "";
  browse(0, false);
  window.scrollTo(0, 0);
  $("row").focus({ preventScroll: true });
  say(`${said} ${$("row-name").textContent}.`.trim());
}

function count(p) {
  const decided = p.coded + p.skipped;
  const parts = [element("b", { text: number(p.coded) }), ` coded`];
  if (p.skipped) parts.push(`, ${number(p.skipped)} skipped`);
  parts.push(`, ${number(p.left)} left`);
  if (p.coded) {
    parts.push(` · first suggestion correct ${percent(p.first / p.coded)}`);
    parts.push(` · among the suggestions ${percent(p.listed / p.coded)}`);
  }
  $("counts").replaceChildren(...parts);
  const bar = $("progress");
  bar.setAttribute("aria-valuemax", p.total);
  bar.setAttribute("aria-valuenow", decided);
  bar.setAttribute("aria-valuetext", `${decided} of ${p.total} rows decided`);
  $("done").style.width = `${(100 * decided) / Math.max(p.total, 1)}%`;
}

function finish(p, said) {
  $("end-name").textContent = p.left || (state.skipped && p.skipped)
    ? "Other people are working on all remaining rows" : "All rows are decided";
  const above = p.above ? ` ${number(p.above)} were coded at a level above it.` : "";
  $("end-text").textContent = `${number(p.coded)} coded, ${number(p.skipped)} skipped. The first `
    + `suggestion was correct for ${number(p.first)}.${above} Stop the desk with Ctrl+C in the `
    + `terminal to write the result.`;
  $("again").hidden = !p.skipped || state.skipped;
  $("end").focus();
  say(`${said} ${$("end-name").textContent}.`.trim());
}

function showCells(row) {
  const reasons = row.reasons ? row.reasons.features : [];
  const features = row.cells.filter((cell) => cell.feature);
  const longest = Math.max(0, ...features.map((cell) => cell.text.length));
  $("cells").className = features.length > 2 ? "short" : "";
  $("cells").replaceChildren(...features.map((cell) => showCell(cell, reasons, longest)));
  const others = row.cells.filter((cell) => !cell.feature);
  $("others").hidden = others.length === 0;
  $("other-cells").replaceChildren(...others.map((cell) => showCell(cell, [], Infinity)));
}

function showCell(cell, reasons, longest) {
  const isMain = cell.text.length === longest;
  const value = cell.text === ""
    ? element("dd", { class: "empty", text: "empty" })
    : element("dd", { class: isMain ? "main" : null }, ...marked(cell, reasons));
  const isWide = isMain || cell.text.length > 40;
  // A text that scrolls must be reached by the keyboard.
  if (cell.text.length > 900) value.tabIndex = 0;
  return element("div", { class: isWide ? "wide" : null },
    element("dt", { text: cell.name }), value);
}

// A text with the words of the reasons marked.
function marked(cell, reasons) {
  const words = new Map();
  for (const reason of reasons) {
    const word = reason.word;
    if (!word || (reason.column !== null && reason.column !== cell.name)) continue;
    const kind = reason.weight > 0 ? "for" : "against";
    if (!words.has(word.toLowerCase())) words.set(word.toLowerCase(), kind);
  }
  if (!words.size) return [cell.text];
  const spellings = [...words.keys()].sort((a, b) => b.length - a.length).map(spelling);
  const find = new RegExp(spellings.join("|"), "giu");
  const parts = [];
  let end = 0;
  for (const found of cell.text.matchAll(find)) {
    if (parts.length > 400) break;
    const kind = kindOf(found[0], words);
    parts.push(cell.text.slice(end, found.index), element("mark", { class: kind, text: found[0] }));
    end = found.index + found[0].length;
  }
  return [...parts, cell.text.slice(end)];
}

// How a word, a pair of words or "…a part of a word…" is found in a text.
function spelling(word) {
  const bare = word.replace(/^…|…$/g, "");
  const plain = bare.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/\s+/g, "[^\\p{L}\\p{N}]+");
  const before = word.startsWith("…") ? "" : "(?<![\\p{L}\\p{N}])";
  return `${before}${plain}${word.endsWith("…") ? "" : "(?![\\p{L}\\p{N}])"}`;
}

function kindOf(found, words) {
  const plain = found.toLowerCase();
  const spaced = plain.replace(/[^\p{L}\p{N}]+/gu, " ").trim();
  for (const form of [plain, spaced, `…${plain}…`, `${plain}…`, `…${plain}`]) {
    if (words.has(form)) return words.get(form);
  }
  return "for";
}

function showReasons(reasons) {
  const lines = [];
  if (reasons) {
    for (const [kind, sign, name] of [["for", 1, reasons.for], ["against", -1, reasons.against]]) {
      const those = reasons.features.filter((feature) => feature.weight * sign > 0);
      if (!those.length) continue;
      const marks = those.map((feature) => element("mark", { class: kind, text: feature.name }));
      lines.push(element("div", {}, `Supports ${name ?? "something else"}: `, ...marks));
    }
  }
  $("why").hidden = lines.length === 0;
  $("why").replaceChildren(...lines);
}

// -- suggestions ------------------------------------------------------------------------------

function showSuggestions() {
  $("suggestions").replaceChildren(...state.row.suggestions.map((suggestion, i) => {
    const end = state.depth[i];
    const names = suggestion.path.slice(0, end + 1).map((step) => step.label).join(" › ");
    const share = percent(suggestion.probability);
    const code = element("button", {
      type: "button", class: "code", "aria-label": `${i + 1}: ${names}, ${share}. Code`,
      onclick: () => decide(suggestion.path, state.depth[i]),
    }, element("kbd", { text: String(i + 1) }));
    const steps = suggestion.path.map((step, j) => element("span", { class: "step" },
      element("button", {
        type: "button",
        class: j === end ? "end" : j > end ? "beyond" : null,
        "aria-label": `Code at level ${j + 1}: ${step.label} ${step.title}`.trim(),
        tabindex: "-1",
        onclick: () => decide(suggestion.path, j),
      }, nameOf(step))));
    const filled = element("span");
    filled.style.width = `${100 * suggestion.probability}%`;
    const meter = element("span", { class: "meter", "aria-hidden": "true" }, filled);
    return element("li", { class: i === state.chosen ? "chosen" : null },
      code, element("span", { class: "path" }, ...steps),
      element("span", { class: "share" }, share, meter));
  }));
  $("suggested").hidden = state.row.suggestions.length === 0;
}

function chooseSuggestion(step) {
  const n = state.row.suggestions.length;
  if (!n) return;
  state.chosen = (state.chosen + step + n) % n;
  showSuggestions();
  sayChosen();
}

function moveEnd(step) {
  const suggestion = state.row.suggestions[state.chosen];
  if (!suggestion) return;
  const end = state.depth[state.chosen] + step;
  state.depth[state.chosen] = Math.min(Math.max(end, 0), suggestion.path.length - 1);
  showSuggestions();
  sayChosen();
}

function sayChosen() {
  const suggestion = state.row.suggestions[state.chosen];
  const end = state.depth[state.chosen];
  say(`${state.chosen + 1}: ${suggestion.path.slice(0, end + 1).map((s) => s.label).join(" › ")}`);
}

// -- classes: found by words, or the children of a class --------------------------------------

// What is loading is waited for before something is taken from the list.
function list(path, render) {
  state.loading = load(path, render);
  return state.loading;
}

async function load(path, render) {
  const mine = ++state.request;
  let content;
  try {
    content = await ask(path);
  } catch (error) {
    complain(error);
    return;
  }
  // An answer that was overtaken by a later question is not shown.
  if (mine === state.request) render(content);
}

function find(query) {
  state.query = query;
  if (!query.trim()) return browse(state.node);
  return list(`/api/find?q=${encodeURIComponent(query)}`, (content) => {
    $("trail").replaceChildren();
    showClasses(content.classes.map(({ path, below }) => ({ ...path.at(-1), path, below })), true);
    const n = content.classes.length;
    $("found").textContent = n === 0
      ? "No class has all of these words." : n === 20 ? "The 20 best; type more words." : "";
    say(n ? `${n} classes. ${content.classes[0].path.map((s) => s.label).join(" › ")}` : "No class.");
  });
}

function browse(node, aloud = true) {
  state.node = node;
  return list(`/api/browse?node=${node}`, (content) => {
    const path = content.path;
    const top = element("button", { type: "button", onclick: () => open(0), text: "All classes" });
    const steps = path.map((step) => element("span", {},
      element("button", { type: "button", onclick: () => open(step.node) }, step.label)));
    $("trail").replaceChildren(top, ...steps);
    showClasses(content.children.map((child) => ({ ...child, path: [...path, child] })), false);
    const left = content.total - content.children.length;
    $("found").textContent = left > 0 ? `${number(left)} more; type words to find them.` : "";
    if (aloud) {
      const name = path.length ? path.at(-1).label : "All classes";
      say(`${name}: ${content.total} classes below. ${content.children[0]?.label ?? ""}`);
    }
  });
}

function open(node) {
  state.query = $("query").value = "";
  browse(node);
  $("query").focus();
}

function showClasses(classes, withPath) {
  state.listed = classes;
  state.active = classes.length ? 0 : -1;
  $("classes").replaceChildren(...classes.map((item, i) => {
    const above = item.path.slice(0, -1).map((step) => step.label).join(" › ");
    const pick = element("div", {
      class: "pick", onclick: () => decide(item.path, item.path.length - 1),
    }, nameOf(item));
    if (withPath && above) pick.append(element("span", { class: "where", text: above }));
    const opener = item.below === 0 ? [] : [element("div", {
      class: "open", title: "Open", "aria-hidden": "true",
      onclick: () => open(item.node), text: `${number(item.below)} ▸`,
    })];
    const below = item.below ? `, ${item.below} classes below` : "";
    return element("li", {
      id: `class-${i}`, role: "option", "aria-selected": "false",
      "aria-label": `${item.label} ${item.title}${withPath && above ? `, in ${above}` : ""}${below}`,
    }, pick, ...opener);
  }));
  activate(state.active, false);
  $("classes").scrollTop = 0;
}

function activate(i, aloud = true) {
  const items = $("classes").children;
  items[state.active]?.classList.remove("active");
  items[state.active]?.setAttribute("aria-selected", "false");
  state.active = i;
  const item = items[i];
  if (!item) return $("query").removeAttribute("aria-activedescendant");
  item.classList.add("active");
  item.setAttribute("aria-selected", "true");
  $("query").setAttribute("aria-activedescendant", item.id);
  if (aloud) item.scrollIntoView({ block: "nearest" });
}

function keyInQuery(event) {
  const input = $("query");
  const item = state.listed[state.active];
  const isEmpty = input.value === "";
  const atEnd = input.selectionStart === input.value.length;
  const keys = {
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    Enter: takeActive,
    Escape: () => (isEmpty ? $("row").focus() : (input.value = "", find(""))),
  };
  if (atEnd && item?.below) keys.ArrowRight = () => open(item.node);
  if (isEmpty && state.node) keys.ArrowLeft = up;
  if (isEmpty && state.node) keys.Backspace = up;
  if (!keys[event.key] || event.isComposing) return;
  event.preventDefault();
  keys[event.key]();
}

// Keys may be pressed before the classes that they are meant for are there.
async function move(step) {
  await state.loading;
  const n = state.listed.length;
  if (n) activate((state.active + step + n) % n);
}

async function takeActive() {
  const wanted = state.loading;
  await wanted;
  const item = state.listed[state.active];
  if (item && wanted === state.loading) await decide(item.path, item.path.length - 1);
}

function up() {
  const trail = state.listed[0]?.path ?? [];
  open(trail.length > 2 ? trail.at(-3).node : 0);
}

function browseNearChosen() {
  const path = state.row.suggestions[state.chosen]?.path ?? [];
  const end = state.depth[state.chosen] ?? 0;
  open(end > 0 ? path[end - 1].node : 0);
}

// -- keys -------------------------------------------------------------------------------------

function shortcuts(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if ($("help").open) return;
  const target = event.target;
  if (target === $("query")) return keyInQuery(event);
  if (target.matches("input[type=text]")) {
    if (event.key === "Enter" || event.key === "Escape") {
      event.preventDefault();
      $("row").focus();
    }
    return;
  }
  if (event.repeat && !event.key.startsWith("Arrow")) return;
  const onButton = target.matches("button, a, summary, input");
  const keys = {};
  if (state.row !== null) {
    Object.assign(keys, {
      ArrowDown: () => chooseSuggestion(1),
      ArrowUp: () => chooseSuggestion(-1),
      ArrowLeft: () => moveEnd(-1),
      ArrowRight: () => moveEnd(1),
      Escape: () => $("row").focus(),
    });
    if (!onButton) keys.Enter = () => codeChosen(state.chosen);
  }
  if ($("shortcuts").checked) Object.assign(keys, letters());
  if (!keys[event.key]) return;
  if (target.tagName === "DD" && event.key.startsWith("Arrow")) return; // it scrolls
  event.preventDefault();
  keys[event.key]();
}

function letters() {
  const keys = { u: undo, "?": () => $("help").showModal() };
  if (state.row === null) return keys;
  state.row.suggestions.forEach((_, i) => { keys[String(i + 1)] = () => codeChosen(i); });
  return Object.assign(keys, {
    "/": () => $("query").focus(),
    b: browseNearChosen,
    c: () => $("comment").focus(),
    d: () => { $("identical").checked = !$("identical").checked; },
    s: skip,
  });
}

function codeChosen(i) {
  const suggestion = state.row.suggestions[i];
  if (suggestion) decide(suggestion.path, state.depth[i]);
}

// -- start ------------------------------------------------------------------------------------

document.addEventListener("keydown", shortcuts);
$("query").addEventListener("input", () => find($("query").value));
$("skip").addEventListener("click", skip);
$("undo").addEventListener("click", undo);
$("end-undo").addEventListener("click", undo);
$("again").addEventListener("click", () => { state.skipped = true; act(take); });
// What others have undone or left comes before what was skipped.
$("refresh").addEventListener("click", () => { state.skipped = false; act(take); });
$("help-open").addEventListener("click", () => $("help").showModal());
$("help-close").addEventListener("click", () => $("help").close());
$("shortcuts").checked = localStorage.getItem("shortcuts") !== "off";
$("shortcuts").addEventListener("change", () => {
  localStorage.setItem("shortcuts", $("shortcuts").checked ? "on" : "off");
});
// A page that is closed gives its row back; one that stays open keeps it.
window.addEventListener("pagehide", () => {
  fetch("/api/leave", {
    method: "POST", keepalive: true, headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ worker }),
  });
});
setInterval(async () => {
  try {
    count((await ask("/api/stay", {})).progress);
  } catch (error) {
    if (error.kind === "wrong_token") complain(error);
  }
}, 60_000);

act(async () => {
  const about = await ask("/api/desk");
  $("title").textContent = about.title;
  document.title = `${about.title} – coding desk`;
  await take();
});
