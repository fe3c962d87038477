// Draws diagrams, if the library is here; otherwise they stay text.
"use strict";

(() => {
  if (typeof mermaid === "undefined")
    return;
  const dark = () =>
    document.body.getAttribute("data-md-color-scheme") === "slate";
  mermaid.initialize({
    startOnLoad: false,
    securityLevel: "strict",
    theme: dark() ? "dark" : "neutral",
  });
  document.querySelectorAll("pre.diagram").forEach((pre, number) => {
    mermaid.mermaidAPI.render(`diagram-${number}`, pre.textContent, svg => {
      const figure = document.createElement("div");
      figure.className = "diagram";
      figure.innerHTML = svg;
      pre.replaceWith(figure);
    });
  });
})();
