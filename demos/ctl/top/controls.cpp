#include <ctl/top/controls.hpp>

#include <algorithm>
#include <optional>
#include <string_view>

namespace caisson::ctl {

namespace {

constexpr std::size_t longest_filter = 100;

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string lowered(std::string text) {
  std::ranges::transform(text, text.begin(), lower);
  return text;
}

double or_least(std::optional<double> x) {
  return x.value_or(-1);
}

double or_least(std::optional<duration> x) {
  return x ? static_cast<double>(x->count()) : -1;
}

// Greater ones come first.
double weight_of(const gate_facts& x, gate_column by) {
  switch (by) {
    case gate_column::state:
      return static_cast<double>(x.how);
    case gate_column::calls:
    case gate_column::history:
      return or_least(x.history.calls_per_second());
    case gate_column::success:
      // The worst first; what has no calls has no failures.
      return -x.history.success().value_or(2);
    case gate_column::p50:
      return or_least(x.p50);
    case gate_column::p99:
      return or_least(x.p99);
    case gate_column::in_flight:
      return static_cast<double>(x.in_flight);
    case gate_column::waiting:
      return static_cast<double>(x.waiting);
    case gate_column::rejected:
    case gate_column::reason:
      return or_least(x.rejected);
    case gate_column::name:
      break;
  }
  return 0;
}

void drop_last_character(std::string& text) {
  while (!text.empty()) {
    auto last = static_cast<unsigned char>(text.back());
    text.pop_back();
    if ((last & 0xc0u) != 0x80)
      return;
  }
}

void sort_by_next(top_view& view, int step) {
  // By the reason or the history is as by their numbers.
  constexpr int sortable = static_cast<int>(gate_column::reason);
  auto next = (static_cast<int>(view.sorted_by) + step + sortable) % sortable;
  view.sorted_by = static_cast<gate_column>(next);
}

void type_filter(const key& what, top_view& view) {
  switch (what.kind) {
    case key_kind::character:
      if (view.filter.size() < longest_filter)
        view.filter += what.text;
      return;
    case key_kind::backspace:
      if (view.filter.empty())
        view.typing = false;
      return drop_last_character(view.filter);
    case key_kind::clear:
      return view.filter.clear();
    case key_kind::escape:
      view.filter.clear();
      [[fallthrough]];
    case key_kind::enter:
      view.typing = false;
      return;
    default:
      return;
  }
}

// By how many rows a key moves.
std::optional<std::ptrdiff_t> move_of(const key& what, std::size_t height) {
  constexpr std::ptrdiff_t all = 1'000'000'000;
  auto page = static_cast<std::ptrdiff_t>(std::max<std::size_t>(1, height));
  switch (what.kind) {
    case key_kind::up:
      return -1;
    case key_kind::down:
      return 1;
    case key_kind::page_up:
      return -page;
    case key_kind::page_down:
      return page;
    case key_kind::home:
      return -all;
    case key_kind::end:
      return all;
    case key_kind::character:
      break;
    default:
      return std::nullopt;
  }
  if (what.text == "k")
    return -1;
  if (what.text == "j")
    return 1;
  if (what.text == "g")
    return -all;
  if (what.text == "G")
    return all;
  return std::nullopt;
}

std::size_t moved(std::size_t from, std::ptrdiff_t by, std::size_t most) {
  return static_cast<std::size_t>(
    std::clamp<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(from) + by, 0,
                               static_cast<std::ptrdiff_t>(most)));
}

void move_selection(top_view& view, const top_model& model, std::ptrdiff_t by) {
  auto rows = rows_of(model, view);
  if (rows.empty())
    return;
  auto to = moved(selected_place(rows, view), by, rows.size() - 1);
  view.selected = rows[to]->name;
}

void press_in_list(const key& what, top_view& view, const top_model& model) {
  if (what.kind == key_kind::enter) {
    auto rows = rows_of(model, view);
    if (rows.empty())
      return;
    view.selected = rows[selected_place(rows, view)]->name;
    view.opened = view.selected;
    view.lines_above = 0;
  } else if (what.kind == key_kind::escape) {
    view.filter.clear();
  } else if (what.kind == key_kind::left || what.text == "<") {
    sort_by_next(view, -1);
  } else if (what.kind == key_kind::right || what.text == ">") {
    sort_by_next(view, 1);
  } else if (what.text == "r") {
    view.reversed = !view.reversed;
  } else if (what.text == "/") {
    view.typing = true;
  }
}

void press_in_gate(const key& what, top_view& view) {
  if (what.kind == key_kind::escape || what.kind == key_kind::backspace
      || what.kind == key_kind::left)
    view.opened.clear();
}

} // namespace

std::vector<const gate_facts*> rows_of(const top_model& model,
                                       const top_view& view) {
  struct row {
    double weight;
    const gate_facts* gate;
  };
  auto part = lowered(view.filter);
  std::vector<row> found;
  for (const auto& x : model.gates())
    if (part.empty() || lowered(x.name).find(part) != std::string::npos)
      found.push_back({weight_of(x, view.sorted_by), &x});
  std::ranges::sort(found, [&](const row& a, const row& b) {
    if (a.weight != b.weight)
      return view.reversed ? a.weight < b.weight : a.weight > b.weight;
    auto by_name = view.sorted_by == gate_column::name && view.reversed;
    return by_name ? a.gate->name > b.gate->name : a.gate->name < b.gate->name;
  });
  std::vector<const gate_facts*> out;
  out.reserve(found.size());
  for (const auto& x : found)
    out.push_back(x.gate);
  return out;
}

std::size_t selected_place(const std::vector<const gate_facts*>& rows,
                           const top_view& view) {
  auto i = std::ranges::find(rows, view.selected, &gate_facts::name);
  if (i != rows.end())
    return static_cast<std::size_t>(i - rows.begin());
  return rows.empty() ? 0 : std::min(view.place, rows.size() - 1);
}

std::size_t rows_above(std::size_t present, std::size_t selected,
                       std::size_t rows, std::size_t height) {
  height = std::max<std::size_t>(1, height);
  // No empty space below while there are rows above.
  auto most = rows > height ? rows - height : 0;
  present = std::min(present, most);
  if (selected < present)
    return selected;
  return selected >= present + height ? selected - height + 1 : present;
}

top_order press(const key& what, top_view& view, const top_model& model,
                std::size_t height) {
  if (what.kind == key_kind::interrupt)
    return top_order::quit;
  if (what.kind == key_kind::suspend)
    return top_order::suspend;
  if (what.kind == key_kind::redraw)
    return top_order::redraw;
  if (view.typing) {
    if (auto by = what.kind == key_kind::character ? std::nullopt
                                                   : move_of(what, height))
      move_selection(view, model, *by);
    else
      type_filter(what, view);
    return top_order::none;
  }
  if (what.text == "q")
    return top_order::quit;
  if (view.help) {
    view.help = false;
  } else if (what.text == "?") {
    view.help = true;
  } else if (what.text == "p") {
    view.paused = !view.paused;
  } else if (auto by = move_of(what, height)) {
    if (view.opened.empty())
      move_selection(view, model, *by);
    else
      view.lines_above = moved(view.lines_above, *by, 1'000'000);
  } else if (view.opened.empty()) {
    press_in_list(what, view, model);
  } else {
    press_in_gate(what, view);
  }
  return top_order::none;
}

} // namespace caisson::ctl
