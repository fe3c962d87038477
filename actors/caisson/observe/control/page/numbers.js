// Numbers for people.

// Three digits, as in the reports of the simulator.
function threeDigits(x) {
  const size = Math.abs(x);
  if (size >= 100 || Number.isInteger(x)) return Math.round(x).toLocaleString("en");
  return x.toFixed(size >= 10 ? 1 : 2);
}

function percent(share) {
  return `${share === 0 ? "0" : threeDigits(100 * share)} %`;
}

function timeText(ns) {
  if (ns === 0) return "0 s";
  for (const [least, unit] of [[60e9, "min"], [1e9, "s"], [1e6, "ms"], [1e3, "µs"]])
    if (Math.abs(ns) >= least) return `${threeDigits(ns / least)} ${unit}`;
  return `${ns} ns`;
}

// What a number counts, by the end of its name.
const units = [
  ["_permille", (x) => percent(x / 1e3)],
  ["_ppm", (x) => percent(x / 1e6)],
  ["_ns", (x) => timeText(x)],
  ["_us", (x) => timeText(1e3 * x)],
  ["_ms", (x) => timeText(1e6 * x)],
];

const unitOf = (name) => units.find(([end]) => name.endsWith(end));

function nameText(name) {
  const unit = unitOf(name);
  return (unit ? name.slice(0, -unit[0].length) : name).replaceAll("_", " ");
}

function valueText(name, value) {
  if (value == null) return "unknown";
  const unit = unitOf(name);
  return unit ? unit[1](value) : value.toLocaleString("en");
}

// Numbers that say nothing: zeros, states that are shown as words, and what has
// not been measured, which is -1.
function saysSomething(name, value) {
  return value != null && value !== 0 && !/(^|_)state$/.test(name) && !(value === -1 && unitOf(name));
}
