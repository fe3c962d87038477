// The places of services in a graph: in layers, each caller before those that
// it calls.

// Edges that lead back to where a walk has come from are left out of the order.
function forwardEdges(count, edges) {
  const out = Array.from({ length: count }, () => []);
  for (const e of edges)
    out[e.from].push(e);
  const mark = new Array(count).fill(0);
  const kept = [];
  for (let root = 0; root < count; ++root) {
    if (mark[root])
      continue;
    const path = [[root, 0]];
    mark[root] = 1;
    while (path.length) {
      const top = path[path.length - 1];
      const e = out[top[0]][top[1]++];
      if (!e) {
        mark[top[0]] = 2;
        path.pop();
      } else if (mark[e.to] !== 1) {
        kept.push(e);
        if (!mark[e.to]) {
          mark[e.to] = 1;
          path.push([e.to, 0]);
        }
      }
    }
  }
  return kept;
}

function ranksOf(count, edges) {
  const rank = new Array(count).fill(0);
  const kept = forwardEdges(count, edges);
  for (let moved = true; moved;) {
    moved = false;
    for (const e of kept)
      if (rank[e.to] <= rank[e.from]) {
        rank[e.to] = rank[e.from] + 1;
        moved = true;
      }
  }
  return rank;
}

// Divides edges at the layers that they pass, so that they do not lead behind the
// nodes there: each such bend is a node after the others, and is added to `rank`.
// Edges with the same end go on together.
function divided(edges, rank) {
  const parts = [];
  const shared = new Map();
  const bendAt = (r, to) => {
    const key = r + " " + to;
    if (!shared.has(key))
      shared.set(key, rank.push(r) - 1);
    return shared.get(key);
  };
  const bends = edges.map(e => {
    const own = [];
    for (let r = rank[e.from] + 1; r < rank[e.to]; ++r)
      own.push(bendAt(r, e.to));
    const stops = [e.from, ...own, e.to];
    own.forEach((n, i) => parts.push({ from: stops[i], to: n }));
    parts.push({ from: stops[stops.length - 2], to: e.to });
    return own;
  });
  return { parts, bends };
}

// Layers of nodes, ordered so that neighbours stand near each other.
function layersOf(rank, edges) {
  const count = rank.length;
  const layers = [];
  rank.forEach((r, i) => (layers[r] ||= []).push(i));
  const near = Array.from({ length: count }, () => []);
  for (const e of edges) {
    near[e.from].push(e.to);
    near[e.to].push(e.from);
  }
  const place = new Array(count).fill(0.5);
  const spread = layer => layer.forEach((n, i) => (place[n] = (i + 0.5) / layer.length));
  layers.forEach(spread);
  for (let round = 0; round < 8; ++round)
    for (const layer of round % 2 ? [...layers].reverse() : layers) {
      const wish = n => near[n].reduce((sum, m) => sum + place[m], place[n]) / (near[n].length + 1);
      const wishes = new Map(layer.map(n => [n, wish(n)]));
      layer.sort((a, b) => wishes.get(a) - wishes.get(b));
      spread(layer);
    }
  return layers;
}

const nodeSize = { width: 146, height: 58 };

// From left to right, as far as that may go.
function layoutAcross(count, edges, width) {
  const rank = ranksOf(count, edges);
  const { parts, bends } = divided(edges, rank);
  const layers = layersOf(rank, parts);
  const gaps = layers.length - 1;
  const w = Math.max(118, Math.min(nodeSize.width, (width - gaps * 30) / layers.length));
  const gap = gaps ? Math.max(30, Math.min(150, (width - layers.length * w) / gaps)) : 0;
  const whole = layers.length * w + gaps * gap;
  width = Math.max(width, whole);
  const most = Math.max(...layers.map(l => l.filter(n => n < count).length));
  const between = Math.min(44, Math.max(22, 130 / most));
  const tall = n => (n < count ? nodeSize.height : 2);
  const gapAfter = (layer, i) =>
    i + 1 === layer.length ? 0 : layer[i] < count || layer[i + 1] < count ? between : 8;
  const sum = layer => layer.reduce((y, n, i) => y + tall(n) + gapAfter(layer, i), 0);
  const height = Math.max(...layers.map(sum));
  const at = [];
  layers.forEach((layer, r) => {
    let y = 14 + (height - sum(layer)) / 2;
    layer.forEach((n, i) => {
      at[n] = { x: (width - whole) / 2 + r * (w + gap), y };
      y += tall(n) + gapAfter(layer, i);
    });
  });
  return { at, bends, across: true, width, height: height + 32, nodeWidth: w };
}

// From top to bottom, with so many in a row as fit.
function layoutDown(count, edges, width) {
  const layers = layersOf(ranksOf(count, edges), edges);
  const h = nodeSize.height;
  const at = new Array(count);
  const gap = 12;
  const fit = Math.max(1, Math.floor((width + gap) / (124 + gap)));
  const narrow = Math.min(nodeSize.width, (width - (fit - 1) * gap) / fit);
  let y = 14;
  for (const layer of layers) {
    for (let i = 0; i < layer.length; i += fit) {
      const row = layer.slice(i, i + fit);
      const left = (width - row.length * narrow - (row.length - 1) * gap) / 2;
      row.forEach((n, k) => (at[n] = { x: left + k * (narrow + gap), y }));
      y += h + 22;
    }
    y += 26;
  }
  return { at, bends: edges.map(() => []), across: false, width, height: y - 36, nodeWidth: narrow };
}

function layout(count, edges, width) {
  return (width > 600 ? layoutAcross : layoutDown)(count, edges, width);
}
