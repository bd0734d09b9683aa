// The page: controls, mouse, touch and keyboard, messages, and the motion of the model.

const LONG_PRESS = 550; // milliseconds
const DRAG_DISTANCE = 4; // pixels
const GRAB_DISTANCE = 14; // pixels
const STEP = 0.05; // of the cursor, in the plane
const FRAME_TIME = 70; // milliseconds from one breakpoint to the next
const LONGEST_MOTION = 1100; // milliseconds
const PACE = { add: 1, forget: 1, set: 1, move: 0.35 }; // factor of the time of a motion, by action
const SLIDER_STEPS = 400;
const CLASS_NAMES = ["orange circle", "blue square"];
const TAB_TITLES = {
  classification: "Classification",
  regression: "Regression",
  "one-class": "One-class",
  ensemble: "Ensemble",
};
const LEGENDS = {
  labels: ["on the margin", "within the margin or misclassified"],
  values: ["on the edge of the tube", "outside of the tube"],
  none: ["on the boundary", "outlier"],
};
const FIGURES = [
  ["kkt_violation", "largest KKT violation"],
  ["relative_gap", "relative duality gap"],
  ["primal_objective", "primal objective"],
  ["dual_objective", "dual objective"],
  ["n_rows", "points examined"],
];
const HELP =
  "Click adds a point. Right-click or a long press removes the nearest one. Drag moves one. " +
  "Keys: arrows move the cursor (Shift: fine), Enter adds, Delete removes, M picks up and puts down, " +
  "1 and 2 choose the class.";

/** Return an element with attributes and children. */
function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== false && value !== null) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

/** Return a number as short text. */
function short(value) {
  if (value === null || value === undefined) return "–";
  if (value === 0 || Number.isInteger(value)) return String(value);
  const size = Math.abs(value);
  return size < 1e-3 || size >= 1e5 ? value.toExponential(1) : String(Number(value.toPrecision(5)));
}

let pages = 0; // a notebook may show several

class Page {
  /**
   * @param {HTMLElement} root
   * @param {function} transport sends a message and returns a promise of the state
   */
  constructor(root, transport) {
    this.root = root;
    this.transport = transport;
    this.number = ++pages;
    this.queue = [];
    this.busy = false;
    this.state = null;
    this.label = 0;
    this.near = null; // index of the point below the pointer
    this.held = null; // id of the point that the keyboard moves
    this.cursor = [0, 0];
    this.drag = null;
    this.version = 0;
    this.build();
    this.plot = new Plot(this.canvas);
    this.observer = new ResizeObserver(() => this.fit());
    this.observer.observe(this.canvas);
    this.setTheme(startTheme());
    this.send({ action: "state" });
  }

  /** End all that runs without events of the page. */
  close() {
    this.observer.disconnect();
    cancelAnimationFrame(this.request);
  }

  // -- elements ---------------------------------------------------------------------------------

  build() {
    const root = this.root;
    root.classList.add("ws-play");
    root.dataset.lmSuppressShortcuts = "true"; // keys on the plane are no commands of JupyterLab
    this.tabs = h("div", { role: "tablist", class: "ws-tabs", "aria-label": "Kind of problem" });
    this.themeButton = h("button", { type: "button", class: "ws-quiet", onclick: () => this.toggleTheme() });
    this.canvas = h("canvas", {
      class: "ws-canvas", tabindex: "0", role: "application", "aria-roledescription": "plane of points",
      "aria-label": `Plane of points. ${HELP}`, "aria-describedby": `ws-summary-${this.number}`,
    });
    this.legend = h("ul", { class: "ws-legend", "aria-label": "Legend" });
    this.progress = h("div", { class: "ws-progress", "aria-hidden": "true" });
    this.summary = h("p", { class: "ws-summary", id: `ws-summary-${this.number}` });
    this.live = h("p", { class: "ws-hidden", role: "status", "aria-live": "polite" });
    this.alert = h("p", { class: "ws-alert", role: "alert", hidden: true });
    this.side = h("div", { class: "ws-side" }, this.tools(), this.modelCard(), this.certificateCard(), this.pathCard());
    root.replaceChildren(
      h("header", { class: "ws-head" }, h("h1", {}, "widestreet ", h("span", {}, "playground")), this.tabs, this.themeButton),
      h("div", { class: "ws-main" },
        h("div", { class: "ws-stage", role: "tabpanel", id: `ws-panel-${this.number}` },
          h("div", { class: "ws-frame" }, this.canvas, this.progress), this.legend, this.summary, this.alert,
          h("p", { class: "ws-help" }, HELP)),
        this.side),
      this.live,
    );
    this.listen();
  }

