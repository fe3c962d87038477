// Shows everything.

if (arms.length === 0) {
  showHead();
  document.querySelectorAll("main > *").forEach(x => (x.hidden = true));
} else {
  Object.assign(state, firstView(), linkedView());
  showHeadline();
  showControls();
  showGraph();
  showCharts();
  showSamples();
  showPolicies();
  keepLink();
}
