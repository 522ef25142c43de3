// What a page's widgets need of a Jupyter front end, over one websocket: state both ways, messages and files.
// One message is on its way at a time; what is moved meanwhile goes with the next one.

class Model {
  constructor(state, at, line) {
    Object.assign(this, { state: { link: "", ...state }, at, line });
    this.reacting = new Map(); // event -> functions
    this.changed = {}; // what was set and not sent yet
    this.queue = []; // messages not sent yet
  }

  get(name) { return this.state[name]; }
  on(events, react) { for (const event of events.split(" ")) this.reacting.set(event, [...(this.reacting.get(event) ?? []), react]); }
  off(events, react) { for (const event of events.split(" ")) this.reacting.set(event, (this.reacting.get(event) ?? []).filter((one) => one !== react)); }
  tell(event, ...given) { for (const react of this.reacting.get(event) ?? []) react(...given); }

  set(name, value) {
    const given = typeof name === "string" ? { [name]: value } : name;
    Object.assign(this.changed, given);
    this.take(given);
  }

  take(given) {
    Object.assign(this.state, given);
    for (const key of Object.keys(given)) this.tell(`change:${key}`);
  }

  save_changes() { this.line.next(); }

  send(content, _, buffers = []) {
    this.queue.push([content, buffers]);
    this.line.next();
  }

  // What is to be sent next, if anything is.
  next() {
    if (Object.keys(this.changed).length) {
      const { link, ...rest } = this.changed;
      this.changed = link === undefined ? {} : rest; // what was moved comes after the link
      return JSON.stringify({ at: this.at, state: link === undefined ? rest : { link } });
    }
    if (!this.queue.length) return null;
    const [content, buffers] = this.queue.shift(), line = JSON.stringify({ at: this.at, content });
    return buffers.length ? new Blob([line, "\n", ...buffers]) : line;
  }

  // A new line meets a new page on the server: it is told the numbers of this one, then what has moved since.
  again() {
    const { address, values, moved, asked, answered } = this.state;
    if (address) this.changed.link = `?${address}`;
    if (asked !== answered) Object.assign(this.changed, { values, moved, asked });
    else if (address === undefined && values) this.changed.values = values;
  }
}

class Line {
  constructor(states, address) {
    this.address = address;
    this.models = states.map((state, at) => new Model(state, at, this));
    this.busy = false;
    this.tries = 0;
    this.connect();
  }

  next() {
    if (this.busy || this.socket.readyState !== WebSocket.OPEN) return;
    for (const model of this.models) {
      const message = model.next();
      if (message === null) continue;
      this.busy = true;
      return this.socket.send(message);
    }
  }

  connect() {
    this.socket = new WebSocket(this.address);
    this.socket.addEventListener("open", () => {
      this.tries = 0;
      this.next();
    });
    this.socket.addEventListener("message", ({ data }) => {
      const { at, state, messages } = JSON.parse(data);
      this.busy = false;
      this.models[at].take(state);
      for (const { content, buffers } of messages) this.models[at].tell("msg:custom", content, buffers.map(bytes));
      this.next();
    });
    this.socket.addEventListener("close", () => {
      this.busy = false;
      for (const model of this.models) model.again();
      setTimeout(() => this.connect(), Math.min(15_000, 500 * 2 ** this.tries++));
    });
  }
}

const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

async function start({ script, live }) {
  const address = new URL(live, location.href);
  address.protocol = address.protocol.replace("http", "ws");
  address.search = address.hash = "";
  const { default: widget } = await import(new URL(script, location.href));
  const line = new Line(JSON.parse(document.getElementById("states").textContent), address);
  for (const el of document.querySelectorAll("[data-widget]")) {
    const model = line.models[el.dataset.widget];
    widget.initialize?.({ model });
    widget.render({ model, el });
  }
}

document.querySelector(".site-nav [aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" });
if (document.body.dataset.script) await start(document.body.dataset); // a page of words alone has none