  tools() {
    this.classChoice = h("fieldset", { class: "ws-classes" }, h("legend", {}, "Class of new points"));
    CLASS_NAMES.forEach((name, label) => {
      const input = h("input", {
        type: "radio", name: `ws-class-${this.number}`, value: label, checked: label === 0, onchange: () => this.choose(label),
      });
      this.classChoice.append(h("label", {}, input, h("span", { class: `ws-dot ws-dot-${label}` }), name));
    });
    this.examples = h("select", {
      "aria-label": "Load example points",
      onchange: () => this.examples.value && this.send({ action: "load", name: this.examples.value }),
    });
    return h("section", { class: "ws-card", "aria-label": "Points" },
      this.classChoice,
      h("div", { class: "ws-row" }, this.examples,
        h("button", { type: "button", onclick: () => this.send({ action: "clear" }) }, "Remove all")));
  }

  modelCard() {
    const choose = (action, key, select) => this.send({ action, [key]: select.value });
    this.machines = h("select", { onchange: () => choose("use", "machine", this.machines) });
    this.kernels = h("select", { onchange: () => choose("set", "kernel", this.kernels) });
    this.sliders = h("div", { class: "ws-sliders" });
    return h("section", { class: "ws-card", "aria-label": "Model" },
      h("h2", {}, "Model"),
      h("div", { class: "ws-row" },
        h("label", { class: "ws-field" }, "estimator", this.machines),
        h("label", { class: "ws-field" }, "kernel", this.kernels)),
      this.sliders);
  }

  certificateCard() {
    this.badge = h("span", { class: "ws-badge" });
    this.figures = h("dl", { class: "ws-figures" });
    this.meaning = h("p", { class: "ws-note" });
    this.refitLine = h("p", { class: "ws-note", role: "status" });
    return h("section", { class: "ws-card", "aria-label": "Certificate" },
      h("h2", {}, "Certificate ", this.badge), this.figures,
      h("button", { type: "button", onclick: () => this.send({ action: "refit" }) }, "Compare with a refit"),
      this.meaning, this.refitLine);
  }

  pathCard() {
    this.path = h("dl", { class: "ws-figures" });
    this.notes = h("p", { class: "ws-note" });
    this.slow = h("input", { type: "checkbox" });
    return h("section", { class: "ws-card", "aria-label": "Path of the last change" },
      h("h2", {}, "Path of the last change"), this.path,
      h("div", { class: "ws-row" },
        h("button", { type: "button", onclick: () => this.move(4) }, "Replay"),
        h("label", { class: "ws-check" }, this.slow, "slow motion")),
      this.notes);
  }

  describeLegend(state) {
    const item = (name, text) => h("li", {}, h("span", { class: `ws-key ws-key-${name}` }), text);
    const [free, bound] = LEGENDS[state.targets];
    const lines = state.machine === "ensemble"
      ? [h("li", {}, "The size of a point shows its coefficient.")]
      : [item("free", `free support vector: ${free}`), item("bound", `bound: ${bound}`), item("plain", "no support vector")];
    this.legend.replaceChildren(...lines);
  }

  // -- messages ---------------------------------------------------------------------------------

