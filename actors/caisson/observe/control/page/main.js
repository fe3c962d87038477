// Asks for the state of all gates, and of the one that is shown, again and again.

const period = 1000;
const periodInBackground = 10000;
let gates = [];
let shown = null;
let wake = () => {};

// Asks again at once.
function soon() {
  wake();
}

function tell(grade, text, notice) {
  const to = byId("connection");
  to.className = `badge ${grade}`;
  setText(to, text);
  byId("notice").hidden = !notice;
  setText(byId("notice"), notice || "");
}

function redraw() {
  const now = Date.now();
  drawList(gates, now);
  if (shown) drawGate(shown, now);
}

async function lookAtGate(now) {
  const name = selected;
  const gate = await ask("GET", gatePath(name)).catch((e) => {
    if (e.status === 0 || e.status === 401) throw e;
    return { error: e.message };
  });
  if (name !== selected) return;
  if (gate.error) {
    setBadges(byId("gate-badges"), [badge("no answer", "bad")]);
    setText(byId("gate-facts"), gate.error);
    return;
  }
  stackOfSelected = gate.stack;
  shown = gate;
  drawGate(gate, now);
  shownBefore = { gate, now };
  showEvents();
}

async function look() {
  gates = (await ask("GET", "/v1/gates")).gates;
  const now = Date.now();
  remember(gates, now);
  drawList(gates, now);
  if (selected != null) await lookAtGate(now);
  tell("good", "live");
}

function describeFailure(e) {
  if (e.status === 401)
    tell("bad", "no access", "This session has ended. Get a new link: caisson ctl page");
  else if (e.status === 0)
    tell("bad", "no answer", "The program does not answer: it has ended, or its machine is busy.");
  else
    tell("bad", "no answer", e.message);
}

async function keepLooking() {
  for (;;) {
    try {
      await look();
    } catch (e) {
      describeFailure(e);
    }
    await Promise.race([pause(document.hidden ? periodInBackground : period),
      new Promise((resolve) => { wake = resolve; })]);
  }
}

function showByHash() {
  const name = decodeURIComponent(location.hash.slice(1));
  if (name && name !== selected) {
    select(name);
  }
}

byId("search").addEventListener("input", redraw);
byId("unusual").addEventListener("change", redraw);
byId("events-selected").addEventListener("change", showEvents);
byId("reload").addEventListener("click", askReload);
byId("drain").addEventListener("click", () => askDrain(selected));
byId("enable-all").addEventListener("click", () => askCommand(selected, "", "enable"));
byId("reset-all").addEventListener("click", () => askCommand(selected, "", "reset"));
window.addEventListener("hashchange", showByHash);
document.addEventListener("visibilitychange", soon);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
showByHash();
keepLooking();
followEvents();
