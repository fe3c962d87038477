// The table of all gates.

const mostRows = 200;
let selected = null;

function layerBadges(gate) {
  return gate.layers.filter((x) => gradeOfLayer(x) !== "good").map((x) => badge(
    [x.name, x.state.replaceAll("_", " "), x.mode === "enforce" ? "" : `(${x.mode})`]
      .filter(Boolean).join(" "), gradeOfLayer(x)));
}

function stateBadges(gate) {
  const out = [badge(gate.state, gate.state === "accepting" ? "good" : "strained")];
  const worker = gradeOfWorker(gate.worker);
  if (worker !== "good") out.push(badge(`worker ${gate.worker.replaceAll("_", " ")}`, worker));
  return out;
}

function isMatch(gate) {
  const text = byId("search").value.trim().toLowerCase();
  return (!text || gate.name.toLowerCase().includes(text))
    && (!byId("unusual").checked || gradeOfGate(gate) !== "good");
}

function makeRow(gate) {
  const open = element("button", { class: "link", type: "button", click: () => select(gate.name) },
    gate.name);
  return element("tr", {}, element("th", { scope: "row" }, open), element("td"),
    element("td", { class: "number" }), element("td", { class: "number" }),
    element("td", { class: "number" }), element("td", {}, strip(gate.name)), element("td"));
}

// Replaces badges only if they are others.
function setBadges(cell, badges) {
  const text = badges.map((x) => x.className + x.textContent).join("\n");
  if (cell.dataset.shown === text) return;
  cell.dataset.shown = text;
  cell.replaceChildren(...badges);
}

function updateRow(row, gate, now) {
  const [, state, rate, failed, progress, history, layers] = row.children;
  const samples = samplesOf(gate.name);
  const last = samples.at(-1) || {};
  const calls = last.rate == null ? null : recent(samples, (x) => x.rate);
  const ends = recent(samples, (x) => (x.failed == null ? null : x.good + x.failed));
  const share = calls == null ? null : ends > 0 ? recent(samples, (x) => x.failed) / ends : 0;
  row.classList.toggle("selected", gate.name === selected);
  setBadges(state, gate.error ? [badge("no answer", "bad")] : stateBadges(gate));
  setText(rate, calls == null ? "–" : threeDigits(calls));
  setText(failed, share == null ? "–" : percent(share));
  failed.classList.toggle("some", share > 0);
  setText(progress, last.progress == null ? "–" : last.progress.toLocaleString("en"));
  drawStrip(history.firstElementChild, samples, (x) => x.grade, now, gate.name);
  layers.classList.toggle("error", Boolean(gate.error));
  if (gate.error) setBadges(layers, [element("span", {}, gate.error)]);
  else setBadges(layers, layerBadges(gate));
}

function drawList(gates, now) {
  const matches = gates.filter(isMatch);
  // Those that need attention must not be among those that are left out.
  if (matches.length > mostRows)
    matches.sort((a, b) => grades.indexOf(gradeOfGate(b)) - grades.indexOf(gradeOfGate(a)));
  keepInStep(byId("list").tBodies[0], matches.slice(0, mostRows), (x) => x.name, makeRow,
    (row, gate) => updateRow(row, gate, now));
  const note = byId("list-note");
  const hidden = matches.length - mostRows;
  note.hidden = matches.length > 0 && hidden <= 0;
  setText(note, gates.length === 0 ? "The program has no gates here yet."
    : matches.length === 0 ? "No gate is like that."
      : `${hidden} more gates: search for a part of their names.`);
  const unusual = gates.filter((x) => gradeOfGate(x) !== "good").length;
  const summary = unusual === 0 ? "all normal"
    : `${unusual} ${unusual === 1 ? "needs" : "need"} attention`;
  setText(byId("summary"), `${gates.length} ${gates.length === 1 ? "gate" : "gates"}, `
    + summary);
  document.title = `Gates: ${summary}`;
}