  /** Send a message after those that wait; a newer move or parameter replaces a waiting one. */
  send(message, started = performance.now()) {
    cancelAnimationFrame(this.request); // the next state ends a motion that is under way
    const last = this.queue.at(-1);
    const same = last && last.message.action === message.action && last.message.id === message.id;
    if (same && message.action === "move") last.message = message;
    else if (same && message.action === "set") Object.assign(last.message, message);
    else this.queue.push({ message, started });
    this.work();
  }

  async work() {
    if (this.busy) return;
    this.busy = true;
    this.root.dataset.busy = "true";
    while (this.queue.length) {
      const { message, started } = this.queue.shift();
      let state = null;
      try {
        state = await this.transport(message);
      } catch (error) {
        this.alert.textContent = error.message;
        this.held = null;
        if (this.state) this.draw(this.state.frames.count - 1);
      }
      this.alert.hidden = state !== null;
      if (state) this.show(state, message, started);
    }
    this.busy = false;
    this.root.dataset.busy = "false";
  }

  /** Show a new state and set the model in motion. */
  show(state, message, started) {
    const tabChanged = !this.state || this.state.tab !== state.tab;
    this.state = state;
    const frames = state.frames, rows = [...state.points, ...state.left].map((p) => p.slice(1, 3));
    this.coef = divided(new Float32Array(unpacked(frames.coef).buffer), frames.count);
    this.support = divided(unpacked(frames.support), frames.count);
    const gamma = (state.sliders.find((one) => one.name === "gamma") || {}).value;
    const line = state.targets === "values";
    this.field = new Field(rows, state.kernel, gamma, state.plane, line, this.field);
    this.computed = new Map();
    this.position = 0;
    if (tabChanged) {
      this.label = 0;
      this.held = null;
      this.fit();
    }
    this.near = null;
    this.move(PACE[message.action] ?? 0);
    this.describe(state, message);
    this.version += 1;
    this.root.dataset.version = this.version;
    this.latency = performance.now() - started;
    this.root.dataset.latency = this.latency;
    this.root.dataset.state = message.action;
  }

  // -- motion -----------------------------------------------------------------------------------

  /** Move from the first model of the last change to the last one; `slower` is a factor. */
  move(slower) {
    cancelAnimationFrame(this.request);
    const { frames } = this.state, last = frames.count - 1;
    const replay = slower > 1, still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const pace = replay ? 2 : this.slow.checked ? 4 * slower : slower;
    const moving = last > 0 && (replay || (frames.on_path && !still));
    const time = moving ? Math.min(last * FRAME_TIME, LONGEST_MOTION) * pace : 0;
    const begin = performance.now();
    const tick = () => {
      const part = time ? Math.min(1, (performance.now() - begin) / time) : 1;
      this.draw(part * last);
      this.root.dataset.moving = part < 1;
      if (part < 1) this.request = requestAnimationFrame(tick);
    };
    tick();
  }

  /** Return the decision values of a model of the last change. */
  valuesOf(frame) {
    if (!this.computed.has(frame))
      this.computed.set(frame, this.field.values(this.coef[frame], this.state.frames.intercept[frame]));
    return this.computed.get(frame);
  }

  /** Draw the model at a position between two breakpoints, where it is linear, and all points. */
  draw(position = this.position) {
    const { state } = this;
    if (!state || !this.plot.width) return;
    this.position = position;
    const { frames } = state, last = frames.count - 1;
    const low = Math.min(Math.floor(position), last), high = Math.min(low + 1, last), part = position - low;
    let values = null;
    if (state.points.length || state.left.length) {
      const [a, b] = [this.valuesOf(low), this.valuesOf(high)];
      values = part ? a.map((v, k) => v + part * (b[k] - v)) : a;
    }
    const tube = frames.tube[low] + part * (frames.tube[high] - frames.tube[low]);
    const margin = state.targets === "labels" && state.machine !== "ensemble";
    const scale = margin || !values ? 1 : 0.5 * values.reduce((most, v) => Math.max(most, v), 1e-12);
    this.plot.model({ values, tube, targets: state.targets, scale, margin });
    this.marks(low, last ? position / last : 1);
    this.progress.style.width = `${last && position < last ? (100 * position) / last : 0}%`;
  }

