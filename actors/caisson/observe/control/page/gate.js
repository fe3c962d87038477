// One gate with its layers.

let openLayer = null;
// The status before the present one, for changes per second.
let shownBefore = null;

function select(name) {
  selected = name;
  shown = null;
  openLayer = null;
  shownBefore = null;
  location.hash = `gate=${encodeURIComponent(name)}`;
  byId("layers").replaceChildren();
  byId("gate-facts").textContent = "";
  byId("durations").tBodies[0].replaceChildren();
  byId("layer").hidden = true;
  byId("gate-title").textContent = name;
  byId("gate").hidden = false;
  byId("gate-title").focus({ preventScroll: true });
  byId("gate").scrollIntoView({ block: "nearest" });
  soon();
}

function ratesOf(now, before, seconds) {
  const out = {};
  if (before && seconds > 0)
    for (const [name, value] of Object.entries(now))
      if (before[name] != null && value > before[name])
        out[name] = (value - before[name]) / seconds;
  return out;
}

const rejections = /reject|refus|shed|expired|timeout|dropped|too_|gave_up|skipped/;

// The numbers that a card has room for: rejections first, then what flows.
function mainNumbers(metrics, rates) {
  const rank = (name) => (rejections.test(name) && rates[name] ? 0 : name === "admitted" ? 1
    : rates[name] ? 2 : 3);
  return Object.entries(metrics)
    .filter(([name, value]) => saysSomething(name, value) && (rates[name] || !rejections.test(name)))
    .sort(([a], [b]) => rank(a) - rank(b)).slice(0, 4)
    .map(([name, value]) => [nameText(name), rates[name] != null
      ? `${threeDigits(rates[name])}/s` : valueText(name, value)]);
}

function makeLayer(layer) {
  if (layer.end) return element("li", { class: "end" }, layer.end);
  const button = element("button", { class: "layer", type: "button", "aria-controls": "layer",
    click: () => { openLayer = openLayer === layer.name ? null : layer.name; redraw(); } },
  element("b", {}, layer.name), element("span", { class: "kind" }), element("span"),
  element("span"), strip(layer.name));
  return element("li", {}, button);
}

function updateLayer(item, layer, rates, now) {
  if (layer.end) return;
  const [, kind, states, values, history] = item.firstElementChild.children;
  item.firstElementChild.setAttribute("aria-expanded", String(openLayer === layer.name));
  setText(kind, layer.kind === layer.name ? "" : layer.kind);
  const badges = layer.state ? [badge(layer.state.replaceAll("_", " "), gradeOfLayer(layer))] : [];
  if (layer.mode !== "enforce") badges.push(badge(layer.mode, "strained"));
  setBadges(states, badges);
  values.replaceChildren(...mainNumbers(layer.metrics, rates).map(([name, text]) =>
    element("span", { class: "value" }, element("span", {}, name), element("span", {}, text))));
  drawStrip(history, samplesOf(selected), (x) => x.layers && x.layers.get(layer.name), now,
    layer.name);
}

function numbersTable(title, rows) {
  if (rows.length === 0) return null;
  return element("div", {}, element("h4", {}, title), element("table", {}, element("tbody", {},
    ...rows.map((row) => element("tr", {}, ...row.map((x) => element("td", {}, x)))))));
}

function settingItem(layer, key) {
  const value = element("code");
  const change = element("button", { class: "link", type: "button", "aria-label": `Change ${key}`,
    click: () => askSetting(selected, layer, key, value.textContent) }, "change");
  return element("li", {}, element("span", {}, key), value, change);
}

function keyRow(key) {
  return [key.key, key.state.replaceAll("_", " "), key.admitted.toLocaleString("en")];
}

function layerNumbers(layer, rates) {
  const numbers = Object.entries(layer.metrics).filter(([name, x]) => saysSomething(name, x))
    .map(([name, x]) => [nameText(name), valueText(name, x),
      rates[name] ? `${threeDigits(rates[name])}/s` : ""]);
  return [numbersTable("Numbers since the start or the last reset, zeros left out", numbers),
    numbersTable("Busiest keys", layer.keys.map(keyRow))];
}

