// What happens in the gates.

const mostEvents = 300;
let stackOfSelected = null;

function isShown(item) {
  return !byId("events-selected").checked || item.dataset.gate === stackOfSelected;
}

function showEvents() {
  const items = [...byId("event-list").children];
  for (const x of items) x.hidden = !isShown(x);
  const any = items.some((x) => !x.hidden);
  byId("events-note").hidden = any;
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
  }
  while (list.children.length > mostEvents) list.lastElementChild.remove();
  showEvents();
}

async function followEvents() {
  let cursor = null;
  for (;;) {
    try {
      const query = cursor ? `?after=${encodeURIComponent(cursor)}&wait=5s` : "";
      const answer = await ask("GET", `/v1/events${query}`);
      cursor = answer.cursor;
      if (answer.missed !== 0)
        addEvents([{ text: answer.missed ? `${answer.missed} events were missed` : "events may have been missed",
          event: { time: new Date().toISOString() } }]);
      addEvents(answer.events);
      // Many at once: not faster than one can look.
      if (answer.events.length) await pause(200);
    } catch {
      cursor = null;
      await pause(2000);
    }
  }
}
