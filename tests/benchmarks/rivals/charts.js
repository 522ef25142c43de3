// Sees when plotly charts are drawn again after a key, whichever framework draws them, shadow roots included.
(() => {
  const roots = (from) => [from, ...[...from.querySelectorAll("*")].flatMap((node) => (node.shadowRoot ? roots(node.shadowRoot) : []))];
  const all = () => roots(document).flatMap((root) => [...root.querySelectorAll(".js-plotly-plot")]).filter((plot) => plot.querySelector(".main-svg"));
  let key = 0, last = 0, count = 0, charts = [], before = [];

  const words = () => charts.map((plot) => JSON.stringify(plot.data));
  const find = () => (charts = all().slice(0, count));
  function isOurs(target) {
    const plot = (target.closest ? target : target.parentElement)?.closest(".js-plotly-plot");
    return plot && (charts.includes(plot) || (charts.some((one) => !one.isConnected) && find().includes(plot)));
  }
  const seen = new MutationObserver((records) => {
    if (records.some((record) => isOurs(record.target))) last = performance.now();
  });
  addEventListener("keydown", () => { key = performance.now(); last = 0; }, true);

  window.charts = {
    drawn: (wanted) => all().length >= wanted,
    // To be called before a key is pressed: remembers what the first `wanted` charts show.
    arm(wanted) {
      count = wanted, before = (find(), words());
      const what = { childList: true, subtree: true, attributes: true, attributeFilter: ["d", "transform"] };
      for (const root of roots(document)) seen.observe(root, what);
    },
    changed: () => (find(), words().filter((now, at) => now !== before[at]).length),
    // [milliseconds from the key to the last change in a chart, how many charts show something else than before it]
    settled: (rest, patience) => new Promise((done) => {
      const look = () => {
        const now = performance.now();
        if (last && now - last > rest) return done([last - key, window.charts.changed()]);
        if (now - key > patience) return done([NaN, window.charts.changed()]);
        setTimeout(look, 20);
      };
      look();
    }),
  };
})();
