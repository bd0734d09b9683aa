// Numerics of the page: decision values on a grid, and the lines on which they have a given value.

const COLUMNS = 151, ROWS = 101; // nodes of the grid
const NEGLIGIBLE = 1e-7; // a smaller term of a decision value cannot be seen

/** Return the bytes of a base64 text. */
function unpacked(text) {
  const letters = atob(text), bytes = new Uint8Array(letters.length);
  for (let k = 0; k < letters.length; k++) bytes[k] = letters.charCodeAt(k);
  return bytes;
}

/** Return an array of numbers as `count` arrays of equal length. */
function divided(numbers, count) {
  const length = numbers.length / count;
  return Array.from({ length: count }, (_, k) => numbers.subarray(k * length, (k + 1) * length));
}

/** Return `count` evenly spaced numbers from -end to end. */
function spaced(count, end) {
  return Float64Array.from({ length: count }, (_, k) => end * ((2 * k) / (count - 1) - 1));
}

/**
 * Return the factors of a kernel that belong to one coordinate, of each point with each node.
 *
 * `known` has those of earlier points by their coordinate. Sets: known, to those of these points.
 */
function factors(kernel, gamma, coordinates, nodes, known) {
  const found = new Float64Array(coordinates.length * nodes.length), earlier = new Map(known);
  known.clear();
  coordinates.forEach((c, i) => {
    const own = found.subarray(i * nodes.length, (i + 1) * nodes.length);
    if (earlier.has(c)) own.set(earlier.get(c));
    else
      nodes.forEach((node, k) => {
        const d = node - c;
        own[k] = Math.exp(-gamma * (kernel === "rbf" ? d * d : Math.abs(d)));
      });
    known.set(c, own);
  });
  return found;
}

/**
 * Decision values of models over the same points.
 *
 * The Gaussian and the Laplacian kernel are products of one factor per coordinate, so that the
 * values on the grid are a product of two small matrices.
 */
class Field {
  /**
   * @param {Array} points coordinates [x, y] of each point
   * @param {string} kernel
   * @param {number} gamma
   * @param {number[]} plane half the width and half the height of the plane
   * @param {boolean} line true if the first coordinate is the only feature
   * @param {?Field} before a field whose factors are used again
   */
  constructor(points, kernel, gamma, plane, line, before) {
    this.points = points;
    this.line = line;
    this.kind = [kernel, gamma, line].join();
    const same = before?.kind === this.kind;
    this.knownX = same ? before.knownX : new Map();
    this.knownY = same ? before.knownY : new Map();
    this.linear = kernel === "linear";
    this.x = spaced(COLUMNS, plane[0]);
    this.y = line ? [0] : spaced(ROWS, plane[1]);
    if (this.linear) return;
    const [xs, ys] = [0, 1].map((k) => points.map((p) => p[k]));
    this.byX = factors(kernel, gamma, xs, this.x, this.knownX);
    this.byY = line ? points.map(() => 1) : factors(kernel, gamma, ys, this.y, this.knownY);
  }

  /** Return the values at all nodes, row by row. */
  values(coef, intercept) {
    const { x, y } = this, found = new Float64Array(x.length * y.length).fill(intercept);
    if (this.linear) {
      let a = 0, b = 0;
      coef.forEach((c, i) => {
        a += c * this.points[i][0];
        b += this.line ? 0 : c * this.points[i][1];
      });
      for (let j = 0, at = 0; j < y.length; j++)
        for (let k = 0; k < x.length; k++) found[at++] += a * x[k] + b * y[j];
      return found;
    }
    const used = [];
    coef.forEach((c, i) => c !== 0 && used.push(i));
    for (let a = 0; a < used.length; a += 4) this.addFour(found, coef, used.slice(a, a + 4));
    return found;
  }

  /** Add the terms of up to four points: fewer passes over the values take less time. */
  addFour(found, coef, points) {
    const { byX, byY } = this, columns = this.x.length, rows = this.y.length;
    const [c0, c1, c2, c3] = [0, 1, 2, 3].map((k) => (k < points.length ? coef[points[k]] : 0));
    const [i0, i1, i2, i3] = [0, 1, 2, 3].map((k) => points[Math.min(k, points.length - 1)]);
    const b0 = i0 * columns, b1 = i1 * columns, b2 = i2 * columns, b3 = i3 * columns;
    for (let j = 0; j < rows; j++) {
      const f0 = c0 * byY[i0 * rows + j], f1 = c1 * byY[i1 * rows + j];
      const f2 = c2 * byY[i2 * rows + j], f3 = c3 * byY[i3 * rows + j];
      if (Math.abs(f0) + Math.abs(f1) + Math.abs(f2) + Math.abs(f3) < NEGLIGIBLE) continue;
      for (let k = 0, at = j * columns; k < columns; k++, at++)
        found[at] += f0 * byX[b0 + k] + f1 * byX[b1 + k] + f2 * byX[b2 + k] + f3 * byX[b3 + k];
    }
  }
}

/** Return the line segments [x0, y0, x1, y1, ...], in nodes, on which values equal `level`. */
function contour(values, level) {
  const found = [];
  for (let j = 0; j + 1 < ROWS; j++) {
    for (let k = 0; k + 1 < COLUMNS; k++) {
      const at = j * COLUMNS + k;
      const a = values[at] - level, b = values[at + 1] - level;
      const d = values[at + COLUMNS] - level, c = values[at + COLUMNS + 1] - level;
      const above = (a > 0) + (b > 0) + (c > 0) + (d > 0);
      if (above === 0 || above === 4) continue;
      const cuts = [];
      if (a > 0 !== b > 0) cuts.push([k + a / (a - b), j]);
      if (b > 0 !== c > 0) cuts.push([k + 1, j + b / (b - c)]);
      if (d > 0 !== c > 0) cuts.push([k + d / (d - c), j + 1]);
      if (a > 0 !== d > 0) cuts.push([k, j + a / (a - d)]);
      // with four cuts the cell is a saddle; the sign of its centre says which ones belong together
      if (cuts.length === 4 && a + b + c + d > 0 === a > 0) cuts.push(cuts.shift());
      for (let s = 0; s + 1 < cuts.length; s += 2) found.push(...cuts[s], ...cuts[s + 1]);
    }
  }
  return found;
}
