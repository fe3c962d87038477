// The data of the page, and how numbers read.
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);

// Seconds that one row covers.
const step = data.step;

// A column is a list, or one value that holds in all rows.
function column(c, rows) {
  return Array.isArray(c) ? c : new Array(rows).fill(c);
}

function columns(table, rows) {
  const out = {};
  for (const [name, c] of Object.entries(table))
    out[name] = name === "errors" || name === "connections" ? columns(c, rows) : column(c, rows);
  return out;
}

// The state of a breaker in each row, from its changes.
function states(changes, rows) {
  const out = new Array(rows).fill("closed");
  changes.forEach(([row, state], i) => {
    const end = i + 1 < changes.length ? changes[i + 1][0] : rows;
    out.fill(state, row, end);
  });
  return out;
}

const arms = data.arms.map((arm, index) => ({
  ...arm,
  index,
  seconds: columns(arm.seconds, arm.rows),
  load_seconds: arm.load_seconds.map(t => columns(t, arm.rows)),
  service_seconds: arm.service_seconds.map(t => columns(t, arm.rows)),
  edge_seconds: arm.edge_seconds.map(t => columns(t, arm.rows)),
  breakers: arm.breakers.map(b => ({ ...b, states: states(b.changes, arm.rows) })),
}));

// Seconds that a row covers: the last one only those until the end.
function covered(arm, row) {
  const rest = arm.result.end - row * step;
  return rest > 0 ? Math.min(step, rest) : step;
}

const longest = Math.max(1, ...arms.map(arm => arm.rows));

// -- numbers --------------------------------------------------------------------

function grouped(n) {
  return Math.round(n).toString().replace(/\B(?=(\d{3})+$)/g, ",");
}

// 12, 1.2k, 34k, 5.6M
function short(n) {
  if (n < 1000)
    return n < 10 && n % 1 !== 0 ? n.toFixed(1) : String(Math.round(n));
  const [x, unit] = n < 1e6 ? [n / 1e3, "k"] : [n / 1e6, "M"];
  return (x < 9.95 ? x.toFixed(1) : Math.round(x)) + unit;
}

const wholePercent = share => percent(share, 0);

// Of microseconds.
function shortTime(us) {
  if (us === null || us === undefined)
    return "–";
  if (us <= 0)
    return "0 s";
  for (const [unit, size] of [["µs", 1], ["ms", 1e3], ["s", 1e6]]) {
    const x = us / size;
    if (x >= 999.5 && unit !== "s")
      continue;
    return x.toFixed(x < 9.995 ? 2 : x < 99.95 ? 1 : 0) + " " + unit;
  }
  return "";
}

// By the unit of a column. `null` is infinite.
const unitTexts = {
  none: (x, c) => (c.digits ? x.toFixed(c.digits) : grouped(x)),
  share: x => percent(x),
  seconds: x => shortTime(x * 1e6),
  microseconds: x => shortTime(x),
  run_time: x => x + " s",
};

function numberText(c, x) {
  if (x === undefined || x === null)
    return x === null && c.unit === "run_time" ? "never" : "–";
  return unitTexts[c.unit](x, c);
}

// As `offered 12`; of counts of a service or an edge `12 arrivals`.
const named = (c, x) => `${c.heading} ${numberText(c, x)}`;
const counted = (c, x) => (c.level ? named(c, x) : `${numberText(c, x)} ${c.heading}`);

// The numbers of a row, by key.
function rowOfTable(table, row) {
  const out = {};
  for (const [key, values] of Object.entries(table))
    out[key] = values[row];
  return out;
}

// An instant of the run: 34 s, 12:05, 1:02:00.
function clock(seconds, whole = longest * step) {
  const s = Math.round(seconds * 10) / 10;
  if (whole <= 180)
    return s + " s";
  const two = n => String(Math.floor(n)).padStart(2, "0");
  const [h, m] = [Math.floor(s / 3600), Math.floor(s / 60) % 60];
  return h > 0 ? `${h}:${two(m)}:${two(s % 60)}` : `${m}:${two(s % 60)}`;
}

// -- elements -------------------------------------------------------------------

const $ = id => document.getElementById(id);

// Text is only ever set as text, so names may hold anything.
function element(name, attributes = {}, ...children) {
  const out = document.createElement(name);
  for (const [key, value] of Object.entries(attributes))
    if (key === "class")
      out.className = value;
    else
      out.setAttribute(key, value);
  out.append(...children);
  return out;
}

function drawn(name, attributes = {}, ...children) {
  const out = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes))
    out.setAttribute(key, value);
  out.append(...children);
  return out;
}

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
}

const palette = 10;
const armColour = index => `c${index % palette}`;
