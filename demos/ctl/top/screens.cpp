#include <ctl/top/screens.hpp>

#include <ctl/top/gate_page.hpp>
#include <ctl/top/table.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace caisson::ctl {

namespace {

constexpr const char* help_text[] = {
  "up, down, j, k     select a gate, or scroll",
  "PgUp, PgDn, g, G   a page, to the first, to the last",
  "Enter              show the gate: layers, times, events",
  "Esc                back; also clears the filter",
  "left, right, < >   sort by another column",
  "r                  reverse the order",
  "/                  show gates with this in their names",
  "p                  pause, and go on",
  "Ctrl-L, Ctrl-Z     draw again; suspend",
  "q, Ctrl-C          quit",
  "",
  "ok %    calls that succeeded among those that ended",
  "p50 p99 how long successful calls took, since the start",
  "flight  messages with the worker now",
  "waits   calls that wait for a layer or a worker now",
  "rej/s   calls rejected per second, mostly by what",
  "Rates are means of the last five seconds. p50, p99 and",
  "rejections are of the gates on the screen; others take turns.",
};

std::string age_of(const top_model& model, time_point now) {
  if (!model.seen())
    return "nothing seen yet";
  auto seconds = std::max(0.0, seconds_between(*model.seen(), now));
  return fmt::format("last numbers {:.0f} s old", seconds);
}

text_line title_line(const top_model& model, const top_view& view,
                     const terminal_look& look, const screen_notes& notes) {
  text_line out{"caisson top", paint::bold};
  auto late = model.seen()
              && notes.now - *model.seen() > std::max<duration>(
                   std::chrono::seconds(5), 3 * notes.interval);
  if (!model.error().empty() || !model.seen()) {
    out.add("  ");
    out.add(model.seen() ? "no connection, " : "", paint::bad);
    out.add(age_of(model, notes.now), paint::bad);
  } else if (view.paused) {
    out.add("  ");
    out.add("paused, " + age_of(model, notes.now), paint::strained);
  } else if (late) {
    out.add("  ");
    out.add("no answer yet, " + age_of(model, notes.now), paint::strained);
  } else {
    auto all = model.gates().size();
    auto unusual = std::ranges::count_if(
      model.gates(), [](const gate_facts& x) { return x.how != grade::good; });
    out.add(fmt::format("  {} gate{}, ", all, all == 1 ? "" : "s"));
    if (unusual == 0)
      out.add("all normal", paint::good);
    else
      out.add(
        fmt::format("{} need{} attention", unusual, unusual == 1 ? "s" : ""),
        paint::strained);
  }
  out.add("  every " + rounded_text(notes.interval) + "  "
            + harmless(notes.program, look.utf8),
          paint::dim);
  return out;
}

// Words on lines of that width, at most so many.
std::vector<text_line> wrapped_lines(std::string_view text, std::size_t width,
                                     std::size_t most, bool utf8) {
  std::vector<std::string> lines{{}};
  while (!text.empty()) {
    auto end = std::min(text.find(' '), text.size());
    auto word = std::string{text.substr(0, end)};
    text.remove_prefix(std::min(end + 1, text.size()));
    auto& last = lines.back();
    if (last.empty() || lines.size() == most
        || width_of(last) + 1 + width_of(word) <= width)
      last += (last.empty() ? "" : " ") + word;
    else
      lines.push_back(std::move(word));
  }
  std::vector<text_line> out;
  for (auto& x : lines) {
    out.emplace_back(std::move(x), paint::bad);
    out.back().set_width(width, utf8);
  }
  return out;
}

text_line last_line(const top_model& model, const top_view& view,
                    const terminal_look& look) {
  if (view.typing)
    return text_line{"/" + harmless(view.filter, look.utf8)
                       + (look.utf8 ? "▏" : "_"),
                     paint::bold};
  text_line out;
  if (!view.filter.empty() && view.opened.empty()) {
    out.add("/" + harmless(view.filter, look.utf8), paint::bold);
    out.add("  ");
  }
  out.add(view.help             ? "any key: back  q quit"
          : view.opened.empty() ? "Enter open  / filter  left right sort"
                                  "  r reverse  p pause  ? help  q quit"
                                : "Esc back  up down scroll  p pause  ? help"
                                  "  q quit",
          paint::dim);
  if (model.missed_events() > 0 && !view.opened.empty())
    out.add(fmt::format("  {} events were missed", model.missed_events()),
            paint::strained);
  return out;
}

// The last lines of a screen of so many.
std::vector<text_line> last_lines(const top_model& model, const top_view& view,
                                  const screen_size& size,
                                  const terminal_look& look) {
  if (model.error().empty() || view.typing || size.rows < 2)
    return {last_line(model, view, look)};
  return wrapped_lines(harmless(model.error(), look.utf8), size.columns,
                       std::clamp<std::size_t>(size.rows / 5, 1, 3), look.utf8);
}

std::vector<text_line> help_lines() {
  std::vector<text_line> out;
  for (const auto* x : help_text)
    out.emplace_back(x);
  return out;
}

// Those of `lines` that are on a screen of so many.
std::vector<text_line> part_of(std::vector<text_line> lines, std::size_t& above,
                               std::size_t height) {
  auto most = lines.size() > height ? lines.size() - height : 0;
  above = std::min(above, most);
  lines.erase(lines.begin(),
              lines.begin() + static_cast<std::ptrdiff_t>(above));
  return lines;
}

} // namespace

std::size_t page_height(const screen_size& size) noexcept {
  // Without the first and the last line, and the head of the table.
  return size.rows > 4 ? size.rows - 3 : 1;
}

std::vector<text_line>
draw_screen(const top_model& model, top_view& view, const screen_size& size,
            const terminal_look& look, const screen_notes& notes) {
  auto last = last_lines(model, view, size, look);
  auto frame = 1 + last.size();
  auto height = size.rows > frame ? size.rows - frame : 0;
  std::vector<text_line> out;
  out.push_back(title_line(model, view, look, notes));
  std::vector<text_line> body;
  std::size_t none = 0;
  if (view.help)
    body = part_of(help_lines(), none, height);
  else if (view.opened.empty())
    body = table_lines(model, view, size.columns, height, look, notes);
  else
    body = part_of(gate_lines(model, size.columns, look, notes),
                   view.lines_above, height);
  if (!model.error().empty() && !view.help)
    for (auto& x : body)
      x.fade();
  std::ranges::move(body, std::back_inserter(out));
  out.resize(height + 1);
  std::ranges::move(last, std::back_inserter(out));
  out.resize(size.rows);
  for (auto& x : out)
    x.set_width(size.columns, look.utf8);
  return out;
}

} // namespace caisson::ctl
