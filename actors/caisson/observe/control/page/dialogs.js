// Questions before anything is changed.

// Asks with `title`, `text` and labelled `fields`; `go` gets their values and
// carries it out. What it throws is shown, and the question stays.
function question({ title, text, action, danger, fields = [], go }) {
  const dialog = byId("dialog");
  const button = byId("dialog-do");
  const problem = byId("dialog-error");
  const inputs = fields.map(fieldOf);
  byId("dialog-title").textContent = title;
  byId("dialog-text").textContent = text;
  byId("dialog-fields").replaceChildren(...inputs.map((x) => x.label));
  button.textContent = action;
  button.classList.toggle("danger", Boolean(danger));
  button.classList.toggle("main", !danger);
  problem.hidden = true;
  byId("dialog-cancel").hidden = false;
  byId("dialog-cancel").onclick = () => dialog.close();
  setBusy(false);
  dialog.querySelector("form").onsubmit = async (event) => {
    event.preventDefault();
    problem.hidden = true;
    setBusy(true);
    try {
      const result = await go(...inputs.map((x) => x.value()));
      if (result) showResult(result);
      else dialog.close();
    } catch (e) {
      problem.textContent = e.message;
      problem.hidden = false;
    }
    setBusy(false);
    soon();
  };
  dialog.showModal();
}

// While a request is in flight the question stays: its answer belongs there.
function setBusy(busy) {
  byId("dialog-do").disabled = busy;
  byId("dialog-cancel").disabled = busy;
  byId("dialog").oncancel = busy ? (event) => event.preventDefault() : null;
}

// The same dialog says what has come of it.
function showResult(text) {
  byId("dialog-text").textContent = text;
  byId("dialog-fields").replaceChildren();
  byId("dialog-do").textContent = "Close";
  byId("dialog-cancel").hidden = true;
  byId("dialog").querySelector("form").onsubmit = null;
}

function fieldOf({ label, value = "", choices }) {
  const input = choices
    ? element("select", {}, ...choices.map(([v, text]) => element("option", { value: v }, text)))
    : element("input", { type: "text", autocomplete: "off", spellcheck: "false" });
  if (!choices) input.value = value;
  return { label: element("label", {}, label, input), value: () => input.value };
}

const times = [["", "until it is undone"], ["30s", "30 s"], ["5min", "5 min"], ["1h", "1 h"]];

const commands = {
  force_open: ["Force open", "Every call is rejected.", true],
  force_closed: ["Force closed", "Every call passes, whatever fails.", true],
  off: ["Switch off", "It does nothing any more, and counts nothing.", false],
  observe: ["Observe", "It decides and counts, but changes nothing.", false],
  enable: ["Enable", "Forced states, off and observe are undone.", false],
  reset: ["Reset", "Counters become zero, and states as after the start. Forced states stay.", false],
};

// What is not expected of a command.
function warning(layers, command) {
  const back = layers.filter((x) => x.state === "rolled_back").map((x) => x.name);
  return command === "enable" && back.length
    ? `\nThe canary ${back.join(", ")} was rolled back: it starts again, and gets calls.` : "";
}

function askCommand(gate, layer, command) {
  const [action, effect, timed] = commands[command];
  const layers = (shown ? shown.layers : []).filter((x) => !layer || x.name === layer);
  const target = layer ? `${layer} of ${gate}`
    : `all layers of ${gate} that know it (${layers.map((x) => x.name).join(", ")})`;
  question({
    title: `${action}: ${layer || gate}`,
    text: `${action} ${target}?\n${effect}${warning(layers, command)}`,
    action,
    danger: command === "force_open" || command === "off",
    fields: timed ? [{ label: "For how long", choices: times }] : [],
    go: async (time) => {
      const body = { command, layer };
      if (time) body.for = time;
      await ask("POST", gatePath(gate, "command"), body);
    },
  });
}

function askSetting(gate, layer, key, value) {
  question({
    title: `${key} of ${layer}`,
    text: `Change a setting of ${layer} of ${gate}. The next reload of the file of gates makes the file's value true again.`,
    action: "Change",
    fields: [{ label: `${key} (now ${value})`, value }],
    go: async (next) => {
      await ask("POST", gatePath(gate, "settings"), { layer, set: { [key]: next } });
    },
  });
}

function askDrain(gate) {
  question({
    title: `Drain ${gate}`,
    text: `${gate} takes no more calls, and finishes those it has. That cannot be undone here.`,
    action: "Drain",
    danger: true,
    fields: [{ label: `Write the name of the gate: ${gate}` }],
    go: async (name) => {
      if (name !== gate) throw new Error("That is not the name of the gate.");
      const answer = await ask("POST", gatePath(gate, "drain"), { wait: "3s" });
      return answer.drained ? "Drained: the last call is answered."
        : "It takes no more calls; some are still in progress.";
    },
  });
}

function changeText(change) {
  return `${change.gate}${change.layer ? `/${change.layer}` : ""}: ${change.what}`;
}

function askReload() {
  question({
    title: "Reload files",
    text: "The program reads its files of gates again. A file with a problem changes nothing.",
    action: "Reload",
    fields: [{ label: "Why (for the events)", value: "operator" }],
    go: async (why) => {
      const { files } = await ask("POST", "/v1/reload", { why });
      const problems = files.flatMap((x) => x.problems);
      const changes = files.flatMap((x) => x.changes.map(changeText));
      if (problems.length) throw new Error([...problems, ...changes].join("\n"));
      return changes.length ? changes.join("\n") : "Nothing has changed.";
    },
  });
}
