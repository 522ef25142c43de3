// What lessons add to page.js, behind which this file stands: a question with an answer, and a figure with sliders.

function button(text, act, quiet) {
  const node = make("button", { type: "button", className: quiet ? "npc-quiet" : "" }, text);
  node.addEventListener("click", act);
  return node;
}

// One field for a number, or a button for each option; `send` gets what was answered.
function answerInput(spec, send) {
  if (spec.options.length) {
    const options = spec.options.map((option) => button(option, () => send(option)));
    return { node: make("div", { className: "npc-options", role: "group", ariaLabel: spec.question }, ...options), options };
  }
  const id = `npc-${++ids}`;
  const input = make("input", { type: "text", inputMode: "decimal", autocomplete: "off", className: "npc-number", id });
  input.setAttribute("aria-label", spec.unit ? `Your answer in ${spec.unit}` : "Your answer");
  input.dataset.lmSuppressShortcuts = "true"; // JupyterLab would take the keys from it
  const unit = make("span", { className: "npc-unit" }, spec.unit);
  const form = make("form", { className: "npc-type" }, ...(spec.unit === "$" ? [unit, input] : [input, unit]),
    make("button", { type: "submit" }, spec.button));
  form.addEventListener("submit", (event) => { event.preventDefault(); if (input.value.trim()) send(input.value); });
  return { node: form, input, options: [] };
}

function asking(model, send) {
  const spec = { ...model.get("spec"), button: model.get("kind") === "guess" ? "That is my guess" : "Check" };
  const { node, input, options } = answerInput(spec, send), error = make("p", { className: "npc-error", role: "alert" });
  return { spec, node, input, options, error };
}

function guessing(model) {
  const send = (given) => { model.set({ given, moves: model.get("moves") + 1 }); model.save_changes(); };
  const { spec, node: field, input, options, error } = asking(model, send);
  const skip = button("I would rather see it", () => send(""), true);
  const after = make("div", { className: "npc-after" });
  after.setAttribute("aria-live", "polite");
  const row = (name, value, bar, mine) => {
    const node = make("div", { className: mine ? "npc-pair npc-mine" : "npc-pair" }, make("span", {}, name), make("b", {}, value));
    if (bar !== undefined) node.append(make("i", {}));
    node.style.setProperty("--bar", bar ?? 0);
    return node;
  };
  function show() {
    const reply = model.get("reply");
    error.textContent = reply.error ?? "";
    if (!("computed" in reply)) return;
    if (input) input.disabled = true;
    for (const option of options) {
      option.disabled = true;
      option.classList.toggle("npc-picked", option.textContent === reply.yours);
      option.classList.toggle("npc-true", option.textContent === reply.computed);
    }
    if (!options.length) field.hidden = true;
    skip.hidden = true;
    const pair = options.length ? [] : [
      ...(reply.yours ? [row("your guess", reply.yours, reply.bars[0], true)] : []), row("computed", reply.computed, reply.bars[1])];
    after.replaceChildren(make("div", { className: "npc-pairs" }, ...pair), make("p", {}, ...(reply.off ? [make("b", {}, reply.off), " "] : []), reply.told));
  }
  const node = make("section", { className: "npc-ask npc-guess" }, make("p", { className: "npc-kicker" }, "Guess first"), make("p", {}, spec.question),
    field, skip, error, after);
  return { node, show };
}

function exercising(model) {
  let tries = 0;
  const send = (given) => { tries += 1; model.set({ given, moves: model.get("moves") + 1 }); model.save_changes(); };
  const { spec, node: field, options } = asking(model, send), said = make("p", { className: "npc-verdict", role: "status" });
  const hint = make("details", { hidden: !spec.hint }, make("summary", {}, "Hint"), make("p", {}, spec.hint));
  function show() {
    const reply = model.get("reply");
    if (!("right" in reply)) return;
    said.replaceChildren(make("b", {}, reply.right ? "Right. " : "Not yet. "), reply.sentence);
    node.classList.toggle("npc-solved", reply.right);
    node.classList.toggle("npc-tried", !reply.right);
    for (const option of options) option.classList.toggle("npc-picked", option.textContent === model.get("given"));
    if (!reply.right && tries > 1) hint.open = true;
  }
  const node = make("section", { className: "npc-ask npc-exercise" }, make("p", { className: "npc-kicker" }, "Exercise"), make("p", {}, spec.question),
    field, said, hint);
  return { node, show };
}

function drawing(model) {
  const one = chart(model), known = new Map();
  function set(name, value) {
    model.set("values", { ...model.get("values"), [name]: value });
    model.save_changes();
  }
  const form = make("form", { className: "npc-drag" });
  form.addEventListener("submit", (event) => event.preventDefault());
  for (const spec of model.get("controls")) {
    const control = slider(spec, set);
    control.show(spec.default);
    known.set(spec.name, control);
    form.append(control.node);
  }
  one.node.classList.add("npc-figure");
  const caption = one.node.querySelector("figcaption");
  caption.setAttribute("aria-live", "polite");
  if (known.size) caption.before(form);
  function show() {
    one.show(model.get("card"));
    const values = model.get("values"), errors = model.get("errors");
    for (const [name, control] of known) {
      control.show(values[name]);
      control.error.textContent = errors[name] ?? "";
    }
    one.plot();
  }
  return { node: one.node, show, stop: one.stop, redraw: one.redraw, restyle: one.restyle };
}

// Once a page: its main part is named as such, and a formula that is wider than a phone can be scrolled by keyboard.
function aroundLessons() {
  const main = document.getElementById("rendered_cells");
  if (!main || main.role === "main") return;
  main.role = "main";
  new ResizeObserver(() => {
    for (const formula of main.querySelectorAll("mjx-container[display=true]")) {
      if (formula.scrollWidth > formula.clientWidth) formula.tabIndex = 0;
      else formula.removeAttribute("tabindex");
    }
  }).observe(main);
}

function renderLesson({ model, el }) {
  if (inVoila()) aroundLessons();
  ids = globalThis.npcmemIds = (globalThis.npcmemIds ?? 0) + 100; // each widget has this file to itself, the page its ids
  const one = { guess: guessing, exercise: exercising, figure: drawing }[model.get("kind")](model);
  const around = make("div", { className: "npc-root" }, make("div", { className: "npc npc-lesson" }, one.node));
  around.model = model; // at hand in the console, and for what plays a move again without a server
  el.append(around);
  one.show();
  const changes = "change:reply change:card change:errors";
  model.on(changes, one.show);
  const dark = matchMedia("(prefers-color-scheme: dark)"), restyle = () => one.restyle?.();
  const theme = new MutationObserver(restyle), leavePaper = onPaper(around, () => one.redraw?.());
  dark.addEventListener("change", restyle);
  theme.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light", "class"] });
  return () => {
    model.off(changes, one.show);
    dark.removeEventListener("change", restyle);
    leavePaper();
    theme.disconnect();
    one.stop?.();
  };
}

export default { render: renderLesson };
