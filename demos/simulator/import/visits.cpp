#include <simulator/import/visits.hpp>

#include <simulator/import/recursion.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

namespace caisson::sim {

namespace {

bool sends(const trace_span& s) {
  return s.kind == span_kind::client || s.kind == span_kind::producer;
}

bool receives(const trace_span& s) {
  return s.kind == span_kind::server || s.kind == span_kind::consumer;
}

// Clients' spans may end a little after that of the request.
bool outlives(std::int64_t start, std::int64_t end, const trace_span& caller) {
  constexpr std::int64_t negligible = 100'000;
  return end - caller.end > std::max(negligible, (end - start) / 100);
}

class visit_finder {
public:
  visit_finder(const span_tree& tree, const std::vector<trace_span>& spans)
    : tree_(tree), spans_(spans), visit_of_(spans.size(), no_visit),
      answered_(spans.size(), false), below_entry_(spans.size(), false) {}

  visit_graph find() {
    for (auto i : tree_.order())
      place(i);
    find_clients_without_callee();
    unroll_recursion(out_);
    list_calls();
    measure_selves();
    std::ranges::sort(out_.entries, {}, [&](const entry_visit& e) {
      return std::pair{spans_[out_.visits[e.visit].span].start, e.visit};
    });
    return std::move(out_);
  }

private:
  // The same client's spans elsewhere say whom it calls.
  using client_key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;

  // How often which operation was called.
  struct callees {
    std::map<std::uint32_t, std::uint64_t> counts;
    std::optional<std::uint32_t> usual_one = {};

    // Once all are counted. There may be as many as spans.
    std::uint32_t usual() {
      if (!usual_one)
        usual_one = std::ranges::max_element(counts, {}, [](const auto& x) {
                      return x.second;
                    })->first;
      return *usual_one;
    }
  };

  // -- spans ------------------------------------------------------------------

  void place(std::uint32_t i) {
    const auto& s = spans_[i];
    auto p = tree_.parent(i);
    below_entry_[i] = p == span_tree::no_span ? tree_.top(i) == top_kind::entry
                                              : below_entry_[p];
    if (p == span_tree::no_span) {
      // A client at the top is a load and no service.
      if (!sends(s))
        visit_of_[i] = add_visit(i, no_visit, s.name);
      if (!sends(s) && below_entry_[i])
        out_.entries.push_back({visit_of_[i], {}});
      return;
    }
    const auto& parent = spans_[p];
    auto elsewhere = s.service != parent.service
                     || (sends(parent) && receives(s));
    if (elsewhere)
      place_callee(i, p);
    else
      visit_of_[i] = visit_of_[p];
  }

  void place_callee(std::uint32_t i, std::uint32_t p) {
    const auto& s = spans_[i];
    const auto& parent = spans_[p];
    auto caller = visit_of_[p];
    // A second callee of the same client's span is another attempt.
    auto whole = sends(parent) && !answered_[p];
    answered_[p] = true;
    const auto& c = whole ? parent : s;
    auto v = add_visit(i, caller, s.name);
    visit_of_[i] = v;
    auto& visit = out_.visits[v];
    if (whole && parent.kind == span_kind::client) {
      visit.latency = std::max<std::int64_t>(0, (parent.end - parent.start)
                                                  - (s.end - s.start));
      out_.given_up += s.end > parent.end;
    }
    if (caller == no_visit) {
      if (below_entry_[p])
        out_.entries.push_back(
          {v, {request_source::kind::client, parent.service}});
      return;
    }
    auto free = s.follows || s.kind == span_kind::consumer
                || parent.kind == span_kind::producer
                || outlives(c.start, c.end, spans_[out_.visits[caller].span]);
    if (free) {
      visit.caller = no_visit;
      visit.latency = -1;
      ++out_.not_awaited[{parent.service, s.service}];
      out_.entries.push_back(
        {v, {request_source::kind::async, parent.service}});
      return;
    }
    out_.calls.push_back({caller, visit.operation, c.start, c.end, c.failed});
    if (whole)
      ++callees_[key_of(caller, parent)].counts[visit.operation];
  }

