// The one view of npcmem.dashboards.page.Page: draws controls, tiles and charts from plain data.
// It decides nothing: what was typed, dragged or linked goes to the kernel as it is, and what comes back is shown.

const inVoila = () => document.body.dataset.voila === "voila";

function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name in node && name !== "list" && name !== "form") node[name] = value;
    else node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

// --- plotly.js: a script the browser caches where the server ships one, else sent once by the kernel ---------

function plotly(model) {
  globalThis.npcmemPlotly ??= new Promise((resolve, reject) => {
    const script = document.querySelector("script[data-npcmem-plotly]");
    if (globalThis.Plotly?.react) return resolve(globalThis.Plotly);
    if (script) {
      script.addEventListener("load", () => resolve(globalThis.Plotly));
      script.addEventListener("error", () => reject(new Error("plotly.js could not be loaded")));
      return;
    }
    const take = async (content, buffers) => {
      if (!content.plotly) return;
      model.off("msg:custom", take);
      const source = new TextDecoder().decode(buffers[0]);
      const module = { exports: {} };
      new Function("module", "exports", "define", source)(module, module.exports, undefined);
      resolve(module.exports);
    };
    model.on("msg:custom", take);
    model.send({ want: "plotly" });
  });
  globalThis.npcmemPlotly.then((Plotly) => (globalThis.npcmemPlotly.ready = Plotly));
  return globalThis.npcmemPlotly;
}

// --- numbers ------------------------------------------------------------------------------------------------

const REST_MS = 60; // without a move, and the hand rests
const STEPS = 200; // positions on a logarithmic track
const ROUND = [1, 2, 5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 240, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 43200, 86400];

function duration(seconds) {
  if (seconds < 90) return `${+seconds.toPrecision(3)} s`;
  if (seconds < 3600) return `${+(seconds / 60).toPrecision(3)} min`;
  return `${+(seconds / 3600).toPrecision(3)} h`;
}

function track(spec) {
  if (spec.scale !== "log") return { min: spec.least, max: spec.most, step: spec.step, at: (v) => v, value: (p) => +p };
  const span = Math.log(spec.most / spec.least);
  return {
    min: 0, max: STEPS, step: 1,
    at: (v) => Math.round((Math.log(v / spec.least) / span) * STEPS),
    value(p) {
      const raw = spec.least * Math.exp((span * p) / STEPS);
      const near = ROUND.find((stop) => Math.abs(Math.log(raw / stop)) <= span / STEPS / 2); // so that 5 min can be hit
      return Math.min(spec.most, Math.max(spec.least, near ?? +raw.toPrecision(3)));
    },
  };
}

// --- controls: each returns its node, a way to show a value and a place for an error -------------------------

let ids = 0;

function field(spec, id, ...inputs) {
  const error = make("p", { className: "npc-error", id: `${id}-error`, role: "alert" });
  const help = make("p", { className: "npc-help", id: `${id}-help` }, spec.help);
  const node = make("div", { className: `npc-field npc-${spec.type}` }, ...inputs, help, error);
  node.dataset.name = spec.name;
  return { node, help, error };
}

function slider(spec, set) {
  const id = `npc-${++ids}`, along = track(spec);
  const range = make("input", { type: "range", id, min: along.min, max: along.max, step: along.step });
  const text = make("input", { type: "text", inputMode: "decimal", autocomplete: "off", className: "npc-number" });
  range.dataset.lmSuppressShortcuts = "true"; // JupyterLab would take the arrow keys from it
  range.setAttribute("aria-describedby", `${id}-help`);
  text.style.setProperty("--digits", String(spec.most).length);
  text.setAttribute("aria-label", `${spec.label}, exact value in ${spec.unit}`);
  const unit = make("span", { className: "npc-unit" });
  const label = make("label", { htmlFor: id }, spec.label, " ", make("i", {}, spec.symbol));
  const parts = field(spec, id, make("div", { className: "npc-row" }, label, text, unit), range);
  const spoken = (value) => (spec.unit === "seconds" ? duration(value) : `${value} ${spec.unit}`);
  range.addEventListener("input", () => {
    const value = along.value(range.value);
    text.value = value;
    tell(value);
    set(spec.name, value);
  });
  text.addEventListener("change", () => {
    const value = text.value.trim();
    set(spec.name, value !== "" && isFinite(value) ? +value : value);
  });
  function tell(value) {
    unit.textContent = spec.unit === "seconds" ? `s${value >= 90 ? ` = ${duration(value)}` : ""}` : spec.unit;
    range.setAttribute("aria-valuetext", spoken(value));
    range.style.setProperty("--at", `${(100 * (range.value - along.min)) / (along.max - along.min)}%`);
  }
  return {
    ...parts,
    show(value) {
      if (document.activeElement !== text) text.value = typeof value === "number" ? +value.toPrecision(6) : value;
      if (typeof value !== "number") return;
      if (!range.matches(":active")) range.value = along.at(Math.min(spec.most, Math.max(spec.least, value)));
      tell(value);
    },
  };
}

