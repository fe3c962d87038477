// The service graph of an arm at an instant.

// Of very many services only those are drawn that are asked most.
const mostNodes = 120;

function total(list) {
  return list.reduce((a, b) => a + b, 0);
}

// Nodes: loads first, then services. Edges between the same two are one.
function graphOf(arm) {
  let services = arm.services.map((s, i) => i);
  if (services.length > mostNodes)
    services = services
      .map(i => [total(arm.service_seconds[i].arrivals), i])
      .sort((a, b) => b[0] - a[0]).slice(0, mostNodes).map(([, i]) => i);
  const nodes = [
    ...arm.loads.map((load, i) => ({ load: i, name: load })),
    ...services.map(i => ({ service: i, name: arm.services[i].name })),
  ];
  const index = new Map(nodes.map((n, i) => [(n.load === undefined ? "s" : "l") + n.name, i]));
  const edges = new Map();
  arm.edges.forEach((e, i) => {
    const from = index.get((e.client ? "l" : "s") + e.from);
    const to = index.get("s" + e.to);
    if (from === undefined || to === undefined)
      return;
    const key = from + ">" + to;
    if (!edges.has(key))
      edges.set(key, { from, to, parts: [], breakers: [] });
    edges.get(key).parts.push(i);
    edges.get(key).breakers.push(...arm.breakers.filter(b => b.edge === i));
  });
  return { nodes, edges: [...edges.values()] };
}

// -- what is known of an instant ------------------------------------------------

function faultsAt(arm, hits, row) {
  const [begin, end] = [row * step, (row + 1) * step];
  return arm.faults.filter(f => hits(f) && f.at < end
    && (f.lasts > 0 ? f.at + f.lasts > begin : f.at >= begin));
}

// What of its servers, or of its cores if that is more, is busy over the row;
// nothing of a service without limits.
function usedOf(arm, i, row) {
  const t = arm.service_seconds[i];
  const microseconds = covered(arm, row) * 1e6;
  const { cores, workers } = arm.services[i];
  const servers = t.server_time ? t.server_time[row] : workers * microseconds;
  const shares = [];
  if (workers || t.server_time)
    shares.push(servers > 0 ? t.busy_time[row] / servers : 0);
  if (cores)
    shares.push(t.core_time[row] / (cores * microseconds));
  return shares.length ? Math.min(1, Math.max(...shares)) : null;
}

function serviceAt(arm, i, row) {
  const now = rowOfTable(arm.service_seconds[i], row);
  const workers = now.workers ?? arm.services[i].workers;
  now.used = usedOf(arm, i, row);
  const name = arm.services[i].name;
  // The fault of a zone may hit some replicas only.
  const whole = f => f.services ? f.services[name] : !f.replica;
  now.faults = faultsAt(arm, f => f.services ? name in f.services : f.target === name, row);
  const ended = now.completed + now.failed + now.refused;
  const lost = now.failed + now.refused;
  // Who comes now waits for so long, and others have filled more than a few turns.
  const rate = (now.completed + now.failed) / covered(arm, row);
  const jammed = now.queue > rate && now.queue > 4 * (workers || 1);
  const down = f => f.kind === "crash" || f.kind === "stall";
  if (now.faults.some(f => down(f) && whole(f))
      || jammed || (ended > 0 && lost > ended * 0.1))
    now.health = "bad";
  else if (now.faults.length || now.used >= 0.9
           || now.queue > (workers || 1) || lost > ended * 0.01)
    now.health = "strained";
  else
    now.health = now.arrivals || now.busy ? "good" : "idle";
  return now;
}

function edgeAt(arm, e, row) {
  const now = { state: "closed", connections: null, used: 0, waiting: 0, none: 0 };
  for (const i of e.parts) {
    const { connections: c, ...counts } = arm.edge_seconds[i];
    for (const [key, values] of Object.entries(counts))
      now[key] = (now[key] ?? 0) + values[row];
    if (!c)
      continue;
    now.connections += arm.edges[i].connections;
    now.used += c.used[row];
    now.waiting += c.waiting[row];
    now.none += c.no_connection[row];
  }
  now.faults = faultsAt(arm, f => f.edges && e.parts.some(i => f.edges.includes(i)), row);
  const found = e.breakers.map(b => b.states[row]);
  now.state = ["forced_open", "open", "half_open"].find(s => found.includes(s)) || "closed";
  return now;
}

