"use strict";
// Builds elements. Whatever comes from the program is set as text, never as
// HTML: names of gates and keys may be anybody's.

const byId = (id) => document.getElementById(id);

function element(name, attributes = {}, ...children) {
  const out = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "click") out.addEventListener("click", value);
    else if (value === true) out.setAttribute(key, "");
    else if (value !== false && value != null) out.setAttribute(key, value);
  }
  out.append(...children.filter((x) => x != null));
  return out;
}

function svg(name, attributes, ...children) {
  const out = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) out.setAttribute(key, value);
  out.append(...children);
  return out;
}

const badge = (text, grade) => element("span", { class: `badge ${grade}` }, text);

// Keeps the children of `parent` in step with `items`: each has a key, is made
// once and then only updated, so that focus and selections stay.
function keepInStep(parent, items, keyOf, make, update) {
  const itemOf = new Map(items.map((x) => [keyOf(x), x]));
  const old = new Map();
  for (const child of [...parent.children])
    if (itemOf.has(child.dataset.key)) old.set(child.dataset.key, child);
    else child.remove();
  let next = parent.firstElementChild;
  for (const [key, item] of itemOf) {
    let child = old.get(key);
    if (!child) {
      child = make(item);
      child.dataset.key = key;
    }
    if (child === next) next = next.nextElementSibling;
    else parent.insertBefore(child, next);
    update(child, item);
  }
}

// Sets the text if it is another one: a selection in it stays.
function setText(to, text) {
  if (to.textContent !== text) to.textContent = text;
}