  /** Draw all points as those of a model; `done` is the part of the motion that is over. */
  marks(frame, done) {
    const { state } = this, shape = (label) => (state.targets === "labels" ? label : 1);
    const coef = this.coef[frame], support = this.support[frame];
    const weighted = state.machine === "ensemble" && support.some((kind) => kind);
    const most = weighted ? coef.reduce((a, c) => Math.max(a, Math.abs(c)), 0) : 1;
    for (const [, x, y, label] of state.left) this.plot.mark(x, y, shape(label), 0, { faded: 0.8 * (1 - done) });
    const order = [...state.points.keys()].sort((a, b) => (support[a] > 0) - (support[b] > 0));
    for (const k of order) {
      const [id, x, y, label] = state.points[k], near = k === this.near || id === this.held;
      const dragged = this.drag && this.drag.id === id && this.drag.place;
      const weight = weighted ? Math.abs(coef[k]) / most : null;
      this.plot.mark(...(dragged || [x, y]), shape(label), support[k], { near, weight });
    }
    if (document.activeElement === this.canvas && this.keyboard)
      this.plot.cursor(...this.cursor, shape(this.label));
  }

  fit() {
    if (!this.state || !this.canvas.clientWidth) return;
    this.plot.resize(this.state.plane);
    this.draw(this.position);
  }

  // -- text -------------------------------------------------------------------------------------

  describe(state, message) {
    this.describeTabs(state);
    this.classChoice.hidden = state.targets !== "labels";
    this.classChoice.querySelectorAll("input")[this.label].checked = true;
    const machines = Object.entries(state.machines);
    options(this.machines, machines, state.machine);
    this.machines.closest("label").hidden = machines.length === 1;
    options(this.kernels, Object.entries(state.kernels), state.kernel);
    options(this.examples, [["", "Load an example"], ...state.examples.map((name) => [name, name])], "");
    this.describeSliders(state);
    this.describeCertificate(state);
    this.describePath(state);
    const kinds = this.support.at(-1), of = (kind) => kinds.filter((one) => one === kind).length;
    const support = state.machine === "ensemble"
      ? `${of(1)} with a coefficient`
      : `${of(1)} free and ${of(2)} bound support vectors`;
    const counted = `${state.points.length} points, ${support}`;
    this.describeLegend(state);
    this.summary.textContent = state.points.length ? `${counted}.` : "No points. Click to add one.";
    const status = state.certificate ? `Certificate: ${state.certificate.status}.` : "No model.";
    const done = { add: "Added. ", forget: "Removed. ", move: "Moved. ", set: "Changed. " }[message.action] || "";
    this.live.textContent = `${done}${counted}. ${status}`;
  }

  describeTabs(state) {
    if (this.tabs.childElementCount !== state.tabs.length) {
      this.tabs.replaceChildren(...state.tabs.map((name) => h("button", {
        type: "button", role: "tab", id: `ws-tab-${this.number}-${name}`, "aria-controls": `ws-panel-${this.number}`, "data-tab": name,
        onclick: () => this.send({ action: "open", tab: name }),
        onkeydown: (event) => this.turnTabs(event, name),
      }, TAB_TITLES[name] || name)));
    }
    for (const tab of this.tabs.children) {
      const chosen = tab.dataset.tab === state.tab;
      tab.setAttribute("aria-selected", chosen);
      tab.tabIndex = chosen ? 0 : -1;
    }
    const panel = this.root.querySelector("[role=tabpanel]");
    panel.setAttribute("aria-labelledby", `ws-tab-${this.number}-${state.tab}`);
  }

