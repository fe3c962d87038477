// The list of events in the gates.

const mostEvents = 300;
let stackOfSelected = null;
let missed = 0;
let mayMiss = false;

function isShown(item) {
  return !byId("events-selected").checked || item.dataset.gate === stackOfSelected;
}

function showEvents() {
  const items = [...byId("event-list").children];
  for (const x of items) x.hidden = !isShown(x);
  const any = items.some((x) => !x.hidden);
  const note = [];
  if (!any) note.push(items.length ? "None of this gate." : "None since this page was opened.");
  if (missed) note.push(`${missed.toLocaleString("en")} were missed.`);
  if (mayMiss) note.push("Some may have been missed.");
  byId("events-note").hidden = note.length === 0;
  setText(byId("events-note"), note.join(" "));
}

function noteMissed(count) {
  if (count == null) mayMiss = true;
  else missed += count;
  if (count !== 0) showEvents();
}

// The same again, of another call, is counted and not shown once more.
const sameEvent = ({ gate, layer, kind, from, to, detail }) =>
  JSON.stringify([gate, layer, kind, from, to, detail]);

function eventItem(x) {
  const out = element("li", {}, element("time"), element("span"),
    element("span", { class: "times" }));
  out.dataset.gate = x.event.gate || "";
  out.dataset.same = sameEvent(x.event);
  out.dataset.count = 0;
  return out;
}

function countEvent(item, x) {
  const [time, text, times] = item.children;
  const count = Number(item.dataset.count) + 1;
  item.dataset.count = count;
  time.dateTime = x.event.time;
  setText(time, new Date(x.event.time).toLocaleTimeString("en-GB"));
  setText(text, count === 1 ? x.text : x.text.replace(/(, delay [^,]+)?, call \d+$/, ""));
  setText(times, count === 1 ? "" : `${count.toLocaleString("en")} times`);
}

// An event is the same again if it is one of so many that came last.
const mostCompared = 8;

function addEvents(events) {
  const list = byId("event-list");
  for (const x of events) {
    const same = sameEvent(x.event);
    const item = [...list.children].slice(0, mostCompared).find((y) => y.dataset.same === same)
      || eventItem(x);
    countEvent(item, x);
    if (list.firstElementChild !== item) list.prepend(item);
    if (list.children.length > mostEvents) list.lastElementChild.remove();
  }
  showEvents();
}

async function followEvents() {
  let cursor = null;
  for (;;) {
    try {
      // A hidden window holds no connection: a browser has six for one server.
      const wait = document.hidden ? "0s" : "5s";
      const query = cursor ? `?after=${encodeURIComponent(cursor)}&wait=${wait}` : "";
      const answer = await ask("GET", `/v1/events${query}`);
      cursor = answer.cursor;
      noteMissed(answer.missed);
      addEvents(answer.events);
      // Many at once: not faster than one can look.
      if (document.hidden) await pause(periodInBackground);
      else if (answer.events.length) await pause(200);
    } catch (e) {
      // Of another run of the program.
      if (e.status === 400) cursor = null;
      await pause(2000);
    }
  }
}