function choice(spec, set) {
  const id = `npc-${++ids}`;
  const select = make("select", { id });
  select.setAttribute("aria-describedby", `${id}-help`);
  for (const [option, label, heading] of spec.options) {
    let group = [...select.querySelectorAll("optgroup")].find((node) => node.label === heading);
    if (!group) select.append((group = make("optgroup", { label: heading })));
    group.append(make("option", { value: option }, label));
  }
  select.addEventListener("change", () => set(spec.name, select.value));
  const row = make("div", { className: "npc-row" }, make("label", { htmlFor: id }, spec.label));
  return { ...field(spec, id, row, select), show: (value) => (select.value = value) };
}

function upload(spec, set, model) {
  const id = `npc-${++ids}`;
  const input = make("input", { type: "file", id, accept: ".csv,.tsv,.txt,text/csv" });
  input.setAttribute("aria-describedby", `${id}-help ${id}-error`);
  const row = make("div", { className: "npc-row" }, make("label", { htmlFor: id }, spec.label));
  const parts = field(spec, id, row, input);
  input.addEventListener("change", async () => {
    const file = input.files[0];
    if (!file) return;
    if (file.size > spec.most_bytes) {
      const mb = (bytes) => `${(bytes / 2 ** 20).toFixed(1)} MB`;
      parts.error.textContent = `${file.name}: the file must be at most ${mb(spec.most_bytes)}, got ${mb(file.size)}`;
    } else {
      parts.error.textContent = "";
      parts.help.textContent = `Reading ${file.name} …`;
      model.send({ want: "upload", control: spec.name, file: file.name }, undefined, [await file.arrayBuffer()]);
    }
    input.value = "";
  });
  return { ...parts, show() {} };
}

const KINDS = { slider, choice, upload };

// --- charts -------------------------------------------------------------------------------------------------

// The palette's colours, and those of labels, as they stay legible on a dark card.
const ON_DARK = {
  "#0072b2": "#4d9fdc", "#56b4e9": "#9ad6f9", "#d55e00": "#ff8b3d", "#009e73": "#2cc79a", "#cc79a7": "#e6a4c7", "#8a8f98": "#a3adba",
  "#59616d": "#a3adba", "#00664a": "#5fd3a8", "#0a58a8": "#7db8f5", "#b3a125": "#d9c84a", "#a65628": "#d08a5c",
  "#e69f00": "#ffbf3f", "#7a5cc0": "#ab8fea", "#4b3f8f": "#8b7fd6", "#7f9a2f": "#a9c45a", "#444b57": "#c3cad6", "#8f2d56": "#d9749f",
  "#111111": "#f2f4f7", "#ffffff": "#1b1f27",
};

function onDark(node) {
  if (typeof node === "string") return ON_DARK[node] ?? node;
  if (Array.isArray(node)) return typeof node[0] === "number" ? node : node.map(onDark);
  if (node && typeof node === "object") return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, onDark(value)]));
  return node;
}

// What a chart takes from the page around it; read once and again when size or theme change, since reading costs a layout.
function look(box) {
  const style = getComputedStyle(box), own = (name) => style.getPropertyValue(name);
  return {
    width: box.clientWidth, height: box.clientHeight, small: box.clientWidth < 480, printed: box.closest(".npc-sheet") !== null, dark: style.colorScheme.includes("dark"),
    ink: own("--ink"), muted: own("--muted"), line: own("--line"), card: own("--card"), family: style.fontFamily,
  };
}