// -- drawing --------------------------------------------------------------------

function clipped(text, width) {
  const most = Math.max(4, Math.floor(width / 7.4));
  return text.length > most ? text.slice(0, most - 1) + "…" : text;
}

// A curve, and a point on it that is nearer to its end, for a mark.
function curve(x1, y1, x2, y2, x3, y3, x4, y4) {
  const t = 0.72;
  const at = (a, b, c, d) => a * (1 - t) ** 3 + 3 * b * t * (1 - t) ** 2 + 3 * c * t * t * (1 - t) + d * t ** 3;
  return { d: `M${x1} ${y1}C${x2} ${y2} ${x3} ${y3} ${x4} ${y4}`,
    x: at(x1, x2, x3, x4), y: at(y1, y2, y3, y4) };
}

// From a node to another, around those between them.
function edgePath(stops, plan, width) {
  const { height } = nodeSize;
  const [a, b] = [stops[0], stops[stops.length - 1]];
  if (!plan.across) {
    const [x1, y1, x2, y2] = [a.x + width / 2, a.y + height, b.x + width / 2, b.y];
    const bend = Math.max(18, Math.abs(y2 - y1) / 2);
    return curve(x1, y1, x1, y1 + bend, x2, y2 - bend, x2, y2);
  }
  let [x, y, d] = [a.x + width, a.y + height / 2, ""];
  let first = null;
  for (const stop of stops.slice(1)) {
    const [x2, y2] = [stop.x, stop === b ? b.y + height / 2 : stop.y];
    const bend = Math.max(30, Math.abs(x2 - x) / 2);
    const part = curve(x, y, x + bend, y, x2 - bend, y2, x2, y2);
    // The mark is where edges to the same node have not come together yet.
    first ||= part;
    d += part.d;
    [x, y] = [x2 + width, y2];
    if (stop !== b)
      d += `H${x}`;
  }
  return { ...first, d };
}

function label(text, x, y) {
  const width = text.length * 6.8 + 12;
  return [drawn("rect", { x: x - width / 2, y: y - 8, width, height: 16, rx: 8 }),
    drawn("text", { x, y: y + 4, "text-anchor": "middle" }, text)];
}

function mixed(share) {
  const bad = Math.round(Math.min(1, share * 2) * 100);
  return `color-mix(in srgb, var(--bad) ${bad}%, var(--idle))`;
}

// Five replicas of db: "db ×5". Their number stays, however long the name.
function shownName(n, arm, width) {
  const replicas = n.load === undefined ? arm.services[n.service].replicas : 1;
  const count = replicas > 1 ? ` ×${replicas}` : "";
  return clipped(n.name, width - count.length * 7.4) + count;
}

class Graph {
  constructor(arm, width, heading) {
    this.arm = arm;
    this.graph = graphOf(arm);
    this.plan = layout(this.graph.nodes.length, this.graph.edges, width);
    this.nodeWidth = this.plan.nodeWidth;
    this.most = Math.max(1, ...arm.edge_seconds.map(t => Math.max(...t.calls)));
    this.svg = drawn("svg", { viewBox: `0 0 ${this.plan.width} ${this.plan.height}`, role: "img" });
    if (this.plan.width > width)
      this.svg.style.width = this.plan.width + "px";
    this.edges = this.graph.edges.map((e, i) => this.addEdge(e, this.plan.bends[i]));
    this.nodes = this.graph.nodes.map((n, i) => this.addNode(n, this.plan.at[i]));
    // Above all else.
    this.svg.append(...this.edges.map(edge => edge.mark));
    this.element = element("div", { class: "graph-card" },
      ...(heading ? [element("h3", {}, arm.name)] : []), this.svg);
  }

