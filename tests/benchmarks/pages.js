// On npcmem's pages: times a key until the charts in view are drawn, and plays the same move with no server between.
(() => {
  const WORDS = ".npc-tiles, .npc-table tbody";
  const inView = (node) => { const box = node.getBoundingClientRect(); return box.bottom > 0 && box.top < innerHeight; };
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const pause = (ms) => new Promise((done) => setTimeout(done, ms));
  const painted = async () => { await frame(); await pause(0); };
  let key = 0, pressed = null, drawnAt = 0, wordsAt = 0, drawn = new Set(), charted = () => {}, worded = () => {};

  // The control a key went to, its value, and all that its widget shows.
  function state(control) {
    const { model } = control.closest(".npc-root"), name = model.get("view") ? "view" : "card";
    return { control, value: control.value, model, name, shown: model.get(name) };
  }
  addEventListener("keydown", ({ target }) => {
    key = performance.now();
    pressed = state(target);
    drawnAt = wordsAt = 0;
    drawn.clear();
  }, true);
  addEventListener("npcdrawn", (event) => { // charts off screen are drawn once the hand rests
    const plot = event.target.querySelector(".npc-plot");
    if (!inView(plot)) return;
    drawnAt = performance.now();
    drawn.add(plot);
    charted();
  });
  new MutationObserver(async (records) => {
    if (!records.some((record) => (record.target.closest ? record.target : record.target.parentElement)?.closest(WORDS))) return;
    const since = key;
    await painted();
    if (since === key) wordsAt = performance.now();
    worded();
  }).observe(document.body, { subtree: true, childList: true, characterData: true });

  window.bench = {
    // What an answer changes: the figure a slider belongs to in a lesson, else what the page says. Null until drawn.
    says(control) {
      const figure = control.closest(".npc-figure");
      if (figure) return figure.querySelector(".npc-plot").data ? JSON.stringify(figure.querySelector(".npc-plot").data) : null;
      return [...document.querySelectorAll(".npc-top, .npc-table")].map((node) => node.textContent).join("\n") || null;
    },
    // [milliseconds from the key to the last chart in view drawn, true]; to changed words painted, and false, where no
    // chart in view changes; null where nothing does.
    settled: (rest, patience) => new Promise((done) => {
      const look = () => {
        const last = Math.max(drawnAt, wordsAt), waited = performance.now() - (last || key);
        if (waited < (last ? rest : patience)) return setTimeout(look, 20);
        if (!last) return done(null);
        done([(drawnAt || wordsAt) - key, drawn.size > 0]);
      };
      look();
    }),
    // The browser-only limit of the last move: milliseconds from the moved control to the same change where the
    // kernel's answer is at hand at once.
    async again(rest) {
      const before = pressed, { control, model, name } = before, after = state(control), charts = drawn.size;
      const { save_changes: save } = model, answer = structuredClone(after.shown);
      control.value = before.value;
      model.set(name, structuredClone(before.shown));
      await pause(rest);
      model.save_changes = () => {
        if (model.get("asked") !== undefined) model.set("answered", model.get("asked"));
        model.set(name, answer);
      };
      let left = charts;
      const changed = new Promise((done) => {
        if (charts) charted = () => --left || done();
        else worded = done;
        setTimeout(done, 2000);
      });
      await frame();
      const start = performance.now();
      control.value = after.value;
      control.dispatchEvent(new Event(control.type === "range" ? "input" : "change", { bubbles: true }));
      await changed;
      const lag = performance.now() - start;
      charted = worded = () => {};
      model.save_changes = save;
      await pause(rest);
      return lag;
    },
  };
})();