function themed(figure, { width, height, small, printed, dark, ink, muted, line, card, family }) {
  const { data, layout } = dark ? onDark(figure) : figure;
  const named = (letter) => data.some((trace) => typeof trace[letter]?.[0] === "string"); // categories are all labelled
  const axis = (letter, given = {}) => ({
    gridcolor: line, zerolinecolor: line, linecolor: line, fixedrange: true, automargin: false,
    ...(given.type === "category" || named(letter) ? {} : { nticks: small ? 5 : 9 }),
    ...given, title: { standoff: printed ? 4 : 8, font: { color: muted, size: printed ? 12 : 13 }, ...given.title },
  });
  const margin = { l: small ? 54 : 66, r: 14, t: 12, b: printed ? 40 : 48, ...layout.margin };
  let names = layout.yaxis?.ticktext; // names of rows that are broken into two lines are one where there is room
  if ((width > 800 || printed) && names?.some((name) => name.includes("<br>"))) {
    names = names.map((name) => name.replace("<br>", " "));
    margin.l = 20 + 5.9 * Math.max(...names.map((name) => name.length));
  }
  return { data, layout: {
    ...layout, width, height, showlegend: false, dragmode: false,
    xaxis: axis("x", layout.xaxis), yaxis: axis("y", { ...layout.yaxis, ...(names && { ticktext: names }), ...(small && { title: { text: "" } }) }),
    margin: { ...margin, l: Math.min(margin.l, Math.round((printed ? 0.6 : 0.4) * width)) },
    font: { family, color: ink, size: small ? 11 : 12.5 },
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    hoverlabel: { bgcolor: card, bordercolor: line, font: { color: ink, family } },
    annotations: (layout.annotations ?? []).filter((note) => !small || note.name !== "wide") // those that a phone has no room for
      .map((note) => ({ bgcolor: card, ...note })),
  } };
}

// The legend is text of the page, not of the drawing: it wraps, prints and costs no redraw.
function mark(trace, colour) {
  const filled = trace.type === "bar" ? "square" : trace.mode === "markers" ? trace.marker.symbol ?? "dot" : "";
  const node = make("i", { className: filled ? `npc-mark npc-${filled}` : "npc-mark" });
  const given = filled ? trace.marker?.color : trace.line?.color ?? trace.marker?.color;
  const shown = colour(Array.isArray(given) ? given[0] : given);
  if (filled) node.style.background = shown;
  else node.style.borderTop = `3px ${{ dash: "dashed", dot: "dotted" }[trace.line?.dash] ?? "solid"} ${shown}`;
  return node;
}

function legend(figure, dark) {
  const colour = (given) => (dark ? ON_DARK[given] ?? given : given);
  const named = new Map(); // traces of one name are one entry
  for (const trace of figure.data) {
    if (trace.showlegend !== false && trace.name && !named.has(trace.name)) named.set(trace.name, trace);
  }
  return [...named].map(([name, trace]) => make("span", {}, mark(trace, colour), name));
}

