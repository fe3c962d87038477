// Strips of states and charts of the last ten minutes.

const colours = () => {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(`--strip-${name}`).trim();
  return { good: of("good"), strained: of("strained"), bad: of("bad"), none: of("none") };
};

const gradeWords = { good: "normal", strained: "needs attention", bad: "bad" };

const heights = { good: 5, strained: 8, bad: 10 };

function strip(label) {
  const out = element("canvas", { class: "strip", role: "img", "aria-label": label });
  out.width = 150;
  out.height = 10;
  return out;
}

// The worst state of each part of the time; parts without a sample take that of
// the sample before, unless it is too old. What is worse is higher.
function drawStrip(canvas, samples, gradeOf, now, name) {
  const parts = canvas.width;
  const length = historyTime / parts;
  const worst = new Array(parts).fill(null);
  for (const x of samples) {
    const part = Math.min(parts - 1, Math.floor((x.at - now + historyTime) / length));
    const grade = gradeOf(x);
    if (part >= 0 && grade) worst[part] = worst[part] ? worse(worst[part], grade) : grade;
  }
  const paint = canvas.getContext("2d");
  const colour = colours();
  let gap = Infinity;
  let last = null;
  let bad = 0;
  for (let i = 0; i < parts; ++i) {
    if (worst[i]) [last, gap] = [worst[i], 0];
    else if (++gap * length > longestGap) last = null;
    if (last && last !== "good") ++bad;
    paint.fillStyle = colour.none;
    paint.fillRect(i, 0, 1, 10);
    if (!last) continue;
    paint.fillStyle = colour[last];
    paint.fillRect(i, 10 - heights[last], 1, heights[last]);
  }
  canvas.setAttribute("aria-label", last
    ? `${name}: ${gradeWords[last]} now, not normal for ${timeText(bad * length * 1e6)} of the last 10 min`
    : `${name}: nothing is known`);
}

const chartWidth = 600;
const chartHeight = 100;

const xOf = (at, now) => chartWidth * (1 - (now - at) / historyTime);

// An area between two values of each sample; samples without them leave a gap.
function area(samples, now, low, high, most, name) {
  const y = (value) => chartHeight * (1 - value / most);
  const runs = [[]];
  let last = -Infinity;
  for (const x of samples) {
    if (high(x) == null || x.at - last > longestGap) runs.push([]);
    if (high(x) != null) runs.at(-1).push(x);
    last = x.at;
  }
  return runs.filter((run) => run.length > 1).map((run) => {
    const up = run.map((x) => `${xOf(x.at, now).toFixed(1)},${y(high(x)).toFixed(1)}`);
    const down = run.map((x) => `${xOf(x.at, now).toFixed(1)},${y(low(x)).toFixed(1)}`).reverse();
    return svg("polygon", { class: name, points: [...up, ...down].join(" ") });
  });
}

function line(samples, now, value, most) {
  const points = samples.filter((x) => value(x) != null).map(
    (x) => `${xOf(x.at, now).toFixed(1)},${(chartHeight * (1 - value(x) / most)).toFixed(1)}`);
  return points.length > 1 ? [svg("polyline", { class: "line", points: points.join(" ") })] : [];
}

// The next of 1, 2, 5, 10, … that is not below.
function niceMost(x) {
  if (!(x > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(x));
  return [1, 2, 5, 10].map((n) => n * power).find((n) => n >= x);
}

function drawChart(into, label, most, shapes) {
  const axis = svg("line", { class: "axis", x1: 0, x2: chartWidth, y1: chartHeight, y2: chartHeight });
  const picture = svg("svg", { class: "chart", viewBox: `0 0 ${chartWidth} ${chartHeight + 1}`,
    preserveAspectRatio: "none", role: "img", "aria-label": label }, axis, ...shapes);
  into.replaceChildren(
    element("div", { class: "scale" }, element("span", {}, `up to ${threeDigits(most)}`)),
    picture,
    element("div", { class: "scale" }, element("span", {}, "10 min ago"), element("span", {}, "now")));
}

function drawCalls(into, samples, now) {
  const all = (x) => (x.failed == null ? null : x.good + x.failed);
  const most = niceMost(Math.max(0, ...samples.map((x) => all(x) || 0)));
  const last = samples.at(-1);
  const label = last && all(last) != null
    ? `now ${threeDigits(last.good)} succeed and ${threeDigits(last.failed)} fail per second`
    : "no calls are known yet";
  drawChart(into, label, most, [
    ...area(samples, now, (x) => x.failed, all, most, "ok"),
    ...area(samples, now, () => 0, (x) => x.failed, most, "failed")]);
}

function drawProgress(into, samples, now) {
  const most = niceMost(Math.max(0, ...samples.map((x) => x.progress || 0)));
  const last = samples.at(-1);
  drawChart(into, `now ${last && last.progress != null ? last.progress : "unknown"}`, most,
    line(samples, now, (x) => x.progress, most));
}
