#include <simulator/import/span_tree.hpp>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <tuple>

namespace caisson::sim {

namespace {

// So that nothing overflows: about 31 years.
constexpr std::int64_t most_shift = 1'000'000'000'000'000'000;

bool same_span(const trace_span& a, const trace_span& b) {
  return a.trace == b.trace && a.id == b.id;
}

// What older tracers make: the callee goes on with the span of its caller.
bool shared_by_both_sides(const trace_span& a, const trace_span& b) {
  return a.kind == span_kind::client && b.kind == span_kind::server;
}

// Whether the caller waits for the callee, so that what lies outside of it has
// a wrong time.
bool waits_for(const trace_span& caller, const trace_span& callee) {
  return caller.service != callee.service && !callee.follows
         && callee.kind != span_kind::consumer
         && caller.kind != span_kind::producer;
}

// By how much a callee has to be moved to lie within its caller. Where only its
// end is outside, its caller may not have waited, unless it says that it did.
std::int64_t needed_shift(const trace_span& caller, const trace_span& callee) {
  auto room = (caller.end - caller.start) - (callee.end - callee.start);
  auto early = callee.start < caller.start;
  auto late = callee.end > caller.end && caller.kind == span_kind::client;
  if (!early && (!late || room < 0))
    return 0;
  // The way there is taken to be as long as the way back.
  return caller.start + std::max<std::int64_t>(0, room / 2) - callee.start;
}

} // namespace

span_tree::span_tree(std::vector<trace_span>& spans) : spans_(spans) {
  if (spans_.size() >= no_span)
    throw std::runtime_error{"there are more than 4,294,967,294 spans"};
  drop_duplicates();
  find_parents();
  list_children();
  find_tops();
  order_spans();
  correct_clocks();
}

// Equal ids are next to each other, and of the two sides of a call the client
// comes first.
void span_tree::drop_duplicates() {
  std::ranges::sort(spans_, {}, [](const trace_span& s) {
    return std::tuple{s.trace, s.id, s.kind, s.start, s.end, s.service};
  });
  std::size_t kept = 0;
  for (const auto& s : spans_) {
    auto twice = kept > 0 && same_span(spans_[kept - 1], s)
                 && !shared_by_both_sides(spans_[kept - 1], s);
    duplicates += twice;
    if (!twice)
      spans_[kept++] = s;
  }
  spans_.resize(kept);
}

void span_tree::find_parents() {
  auto less = [](const trace_span& a, const trace_span& b) {
    return std::tie(a.trace, a.id) < std::tie(b.trace, b.id);
  };
  parents_.assign(spans_.size(), no_span);
  for (std::uint32_t i = 0; i < spans_.size(); ++i) {
    if (i > 0 && same_span(spans_[i - 1], spans_[i])) {
      parents_[i] = i - 1;
      continue;
    }
    if (spans_[i].parent == 0)
      continue;
    trace_span key;
    key.trace = spans_[i].trace;
    key.id = spans_[i].parent;
    // The callee's, if both sides have it.
    auto after = std::ranges::upper_bound(spans_, key, less);
    if (after != spans_.begin() && same_span(*std::prev(after), key))
      parents_[i] = static_cast<std::uint32_t>(after - spans_.begin() - 1);
  }
}

void span_tree::list_children() {
  first_.assign(spans_.size() + 1, 0);
  for (auto p : parents_)
    if (p != no_span)
      ++first_[p + 1];
  for (std::size_t i = 1; i < first_.size(); ++i)
    first_[i] += first_[i - 1];
  children_.resize(first_.back());
  auto next = first_;
  for (std::uint32_t i = 0; i < spans_.size(); ++i)
    if (parents_[i] != no_span)
      children_[next[parents_[i]]++] = i;
  for (std::size_t i = 0; i < spans_.size(); ++i)
    std::sort(children_.begin() + first_[i], children_.begin() + first_[i + 1],
              [&](std::uint32_t a, std::uint32_t b) {
                return std::tie(spans_[a].start, a)
                       < std::tie(spans_[b].start, b);
              });
}

// -- tops ---------------------------------------------------------------------

void span_tree::find_tops() {
  tops_.assign(spans_.size(), top_kind::none);
  for (std::uint32_t from = 0; from < spans_.size();) {
    auto to = from;
    while (to < spans_.size() && spans_[to].trace == spans_[from].trace)
      ++to;
    ++traces;
    decide_tops(from, to);
    from = to;
  }
}

// A trace that has lost its beginning, such as the span of a load balancer,
// begins with the earliest span and with those that have the same parent.
void span_tree::decide_tops(std::uint32_t from, std::uint32_t to) {
  auto has_root = false;
  auto earliest = no_span;
  for (auto i = from; i < to; ++i) {
    if (parents_[i] != no_span)
      continue;
    has_root = has_root || spans_[i].parent == 0;
    if (earliest == no_span || spans_[i].start < spans_[earliest].start)
      earliest = i;
  }
  for (auto i = from; i < to; ++i) {
    if (parents_[i] != no_span)
      continue;
    auto lost = spans_[i].parent != 0;
    auto entry = has_root ? !lost : spans_[i].parent == spans_[earliest].parent;
    tops_[i] = entry ? top_kind::entry : top_kind::orphan;
    entries_without_parent += entry && lost;
    orphans += !entry;
  }
}

void span_tree::order_spans() {
  order_.reserve(spans_.size());
  for (std::uint32_t i = 0; i < spans_.size(); ++i)
    if (tops_[i] != top_kind::none)
      order_.push_back(i);
  for (std::size_t next = 0; next < order_.size(); ++next)
    for (auto child : children(order_[next]))
      order_.push_back(child);
  // What no top leads to goes round in a circle.
  in_cycles = spans_.size() - order_.size();
}

// -- clocks -------------------------------------------------------------------

void span_tree::correct_clocks() {
  // What is below a span is moved with it.
  std::vector<std::int64_t> shift(spans_.size(), 0);
  for (auto i : order_) {
    auto p = parents_[i];
    if (p == no_span)
      continue;
    auto& s = spans_[i];
    shift[i] = shift[p];
    s.start += shift[p];
    s.end += shift[p];
    if (!waits_for(spans_[p], s))
      continue;
    auto more = needed_shift(spans_[p], s);
    if (more == 0 || std::abs(shift[p] + more) > most_shift)
      continue;
    shift[i] += more;
    s.start += more;
    s.end += more;
    auto& seen = shifts[{spans_[p].service, s.service}];
    ++seen.spans;
    seen.largest = std::max(seen.largest, std::abs(more));
  }
}

} // namespace caisson::sim
