// Policies and what they guard, how arms differ, and how to run it again.

function settingsText(layer) {
  const parts = Object.entries(layer.settings).map(([key, value]) => `${key} ${value}`);
  return parts.join(", ") || "as by default";
}

function stackCell(arm, name, differs) {
  const kind = differs ? "differs" : "";
  if (name === "")
    return element("td", { class: differs ? kind : "none" }, "none");
  const list = element("ol");
  for (const layer of data.stacks[arm][name] || []) {
    const own = layer.name === layer.kind ? layer.kind : `${layer.kind} “${layer.name}”`;
    list.append(element("li", {}, element("b", {}, own), " ",
      element("span", { class: "settings" }, settingsText(layer))));
  }
  return element("td", { class: kind }, element("b", {}, name), list);
}

// Stacks with the same name may differ between arms.
function sameEverywhere(stacks) {
  const text = (arm, name) => name + JSON.stringify(name === "" ? null : data.stacks[arm][name] || null);
  return stacks.every((name, arm) => text(arm, name) === text(0, stacks[0]));
}

function placesText(places) {
  const shown = places.slice(0, 6).map(p => p.replace("->", "→")).join(", ");
  return places.length > 6 ? `${shown} and ${places.length - 6} more` : shown;
}

function armHeads() {
  return data.arm_names.map(name => element("th", { scope: "col" }, name));
}

// A narrow screen has the cells one below the other, each with the name of its arm.
function tableOf(text, head, rows) {
  const table = element("table", { class: "by-arm", "aria-label": text }, head, ...rows);
  for (const row of rows)
    [...row.children].slice(1).forEach((cell, arm) => cell.setAttribute("data-arm", data.arm_names[arm]));
  return [element("p", { class: "hint" }, text), element("div", { class: "scroll" }, table)];
}

function policiesTable() {
  return tableOf("What calls pass, from the outside in; settings that are not the default. Marked where arms differ.",
    element("tr", {}, element("th", { scope: "col" }, "calls"), ...armHeads()),
    data.places.map(({ places, stacks }) => {
      const differs = !sameEverywhere(stacks);
      return element("tr", {}, element("th", { scope: "row" }, placesText(places)),
        ...stacks.map((name, arm) => stackCell(arm, name, differs)));
    }));
}

function differencesTable() {
  return tableOf("What else differs between the arms",
    element("tr", {}, element("th", { scope: "col" }, "setting"), ...armHeads()),
    data.differences.map(({ what, values }) => element("tr", {}, element("th", { scope: "row" }, what),
      ...values.map(value => (value === null
        ? element("td", { class: "none" }, "–")
        : element("td", { class: value === values[0] ? "" : "differs" }, value))))));
}

function showPolicies() {
  $("policies").append(...policiesTable());
  if (data.differences.length)
    $("differences").append(...differencesTable());
  $("command").textContent = data.command;
  $("scenario").hidden = data.scenario === "";
  $("file").textContent = data.file;
  $("scenario-text").textContent = data.scenario;
  addEventListener("beforeprint", () => ($("scenario").open = true));
  $("about").textContent = `Written by caisson ${data.version}. The same scenario and seed give the same report. `
    + "Charts by dygraphs (MIT licence).";
}