  turnTabs(event, name) {
    const turn = { ArrowRight: 1, ArrowLeft: -1 }[event.key], tabs = this.state.tabs;
    if (!turn) return;
    event.preventDefault();
    const next = tabs[(tabs.indexOf(name) + turn + tabs.length) % tabs.length];
    this.tabs.querySelector(`[data-tab="${next}"]`).focus();
    this.send({ action: "open", tab: next });
  }

  describeSliders(state) {
    const names = state.sliders.map((one) => one.name).join();
    if (this.sliders.dataset.names !== names) {
      this.sliders.dataset.names = names;
      this.sliders.replaceChildren(...state.sliders.map((one) => this.slider(one)));
    }
    for (const one of state.sliders) {
      const input = this.sliders.querySelector(`[name="${one.name}"]`);
      const waiting = this.queue.some((item) => item.message.action === "set");
      if (!waiting) setSlider(input, one, one.value);
      input.closest("label").hidden = one.name === "gamma" && state.kernel === "linear";
    }
  }

  slider(one) {
    const input = h("input", {
      type: "range", name: one.name, min: 0, max: SLIDER_STEPS, step: 1, "aria-label": one.title,
      oninput: () => {
        const value = sliderValue(input, one);
        setSlider(input, one, value);
        this.send({ action: "set", [one.name]: value });
      },
    });
    const [name, meaning] = one.title.split(", ");
    return h("label", { class: "ws-slider", title: one.title },
      h("span", {}, h("b", {}, name), ` ${meaning}`), h("output"), input);
  }

  describeCertificate(state) {
    const found = state.certificate;
    this.badge.textContent = found ? found.status : "no model";
    this.badge.dataset.status = found ? found.status : "none";
    this.badge.title = found ? found.text : "";
    this.figures.replaceChildren(...FIGURES.flatMap(([name, title]) => figure(name, title, found && found[name])));
    this.meaning.textContent = state.machine === "ensemble"
      ? "The figures state the distance from the hard-margin SVM, which an ensemble does not aim at."
      : "";
    const refit = state.refit;
    this.refitLine.textContent = refit
      ? `A refit on these points took ${(1000 * refit.seconds).toFixed(1)} ms. Dual objective ` +
        `${short(refit.objective)}, largest difference of decision values ${refit.difference.toExponential(1)}.`
      : "";
    if (refit) this.root.dataset.difference = refit.difference;
  }

  describePath(state) {
    const { frames, counts } = state;
    const lines = [["seconds", "time of the update, ms", Number((1000 * state.seconds).toFixed(1))]];
    if (counts.members !== undefined) {
      lines.push(["members", "members of the ensemble", counts.members]);
      lines.push(["steps", "steps towards the hard-margin SVM", counts.steps]);
    } else if (counts.steps !== undefined) {
      lines.push(["pieces", "straight pieces of the path", frames.on_path ? frames.pieces : null]);
      lines.push(["frames", "pieces shown", frames.on_path ? frames.count - 1 : null]);
      lines.push(["steps", "steps since the last refit", counts.steps]);
      lines.push(["changes", "became free, left the free set", `${counts.entered}, ${counts.left}`]);
    }
    this.path.replaceChildren(...lines.flatMap(([name, title, value]) => figure(name, title, value)));
    const note = counts.members !== undefined
      ? "Every change is a refit. Replay shows the ensemble grow, member by member."
      : frames.on_path || !state.points.length ? "" : "This change was a refit: there is no path.";
    this.notes.textContent = [note, ...state.notes].join(" ");
  }

  // -- mouse and touch --------------------------------------------------------------------------

  listen() {
    const on = (name, act) => this.canvas.addEventListener(name, act.bind(this));
    on("pointerdown", this.press);
    on("pointermove", this.hover);
    on("pointerup", this.release);
    on("pointercancel", this.cancel);
    on("pointerleave", () => this.highlight(null));
    on("contextmenu", (event) => event.preventDefault());
    on("keydown", this.key);
    on("blur", () => this.draw());
    on("focus", () => this.draw());
  }

