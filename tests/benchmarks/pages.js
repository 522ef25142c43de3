// On npcmem's pages: times a key until the charts in view are drawn, and draws the same again with no server between.
(() => {
  const WORDS = ".npc-tiles, .npc-table tbody";
  const inView = (node) => { const box = node.getBoundingClientRect(); return box.bottom > 0 && box.top < innerHeight; };
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const painted = async () => { await frame(); await new Promise((done) => setTimeout(done)); };
  const copy = ({ data, layout }) => [structuredClone(data), structuredClone(layout), { displayModeBar: false, responsive: false }];
  let key = 0, drawnAt = 0, wordsAt = 0, drawn = new Set(), now = null;
  const moves = [];

  function state() {
    const plots = [...document.querySelectorAll(".npc-plot")].filter((plot) => plot.data);
    return {
      charts: new Map(plots.map((plot) => [plot, { data: plot.data, layout: plot.layout }])),
      words: [...document.querySelectorAll(WORDS)].map((node) => node.cloneNode(true)),
    };
  }
  addEventListener("keydown", () => { key = performance.now(); drawnAt = wordsAt = 0; drawn.clear(); }, true);
  addEventListener("npcdrawn", (event) => { // charts off screen are drawn once the hand rests
    const plot = event.target.querySelector(".npc-plot");
    if (!inView(plot)) return;
    drawnAt = performance.now();
    drawn.add(plot);
  });
  new MutationObserver(async (records) => {
    if (!records.some((record) => (record.target.closest ? record.target : record.target.parentElement)?.closest(WORDS))) return;
    const pressed = key;
    await painted();
    if (pressed === key) wordsAt = performance.now();
  }).observe(document.body, { subtree: true, childList: true, characterData: true });

  window.bench = {
    // What an answer changes: the figure a slider belongs to in a lesson, else what the page says. Null until drawn.
    says(control) {
      const figure = control.closest(".npc-figure");
      if (figure) return figure.querySelector(".npc-plot").data ? JSON.stringify(figure.querySelector(".npc-plot").data) : null;
      return [...document.querySelectorAll(".npc-top, .npc-table")].map((node) => node.textContent).join("\n") || null;
    },
    start() { now = state(); moves.length = 0; },
    // [milliseconds from the key to the last chart in view drawn, true]; to changed words painted, and false, where no
    // chart in view changes; null where nothing does. With `chartsOnly` a move that draws none is not kept for `again`.
    settled: (rest, patience, chartsOnly) => new Promise((done) => {
      const look = () => {
        const last = Math.max(drawnAt, wordsAt), waited = performance.now() - (last || key);
        if (waited < (last ? rest : patience)) return setTimeout(look, 20);
        const before = now, charted = drawn.size > 0;
        now = state();
        if (!last) return done(null);
        if (charted || !chartsOnly) moves.push({ before, after: now, plots: [...drawn] });
        done([(drawnAt || wordsAt) - key, charted]);
      };
      look();
    }),
    // The browser-only limit: for each move since `start`, milliseconds to draw the same figures once more.
    async again() {
      const lags = [];
      for (const { before, after, plots } of moves) {
        for (const plot of plots) await Plotly.react(plot, ...copy(before.charts.get(plot) ?? after.charts.get(plot)));
        const next = plots.map((plot) => copy(after.charts.get(plot))), words = after.words.map((node) => node.cloneNode(true));
        await new Promise((done) => setTimeout(done, 120));
        const start = performance.now();
        await frame();
        if (plots.length) await Promise.all(plots.map((plot, at) => Plotly.react(plot, ...next[at])));
        else {
          document.querySelectorAll(WORDS).forEach((node, at) => node.replaceWith(words[at]));
          await painted();
        }
        lags.push(performance.now() - start);
      }
      return lags;
    },
  };
})();
