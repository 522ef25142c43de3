// What a widget's page needs of a Jupyter front end, over one websocket: state both ways, messages and files.
// One message is on its way at a time; what is moved meanwhile goes with the next one.

class Model {
  constructor(state, address) {
    this.state = { link: "", ...state };
    this.address = address;
    this.reacting = new Map(); // event -> functions
    this.changed = {}; // what was set and not sent yet
    this.queue = []; // messages not sent yet
    this.busy = false;
    this.tries = 0;
    this.connect();
  }

  get(name) { return this.state[name]; }
  on(event, react) { this.reacting.set(event, [...(this.reacting.get(event) ?? []), react]); }
  off(event, react) { this.reacting.set(event, (this.reacting.get(event) ?? []).filter((one) => one !== react)); }
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

  save_changes() { this.next(); }

  send(content, _, buffers = []) {
    this.queue.push([content, buffers]);
    this.next();
  }

  next() {
    if (this.busy || this.socket.readyState !== WebSocket.OPEN) return;
    if (Object.keys(this.changed).length) {
      const { link, ...rest } = this.changed;
      this.socket.send(JSON.stringify({ state: link === undefined ? rest : { link } })); // what was moved comes after it
      this.changed = link === undefined ? {} : rest;
    } else if (this.queue.length) {
      const [content, buffers] = this.queue.shift();
      const line = JSON.stringify({ content });
      this.socket.send(buffers.length ? new Blob([line, "\n", ...buffers]) : line);
    } else return;
    this.busy = true;
  }

  connect() {
    this.socket = new WebSocket(this.address);
    this.socket.addEventListener("open", () => {
      this.tries = 0;
      this.next();
    });
    this.socket.addEventListener("message", ({ data }) => {
      const { state, messages } = JSON.parse(data);
      this.busy = false;
      this.take(state);
      for (const { content, buffers } of messages) this.tell("msg:custom", content, buffers.map(bytes));
      this.next();
    });
    this.socket.addEventListener("close", () => this.again());
  }

  // A new line meets a new page on the server: it is told the numbers of this one, then what has moved since.
  again() {
    this.busy = false;
    const { address, values, moved, asked, answered } = this.state;
    if (address) this.changed.link = `?${address}`;
    if (asked !== answered) Object.assign(this.changed, { values, moved, asked });
    setTimeout(() => this.connect(), Math.min(15_000, 500 * 2 ** this.tries++));
  }
}

const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

const { page, live } = document.body.dataset;
document.querySelector(".site-nav [aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" });
const address = new URL(live, location.href);
address.protocol = address.protocol.replace("http", "ws");
address.search = "";
const { default: widget } = await import(new URL(page, location.href));
const model = new Model(JSON.parse(document.getElementById("state").textContent), address);
widget.initialize({ model });
widget.render({ model, el: document.getElementById("page") });