function chart(model) {
  const title = make("h3"), plot = make("div", { className: "npc-plot" }), key = make("p", { className: "npc-legend" });
  const sentence = make("figcaption"), box = make("div", { className: "npc-plotbox", role: "img" }, plot);
  const node = make("figure", { className: "npc-card npc-chart" }, title, key, box, sentence);
  let figure = null, drawn = "", wanted = "", inView = true, idle = 0, around = null;

  async function draw() {
    const Plotly = globalThis.npcmemPlotly?.ready ?? await plotly(model);
    around ??= look(box);
    if (!figure || around.width < 40) return void (around = null);
    drawn = wanted;
    const { data, layout } = themed(figure, around);
    key.replaceChildren(...legend(figure, around.dark));
    await Plotly.react(plot, data, layout, { displayModeBar: false, responsive: false });
    node.dataset.drawn = +(node.dataset.drawn ?? 0) + 1;
    node.dispatchEvent(new CustomEvent("npcdrawn", { bubbles: true }));
  }
  function redraw() { // at once, since a browser that prints does not wait
    around = null;
    return draw();
  }
  function restyle() {
    around = null;
    requestAnimationFrame(draw);
  }
  function later() { // off screen: once the hand rests
    clearTimeout(idle);
    idle = setTimeout(() => (model.get("asked") === model.get("answered") ? draw : later)(), 150);
  }
  const seen = new IntersectionObserver(([entry]) => {
    inView = entry.isIntersecting;
    if (inView && drawn !== wanted) draw();
  }, { rootMargin: "60px" });
  const sized = new ResizeObserver(restyle);
  seen.observe(box);
  sized.observe(box);
  return {
    node,
    redraw,
    restyle,
    show(card) {
      flag(node, "npc-wide", card.wide);
      flag(node, "npc-tall", card.tall);
      flag(node, "npc-rows", card.rows > 0);
      node.style.setProperty("--rows", card.rows);
      words(title, card.title);
      words(sentence, card.sentence);
      box.setAttribute("aria-label", card.spoken);
      wanted = JSON.stringify(card.figure);
      figure = card.figure;
    },
    plot() { // once all words stand: each drawing measures the page
      if (wanted !== drawn) (inView ? draw : later)();
    },
    stop() {
      seen.disconnect();
      sized.disconnect();
      clearTimeout(idle);
      globalThis.npcmemPlotly?.then((Plotly) => Plotly.purge(plot));
    },
  };
}

// --- tables: built once for a number of columns, then only the cells that differ change ----------------------

