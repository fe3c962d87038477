// Two settings: a map of colours for each arm.

const dense = 26;

// The smallest and the largest middle value among all arms, so that colours can
// be compared.
function rangeOf(metric, points) {
  let [low, high] = [Infinity, -Infinity];
  for (const point of points)
    for (let arm = 0; arm < data.arms.length; ++arm) {
      const value = metric.at(point, arm);
      if (value && value[1] !== "never") {
        low = Math.min(low, value[1]);
        high = Math.max(high, value[1]);
      }
    }
  return metric.unit === "share" && metric.name === "well" ? [0, 1] : [low, high];
}

// From 0 to 1; what never happens is beyond all times. Where it is known what is
// better, 1 is the best, whatever the number is of.
function levelOf(metric, x, [low, high]) {
  const level = x === "never" ? 1 : high > low ? (x - low) / (high - low) : 0.5;
  return metric.more === false ? 1 - level : level;
}

// Of a single run, its verdict says more than a share.
const ofVerdicts = metric => metric.name === "well" && !several;

function cellOf(metric, point, arm, range) {
  const value = metric.at(point, arm);
  if (!value)
    return element("td", { class: "none" }, "–");
  if (ofVerdicts(metric)) {
    const verdict = verdictText(point, arm);
    return element("td", { class: "how " + verdict.replace(" ", "-") }, verdict);
  }
  const level = levelOf(metric, value[1], range);
  const cell = element("td", {}, brief(value[1], metric.unit));
  cell.style.background = `color-mix(in oklab, var(--low), var(--high) ${(level * 100).toFixed(1)}%)`;
  cell.style.color = level > 0.62 ? "var(--on-high)" : "var(--on-low)";
  return cell;
}

// The best cells of an arm, unless all are alike.
function bestOf(metric, points, arm) {
  if (metric.more === null || ofVerdicts(metric))
    return new Set();
  const number = point => {
    const value = metric.at(point, arm);
    return !value ? NaN : value[1] === "never" ? Infinity : value[1];
  };
  const known = points.filter(point => !Number.isNaN(number(point)));
  const numbers = known.map(number);
  const best = metric.more ? Math.max(...numbers) : Math.min(...numbers);
  const found = known.filter(point => number(point) === best);
  return new Set(found.length * 2 <= known.length ? found : []);
}

function heatMap(metric, arm, view, range) {
  const [down, across] = [parameters[view.down], parameters[view.across]];
  const points = view.points.flat();
  const best = bestOf(metric, points, arm);
  const head = element("tr", {}, element("th", { class: "corner" }),
    ...across.texts.map(t => element("th", { scope: "col" }, t)));
  const axes = `down: ${down.path}, across: ${across.path}`;
  const table = element("table", { "aria-label": `${data.arms[arm]}: ${metric.title}, ${axes}` }, head);
  view.points.forEach((row, i) => {
    table.append(element("tr", {}, element("th", { scope: "row" }, down.texts[i]),
      ...row.map((point, j) => {
        const cell = cellOf(metric, point, arm, range);
        cell.title = `${data.arms[arm]}, ${down.name} ${down.texts[i]}, ${across.name} ${across.texts[j]}: `
          + `${spread(metric.at(point, arm), metric.unit)}; ${verdictText(point, arm)}`;
        if (best.has(point))
          cell.classList.add("best");
        return cell;
      })));
  });
  const out = element("div", { class: "map" }, armHead(arm), element("p", { class: "axes" }, axes),
    element("div", { class: "scroll" }, table));
  if (across.texts.length > dense)
    out.classList.add("dense");
  return out;
}

function heatMaps(metric, view) {
  const range = rangeOf(metric, view.points.flat());
  const wide = parameters[view.across].texts.length > 6 ? " wide" : "";
  const maps = element("div", { class: "maps" + wide },
    ...data.arms.map((_, arm) => heatMap(metric, arm, view, range)));
  if (range[0] > range[1] || ofVerdicts(metric))
    return [maps];
  return [maps, scaleOf(metric, range)];
}

// What the colours stand for: from worse to better, or from less to more where it
// is not clear which of the two is better.
function scaleOf(metric, range) {
  const [pale, dark] = (metric.more === false ? [...range].reverse() : range)
    .map(x => brief(x, metric.unit));
  const [from, to] = metric.more === null ? ["less", "more"] : ["worse", "better"];
  return element("p", { class: "scale" },
    element("span", {}, `${from}: ${pale}`), element("i", { "aria-hidden": "true" }),
    element("span", {}, `${to}: ${dark}`),
    metric.more === null ? "" : element("span", {}, "· framed: the best of an arm"));
}