  addEdge(e, bends) {
    const stops = [e.from, ...bends, e.to].map(n => this.plan.at[n]);
    const { d, x, y } = edgePath(stops, this.plan, this.nodeWidth);
    const path = drawn("path", { d });
    const title = drawn("title");
    const mark = drawn("g");
    const group = drawn("g", { class: "edge" }, title, path);
    this.svg.append(group);
    return { e, path, title, mark, group, x, y };
  }

  addNode(n, at) {
    const [w, { height: h }] = [this.nodeWidth, nodeSize];
    const out = { n, at, title: drawn("title"),
      line: drawn("text", { x: 10, y: 38, class: "small queue" }),
      used: drawn("rect", { x: 10, y: h - 10, height: 4, width: 0, rx: 2, class: "used" }),
      fault: drawn("g", { class: "fault" }) };
    out.group = drawn("g", { transform: `translate(${at.x} ${at.y})` }, out.title,
      drawn("rect", { class: "body", width: w, height: h, rx: n.load === undefined ? 10 : h / 2 }),
      drawn("text", { x: n.load === undefined ? 10 : 20, y: 21, class: "name" },
        shownName(n, this.arm, w - 18)),
      out.line);
    if (n.load === undefined)
      out.group.append(drawn("rect", { x: 10, y: h - 10, height: 4, width: w - 20, rx: 2, class: "track" }), out.used);
    else
      out.line.setAttribute("x", 20);
    out.group.append(out.fault);
    this.svg.append(out.group);
    return out;
  }

  showLoad(node, row) {
    const t = this.arm.load_seconds[node.n.load];
    node.group.setAttribute("class", "node " + healthClass(t, row));
    const rate = short(t.offered[row] / covered(this.arm, row));
    // Answers may be those of requests that came before.
    node.line.textContent = t.offered[row]
      ? `${rate}/s, ${wholePercent(Math.min(1, t.good[row] / t.offered[row]))} ok` : `${rate}/s`;
    node.title.textContent = `${node.n.name}: `
      + data.columns.second.loads.map(c => named(c, t[c.key][row])).join(", ");
  }

  showService(node, row) {
    const now = serviceAt(this.arm, node.n.service, row);
    node.group.setAttribute("class", "node " + now.health);
    const busy = now.used === null ? `${short(now.busy)} inside` : wholePercent(now.used);
    node.line.textContent = now.queue > 0 ? `${busy}, ${short(now.queue)} wait` : busy + (now.used === null ? "" : " busy");
    node.used.setAttribute("width", (this.nodeWidth - 20) * (now.used || 0));
    node.title.textContent = `${node.n.name}: `
      + data.columns.second.services.filter(c => c.key in now).map(c => counted(c, now[c.key])).join(", ");
    const text = now.faults.map(f => f.text).join(", ");
    node.fault.replaceChildren(...(text ? label(text, this.nodeWidth / 2, -1) : []));
    return now;
  }

  showEdge(edge, row) {
    const now = edgeAt(this.arm, edge.e, row);
    const share = now.calls ? now.failed / now.calls : 0;
    const open = now.state !== "closed";
    edge.group.setAttribute("class", "edge");
    edge.mark.setAttribute("class", "mark " + now.state);
    edge.path.setAttribute("stroke-width", now.calls ? 1.4 + 6 * Math.sqrt(now.calls / this.most) : 1);
    edge.path.style.stroke = now.state.endsWith("open") && open ? "var(--bad)" : mixed(share);
    edge.path.style.opacity = now.calls ? 0.75 : 0.35;
    edge.path.setAttribute("stroke-dasharray", now.state.startsWith("closed") ? "" : "7 7");
    edge.mark.replaceChildren(...(open ? label(now.state.replace("_", "-"), edge.x, edge.y)
      : now.faults.length ? label(now.faults[0].kind, edge.x, edge.y) : []));
    const { nodes } = this.graph;
    edge.title.textContent = `${nodes[edge.e.from].name} to ${nodes[edge.e.to].name}: `
      + data.columns.second.edges.map(c => counted(c, now[c.key])).join(", ")
      + `, breaker ${edge.e.breakers.length ? now.state : "none"}`
      + (now.connections === null ? "" : `, ${grouped(now.used)} of ${grouped(now.connections)} connections in use, `
        + `${grouped(now.waiting)} calls wait for one, ${grouped(now.none)} got none`)
      + now.faults.map(f => `, ${f.text}`).join("");
  }