function layerPanel(layer) {
  const words = Object.keys(commands).filter(
    (x) => !x.startsWith("force_") || layer.kind === "breaker");
  return [
    element("div", { class: "bar" }, element("h3", {},
      layer.kind === layer.name ? layer.name : `${layer.name} (${layer.kind})`),
    element("span", { class: "buttons" }, ...words.map((x) => element("button", { type: "button",
      class: x === "force_open" || x === "off" ? "danger" : "",
      click: () => askCommand(selected, layer.name, x) }, `${commands[x][0]}…`)))),
    element("div"), element("div", { class: "columns" }), element("h4", {}, "Settings"),
    element("ul", { class: "settings" }),
  ];
}

// Buttons and settings stay while somebody is about to press them; numbers and
// values are made anew.
function updatePanel(layer, rates) {
  const panel = byId("layer");
  panel.hidden = !layer;
  if (!layer || panel.dataset.layer !== layer.name) panel.replaceChildren();
  panel.dataset.layer = layer ? layer.name : "";
  if (!layer) return;
  if (!panel.firstElementChild) panel.append(...layerPanel(layer));
  const [, notes, numbers, , settings] = panel.children;
  notes.replaceChildren(...(layer.notes || []).map((x) => element("p", { class: "hint" }, x)));
  numbers.replaceChildren(...layerNumbers(layer, rates).filter((x) => x));
  keepInStep(settings, Object.entries(layer.settings).filter(([key]) => key !== "name"),
    ([key]) => key, ([key]) => settingItem(layer.name, key),
    (item, [, value]) => setText(item.children[1], value));
}

function drawDurations(gate) {
  const rows = gate.durations.filter((x) => x.count > 0).map((x) => element("tr", {},
    element("td", {}, x.what.replaceAll("_", " ")),
    element("td", {}, x.ok ? "succeeded" : "failed"),
    element("td", { class: "number" }, x.count.toLocaleString("en")),
    ...[x.p50_ns, x.p90_ns, x.p99_ns, x.max_ns].map((ns) =>
      element("td", { class: "number" }, timeText(ns)))));
  byId("durations").tBodies[0].replaceChildren(...rows);
}

// The changes per second of each layer's numbers since the status before.
function noteRates(gate, now) {
  const seconds = shownBefore ? (now - shownBefore.now) / 1000 : 0;
  const before = new Map((shownBefore ? shownBefore.gate.layers : []).map((x) => [x.name, x.metrics]));
  gate.rates = new Map(gate.layers.map(
    (x) => [x.name, ratesOf(x.metrics, before.get(x.name), seconds)]));
  shownBefore = { gate, now };
}

function drawGate(gate, now) {
  byId("gate-body").hidden = false;
  for (const x of document.querySelectorAll("#gate > .bar button")) x.disabled = false;
  setBadges(byId("gate-badges"), stateBadges(gate));
  setText(byId("gate-facts"), Object.entries(gate.metrics)
    .filter(([name, x]) => saysSomething(name, x))
    .map(([name, x]) => `${nameText(name)} ${valueText(name, x)}`).join(" · "));
  drawCharts(now);
  keepInStep(byId("layers"), [{ name: "", end: "caller" }, ...gate.layers, { name: "\n", end: "worker" }],
    (x) => x.name, makeLayer, (item, x) => updateLayer(item, x, gate.rates.get(x.name), now));
  const open = gate.layers.find((x) => x.name === openLayer);
  updatePanel(open, open && gate.rates.get(open.name));
  drawDurations(gate);
}

// A gate that is gone, or does not answer: what was known of it is not shown.
function drawNoGate(why) {
  shown = null;
  shownBefore = null;
  byId("gate-body").hidden = true;
  for (const x of document.querySelectorAll("#gate > .bar button")) x.disabled = true;
  setBadges(byId("gate-badges"), [badge("no answer", "bad")]);
  setText(byId("gate-facts"), why);
}

function drawCharts(now) {
  drawCalls(byId("chart-calls"), samplesOf(selected), now);
  drawProgress(byId("chart-progress"), samplesOf(selected), now);
}
