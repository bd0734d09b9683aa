// Drawing of points and models on a canvas.

const INSIDE = 40, OUTSIDE = 92; // opacity of colours within the margin and beyond it, of 255

/** Return the components of a colour "#rrggbb". */
function components(colour) {
  return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
}

class Plot {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.image = document.createElement("canvas");
    this.image.width = COLUMNS;
    this.image.height = ROWS;
  }

  /** Fit the canvas to its place in the page and read the colours of the theme. */
  resize(plane) {
    const ratio = window.devicePixelRatio || 1, width = this.canvas.clientWidth;
    this.width = width;
    this.height = (width * plane[1]) / plane[0];
    this.plane = plane;
    this.unit = Math.max(0.6, Math.min(1, width / 640)); // size of marks: smaller on a phone
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const style = getComputedStyle(this.canvas);
    const colour = (name) => style.getPropertyValue(`--ws-${name}`).trim();
    this.classes = [colour("first"), colour("second")];
    this.back = colour("plane");
    this.ink = colour("ink");
    this.faint = colour("faint");
  }

  // -- coordinates ------------------------------------------------------------------------------

  /** Return the place on the canvas of a point of the plane. */
  place(x, y) {
    return [(0.5 + x / (2 * this.plane[0])) * this.width, (0.5 - y / (2 * this.plane[1])) * this.height];
  }

  /** Return the point of the plane at a place of the canvas, within the plane. */
  point(left, top) {
    const [w, h] = this.plane, inside = (v, most) => Math.max(-most, Math.min(most, v));
    return [inside((left / this.width - 0.5) * 2 * w, w), inside((0.5 - top / this.height) * 2 * h, h)];
  }

  // -- models -----------------------------------------------------------------------------------

  /** Draw a model: shaded decision values with their contours, or a curve with its tube. */
  model(scene) {
    const { context } = this;
    context.fillStyle = this.back;
    context.fillRect(0, 0, this.width, this.height);
    if (!scene.values) return;
    if (scene.targets === "values") this.curve(scene.values, scene.tube);
    else this.plain(scene);
  }

  plain({ values, targets, scale, margin }) {
    this.shade(values, targets, scale, margin);
    for (const level of margin ? [-1, 1, 0] : [0]) {
      const cuts = contour(values, level);
      this.context.beginPath();
      for (let s = 0; s < cuts.length; s += 4) {
        this.context.moveTo(...this.node(cuts[s], cuts[s + 1]));
        this.context.lineTo(...this.node(cuts[s + 2], cuts[s + 3]));
      }
      this.context.lineCap = "round";
      this.context.strokeStyle = level === 0 ? this.ink : this.faint;
      this.context.lineWidth = level === 0 ? 2.2 : 1.4;
      this.context.stroke();
    }
  }

  /** Return the place of a node, whose rows count from the bottom of the plane. */
  node(column, row) {
    return [(column / (COLUMNS - 1)) * this.width, (1 - row / (ROWS - 1)) * this.height];
  }

  /** Fill the canvas with the colours of decision values divided by `scale`. */
  shade(values, targets, scale, margin) {
    const data = new ImageData(COLUMNS, ROWS), [first, second] = this.classes.map(components);
    for (let j = 0; j < ROWS; j++) {
      for (let k = 0; k < COLUMNS; k++) {
        const value = values[(ROWS - 1 - j) * COLUMNS + k] / scale, at = 4 * (j * COLUMNS + k);
        const colour = value > 0 ? second : first, size = Math.min(margin ? 1.4 : 3, Math.abs(value));
        data.data.set(colour, at);
        const beyond = margin && size >= 1 ? OUTSIDE + 100 * (size - 1) : INSIDE * size;
        data.data[at + 3] = targets === "labels" ? beyond : value > 0 ? 30 + 80 * Math.min(1, size) : 0;
      }
    }
    this.image.getContext("2d").putImageData(data, 0, 0);
    this.context.imageSmoothingQuality = "high";
    this.context.drawImage(
      this.image, 0.5, 0.5, COLUMNS - 1, ROWS - 1, 0, 0, this.width, this.height,
    );
  }

  curve(values, tube) {
    const { context } = this, end = this.plane[0];
    const along = (shift, order) => {
      for (let at = 0; at < COLUMNS; at++) {
        const k = order > 0 ? at : COLUMNS - 1 - at;
        context.lineTo(...this.place(end * ((2 * k) / (COLUMNS - 1) - 1), values[k] + shift));
      }
    };
    context.beginPath();
    along(tube, 1);
    along(-tube, -1);
    context.closePath();
    context.globalAlpha = 0.16;
    context.fillStyle = this.classes[1];
    context.fill();
    context.globalAlpha = 1;
    for (const shift of [-tube, tube, 0]) {
      context.beginPath();
      along(shift, 1);
      context.strokeStyle = shift === 0 && tube >= 0 ? this.ink : this.faint;
      context.lineWidth = shift === 0 ? 2.2 : 1.4;
      context.stroke();
    }
  }

  // -- points -----------------------------------------------------------------------------------

  /**
   * Draw a point: its class by shape and colour, a ring if it is free, a cross if it is bound. With
   * a weight, from 0 to 1, its size shows the weight instead.
   */
  mark(x, y, label, support, { faded = 1, near = false, weight = null } = {}) {
    const { context, unit } = this, [left, top] = this.place(x, y);
    const size = unit * (weight === null ? (support ? 5.5 : 4) : 2.5 + 5 * Math.sqrt(weight));
    context.globalAlpha = faded * (support ? 1 : 0.8);
    context.beginPath();
    if (label) context.rect(left - size, top - size, 2 * size, 2 * size);
    else context.arc(left, top, size + 0.6 * unit, 0, 2 * Math.PI);
    context.fillStyle = this.classes[label];
    context.fill();
    context.lineWidth = 1.2;
    context.strokeStyle = this.back;
    context.stroke();
    context.strokeStyle = this.ink;
    if (weight === null && support === 1) {
      context.beginPath();
      context.arc(left, top, 9.5 * unit, 0, 2 * Math.PI);
      context.lineWidth = 1.8;
      context.stroke();
    } else if (support === 2) {
      const arm = 3.4 * unit;
      context.beginPath();
      context.moveTo(left - arm, top - arm);
      context.lineTo(left + arm, top + arm);
      context.moveTo(left + arm, top - arm);
      context.lineTo(left - arm, top + arm);
      context.lineWidth = 1.8;
      context.stroke();
    }
    if (near) {
      context.beginPath();
      context.arc(left, top, 14, 0, 2 * Math.PI);
      context.lineWidth = 1;
      context.setLineDash([3, 3]);
      context.stroke();
      context.setLineDash([]);
    }
    context.globalAlpha = 1;
  }

  /** Draw the cursor of the keyboard. */
  cursor(x, y, label) {
    const { context } = this, [left, top] = this.place(x, y);
    for (const [width, colour] of [[4, this.back], [2, this.classes[label]]]) {
      context.beginPath();
      for (const [a, b] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
        context.moveTo(left + 5 * a, top + 5 * b);
        context.lineTo(left + 14 * a, top + 14 * b);
      }
      context.lineWidth = width;
      context.strokeStyle = colour;
      context.stroke();
    }
  }
}
