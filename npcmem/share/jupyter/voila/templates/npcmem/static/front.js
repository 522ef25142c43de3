// The front page's figure: three ways to remember, a slider for turns, a choice of pace. All numbers come with the page.

const root = document.querySelector(".live"), data = JSON.parse(root.querySelector("script").textContent);
const plot = root.querySelector(".live-plot"), slider = root.querySelector("input[type=range]"), told = root.querySelector(".live-told");
const NS = "http://www.w3.org/2000/svg", LINES = ["plain", "cached", "best"];
const turns = data.plain.length, most = Math.max(...data.plain, ...data.paces.flatMap((pace) => pace.cached));
const room = { left: 52, right: 14, top: 16, bottom: 34 };
let at = 2;

function usd(value) {
  const digits = value < 100 ? 2 : 0;
  return `$${value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits })}`;
}

function add(parent, tag, attributes = {}, text = "") {
  const node = document.createElementNS(NS, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.textContent = text;
  return parent.appendChild(node);
}

function ticks(top, count) {
  const raw = top / count, unit = 10 ** Math.floor(Math.log10(raw)), step = [1, 2, 5, 10].find((one) => one * unit >= raw) * unit;
  return Array.from({ length: Math.floor(top / step) + 1 }, (_, one) => one * step);
}

function draw() {
  const width = plot.clientWidth, height = plot.clientHeight, n = +slider.value, pace = data.paces[at];
  const lines = { plain: data.plain, cached: pace.cached, best: pace.best };
  const x = (turn) => room.left + ((turn - 1) / (turns - 1)) * (width - room.left - room.right);
  const y = (value) => height - room.bottom - (value / most) * (height - room.top - room.bottom);
  const svg = document.createElementNS(NS, "svg");
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  for (const value of ticks(most, 4)) {
    add(svg, "line", { class: "grid", x1: room.left, x2: width - room.right, y1: y(value), y2: y(value) });
    add(svg, "text", { class: "tick", x: room.left - 8, y: y(value) + 4, "text-anchor": "end" }, `$${value}`);
  }
  for (const turn of [1, ...ticks(turns, width < 480 ? 4 : 8).slice(1)]) {
    add(svg, "text", { class: "tick", x: x(turn) + (turn === turns ? 8 : 0), y: height - 14, "text-anchor": turn === turns ? "end" : "middle" }, turn === turns ? `${turn} turns` : turn);
  }
  const area = data.plain.map((value, turn) => `${x(turn + 1)},${y(value)}`).join(" ");
  add(svg, "polygon", { class: "saved", points: `${area} ${[...pace.best].map((value, turn) => `${x(turn + 1)},${y(value)}`).reverse().join(" ")}` });
  add(svg, "line", { class: "now", x1: x(n), x2: x(n), y1: room.top, y2: height - room.bottom });
  for (const name of LINES) {
    add(svg, "polyline", { class: `line ${name}`, points: lines[name].map((value, turn) => `${x(turn + 1)},${y(value)}`).join(" ") });
    add(svg, "circle", { class: `dot ${name}`, cx: x(n), cy: y(lines[name][n - 1]), r: 5.5 });
  }
  plot.replaceChildren(svg);
  plot.setAttribute("aria-label", `Dollars for ${data.sessions} conversations by turns, 1 to ${turns}. At ${n} turns: sent whole `
    + `${usd(lines.plain[n - 1])}, with the cache ${usd(lines.cached[n - 1])}, remembered well ${usd(lines.best[n - 1])}.`);
  root.querySelector(".live-turns").textContent = n;
  slider.style.setProperty("--at", `${(100 * (n - 1)) / (turns - 1)}%`);
  slider.setAttribute("aria-valuetext", `${n} turns`);
  for (const name of LINES) root.querySelector(`.live-${name}`).textContent = usd(lines[name][n - 1]);
  root.querySelector(".live-how").textContent = pace.names[n - 1];
  const share = 1 - lines.best[n - 1] / lines.plain[n - 1];
  told.textContent = share > 0.005 ? `${Math.round(100 * share)} % less` : "no less";
}

slider.addEventListener("input", draw);
for (const [index, button] of [...root.querySelectorAll("[name=pace]")].entries()) {
  button.addEventListener("change", () => { at = index; draw(); });
  if (button.checked) at = index;
}
plot.addEventListener("pointermove", (event) => {
  if (event.pointerType === "touch") return;
  const box = plot.getBoundingClientRect(), part = (event.clientX - box.left - room.left) / (box.width - room.left - room.right);
  slider.value = 1 + Math.round(Math.min(1, Math.max(0, part)) * (turns - 1));
  draw();
});
new ResizeObserver(draw).observe(plot);