  at(event) {
    const box = this.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  /** Return the index of the nearest point within a distance in pixels, or null. */
  nearest(left, top, distance = Infinity) {
    let found = null, least = distance;
    this.state.points.forEach(([, x, y], k) => {
      const [a, b] = this.plot.place(x, y), d = Math.hypot(a - left, b - top);
      if (d <= least) [found, least] = [k, d];
    });
    return found;
  }

  highlight(k) {
    if (k === this.near) return;
    this.near = k;
    this.draw();
  }

  press(event) {
    if (!this.state) return;
    this.keyboard = false;
    const place = this.at(event);
    if (event.button === 2) return this.forgetNear(...place);
    if (event.button !== 0) return;
    this.canvas.setPointerCapture(event.pointerId);
    const grabbed = this.nearest(...place, GRAB_DISTANCE);
    const id = grabbed === null ? null : this.state.points[grabbed][0];
    this.drag = { id, start: place, started: performance.now(), moved: false };
    if (event.pointerType !== "mouse") {
      this.drag.timer = setTimeout(() => {
        this.drag = null;
        this.forgetNear(...place);
      }, LONG_PRESS);
    }
  }

  hover(event) {
    if (!this.state) return;
    const place = this.at(event), drag = this.drag;
    if (!drag) {
      const near = this.nearest(...place, GRAB_DISTANCE);
      this.canvas.style.cursor = near === null ? "crosshair" : "grab";
      return this.highlight(near);
    }
    if (Math.hypot(place[0] - drag.start[0], place[1] - drag.start[1]) > DRAG_DISTANCE) {
      drag.moved = true;
      clearTimeout(drag.timer);
    }
    if (!drag.moved || drag.id === null) return;
    drag.place = this.plot.point(...place);
    this.canvas.style.cursor = "grabbing";
    this.draw();
    this.send({ action: "move", id: drag.id, x: drag.place[0], y: drag.place[1] });
  }

  release(event) {
    const drag = this.drag;
    if (!drag) return;
    this.cancel();
    if (drag.moved) return;
    const [x, y] = this.plot.point(...this.at(event));
    this.cursor = [x, y];
    this.send({ action: "add", x, y, label: this.newLabel() });
  }

  cancel() {
    if (this.drag) clearTimeout(this.drag.timer);
    this.drag = null;
    this.canvas.style.cursor = "crosshair";
  }

  forgetNear(left, top) {
    const k = this.nearest(left, top);
    if (k !== null) this.send({ action: "forget", id: this.state.points[k][0] });
  }

  newLabel() {
    return this.state.targets === "labels" ? this.label : 0;
  }

  choose(label) {
    this.label = label;
    this.classChoice.querySelectorAll("input")[label].checked = true;
    this.draw();
  }

  // -- keyboard ---------------------------------------------------------------------------------

  key(event) {
    if (!this.state || event.ctrlKey || event.metaKey || event.altKey) return;
    const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    const acts = {
      Enter: () => this.put(),
      " ": () => this.put(),
      Delete: () => this.forgetNear(...this.plot.place(...this.cursor)),
      Backspace: () => this.forgetNear(...this.plot.place(...this.cursor)),
      m: () => this.pickUp(),
      Escape: () => (this.held = null),
      1: () => this.choose(0),
      2: () => this.choose(1),
    };
    const arrow = arrows[event.key], act = acts[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!arrow && !act) return;
    event.preventDefault();
    event.stopPropagation();
    this.keyboard = true;
    if (arrow) this.walk(...arrow, event.shiftKey ? STEP / 5 : STEP);
    else act();
    this.draw();
  }

  walk(a, b, step) {
    const inside = (value, most) => Math.max(-most, Math.min(most, Number(value.toFixed(4))));
    const [w, t] = this.state.plane;
    this.cursor = [inside(this.cursor[0] + a * step, w), inside(this.cursor[1] + b * step, t)];
    if (this.held !== null) this.send({ action: "move", id: this.held, x: this.cursor[0], y: this.cursor[1] });
    else this.live.textContent = `Cursor at ${this.cursor.map((v) => v.toFixed(2)).join(", ")}`;
  }

  put() {
    if (this.held !== null) this.held = null;
    else this.send({ action: "add", x: this.cursor[0], y: this.cursor[1], label: this.newLabel() });
  }

  pickUp() {
    if (this.held !== null) {
      this.held = null;
      return;
    }
    const k = this.nearest(...this.plot.place(...this.cursor));
    if (k === null) return;
    const [id, x, y] = this.state.points[k];
    this.held = id;
    this.cursor = [x, y];
    this.live.textContent = `Picked up the point at ${x.toFixed(2)}, ${y.toFixed(2)}. Arrows move it, M puts it down.`;
  }

  // -- theme ------------------------------------------------------------------------------------

  setTheme(theme) {
    this.root.dataset.theme = theme;
    this.themeButton.textContent = theme === "dark" ? "Light" : "Dark";
    this.themeButton.setAttribute("aria-label", `Switch to ${theme === "dark" ? "light" : "dark"} colours`);
    document.querySelector(".ws-body")?.setAttribute("data-theme", theme);
    this.fit();
  }

  toggleTheme() {
    this.setTheme(this.root.dataset.theme === "dark" ? "light" : "dark");
  }
}

/** Return the theme of the notebook, or the one that the system prefers. */
function startTheme() {
  const notebook = document.body.dataset.jpThemeLight;
  if (notebook) return notebook === "false" ? "dark" : "light";
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

/** Set the options of a select, if they differ, and the chosen one. */
function options(select, entries, chosen) {
  const names = entries.map(([name]) => name).join();
  if (select.dataset.names !== names) {
    select.dataset.names = names;
    select.replaceChildren(...entries.map(([value, title]) => h("option", { value }, title)));
  }
  select.value = chosen;
}

/** Return the two elements of a line of figures; the full value is kept as an attribute. */
function figure(name, title, value) {
  const text = typeof value === "number" ? short(value) : value ?? "–";
  return [h("dt", {}, title), h("dd", { "data-figure": name, "data-value": value ?? "" }, text)];
}

function sliderValue(input, { low, high, logarithmic }) {
  const part = input.valueAsNumber / SLIDER_STEPS;
  const value = logarithmic ? low * (high / low) ** part : low + (high - low) * part;
  return Math.min(high, Math.max(low, Number(value.toPrecision(3))));
}

function setSlider(input, { low, high, logarithmic }, value) {
  const part = logarithmic ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
  input.value = Math.round(part * SLIDER_STEPS);
  input.setAttribute("aria-valuetext", short(value));
  input.closest("label").querySelector("output").textContent = short(value);
}

// -- transports ---------------------------------------------------------------------------------

/** Send a message to the server of the page. */
async function post(message) {
  const answer = await fetch("message", {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(message),
  });
  const content = await answer.json();
  if (!answer.ok) throw new Error(content.error);
  return content;
}

/** Return a function that sends messages through the model of a notebook widget. */
function throughModel(model) {
  const waiting = new Map();
  let number = 0;
  model.on("msg:custom", (content) => {
    const found = waiting.get(content.number);
    if (!found) return;
    waiting.delete(content.number);
    if (content.error === undefined) found.resolve(content.state);
    else found.reject(new Error(content.error));
  });
  return (message) => new Promise((resolve, reject) => {
    waiting.set(++number, { resolve, reject });
    model.send({ number, message });
  });
}

/** Show the page in a notebook; called by anywidget. */
function render({ model, el }) {
  const root = el.appendChild(document.createElement("div"));
  const page = new Page(root, throughModel(model));
  return () => page.close();
}

const served = document.getElementById("widestreet-playground");
if (served) new Page(served, post);

export default { render };
