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

function cardNumbers(arm) {
  const r = arm.result;
  const numbers = [
    ["success", r.success === null ? "–" : percent(r.success), "success"],
    ["attempts per request", r.amplification.toFixed(2), "amplification"],
    ["p50 of good", r.latency.count ? shortTime(r.latency.p50 * 1e6) : "–", "p50"],
    ["p99 of good", r.latency.count ? shortTime(r.latency.p99 * 1e6) : "–", "p99"],
  ];
  const list = element("dl", { class: "card-numbers" });
  for (const [name, text, key] of numbers)
    list.append(element("div", {}, element("dt", {}, name),
      element("dd", { "data-number": key }, text)));
  return list;
}

// How each load fares, where there are several.
function cardLoads(arm) {
  const loads = arm.result.loads;
  if (loads.length < 2)
    return [];
  return [element("table", { class: "card-loads" },
    element("tr", {}, ...["load", "success", "p99 of good"].map((text, i) =>
      element("th", { scope: "col", class: i ? "number" : "" }, text))),
    ...loads.map(load => element("tr", {},
      element("th", { scope: "row" }, load.name),
      element("td", { class: "number" }, load.success === null ? "–" : percent(load.success)),
      element("td", { class: "number" },
        load.latency.count ? shortTime(load.latency.p99 * 1e6) : "–"))))];
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

function spreadText(s, text) {
  return ["min", "median", "max"].map(key => text(s[key])).join(" / ");
}

// With several seeds: how often each verdict, and how far the numbers lie apart.
function seedsTable() {
  const verdicts = ["recovered", "degraded", "stuck", "no_fault", "relapsed"];
  const head = ["arm", "runs", ...verdicts.map(v => v.replace("_", " ")), "recovery", "success", "p99"];
  const table = element("table", {},
    element("caption", {}, `Over ${data.seeds} seeds; recovery, success and p99 of good answers: min / median / max`),
    element("tr", {}, ...head.map(text => element("th", { scope: "col" }, text))));
  for (const v of data.verdicts)
    table.append(element("tr", {},
      element("th", { scope: "row" }, v.arm), element("td", {}, grouped(v.runs)),
      ...verdicts.map(key => element("td", {}, grouped(v[key]))),
      element("td", {}, spreadText(v.recovery, x => (x === null ? "never" : x + " s"))),
      element("td", {}, spreadText(v.success, x => (x === null ? "–" : percent(x)))),
      element("td", {}, spreadText(v.p99, x => (x === null ? "–" : shortTime(x * 1e6))))));
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