  std::uint32_t add_visit(std::uint32_t span, std::uint32_t caller,
                          std::uint32_t name,
                          std::optional<std::uint32_t> service = {}) {
    auto operation = operation_number(service.value_or(spans_[span].service),
                                      name);
    out_.visits.push_back(
      {.span = span, .operation = operation, .caller = caller});
    return static_cast<std::uint32_t>(out_.visits.size() - 1);
  }

  std::uint32_t operation_number(std::uint32_t service, std::uint32_t name) {
    auto [at, fresh] = numbers_.try_emplace(
      {service, name}, static_cast<std::uint32_t>(out_.operations.size()));
    if (fresh)
      out_.operations.push_back({service, name, 0});
    return at->second;
  }

  [[nodiscard]] client_key key_of(std::uint32_t caller,
                                  const trace_span& client) const {
    return {out_.visits[caller].operation, client.name, client.peer};
  }

  // -- clients that nobody answers --------------------------------------------

  void find_clients_without_callee() {
    // Children first: a client's span can have another one of its own in it.
    const auto& order = tree_.order();
    for (auto at = order.rbegin(); at != order.rend(); ++at) {
      auto i = *at;
      auto p = tree_.parent(i);
      if (p != span_tree::no_span && spans_[p].service == spans_[i].service
          && (answered_[i] || sends(spans_[i])))
        answered_[p] = true;
    }
    for (auto i : order)
      if (sends(spans_[i]) && !answered_[i])
        place_unanswered(i);
  }

  void place_unanswered(std::uint32_t i) {
    const auto& s = spans_[i];
    auto caller = visit_of_[i];
    if (caller != no_visit)
      if (auto known = callees_.find(key_of(caller, s));
          known != callees_.end()) {
        ++out_.calls_without_callee;
        out_.calls.push_back(
          {caller, known->second.usual(), s.start, s.end, s.failed});
        return;
      }
    if (s.peer == 0) {
      ++out_.calls_to_unknown;
      return;
    }
    auto entry = caller == no_visit;
    if (entry && !below_entry_[i])
      return;
    ++out_.known_from_clients[s.peer];
    auto v = add_visit(i, caller, s.name, s.peer);
    if (entry) {
      out_.entries.push_back({v, {request_source::kind::client, s.service}});
    } else if (outlives(s.start, s.end, spans_[out_.visits[caller].span])) {
      out_.visits[v].caller = no_visit;
      ++out_.not_awaited[{s.service, s.peer}];
      out_.entries.push_back({v, {request_source::kind::async, s.service}});
    } else {
      out_.calls.push_back(
        {caller, out_.visits[v].operation, s.start, s.end, s.failed});
    }
  }

  // -- calls ------------------------------------------------------------------

  void list_calls() {
    std::ranges::sort(out_.calls, {}, [](const visit_call& c) {
      return std::tie(c.visit, c.start, c.end, c.operation, c.failed);
    });
    auto& first = out_.first_call;
    first.assign(out_.visits.size() + 1, 0);
    for (const auto& c : out_.calls)
      ++first[c.visit + 1];
    for (std::size_t i = 1; i < first.size(); ++i)
      first[i] += first[i - 1];
  }

  // A visit's time without what is covered by its calls.
  void measure_selves() {
    for (std::uint32_t v = 0; v < out_.visits.size(); ++v) {
      const auto& s = spans_[out_.visits[v].span];
      auto covered = std::int64_t{0};
      auto until = s.start;
      for (const auto& c : out_.calls_of(v)) {
        auto from = std::max(c.start, until);
        auto to = std::min(c.end, s.end);
        if (to > from) {
          covered += to - from;
          until = to;
        }
      }
      out_.visits[v].self = s.end - s.start - covered;
    }
  }

  const span_tree& tree_;
  const std::vector<trace_span>& spans_;
  // By span; those of clients at the top belong to none.
  std::vector<std::uint32_t> visit_of_;
  // Whether a client's span has led to anything.
  std::vector<bool> answered_;
  // Whether its trace begins with a request from outside.
  std::vector<bool> below_entry_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> numbers_;
  std::map<client_key, callees> callees_;
  visit_graph out_;
};

} // namespace

visit_graph find_visits(const span_tree& tree,
                        const std::vector<trace_span>& spans) {
  return visit_finder{tree, spans}.find();
}

} // namespace caisson::sim
