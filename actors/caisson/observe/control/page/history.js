// The last ten minutes of gates, as far as seen since the page was opened.

const historyTime = 10 * 60 * 1000;
// Between two samples that are further apart nothing is known.
const longestGap = 15 * 1000;
const grades = ["good", "strained", "bad"];
const worse = (a, b) => grades[Math.max(grades.indexOf(a), grades.indexOf(b))];

const badStates = new Set(["open", "forced_open", "rolled_back", "down", "given_up"]);
const usualStates = new Set(["", "closed", "normal"]);

function gradeOfLayer(layer) {
  if (badStates.has(layer.state)) return "bad";
  return usualStates.has(layer.state) && layer.mode === "enforce" ? "good" : "strained";
}

// A gate that only lends permits has no worker.
function gradeOfWorker(state) {
  if (badStates.has(state)) return "bad";
  return state === "up" || state === "none" ? "good" : "strained";
}

function gradeOfGate(gate) {
  if (gate.error) return "bad";
  const own = worse(gradeOfWorker(gate.worker), gate.state === "accepting" ? "good" : "strained");
  return gate.layers.map(gradeOfLayer).reduce(worse, own);
}

// By the name of a gate: its samples, the newest one last.
const histories = new Map();

function remember(gates, now) {
  for (const gate of gates) {
    const samples = histories.get(gate.name) || [];
    histories.set(gate.name, samples);
    const last = samples.at(-1);
    const sample = { at: now, grade: gradeOfGate(gate), rate: null, failed: null };
    if (!gate.error) {
      sample.calls = gate.metrics.calls;
      sample.succeeded = gate.metrics.succeeded;
      sample.failures = gate.metrics.failed;
      sample.progress = gate.metrics.in_progress;
      sample.layers = new Map(gate.layers.map((x) => [x.name, gradeOfLayer(x)]));
      addRates(sample, last);
    }
    samples.push(sample);
  }
  for (const [name, samples] of histories) {
    const old = samples.findIndex((x) => now - x.at <= historyTime);
    samples.splice(0, old < 0 ? samples.length : old);
    if (samples.length === 0) histories.delete(name);
  }
}

// A counter that is less than before was reset: there is no rate.
function addRates(sample, last) {
  if (!last || last.calls == null || sample.calls < last.calls
      || sample.failures < last.failures || sample.succeeded < last.succeeded) return;
  const seconds = (sample.at - last.at) / 1000;
  if (seconds <= 0) return;
  sample.rate = (sample.calls - last.calls) / seconds;
  sample.good = (sample.succeeded - last.succeeded) / seconds;
  sample.failed = (sample.failures - last.failures) / seconds;
}

// The mean of the last five samples, which are about as many seconds.
function recent(samples, value) {
  const known = samples.slice(-5).map(value).filter((x) => x != null);
  return known.length ? known.reduce((a, b) => a + b) / known.length : null;
}

const samplesOf = (name) => histories.get(name) || [];
