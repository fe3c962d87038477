// Sample requests as waterfalls: every call, its waits, its work, and what was
// done for nobody.

// The samples of the chosen row, or of the last one before that has some.
function samplesAt(arm, row) {
  const of = s => Math.floor(s.begun / 1e6 / step);
  const before = arm.samples.filter(s => of(s) <= row);
  if (before.length === 0)
    return [];
  const last = of(before[before.length - 1]);
  return before.filter(s => of(s) === last);
}

// The end of everything that was recorded for a request, as work may go on after
// its answer.
function endOf(sample) {
  let end = sample.took ?? 0;
  for (const [, , begin, ended, , parts] of sample.calls) {
    end = Math.max(end, begin, ended ?? 0);
    for (const [arrived, begun, left] of parts)
      end = Math.max(end, arrived, begun ?? 0, left ?? 0);
  }
  return Math.max(1, end);
}

const laneTop = 4;
const laneHeight = 8;

function bar(kind, from, to, whole, text) {
  const out = element("i", { class: kind, title: text });
  out.style.left = (from / whole) * 100 + "%";
  out.style.width = (Math.max(0, to - from) / whole) * 100 + "%";
  return out;
}

// The bars of one attempt, in a lane of their own.
function partBars(part, call, whole, lane) {
  const bars = rawBars(part, call, whole);
  for (const b of bars)
    b.style.top = laneTop + lane * laneHeight + "px";
  return bars;
}

function rawBars(part, call, whole) {
  const [arrived, begun, left, how] = part;
  const end = left ?? whole;
  const given = call.ended === null ? whole : call.ended;
  const bars = [];
  const wait = Math.min(begun ?? end, end);
  if (wait > arrived)
    bars.push(bar("wait", arrived, wait, whole, `waited ${shortTime(wait - arrived)}`));
  if (begun !== null && end >= begun) {
    const useful = Math.max(begun, Math.min(end, given));
    const failed = how === "done" || how === null ? "" : " failed";
    if (useful > begun || end === begun)
      bars.push(bar("work" + failed, begun, useful, whole, `worked ${shortTime(useful - begun)}: ${how ?? "not ended"}`));
    if (end > useful)
      bars.push(bar("vain", useful, end, whole, `worked on for ${shortTime(end - useful)}, when nobody waited any more`));
  }
  return bars;
}

function callLine(arm, sample, call, depth, whole) {
  const [, operation, begin, ended, how, parts] = call;
  const name = element("span", { class: "span-name", title: arm.operations[operation] }, arm.operations[operation]);
  name.style.paddingLeft = Math.min(depth, 8) * 12 + "px";
  const end = ended ?? whole;
  const failed = how !== null && how !== "good";
  const height = laneTop * 2 + Math.max(1, parts.length) * laneHeight;
  const frame = bar("call" + (failed ? " failed" : ""), begin, end, whole,
    `${shortTime(end - begin)}: ${how ?? "no answer"}, ${parts.length} arrived`);
  frame.style.height = height - 3 + "px";
  const track = element("span", { class: "span-track" }, frame,
    ...parts.flatMap((p, lane) => partBars(p, { ended }, whole, lane)));
  track.style.height = height + "px";
  const why = element("em", {}, failed ? how.replaceAll("_", " ") : how === null ? "no answer" : shortTime(end - begin));
  if (failed)
    why.className = "failed";
  return element("div", { class: "span" }, name, track, why);
}

function sampleCard(arm, sample) {
  const whole = endOf(sample);
  const depth = [];
  const lines = sample.calls.map((call, i) => {
    depth[i] = call[0] < 0 ? 0 : depth[call[0]] + 1;
    return callLine(arm, sample, call, depth[i], whole);
  });
  const how = sample.how === null ? "no answer" : sample.how.replaceAll("_", " ");
  const more = sample.more ? `, ${sample.more} more calls` : "";
  return element("article", { class: "sample" },
    element("div", { class: "sample-head" },
      element("h3", {}, `Request ${grouped(sample.number)} of ${arm.loads[sample.load]}`),
      element("span", {}, `at ${(sample.begun / 1e6).toFixed(3)} s: ${how}`
        + (sample.took === null ? "" : ` after ${shortTime(sample.took)}`) + more)),
    ...lines,
    element("div", { class: "sample-axis", "aria-hidden": "true" },
      element("span", {}, "0"), element("span", {}, shortTime(whole / 2)), element("span", {}, shortTime(whole))));
}

function legendItem(kind, text) {
  return element("li", {}, element("i", { class: kind }), text);
}

function drawSamples() {
  const arm = chosen();
  const found = samplesAt(arm, rowOf(arm));
  $("samples-hint").textContent = found.length
    ? `The first requests begun at ${clock(Math.floor(found[0].begun / 1e6))}. Each line is a call; `
      + "inside it, a bar for each attempt that arrived at the service."
    : "No request was begun before this time.";
  $("samples").replaceChildren(...found.map(s => sampleCard(arm, s)),
    element("ul", { class: "legend" }, legendItem("call", "the caller waits"),
      legendItem("wait", "in the queue"), legendItem("work", "with a server, own calls included"),
      legendItem("vain", "the same, when nobody waits any more")));
}

function showSamples() {
  if (!arms.some(arm => arm.samples && arm.samples.length))
    return;
  $("samples-section").hidden = false;
  drawSamples();
  listen(changed => (changed.arm || changed.row) && drawSamples());
}