  show(row) {
    const tally = { good: 0, strained: 0, bad: 0, idle: 0 };
    for (const edge of this.edges)
      this.showEdge(edge, row);
    for (const node of this.nodes)
      if (node.n.load !== undefined)
        this.showLoad(node, row);
      else
        ++tally[this.showService(node, row).health];
    this.svg.setAttribute("aria-label", `${this.arm.name} at ${clock(row * step)}: `
      + `${tally.good} services healthy, ${tally.strained} strained, ${tally.bad} failing, ${tally.idle} idle`);
  }
}

// -- in the page ----------------------------------------------------------------

let graphs = [];

function buildGraphs() {
  const place = $("graph");
  const many = state.all && arms.length > 1;
  place.replaceChildren();
  const width = Math.max(280, place.clientWidth - (innerWidth <= 720 ? 18 : 30));
  graphs = (many ? arms : [chosen()]).map(arm => new Graph(arm, width, many));
  place.append(...graphs.map(g => g.element));
  for (const g of graphs)
    g.show(rowOf(g.arm));
}

// A table of rows, each with a name, numbers by key, and perhaps cells before them.
function numbersTable(caption, what, before, columns, rows) {
  return element("table", { class: "numbers" }, ...caption,
    element("tr", {}, element("th", { scope: "col" }, what),
      ...[...before, ...columns.map(c => c.heading)].map(text => element("th", { scope: "col", class: "number" }, text))),
    ...rows.map(({ name, cells = [], now }) => element("tr", {}, element("th", { scope: "row" }, name),
      ...[...cells, ...columns.map(c => numberText(c, now[c.key]))].map(text => element("td", { class: "number" }, text)))));
}

// Edges whose connections are limited.
function connectionTable(arm, row) {
  const limited = arm.edges.map((e, i) => [e, arm.edge_seconds[i].connections]).filter(([, t]) => t);
  if (limited.length === 0)
    return [];
  return [numbersTable([], "connections", ["limit"], data.columns.second.connections,
    limited.map(([e, t]) => ({ name: e.gate, cells: [grouped(e.connections)], now: rowOfTable(t, row) })))];
}

// Loads of their own, if there are several.
function loadTable(arm, row) {
  if (arm.loads.length < 2)
    return [];
  return [numbersTable([], "load", [], data.columns.second.loads,
    arm.loads.map((name, i) => ({ name, now: rowOfTable(arm.load_seconds[i], row) })))];
}

// The same numbers as a table, for reading and for screen readers.
function showSecond() {
  if (!$("second").open)
    return;
  const arm = chosen();
  const row = rowOf(arm);
  const { requests, services } = data.columns.second;
  const caption = element("caption", {}, `${arm.name} at ${clock(row * step)}: `
    + requests.map(c => named(c, arm.seconds[c.key][row])).join(", "));
  const table = numbersTable([caption], "service", [], services,
    arm.services.map((s, i) => ({ name: s.name, now: rowOfTable(arm.service_seconds[i], row) })));
  $("second-table").replaceChildren(table, ...loadTable(arm, row), ...connectionTable(arm, row));
}

function showGraph() {
  document.querySelector("#second .unit").textContent = step > 1 ? `step of ${step} s` : "second";
  buildGraphs();
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth !== width)
      buildGraphs();
    width = innerWidth;
  });
  $("second").addEventListener("toggle", showSecond);
  listen(changed => {
    if (changed.all || (changed.arm && !state.all))
      buildGraphs();
    else if (changed.row)
      for (const g of graphs)
        g.show(rowOf(g.arm));
    showSecond();
  });
}
