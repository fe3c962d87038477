// The data of the page, and how numbers read.
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const parameters = data.parameters;
const several = data.seeds > 1;

// -- results --------------------------------------------------------------------

// How far apart points lie that differ in one step of a parameter.
const strides = parameters.map((_, i) =>
  parameters.slice(i + 1).reduce((n, p) => n * p.texts.length, 1));

const pointAt = indexes => indexes.reduce((n, index, i) => n + index * strides[i], 0);

const verdictsAt = (point, arm) => data.results[point][arm][0];
const runsAt = (point, arm) => verdictsAt(point, arm).reduce((a, b) => a + b, 0);

// What is shown: first how many runs were healthy, then the metrics. A value is
// [smallest, middle, largest], or null.
const well = ["recovered", "no fault"].map(name => data.verdicts.indexOf(name));
const shown = [{
  name: "well",
  title: several ? "Runs that were healthy at the end" : "How it ended",
  unit: "share",
  more: true,
  at(point, arm) {
    const runs = runsAt(point, arm);
    if (runs === 0)
      return null;
    const share = well.reduce((n, v) => n + verdictsAt(point, arm)[v], 0) / runs;
    return [share, share, share];
  },
}, ...data.metrics.map((metric, i) => ({
  name: metric.name,
  title: metric.name,
  unit: metric.unit,
  // Whether more of it is better; null where that is not clear.
  more: metric.more,
  at: (point, arm) => data.results[point][arm][1][i],
}))];

// -- numbers --------------------------------------------------------------------

function shortTime(seconds) {
  if (seconds <= 0)
    return "0 s";
  for (const [unit, size] of [["ns", 1e-9], ["µs", 1e-6], ["ms", 1e-3], ["s", 1]]) {
    const x = seconds / size;
    if (x >= 999.5 && unit !== "s")
      continue;
    return x.toFixed(x < 9.995 ? 2 : x < 99.95 ? 1 : 0) + " " + unit;
  }
  return "";
}

function plain(x) {
  if (Math.abs(x) >= 1e5)
    return Math.round(x).toString().replace(/\B(?=(\d{3})+$)/g, ",");
  return String(Number(x.toPrecision(5)));
}

function text(x, unit) {
  if (x === null || x === undefined)
    return "–";
  if (x === "never")
    return "never";
  if (unit === "time")
    return shortTime(x);
  if (unit === "share")
    return percent(x);
  return plain(x);
}

// The same with less room.
function brief(x, unit) {
  if (x === null || x === "never")
    return text(x, unit);
  if (unit === "time")
    return shortTime(x);
  if (unit === "share")
    return percent(x, 1);
  if (Math.abs(x) >= 1e6)
    return Number((x / 1e6).toPrecision(3)) + "M";
  if (Math.abs(x) >= 1e4)
    return Number((x / 1e3).toPrecision(3)) + "k";
  return String(Number(x.toPrecision(3)));
}

function spread(value, unit) {
  if (!value)
    return "–";
  const middle = text(value[1], unit);
  return several && value[0] !== value[2]
    ? `${middle} (${text(value[0], unit)} to ${text(value[2], unit)})` : middle;
}

function verdictText(point, arm) {
  const counts = verdictsAt(point, arm);
  return data.verdicts.map((name, i) => [name, counts[i]]).filter(([, n]) => n > 0)
    .map(([name, n]) => (several ? `${name} ${n}` : name)).join(", ") || "–";
}

// -- elements -------------------------------------------------------------------

const $ = id => document.getElementById(id);

// Text is only ever set as text, so names may hold anything.
function filled(out, attributes, children) {
  for (const [key, value] of Object.entries(attributes))
    out.setAttribute(key, value);
  out.append(...children);
  return out;
}

const element = (name, attributes = {}, ...children) =>
  filled(document.createElement(name), attributes, children);

const drawn = (name, attributes = {}, ...children) =>
  filled(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);

const colourOf = arm => `var(--c${arm % 10})`;

function armHead(arm) {
  const swatch = element("i");
  swatch.style.background = colourOf(arm);
  return element("h3", {}, swatch, data.arms[arm]);
}
