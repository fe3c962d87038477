// The slider, the play button and the choice of an arm.

const icons = { play: "M3 1.5v13l11-6.5z", pause: "M3 1.5h4v13H3zM9 1.5h4v13H9z" };

function showButton() {
  const name = state.playing ? "pause" : "play";
  $("play").setAttribute("aria-label", state.playing ? "Pause" : "Play");
  $("play").replaceChildren(drawn("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" },
    drawn("path", { d: icons[name] })));
}

// A run takes about 20 s to play, whatever its length.
let ticking = 0;

function play() {
  const ticks = Math.min(300, Math.max(40, longest));
  const rows = Math.max(1, Math.round(longest / ticks));
  if (state.row >= longest - 1)
    choose({ row: 0 });
  ticking = setInterval(() => {
    if (state.row + rows >= longest)
      choose({ row: longest - 1, playing: false });
    else
      choose({ row: state.row + rows });
  }, Math.min(400, 20000 / ticks));
}

// The health of requests in a row, as a class of the style sheet.
function healthClass(counts, row) {
  const offered = counts.offered[row];
  if (offered === 0)
    return "idle";
  const share = counts.good[row] / offered;
  return share >= 0.9 ? "good" : share >= 0.5 ? "strained" : "bad";
}

function paintStrip() {
  const canvas = $("strip");
  const width = Math.max(1, canvas.clientWidth);
  canvas.width = width * devicePixelRatio;
  canvas.height = 12 * devicePixelRatio;
  const pen = canvas.getContext("2d");
  pen.scale(devicePixelRatio, devicePixelRatio);
  const arm = chosen();
  const inks = { good: colour("good"), strained: colour("strained"), bad: colour("bad"), idle: colour("line") };
  const x = row => (row * width) / longest;
  for (let row = 0; row < arm.rows; ++row) {
    pen.fillStyle = inks[healthClass(arm.seconds, row)];
    pen.fillRect(x(row), 0, Math.ceil(width / longest), 7);
  }
  pen.fillStyle = colour("fault-ink");
  for (const f of arm.faults)
    pen.fillRect(x(f.at / step), 8, Math.max(2, x(f.lasts / step)), 4);
  canvas.title = ["green: at least 90 % of the requests succeed in time, red: less than half",
    ...faultTexts(arm.faults)].join("\n");
}

function followTime() {
  const text = clock(state.row * step);
  $("time").value = state.row;
  $("time").setAttribute("aria-valuetext", text);
  $("clock").textContent = text;
}

function showControls() {
  $("time").max = longest - 1;
  $("time").addEventListener("input", () => choose({ row: Number($("time").value), playing: false }));
  $("play").addEventListener("click", () => choose({ playing: !state.playing }));
  $("arm").append(...arms.map(arm => element("option", { value: arm.index }, arm.name)));
  $("arm").addEventListener("change", () => choose({ arm: Number($("arm").value) }));
  $("all").addEventListener("change", () => choose({ all: $("all").checked }));
  for (const pick of document.querySelectorAll(".pick"))
    pick.hidden = arms.length < 2;
  showButton();
  followTime();
  $("arm").value = state.arm;
  paintStrip();
  addEventListener("resize", paintStrip);
  listen(changed => {
    if (changed.row)
      followTime();
    if (changed.arm) {
      $("arm").value = state.arm;
      paintStrip();
    }
    if (changed.playing) {
      clearInterval(ticking);
      showButton();
      if (state.playing)
        play();
    }
  });
}
