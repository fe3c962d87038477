#include <simulator/import/import_notes.hpp>

#include <simulator/report/numbers.hpp>

#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <chrono>
#include <sstream>
#include <utility>

namespace caisson::sim {

namespace {

std::string times_of(std::uint64_t n, std::string_view what) {
  return fmt::format("{} {}{}", grouped(n), what, n == 1 ? "" : "s");
}

std::string shown(const name_pool& names, std::uint32_t name) {
  return detail::quoted(names.text(name));
}

class note_list {
public:
  // Only if it has happened.
  void add(std::uint64_t n, std::string_view what, std::string_view rest) {
    if (n > 0)
      out.push_back(fmt::format("{} {}", times_of(n, what), rest));
  }

  std::vector<std::string> out;
};

void note_reading(const span_set& spans, note_list& to) {
  if (spans.only_arm)
    to.out.push_back(fmt::format(
      "only the spans of arm {} are in it: {} of others were left out",
      detail::quoted(*spans.only_arm), grouped(spans.of_other_arms)));
  to.add(spans.without_ids, "span",
         "left out: without the id of a trace or "
         "of a span");
  to.add(spans.without_times, "span",
         "left out: without a beginning or an end that can be read");
  to.add(spans.backwards, "span",
         "ended before the beginning: taken to have no length");
  to.add(spans.without_service, "span",
         "without the name of a service: \"unnamed\"");
}

void note_trees(const span_set& spans, const span_tree& tree, note_list& to) {
  to.add(tree.duplicates, "span", "left out: there is one with the same ids");
  to.add(tree.in_cycles, "span", "left out: their parents form a circle");
  to.add(tree.entries_without_parent, "request",
         "with a caller that is not in the files: taken to be from outside");
  to.add(tree.orphans, "span",
         "without their caller, in traces that begin elsewhere: not part of "
         "the load, only of times and calls");
  for (const auto& [ends, shift] : tree.shifts)
    to.add(shift.spans, "call",
           fmt::format("of {} by {} outside of the caller's time, by up to {}, "
                       "as clocks differ or the caller did not wait: moved "
                       "into it",
                       shown(spans.names, ends.second),
                       shown(spans.names, ends.first),
                       short_time(duration{shift.largest})));
}

void note_calls(const span_set& spans, const visit_graph& g, note_list& to) {
  to.add(g.calls_to_unknown, "span",
         "of clients that do not say whom they call: time of their own "
         "service");
  to.add(g.calls_without_callee, "call",
         "without a span of the callee, which has some elsewhere");
  to.add(g.given_up, "call", "whose caller ended before the callee");
  to.add(g.too_deep, "call",
         fmt::format("left out: more than {} levels of calls to itself",
                     most_recursion));
  for (const auto& [service, n] : g.known_from_clients)
    to.add(n, "call",
           fmt::format("to {} known from clients' spans alone: its times "
                       "include those of the network",
                       shown(spans.names, service)));
  for (const auto& [ends, n] : g.not_awaited)
    to.add(n, "call",
           fmt::format("of {} by {} that the caller does not wait for: a load "
                       "of its own",
                       shown(spans.names, ends.second),
                       shown(spans.names, ends.first)));
}

} // namespace

std::vector<std::string> notes_of(const span_set& spans, const span_tree& tree,
                                  const visit_graph& g) {
  note_list to;
  note_reading(spans, to);
  note_trees(spans, tree, to);
  note_calls(spans, g, to);
  return std::move(to.out);
}

std::vector<std::string> unknowns(const traffic_model& m,
                                  const import_settings& how) {
  std::vector<std::string> out;
  out.push_back(how.sampling < 1
                  ? "Servers: `workers` is the largest number of requests that "
                    "a service would have had at once if all had traces and "
                    "came independently. It may have more servers."
                  : "Servers: `workers` is the largest number of requests that "
                    "a service had at once. It may have more servers.");
  out.emplace_back("Waiting: times are those of the spans, which include waits "
                   "for a server, a lock or a connection. So they are right "
                   "for this load only, and too long for a smaller one.");
  out.emplace_back(
    "Queues, `async`, replicas, what is done with abandoned work, caches, and "
    "what the network loses.");
  out.emplace_back(
    "Timeouts, retries, breakers and other policies: attempts that have spans "
    "are calls like any other.");
  out.emplace_back(
    "When within an operation its own work is done: all of it comes first.");
  out.emplace_back("Whether calls depend on one another: each has its own "
                   "probability.");
  auto failed = std::uint64_t{0};
  for (const auto& o : m.operations)
    for (const auto& [target, calls] : o.calls)
      failed += calls.second;
  if (failed == 0)
    out.emplace_back("Which calls may fail: none did, so none is `optional`.");
  out.push_back(
    how.sampling < 1
      ? fmt::format("Rates: they are those of the traces divided by {}.",
                    to_text(how.sampling))
      : "Rates: they are those of the traces. If only a share of the requests "
        "has traces, give it with `--sampling`.");
  return out;
}

std::string commented(const std::vector<std::string>& lines) {
  constexpr std::size_t width = 88;
  std::string out;
  for (const auto& line : lines) {
    std::istringstream words{detail::printable(line)};
    std::string row = "# -";
    for (std::string word; words >> word;) {
      if (row.size() + 1 + word.size() > width) {
        out += row + "\n";
        row = "#  ";
      }
      row += " " + word;
    }
    out += row + "\n";
  }
  return out;
}

} // namespace caisson::sim
