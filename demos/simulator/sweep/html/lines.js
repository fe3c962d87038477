// One setting: a line for each arm, with a band from the smallest to the largest
// value over the seeds.

const margin = { left: 62, right: 14, top: 10, bottom: 42 };
const chartHeight = () => (innerWidth <= 720 ? 220 : 250);

// Round numbers from `low` to `high`.
function ticks(low, high, count) {
  if (!(high > low))
    return [low];
  const raw = (high - low) / count;
  const size = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map(n => n * size).find(s => s >= raw * 0.999);
  const out = [];
  for (let x = Math.ceil(low / step - 1e-9) * step; x <= high + step * 1e-9; x += step)
    out.push(Math.abs(x) < step * 1e-9 ? 0 : x);
  return out;
}

// Ticks are round: without the zeros that make numbers alike.
function tickText(x, unit) {
  return unit === "time" ? brief(x, unit).replace(/(\.\d*?)0+ /, "$1 ").replace(". ", " ") : brief(x, unit);
}

// Where values of the setting stand: by number, in powers if they grow like that,
// or else one after the other.
function places(parameter, width) {
  const numbers = parameter.numbers;
  const last = numbers.length - 1;
  const inner = width - margin.left - margin.right;
  const at = share => margin.left + share * inner;
  if (last === 0)
    return [at(0.5)];
  const ascending = numbers.every((x, i) => x !== null && (i === 0 || x > numbers[i - 1]));
  if (!ascending)
    return numbers.map((_, i) => at((i + 0.5) / (last + 1)));
  const scale = numbers[0] > 0 && numbers[last] / numbers[0] >= 30 ? Math.log : x => x;
  const [low, high] = [scale(numbers[0]), scale(numbers[last])];
  return numbers.map(x => at((scale(x) - low) / (high - low)));
}

function valuesOf(metric) {
  const finite = [];
  for (let arm = 0; arm < data.arms.length; ++arm)
    parameters[0].texts.forEach((_, i) => {
      for (const x of metric.at(i, arm) || [])
        if (x !== "never")
          finite.push(x);
    });
  return finite;
}

function axis(metric) {
  const values = valuesOf(metric);
  let [low, high] = [Math.min(0, ...values), Math.max(...values)];
  if (metric.unit === "share")
    high = Math.max(high, 1);
  if (!(high > low))
    high = low + 1;
  return { low, high, ticks: ticks(low, high, 4) };
}

// Runs of neighbours that all have a number; what never ends leaves the chart.
function stretches(metric, arm) {
  const out = [[]];
  parameters[0].texts.forEach((_, i) => {
    const value = metric.at(i, arm);
    if (value && !value.includes("never"))
      out[out.length - 1].push({ i, value });
    else
      out.push([]);
  });
  return out.filter(s => s.length > 0);
}

function drawArm(svg, metric, arm, xs, y) {
  const colour = colourOf(arm);
  for (const part of stretches(metric, arm)) {
    const along = k => part.map(({ i, value }) => `${xs[i].toFixed(1)},${y(value[k]).toFixed(1)}`);
    if (several)
      svg.append(drawn("polygon", { class: "band", fill: colour,
        points: [...along(2), ...along(0).reverse()].join(" ") }));
    svg.append(drawn("polyline", { class: "line", stroke: colour, points: along(1).join(" ") }));
    for (const { i, value } of part)
      svg.append(drawn("circle", { class: "dot", fill: colour, cx: xs[i], cy: y(value[1]), r: 4 }));
  }
}

function drawAxes(svg, metric, range, xs, y, width) {
  for (const t of range.ticks)
    svg.append(
      drawn("line", { class: "grid", x1: margin.left, x2: width - margin.right, y1: y(t), y2: y(t) }),
      drawn("text", { x: margin.left - 8, y: y(t) + 4, "text-anchor": "end" }, tickText(t, metric.unit)));
  let free = -Infinity;
  parameters[0].texts.forEach((t, i) => {
    const half = t.length * 3.6;
    if (xs[i] - half < free)
      return;
    free = xs[i] + half + 8;
    svg.append(drawn("text", { x: xs[i], y: chartHeight() - 24, "text-anchor": "middle" }, t));
  });
  svg.append(drawn("text", { x: (margin.left + width - margin.right) / 2, y: chartHeight() - 6,
    "text-anchor": "middle" }, parameters[0].path));
}

// What the arms have at one value of the setting.
function keyTexts(metric, i) {
  return data.arms.map((_, arm) => i === null ? "" : spread(metric.at(i, arm), metric.unit));
}

function lineChart(metric) {
  const keys = data.arms.map((name, arm) => {
    const line = element("i");
    line.style.background = colourOf(arm);
    return element("li", {}, line, name + " ", element("b"));
  });
  const svg = drawn("svg", { class: "lines", role: "img", tabindex: "0",
    "aria-label": `${metric.title} by ${parameters[0].path}; the numbers are in the table below` });
  const where = element("li");
  const chart = element("div", { class: "chart" }, element("h3", {}, metric.title),
    element("ul", { class: "chart-keys" }, ...keys, where), svg);
  let xs = [];
  let chosen = null;
  const mark = drawn("line", { class: "at", y1: margin.top, visibility: "hidden" });
  const choose = i => {
    chosen = i;
    keyTexts(metric, i).forEach((t, arm) => { keys[arm].querySelector("b").textContent = t; });
    where.textContent = i === null ? "" : `at ${parameters[0].texts[i]}`;
    mark.setAttribute("visibility", i === null ? "hidden" : "visible");
    if (i !== null)
      ["x1", "x2"].forEach(k => mark.setAttribute(k, xs[i]));
  };
  const draw = () => {
    const width = svg.clientWidth || 480;
    const bottom = chartHeight() - margin.bottom;
    const range = axis(metric);
    const y = x => bottom - (x - range.low) / (range.high - range.low) * (bottom - margin.top);
    svg.replaceChildren();
    svg.setAttribute("viewBox", `0 0 ${width} ${chartHeight()}`);
    xs = places(parameters[0], width);
    drawAxes(svg, metric, range, xs, y, width);
    data.arms.forEach((_, arm) => drawArm(svg, metric, arm, xs, y));
    mark.setAttribute("y2", bottom);
    svg.append(mark);
    choose(chosen);
  };
  const nearest = x => xs.reduce((best, at, i) => Math.abs(at - x) < Math.abs(xs[best] - x) ? i : best, 0);
  svg.addEventListener("pointermove", e => choose(nearest(e.clientX - svg.getBoundingClientRect().left)));
  svg.addEventListener("pointerleave", () => choose(null));
  svg.addEventListener("keydown", e => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
    if (!step)
      return;
    e.preventDefault();
    choose(Math.min(xs.length - 1, Math.max(0, chosen === null ? 0 : chosen + step)));
  });
  new ResizeObserver(draw).observe(chart);
  return chart;
}
