// Charts over time, by dygraphs. They zoom together and share a cursor.

const charts = [];
let range = null;
let linking = false;

function escaped(text) {
  return String(text).replace(/[&<>"']/g, c => `&#${c.charCodeAt(0)};`);
}

// Ticks at instants that people read well.
const tickSteps = [1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400];

function timeTicks(from, to, pixels) {
  const fit = Math.max(2, pixels / 70);
  const pitch = tickSteps.find(s => (to - from) / s <= fit) || Math.ceil((to - from) / fit / 86400) * 86400;
  const out = [];
  for (let t = Math.ceil(from / pitch) * pitch; t <= to; t += pitch)
    out.push({ v: t, label: clock(t) });
  return out;
}

// Of a logarithmic axis of times: 1, 2, 5, 10 and so on, or powers of ten alone.
function timeScale(from, to, pixels, ...rest) {
  const fit = pixels / 26;
  const all = [];
  for (let power = 1; power <= to; power *= 10)
    for (const digit of [1, 2, 5])
      if (digit * power >= from && digit * power <= to)
        all.push(digit * power);
  const tens = all.filter(x => Number.isInteger(Math.log10(x)));
  const shown = all.length <= fit ? all : tens;
  if (shown.length < 2)
    return Dygraph.numericTicks(from, to, pixels, ...rest);
  return shown.map(x => ({ v: x, label: x >= 1e6 ? x / 1e6 + " s" : x >= 1e3 ? x / 1e3 + " ms" : x + " µs" }));
}

// The faults, and the end of the load, after which answers are waited for. `named`:
// whether there is room for names.
function paintFaults(faults, named) {
  return (pen, area, g) => {
    pen.fillStyle = colour("fault");
    for (const f of faults) {
      const x = g.toDomXCoord(f.at);
      const w = Math.max(2, g.toDomXCoord(f.at + f.lasts) - x);
      pen.fillRect(x, area.y, w, area.h);
    }
    if (named)
      nameFaults(pen, area, g, faults);
    pen.strokeStyle = colour("idle");
    pen.setLineDash([2, 4]);
    pen.beginPath();
    const end = g.toDomXCoord(chosen().result.length);
    pen.moveTo(end, area.y);
    pen.lineTo(end, area.y + area.h);
    pen.stroke();
    pen.setLineDash([]);
  };
}

// The names of a few faults, one below the other, where each begins.
function nameFaults(pen, area, g, faults) {
  pen.save();
  pen.font = "600 11px system-ui, sans-serif";
  pen.fillStyle = colour("fault-ink");
  faultGroups(faults).slice(0, 4).forEach(([label, [first]], i) => {
    const wide = pen.measureText(label).width;
    const x = Math.max(area.x + 4, g.toDomXCoord(first.at) + 5);
    if (x + wide < area.x + area.w && x >= area.x)
      pen.fillText(label, x, area.y + 12 + 14 * i);
  });
  pen.restore();
}

// Zooms all charts as one was zoomed.
function zoomed(g, first) {
  if (first || linking)
    return;
  const [from, to] = g.xAxisRange();
  const whole = [0, Math.max(step, (longest - 1) * step)];
  range = from <= whole[0] && to >= whole[1] ? null : [from, to];
  linking = true;
  for (const c of charts)
    if (c.plot !== g)
      c.plot.updateOptions({ dateWindow: range || whole });
  linking = false;
  moveCursors();
}

class Chart {
  // series: { name, values, colour, dash, width }
  constructor(place, spec) {
    this.spec = spec;
    this.keys = element("ul", { class: "chart-keys" });
    this.values = spec.series.map(s => {
      const value = element("b");
      const swatch = element("i");
      swatch.style.background = `var(--${s.colour})`;
      this.keys.append(element("li", {}, swatch, s.name + " ", value));
      return value;
    });
    const area = element("div", { class: "plot" });
    this.area = area;
    this.cursor = element("div", { class: "cursor" });
    this.box = element("figure", { class: "chart" + (spec.wide ? " wide" : "") },
      element("h3", {}, spec.title), this.keys,
      element("div", { class: "chart-area" }, area, this.cursor));
    this.box.style.margin = "0";
    if (spec.height)
      area.style.height = spec.height + "px";
    place.append(this.box);
    area.setAttribute("role", "img");
    this.plot = new Dygraph(area, this.rows(), this.options());
    charts.push(this);
    this.read(null);
  }

  rows() {
    const out = [];
    for (let row = 0; row < longest; ++row)
      out.push([row * step, ...this.spec.series.map(s => s.values[row] ?? null)]);
    return out.length > 1 ? out : [...out, [step, ...this.spec.series.map(() => null)]];
  }

  options() {
    const { series, faults, log, format } = this.spec;
    const each = {};
    series.forEach((s, i) => {
      each["s" + i] = { color: colour(s.colour), strokePattern: s.dash || null,
        strokeWidth: s.width || 1.7, fillGraph: Boolean(s.fill) };
    });
    return {
      labels: ["t", ...series.map((s, i) => "s" + i)],
      series: each,
      legend: "never",
      logscale: Boolean(log),
      includeZero: !log,
      fillAlpha: 0.13,
      dateWindow: range || [0, Math.max(step, (longest - 1) * step)],
      gridLineColor: colour("grid"),
      axisLineColor: colour("line"),
      axisLabelFontSize: 11,
      highlightCircleSize: 3,
      axes: {
        x: { ticker: timeTicks, drawGrid: false },
        // That 0 is at the bottom goes without saying, and its label would touch that of 0 s.
        y: { axisLabelFormatter: y => (y === 0 ? "" : format(y)), axisLabelWidth: 58, pixelsPerLabel: 34,
          ...(log ? { ticker: timeScale } : {}) },
      },
      underlayCallback: paintFaults(faults, this.spec.named && innerWidth > 720),
      drawCallback: (g, first) => zoomed(g, first),
      highlightCallback: (event, x) => hover(x),
      unhighlightCallback: () => hover(null),
      clickCallback: (event, x) => choose({ row: x / step, playing: false }),
      ...this.spec.options,
    };
  }

  // Shows the values of a row: the one under the pointer, or else the chosen.
  read(row) {
    const at = row === null ? state.row : row;
    this.spec.series.forEach((s, i) => {
      const x = s.values[at];
      this.values[i].textContent = x === null || x === undefined ? "–" : s.text ? s.text(at) : this.spec.format(x);
    });
    if (row === null)
      this.area.setAttribute("aria-label", `${this.spec.title}, at ${clock(at * step)}: `
        + this.spec.series.map((s, i) => `${s.name} ${this.values[i].textContent}`).join(", "));
    const x = this.plot.toDomXCoord(at * step);
    const { x: left, w } = this.plot.getArea();
    this.cursor.hidden = !(x >= left - 1 && x <= left + w + 1);
    this.cursor.style.left = x + "px";
  }
}

function hover(x) {
  const row = x === null ? null : Math.round(x / step);
  for (const c of charts)
    c.read(row);
}

function moveCursors() {
  for (const c of charts)
    c.read(null);
}

// -- which charts there are -----------------------------------------------------

const perSecond = (arm, values) => values.map((n, row) => n / covered(arm, row));
const rateText = n => short(n) + "/s";

// Those that all arms have.
function commonFaults() {
  const has = (arm, f) => arm.faults.some(g => JSON.stringify(g) === JSON.stringify(f));
  return arms[0].faults.filter(f => arms.every(arm => has(arm, f)));
}

function compareChart() {
  const offered = arms[0].seconds.offered;
  const same = arms.every(arm => arm.seconds.offered.every((n, i) => n === offered[i]));
  const series = arms.map((arm, i) => ({ name: arm.name, values: perSecond(arm, arm.seconds.good),
    colour: armColour(i), width: 2.1, dash: i >= palette ? [5, 3] : null }));
  if (same)
    series.unshift({ name: "offered", values: perSecond(arms[0], offered), colour: "idle", dash: [4, 3], width: 1.3 });
  return { title: "Requests that succeeded in time, per second", wide: true, named: true, height: 230, series,
    faults: commonFaults(), format: rateText };
}

// Those that have a look of their own; others get a colour by their place.
const curveLooks = {
  offered: { colour: "idle", dash: [4, 3] },
  attempts: { colour: "c1" },
  good: { colour: "c2", fill: true, width: 2 },
  p50: { colour: "c2" },
  p95: { colour: "c0" },
  p99: { colour: "c3" },
};

const curves = (columns, valuesOf) => columns.map((c, i) =>
  ({ name: c.heading, values: valuesOf(c.key), ...(curveLooks[c.key] || { colour: `c${(i + 3) % palette}` }) }));

const errorColours = ["c1", "c3", "c4", "c5", "c6", "c8", "c9", "c7", "c0", "c2"];

function requestCharts(arm) {
  const t = arm.seconds;
  const common = { faults: arm.faults };
  const kinds = Object.keys(t.errors).sort((a, b) => total(t.errors[b]) - total(t.errors[a]));
  const positive = values => values.map(x => (x > 0 ? x : null));
  return [
    { ...common, title: "Requests per second", format: rateText,
      series: curves(data.columns.curves.requests, key => perSecond(arm, t[key])) },
    { ...common, title: "Latency of good answers", log: true, format: shortTime,
      series: curves(data.columns.curves.latencies, key => positive(t[key])) },
    { ...common, title: "Failed requests per second, by kind", format: rateText,
      series: kinds.length
        ? kinds.slice(0, 10).map((kind, i) => ({ name: kind, values: perSecond(arm, t.errors[kind]), colour: errorColours[i], fill: i === 0 }))
        : [{ name: "failed", values: perSecond(arm, t.failed), colour: "c1" }] },
  ];
}

// The six services with the highest value at any time; those of others hardly
// show.
function serviceChart(arm, title, format, valueAt) {
  const rows = [...Array(arm.rows).keys()];
  const series = arm.services
    .map((service, i) => ({ name: service.name, values: rows.map(row => valueAt(i, row)) }))
    .map(s => ({ ...s, most: s.values.reduce((a, b) => Math.max(a, b), 0) }))
    .sort((a, b) => b.most - a.most).slice(0, 6).filter((s, i) => i === 0 || s.most > 0);
  if (series[0].values.every(x => x === null))
    return null;
  return { title, faults: arm.faults, format,
    series: series.map((s, i) => ({ name: s.name, values: s.values, colour: `c${i}` })) };
}

const queueChart = arm => serviceChart(arm, "Longest queues", short,
  (i, row) => arm.service_seconds[i].queue_max[row]);

const busyChart = arm => serviceChart(arm, "Busiest services: busy servers or cores", wholePercent,
  (i, row) => usedOf(arm, i, row));

// What succeeds in time, of what each load offers.
function loadChart(arm) {
  const share = t => t.offered.map((n, row) => (n > 0 ? Math.min(1, t.good[row] / n) : null));
  const rest = arm.loads.length - 10;
  const also = rest > 0 ? `; ${rest} more loads` : "";
  return { title: `Good answers, of those offered${also}`, faults: arm.faults, format: wholePercent,
    series: arm.loads.slice(0, 10).map((name, i) =>
      ({ name, values: share(arm.load_seconds[i]), colour: `c${i}` })) };
}

function breakerColours() {
  return { open: colour("bad"), forced_open: colour("bad"), half_open: colour("strained"), closed: colour("good") };
}

// The name of the gate is enough if only one of its breakers is shown.
function bandName(breaker, shown) {
  const gate = name => name.slice(0, name.lastIndexOf("/"));
  const own = gate(breaker.name);
  const alone = shown.filter(b => gate(b.name) === own).length === 1;
  return (alone ? own : breaker.name).replace("->", "→");
}

// A band for each breaker that did not stay closed.
function breakerChart(arm) {
  const moved = arm.breakers.filter(b => b.changes.length > 0);
  if (moved.length === 0)
    return null;
  const shown = moved.slice(0, 24);
  const rest = arm.breakers.length - shown.length;
  const narrow = innerWidth <= 720;
  const ticks = shown.map((b, i) => ({ v: shown.length - i - 0.5,
    label: escaped(clipped(bandName(b, moved), narrow ? 110 : 230)) }));
  const plotter = e => {
    if (e.seriesIndex > 0)
      return;
    const inks = breakerColours();
    const g = e.dygraph;
    shown.forEach((b, i) => {
      const y = g.toDomYCoord(shown.length - i - 0.18);
      const h = g.toDomYCoord(shown.length - i - 0.82) - y;
      let from = 0;
      for (let row = 1; row <= arm.rows; ++row)
        if (row === arm.rows || b.states[row] !== b.states[from]) {
          const x = g.toDomXCoord(from * step);
          e.drawingContext.fillStyle = inks[b.states[from]] || colour("idle");
          e.drawingContext.globalAlpha = b.states[from] === "closed" ? 0.25 : 0.95;
          e.drawingContext.fillRect(x, y, g.toDomXCoord(row * step) - x, h);
          from = row;
        }
    });
    e.drawingContext.globalAlpha = 1;
  };
  const open = new Array(arm.rows).fill(0).map((_, row) =>
    arm.breakers.filter(b => b.states[row].includes("open")).length);
  const also = rest > 0 ? `; ${rest} more stayed closed` : "";
  return { title: `Breakers: closed, half-open, open${also}`, wide: true, faults: arm.faults,
    height: 44 + shown.length * 21, format: short,
    series: [{ name: "open or half-open", values: open, colour: "bad" }],
    options: { plotter, valueRange: [0, shown.length],
      axes: {
        x: { ticker: timeTicks, drawGrid: false },
        y: { ticker: () => ticks, axisLabelWidth: narrow ? 116 : 236, drawGrid: false },
      } } };
}

function buildCharts() {
  for (const c of charts.splice(0))
    c.plot.destroy();
  $("compare").replaceChildren();
  $("charts").replaceChildren();
  const arm = chosen();
  $("faults").replaceChildren(faultKeys(arm.faults));
  if (arms.length > 1) {
    const chart = new Chart($("compare"), compareChart());
    chart.box.append(faultKeys(chart.spec.faults));
  }
  for (const spec of [...requestCharts(arm), loadChart(arm), queueChart(arm), busyChart(arm), breakerChart(arm)])
    if (spec)
      new Chart($("charts"), spec);
  moveCursors();
}

function showCharts() {
  buildCharts();
  $("unzoom").addEventListener("click", () => charts[0].plot.resetZoom());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    buildCharts();
    paintStrip();
  });
  addEventListener("resize", () => requestAnimationFrame(moveCursors));
  listen(changed => {
    if (changed.arm)
      buildCharts();
    else if (changed.row)
      moveCursors();
  });
}
