// The head of the page: what was run, and a card for each arm.

function showHead() {
  const title = data.title || data.file;
  $("title").textContent = title;
  const seeds = data.seeds > 1
    ? `seeds ${data.seed} to ${data.seed + data.seeds - 1}; charts show the first`
    : `seed ${data.seed}`;
  const facts = [data.file, seeds];
  if (arms.length) {
    const length = Math.max(...arms.map(arm => arm.result.length));
    facts.splice(1, 0, clock(length, length));
  }
  if (step > 1)
    facts.push(`in steps of ${step} s`);
  if (data.interrupted)
    facts.push("interrupted");
  $("facts").append(...facts.map(text => element("span", {}, text)));
  $("failures").hidden = data.failures.length === 0;
  $("failures").append(...data.failures.map(text => element("li", {}, text)));
}

// Latencies are those of good answers.
const cardHeading = c => (c.of_good ? `${c.heading} of good` : c.heading);

function cardNumbers(arm) {
  const list = element("dl", { class: "card-numbers" });
  for (const c of data.columns.card)
    list.append(element("div", {}, element("dt", {}, cardHeading(c)),
      element("dd", { "data-number": c.key }, numberText(c, arm.card[c.key]))));
  return list;
}

// How each load fares, where there are several.
function cardLoads(arm) {
  const columns = data.columns.card_loads;
  if (arm.card_loads.length < 2)
    return [];
  return [element("table", { class: "card-loads" },
    element("tr", {}, ...["load", ...columns.map(cardHeading)].map((text, i) =>
      element("th", { scope: "col", class: i ? "number" : "" }, text))),
    ...arm.card_loads.map((load, i) => element("tr", {},
      element("th", { scope: "row" }, arm.loads[i]),
      ...columns.map(c => element("td", { class: "number" }, numberText(c, load[c.key]))))))];
}

// As a sentence of its own; names of services stay as they are.
function sentence(arm) {
  const text = arm.headline;
  const named = arm.services.some(s => text.startsWith(s.name + " "));
  return (named ? text : text.charAt(0).toUpperCase() + text.slice(1)) + ".";
}

function card(arm) {
  const verdict = arm.result.verdict || "interrupted";
  const input = element("input", { type: "radio", name: "card", value: arm.index });
  input.setAttribute("aria-label", `${arm.name}: ${arm.headline}`);
  input.addEventListener("change", () => choose({ arm: arm.index }));
  const swatch = element("i");
  swatch.style.background = `var(--${armColour(arm.index)})`;
  const out = element("label", { class: "card" }, input,
    element("div", { class: "card-top" },
      element("span", { class: "card-name" }, swatch, arm.name),
      element("span", { class: "badge " + verdict.replace(" ", "-") }, arm.verdict_text)));
  if (arm.title)
    out.append(element("p", { class: "card-title" }, arm.title));
  out.append(element("p", { class: "card-headline" }, sentence(arm)), cardNumbers(arm), ...cardLoads(arm));
  for (const text of arm.result.warnings)
    out.append(element("p", { class: "card-warning" }, text));
  return out;
}

function spreadText(c, s) {
  return ["min", "median", "max"].map(key => numberText(c, s[key])).join(" / ");
}

// `a, b and c`
function listText(texts) {
  const last = texts[texts.length - 1];
  return texts.length > 1 ? `${texts.slice(0, -1).join(", ")} and ${last}` : last;
}

// With several seeds: how often each verdict, and how far the numbers lie apart.
function seedsTable() {
  const verdicts = ["recovered", "degraded", "stuck", "no_fault", "relapsed"];
  const columns = data.columns.seeds;
  const head = ["arm", "runs", ...verdicts.map(v => v.replace("_", " ")), ...columns.map(c => c.heading)];
  const what = listText(columns.map(c => (c.of_good ? `${c.heading} of good answers` : c.heading)));
  const table = element("table", {},
    element("caption", {}, `Over ${data.seeds} seeds; ${what}: min / median / max`),
    element("tr", {}, ...head.map(text => element("th", { scope: "col" }, text))));
  for (const v of data.verdicts)
    table.append(element("tr", {},
      element("th", { scope: "row" }, v.arm), element("td", {}, grouped(v.runs)),
      ...verdicts.map(key => element("td", {}, grouped(v[key]))),
      ...columns.map(c => element("td", {}, spreadText(c, v[c.key])))));
  return element("div", { class: "scroll panel" }, table);
}

function showHeadline() {
  showHead();
  $("cards").append(...arms.map(card));
  if (data.seeds > 1)
    $("seeds").append(seedsTable());
  const follow = () => {
    document.querySelectorAll("#cards input").forEach((input, i) => {
      input.checked = i === state.arm;
    });
    document.querySelectorAll(".of-arm").forEach(span => {
      span.textContent = arms.length > 1 ? "· " + chosen().name : "";
    });
  };
  follow();
  listen(changed => changed.arm && follow());
}
