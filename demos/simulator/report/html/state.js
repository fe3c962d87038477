// The chosen arm and row of time. Everything that shows them listens.

const state = { arm: 0, row: 0, playing: false, all: false };
const listeners = [];

function listen(f) {
  listeners.push(f);
}

function choose(change) {
  const before = { ...state };
  Object.assign(state, change);
  state.row = Math.max(0, Math.min(longest - 1, Math.round(state.row)));
  const changed = {};
  for (const key of Object.keys(state))
    changed[key] = state[key] !== before[key];
  if (Object.values(changed).some(Boolean))
    for (const f of listeners)
      f(changed);
}

const chosen = () => arms[state.arm];

// The row of an arm that may be shorter than others.
const rowOf = arm => Math.min(state.row, arm.rows - 1);

// -- faults -----------------------------------------------------------------------

// Those that are alike but for their time, as one.
function faultGroups(faults) {
  const groups = new Map();
  for (const f of faults)
    groups.set(f.label, [...(groups.get(f.label) || []), f]);
  return [...groups];
}

function faultTime(f) {
  const [from, to] = [clock(f.at), clock(f.at + f.lasts)];
  return from === to ? `at ${from}` : `${from} to ${to}`;
}

// `slow ×8 payments, 60 s to 80 s`, for each kind of fault.
function faultTexts(faults) {
  return faultGroups(faults).map(([label, all]) => all.length === 1
    ? `${label}, ${faultTime(all[0])}`
    : `${label}, ${grouped(all.length)} times, first ${faultTime(all[0])}`);
}

// What the shaded times of charts are.
function faultKeys(faults) {
  return element("ul", { class: "legend faults", "aria-label": "Faults" },
    ...faultTexts(faults).map(text => element("li", {}, element("i", { class: "shade" }), text)));
}

// Where to begin: with the worst arm, when its faults have just gone, or else in
// the middle.
function firstView() {
  const order = ["stuck", "degraded", "recovered", "no fault"];
  const rank = arm => (order.indexOf(arm.result.verdict) + 9) % 9;
  const arm = arms.reduce((a, b) => (rank(b) < rank(a) ? b : a), arms[0]);
  const from = arm.result.recovery_from;
  const length = arm.result.length;
  const at = from !== null && from < length ? from + (length - from) * 0.15 : length / 2;
  return { arm: arm.index, row: Math.floor(at / step) };
}

// -- links ------------------------------------------------------------------------

// What the address says: `#t=70&arm=bare`, with a time in seconds. What is
// missing, or not there, is left out.
function linkedView() {
  const link = new URLSearchParams(location.hash.slice(1));
  const view = {};
  const arm = arms.find(a => a.name === link.get("arm"));
  if (arm)
    view.arm = arm.index;
  const time = Number.parseFloat(link.get("t"));
  if (time >= 0)
    view.row = Math.min(longest - 1, Math.floor(time / step + 1e-9));
  return view;
}

// Keeps the address a link to what is shown, but not for each step of what moves:
// browsers limit how often that may change.
function keepLink() {
  let pending = 0;
  const write = () => {
    const time = Math.round(state.row * step * 1000) / 1000;
    try {
      history.replaceState(null, "", `#t=${time}&arm=${encodeURIComponent(chosen().name)}`);
    } catch {
      // A frame of another page may not have an address.
    }
  };
  const schedule = () => {
    clearTimeout(pending);
    pending = setTimeout(write, 250);
  };
  listen(changed => {
    if (!state.playing && (changed.row || changed.arm || changed.playing))
      schedule();
  });
  addEventListener("hashchange", () => {
    const view = linkedView();
    if (Object.keys(view).length > 0)
      choose({ ...view, playing: false });
    else
      schedule();
  });
}
