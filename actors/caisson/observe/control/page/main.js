// Asks for the state of all gates, and of the one that is shown, again and again.

const period = 1000;
const periodInBackground = 10000;
let gates = [];
let shown = null;
let wake = () => {};
let lastAnswer = null;
let asking = false;
let linkRefused = false;

// Asks again at once.
function soon() {
  wake();
}

function showState(grade, text, notice) {
  const to = byId("connection");
  to.className = `badge ${grade}`;
  setText(to, text);
  byId("notice").hidden = !notice;
  setText(byId("notice"), notice || "");
}

function redraw() {
  const now = performance.now();
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
  if (gate.error) return drawNoGate(gate.error);
  stackOfSelected = gate.stack;
  shown = gate;
  noteRates(gate, now);
  drawGate(gate, now);
  showEvents();
}

async function look() {
  gates = (await ask("GET", "/v1/gates")).gates;
  const now = performance.now();
  lastAnswer = now;
  setStale(false);
  remember(gates, now);
  drawList(gates, now);
  if (selected != null) await lookAtGate(now);
  showState("good", "live");
}

// What is shown is no longer true.
function setStale(stale) {
  document.body.classList.toggle("stale", stale);
  if (!stale) return;
  setText(byId("summary"), "");
  document.title = "Gates: no answer";
}

// A request that is not answered is no failure yet.
function noteAge() {
  const age = (performance.now() - lastAnswer) / 1000;
  if (!asking || lastAnswer == null || age < 5 || document.hidden) return;
  showState("strained", `last answer ${Math.floor(age)} s ago`);
  if (age > 15) setStale(true);
}

function describeFailure(e) {
  setStale(true);
  linkRefused = linkRefused || e.status === 403;
  if (e.status === 403 || e.status === 401)
    showState("bad", "no access", `${linkRefused ? "This link has been used, is older than five minutes, or is incomplete."
      : "This page is opened by a link that works once."} Get one: caisson ctl --file FILE page`);
  else if (e.status === 0)
    showState("bad", "no answer", "The program does not answer: it has ended, or its machine is busy.");
  else
    showState("bad", "no answer", e.message);
}

async function keepLooking() {
  for (;;) {
    try {
      asking = true;
      await useTicket();
      if (!session) throw new RequestError(401, "");
      await look();
      linkRefused = false;
    } catch (e) {
      describeFailure(e);
    }
    asking = false;
    await Promise.race([pause(document.hidden ? periodInBackground : period),
      new Promise((resolve) => { wake = resolve; })]);
  }
}

function showByHash() {
  const name = new URLSearchParams(location.hash.slice(1)).get("gate");
  if (name && name !== selected) return select(name);
  if (name) return null;
  selected = shown = null;
  byId("gate").hidden = true;
  return soon();
}

document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  byId("gates").focus();
});
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
setInterval(noteAge, 1000);