function words(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

function longestWord(texts) {
  return Math.max(1, ...texts.flatMap((text) => text.split(/[\s-]+/)).map((word) => word.length));
}

function flag(node, name, on) {
  if (node.classList.contains(name) !== on) node.classList.toggle(name, on);
}

function tableRow(columns, barColumn) {
  const dot = make("i", { className: "npc-dot" }), name = make("span", { className: "npc-name" });
  const won = make("b", { className: "npc-won" }), chosen = make("b", { className: "npc-own" });
  const marks = make("span", { className: "npc-marks" }, won, " ", chosen);
  const head = make("th", { scope: "row" }, make("div", { className: "npc-who" }, dot, make("div", {}, name, " ", marks)));
  const cells = columns.slice(1).map((column) => {
    const cell = make("td", { className: `npc-${column.align}` }, make("span"));
    cell.dataset.name = column.name;
    return cell;
  });
  const node = make("tr", {}, head, ...cells), barred = cells[barColumn - 1];
  let colour = null, bar = null;
  return { node, show(row) {
    words(name, row.cells[0]);
    words(won, row.mark);
    words(chosen, row.chosen ? "chosen" : "");
    flag(node, "npc-chosen", row.chosen);
    flag(node, "npc-winner", row.mark !== "");
    cells.forEach((cell, at) => words(cell.firstChild, row.cells[at + 1]));
    if (row.colour !== colour) {
      colour = row.colour;
      node.style.setProperty("--light", colour || "transparent");
      node.style.setProperty("--dark", ON_DARK[colour] ?? (colour || "transparent"));
    }
    if (barred && row.bar !== bar) {
      bar = row.bar;
      flag(barred, "npc-bar", bar !== null);
      barred.style.setProperty("--bar", bar ?? 0);
    }
  } };
}

function table() {
  const title = make("caption"), head = make("tr"), body = make("tbody"), widths = make("colgroup");
  const sheet = make("table", {}, title, widths, make("thead", {}, head), body);
  const around = make("div", { className: "npc-scroll", tabIndex: 0, role: "region" }, sheet);
  const sentence = make("p", { className: "npc-sentence" });
  const node = make("section", { className: "npc-card npc-table npc-wide" }, around, sentence);
  let built = "", rows = [], columns = [], barColumn = 1;
  function build(card) {
    columns = card.columns, barColumn = card.bar_column, rows = [];
    const parts = columns.map((column, at) => (at === 0 ? 2.1 : column.align === "left" ? 1.8 : 1));
    const all = parts.reduce((sum, part) => sum + part, 0);
    widths.replaceChildren(...parts.map((part) => make("col", { style: `width: ${(100 * part) / all}%` })));
    sheet.style.setProperty("--least", `${77 * all}px`); // below it the card scrolls, its first column stays
    head.replaceChildren(...columns.map((column, at) => make("th", { scope: "col", className: at ? `npc-${column.align}` : "" },
      column.name, ...(column.help ? [make("small", {}, column.help)] : []))));
    body.replaceChildren();
  }
  return { node, show(card) {
    const wanted = JSON.stringify([card.columns, card.bar_column]);
    if (wanted !== built) build(card), (built = wanted);
    flag(node, "npc-told", card.told);
    flag(node, "npc-long", card.rows.length > 12);
    flag(node, "npc-plain", !card.rows.some((row) => row.colour || row.mark || row.chosen));
    words(title, card.title);
    words(sentence, card.sentence);
    if (around.ariaLabel !== card.title) around.ariaLabel = card.title;
    card.rows.forEach((row, at) => {
      if (!rows[at]) body.append((rows[at] = tableRow(columns, barColumn)).node);
      rows[at].show(row);
    });
    while (rows.length > card.rows.length) rows.pop().node.remove();
  } };
}

// --- the page -----------------------------------------------------------------------------------------------

function save(name, type, bytes) {
  const link = make("a", { href: URL.createObjectURL(new Blob(bytes, { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function shareable(model) {
  const url = new URL(location.href);
  url.search = model.get("address");
  return url;
}

function initialize({ model }) {
  if (!inVoila()) return;
  if (location.search.length > 1) {
    model.set("link", location.search);
    model.save_changes();
  }
  let timer = 0;
  const follow = () => {
    history.replaceState(null, "", shareable(model));
    if (!("model" in model.get("values"))) return;
    for (const link of document.querySelectorAll("[data-takes=scenario]")) { // the other pages open with these numbers
      const url = new URL(link.href);
      url.search = model.get("address");
      link.href = url;
    }
  };
  model.on("change:address", () => {
    clearTimeout(timer);
    timer = setTimeout(follow, 250);
  });
}

// --- paper: what is about to be printed is light, whatever the reader's screen is, and each chart has its place's size

function onPaper(root, turn) {
  const media = matchMedia("print");
  function react(on) {
    if (root.classList.contains("npc-paper") === on) return;
    root.classList.toggle("npc-paper", on);
    turn(on);
  }
  const before = () => react(true), after = () => react(false), changed = () => react(media.matches);
  addEventListener("beforeprint", before);
  addEventListener("afterprint", after);
  media.addEventListener("change", changed);
  return () => {
    removeEventListener("beforeprint", before);
    removeEventListener("afterprint", after);
    media.removeEventListener("change", changed);
  };
}

// What only a printed page has: the scenario in words, and where and when it is from. Filled when it is printed.
function paper(model) {
  const inputs = make("section", { className: "npc-inputs" }), foot = make("footer", { className: "npc-foot" });
  const groups = (told) => Map.groupBy(model.get("controls").filter((spec) => spec.name in told), (spec) => spec.group);
  const list = (told) => ([group, specs]) => make("dl", {}, make("dt", { className: "npc-group" }, group.split(":")[0]),
    ...specs.map((spec) => make("div", {}, make("dt", {}, spec.label), make("dd", {}, told[spec.name]))));
  function link(lacks) {
    if (!inVoila()) return [];
    const { href } = shareable(model);
    const without = lacks.length ? ` It cannot hold ${lacks.join(", ")}.` : "";
    return [make("p", {}, "Open it with these numbers: ", make("a", { href }, href), without)];
  }
  function fill() {
    const { told, lacks, prices } = model.get("view");
    inputs.replaceChildren(make("h3", {}, "Computed for"), ...[...groups(told)].map(list(told)));
    const today = new Date().toLocaleDateString("sv"); // as 2026-11-30, like the prices' dates
    foot.replaceChildren(...link(lacks), make("p", {}, `${prices} Printed ${today}.`.trim()));
  }
  return { inputs, foot, fill };
}

function actions(model) {
  const button = (text, attributes, act) => {
    const node = make("button", { type: "button", ...attributes }, text);
    node.addEventListener("click", act);
    return node;
  };
  const wants = (want) => button(want.toUpperCase(), { ariaLabel: `Download ${want.toUpperCase()}` }, () => model.send({ want }));
  const copy = make("button", { type: "button" }, "Copy link");
  copy.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(shareable(model).href);
      copy.textContent = "Copied";
    } catch {
      prompt("This link restores every control:", shareable(model).href);
    }
    setTimeout(() => (copy.textContent = "Copy link"), 1500);
  });
  function keep(content, buffers) {
    if (content.csv) save(content.csv, "text/csv", buffers);
    if (content.json) save(content.json, "application/json", buffers);
  }
  model.on("msg:custom", keep);
  const toPrint = button("Print", {}, () => plotly(model).then(() => print()));
  const group = make("div", { className: "npc-keep", role: "group", ariaLabel: "Keep" }, wants("csv"), wants("json"), ...(inVoila() ? [toPrint] : []));
  const node = make("div", { className: "npc-actions" }, ...(inVoila() ? [copy] : []), group);
  return { node, stop: () => model.off("msg:custom", keep) };
}

function panel(model, set, isPending) {
  const controls = new Map();
  const form = make("form", { className: "npc-card npc-panel" });
  form.setAttribute("aria-label", "What you can change");
  form.addEventListener("submit", (event) => event.preventDefault());
  function build() {
    const open = new Set([...form.querySelectorAll("details[open]")].map((node) => node.dataset.group));
    const groups = new Map();
    controls.clear();
    form.replaceChildren();
    for (const spec of model.get("controls")) {
      if (!groups.has(spec.group)) {
        const folded = spec.group.startsWith("More");
        const group = folded
          ? make("details", { open: open.has(spec.group) }, make("summary", {}, spec.group))
          : make("fieldset", {}, make("legend", {}, spec.group));
        group.dataset.group = spec.group;
        groups.set(spec.group, group);
        form.append(group);
      }
      const control = KINDS[spec.type](spec, set, model);
      controls.set(spec.name, control);
      groups.get(spec.group).append(control.node);
    }
    show();
    complain();
  }
  function show() {
    for (const [name, value] of Object.entries(model.get("values"))) if (!isPending(name)) controls.get(name)?.show(value);
  }
  function complain() {
    const errors = model.get("errors"), said = model.get("said");
    for (const [name, control] of controls) {
      control.error.textContent = errors[name] ?? "";
      control.node.classList.toggle("npc-bad", name in errors);
      for (const input of control.node.querySelectorAll("input, select")) {
        if (name in errors) input.setAttribute("aria-invalid", "true");
        else input.removeAttribute("aria-invalid");
      }
      if (name in errors && control.node.closest("details")) control.node.closest("details").open = true;
    }
    for (const spec of model.get("controls").filter((one) => one.type === "upload")) {
      controls.get(spec.name).help.textContent = said[spec.name] ?? spec.help;
    }
  }
  build();
  const listening = [["change:controls", build], ["change:values", show], ["change:answered", show], ["change:errors", complain], ["change:said", complain]];
  listening.forEach(([event, react]) => model.on(event, react));
  return { form, stop: () => listening.forEach(([event, react]) => model.off(event, react)) };
}

function render({ model, el }) {
  const root = make(inVoila() ? "main" : "div", { className: "npc" });
  const around = make("div", { className: "npc-root" }, root);
  around.model = model; // at hand in the console, and for what plays a move again without a server
  el.append(around); // the page fits the width it is given, not the window's
  const banner = make("p", { className: "npc-banner", role: "status" });
  const headline = make("h2", { className: "npc-headline" }), answer = make("p", { className: "npc-answer" });
  const tiles = make("div", { className: "npc-tiles" }), notes = make("div", { className: "npc-notes" });
  const told = make("details", { className: "npc-words" }, make("summary", {}, "What these numbers mean"), make("p"), make("dl"));
  const end = document.createComment("end"), grid = make("div", { className: "npc-charts" }, end), charts = [], tables = [];
  let waiting = 0, resting = 0;

  // What the visitor has moved and the kernel has not answered yet; an older answer must not move it back.
  const pending = new Map();
  let asked = model.get("asked");
  function set(name, value) {
    clearTimeout(resting);
    pending.delete(name); // the order of a map is the order of the last moves
    pending.set(name, { value, move: ++asked });
    const moved = Object.fromEntries([...pending].map(([key, one]) => [key, one.value]));
    model.set({ values: { ...model.get("values"), ...moved }, moved: [...pending.keys()], asked });
    model.save_changes();
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      banner.textContent = "The connection to the server is lost. Reload the page; the address keeps your numbers.";
    }, 15000);
  }
  function isPending(name) {
    if (pending.get(name)?.move <= model.get("answered")) pending.delete(name);
    return pending.has(name);
  }
  const inputs = panel(model, set, isPending), bar = actions(model), printed = paper(model);

  function tile() {
    const node = make("section", { className: "npc-card npc-tile" }, make("h3"), make("strong"), make("p"));
    tiles.append(node);
    return node;
  }
  function show() {
    const view = model.get("view");
    words(banner, view.banner ?? "");
    words(headline, view.headline);
    headline.style.setProperty("--long", view.headline.length); // so that it stays on one line
    words(answer, view.answer);
    words(told.children[1], view.answer);
    if (told.lastChild.textContent !== view.tiles.map((data) => data.label + data.sentence).join("")) {
      told.lastChild.replaceChildren(...view.tiles.flatMap((data) => [make("dt", {}, data.label), make("dd", {}, data.sentence)]));
    }
    tiles.style.setProperty("--word", longestWord(view.tiles.map((data) => data.label)));
    view.tiles.forEach((data, at) => {
      const node = tiles.children[at] ?? tile();
      words(node.children[0], data.label);
      words(node.children[1], data.big);
      node.children[1].style.setProperty("--long", data.big.length);
      words(node.children[2], data.sentence);
    });
    view.charts.forEach((card, at) => {
      if (!charts[at]) end.before((charts[at] = chart(model)).node);
      charts[at].show(card);
    });
    view.tables.forEach((card, at) => {
      tables[at] ??= table();
      if (!tables[at].node.parentNode) (charts[card.after]?.node ?? end).before(tables[at].node);
      tables[at].show(card);
    });
    for (const [made, { length }] of [[charts, view.charts], [tables, view.tables]]) {
      made.forEach(({ node }, at) => {
        flag(node, "npc-waits", view.more && at >= length);
        node.hidden = !view.more && at >= length;
      });
    }
    notes.hidden = !view.notes.length;
    const lines = [make("h3", {}, "Sources and assumptions"), ...view.notes.map((text) => make("p", {}, text))];
    if (notes.textContent !== lines.map((line) => line.textContent).join("")) notes.replaceChildren(...lines);
    charts.slice(0, view.charts.length).forEach((one) => one.plot());
    answered();
  }
  function answered() { // what does not follow the hand is asked for once it rests
    clearTimeout(waiting);
    clearTimeout(resting);
    if (model.get("view").more) resting = setTimeout(() => model.send({ want: "rest" }), REST_MS);
  }
  root.append(
    make("header", { className: "npc-head" },
      make("div", {}, make("h1", {}, model.get("title")), make("p", {}, model.get("intro"))), bar.node),
    banner,
    make("section", { className: "npc-top", ariaLabel: "The answer" }, headline, answer, tiles),
    told,
    inputs.form, grid, printed.inputs, notes, printed.foot,
  );
  headline.setAttribute("aria-live", "polite");
  show();
  model.on("change:view", show);
  model.on("change:answered", answered);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const restyle = () => charts.forEach((one) => one.restyle());
  dark.addEventListener("change", restyle);
  const leavePaper = onPaper(around, (on) => {
    around.classList.toggle("npc-sheet", on);
    if (on) printed.fill();
    charts.forEach((one) => one.redraw());
  });
  const theme = new MutationObserver(restyle);
  theme.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light", "class"] });
  return () => {
    clearTimeout(resting);
    model.off("change:view", show);
    model.off("change:answered", answered);
    bar.stop();
    inputs.stop();
    dark.removeEventListener("change", restyle);
    leavePaper();
    theme.disconnect();
    charts.forEach((one) => one.stop());
  };
}

export default { initialize, render };
