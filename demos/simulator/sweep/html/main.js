// Shows everything.

// The values of the settings that no axis shows.
const fixed = parameters.map(() => 0);

function showHead() {
  const title = data.title || data.file;
  $("title").textContent = title;
  const seeds = several ? `seeds ${data.seed} to ${data.seed + data.seeds - 1}` : `seed ${data.seed}`;
  const facts = [data.file,
    parameters.map(p => `${p.name}: ${p.texts.length} values`).join(", "), seeds];
  if (data.interrupted)
    facts.push("interrupted: not all runs are here");
  $("facts").append(...facts.map(t => element("span", {}, t)));
  $("failures").hidden = data.failures.length === 0;
  $("failures").append(...data.failures.map(t => element("li", {}, t)));
}

function showEnd() {
  $("command").textContent = data.command;
  $("file").textContent = data.file;
  $("scenario").hidden = data.scenario === "";
  $("scenario-text").textContent = data.scenario;
  $("about").textContent = `Made by caisson ${data.version}. `
    + "Healthy at the end: the verdicts recovered and no fault.";
}

function section(metric, children) {
  return element("section", { "aria-label": metric.title, "data-metric": metric.name },
    element("h2", {}, metric.title), ...children);
}

// The first setting goes down, the second across; points by row and column.
function view() {
  const [down, across] = [0, 1];
  const points = parameters[down].texts.map((_, i) =>
    parameters[across].texts.map((__, j) => {
      const indexes = [...fixed];
      [indexes[down], indexes[across]] = [i, j];
      return pointAt(indexes);
    }));
  return { down, across, points };
}

const pointing = "Point at a chart, or use the arrow keys, to read its numbers. "
  + "A line has a gap where there is no number, or where something never happened.";

function showResults() {
  if (parameters.length === 1)
    return $("results").replaceChildren(element("section", { "aria-labelledby": "lines-title" },
      element("h2", { id: "lines-title" }, "By " + parameters[0].path),
      element("p", { class: "hint" }, several
        ? "Lines are medians over the seeds, bands go from the smallest to the largest value. " + pointing
        : pointing),
      element("div", { class: "plots" }, ...shown.map(lineChart))));
  const now = view();
  $("results").replaceChildren(...shown.map(metric => section(metric, heatMaps(metric, now))));
}

function showChoices() {
  parameters.slice(2).forEach((p, i) => {
    const list = element("select", {}, ...p.texts.map((t, k) => element("option", { value: k }, t)));
    list.addEventListener("change", () => {
      fixed[i + 2] = Number(list.value);
      showResults();
    });
    $("choices").append(element("label", { class: "pick" }, p.path + " ", list));
  });
  $("choices").hidden = parameters.length < 3;
}

const mostRows = 2000;

function numbersTable() {
  const head = [...parameters.map(p => p.path), "arm", "verdict", ...data.metrics.map(m => m.name)];
  const table = element("table", {}, element("tr", {},
    ...head.map(t => element("th", { scope: "col" }, t))));
  let rows = 0;
  for (let point = 0; point < data.results.length && rows < mostRows; ++point)
    for (let arm = 0; arm < data.arms.length; ++arm, ++rows)
      table.append(element("tr", {},
        ...parameters.map((p, i) => element("td", {},
          p.texts[Math.floor(point / strides[i]) % p.texts.length])),
        element("td", {}, data.arms[arm]), element("td", {}, verdictText(point, arm)),
        ...shown.slice(1).map(m => element("td", { class: "number" }, spread(m.at(point, arm), m.unit)))));
  if (rows < data.results.length * data.arms.length)
    table.prepend(element("caption", {}, `The first ${rows} rows; --csv has all.`));
  return table;
}

function showNumbers() {
  $("spread").textContent = several ? "with the median, and the smallest and largest value over the seeds" : "";
  // Only when somebody looks: there may be thousands of rows.
  $("numbers").addEventListener("toggle", () => {
    if ($("numbers").open && !$("numbers-table").hasChildNodes())
      $("numbers-table").append(numbersTable());
  });
}

showHead();
showChoices();
showResults();
showNumbers();
showEnd();
