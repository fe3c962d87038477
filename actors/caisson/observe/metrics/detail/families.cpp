#include <caisson/observe/metrics/detail/families.hpp>

#include <caisson/observe/metrics/detail/labels.hpp>
#include <caisson/observe/metrics/detail/names.hpp>
#include <caisson/policy/answer_class.hpp>

#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace caisson::detail {

namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using label_list = std::vector<ClientMetric::Label>;

struct text_hash {
  using is_transparent = void;
  std::size_t operator()(std::string_view x) const {
    return std::hash<std::string_view>{}(x);
  }
};

/// Families by name, in the order in which they were first needed.
class family_set {
public:
  explicit family_set(bool with_empty) : with_empty_(with_empty) {}

  /// Whether there are series of what has never happened.
  [[nodiscard]] bool with_empty() const noexcept { return with_empty_; }

  void counter(std::string_view name, const char* help, label_list labels,
               std::int64_t value) {
    if (value == 0 && !with_empty_)
      return;
    add(name, help, MetricType::Counter, std::move(labels)).counter.value
      = static_cast<double>(value);
  }

  void gauge(std::string_view name, const char* help, label_list labels,
             double value) {
    add(name, help, MetricType::Gauge, std::move(labels)).gauge.value = value;
  }

  ClientMetric::Histogram& histogram(std::string_view name, const char* help,
                                     label_list labels) {
    return add(name, help, MetricType::Histogram, std::move(labels)).histogram;
  }

  std::vector<MetricFamily> take() && { return std::move(all_); }

private:
  ClientMetric& add(std::string_view name, const char* help, MetricType type,
                    label_list labels) {
    auto i = index_.find(name);
    if (i == index_.end()) {
      i = index_.emplace(name, all_.size()).first;
      all_.push_back({std::string{name}, help, type, {}});
    }
    auto& x = all_[i->second].metric.emplace_back();
    x.label = std::move(labels);
    return x;
  }

  const bool with_empty_;
  std::vector<MetricFamily> all_;
  std::unordered_map<std::string, std::size_t, text_hash, std::equal_to<>>
    index_;
};

label_list with(const label_list& labels, const char* name,
                std::string_view value) {
  label_list out;
  out.reserve(labels.size() + 1);
  out = labels;
  out.push_back({name, std::string{value}});
  return out;
}

// 1 for the state in question, 0 for all others.
template <class States>
void add_states(family_set& out, std::string_view name, const char* help,
                const label_list& labels, const char* label,
                const States& known, std::string_view state) {
  auto found = false;
  for (std::string_view x : known) {
    out.gauge(name, help, with(labels, label, x), x == state ? 1 : 0);
    found = found || x == state;
  }
  if (!found && !state.empty())
    out.gauge(name, help, with(labels, label, label_text(state)), 1);
}

template <class Enum>
std::vector<std::string_view> names_up_to(Enum last) {
  std::vector<std::string_view> out;
  for (std::uint8_t i = 0; i <= static_cast<std::uint8_t>(last); ++i)
    out.push_back(name_of(static_cast<Enum>(i)));
  return out;
}

// -- the gate itself ----------------------------------------------------------

std::int64_t metric_of(const gate_snapshot& x, const std::string& key) {
  auto i = x.metrics.find(key);
  return i == x.metrics.end() ? 0 : i->second;
}

// A gate counts what it refuses apart from what has failed.
void add_outcomes(family_set& out, const label_list& labels,
                  const gate_snapshot& x) {
  auto add = [&](std::string_view outcome, std::int64_t n) {
    out.counter("caisson_outcomes_total",
                "Calls and leases that ended: succeeded, neutral, with an "
                "error of Caisson's by its name, or another error.",
                with(labels, "outcome", outcome), n);
  };
  auto errors = x.errors;
  auto refused = [&](errc code, const char* key) {
    errors[static_cast<std::size_t>(code)] += metric_of(x, key);
  };
  refused(errc::draining, "refused_draining");
  refused(errc::shed, "refused_full");
  refused(errc::invalid_config, "refused_invalid");
  refused(errc::call_loop, "refused_loop");
  add("succeeded", metric_of(x, "succeeded"));
  add("neutral", metric_of(x, "released_neutral"));
  add("other_error", errors[0]);
  for (std::size_t i = 1; i < errors.size(); ++i)
    add(name_of(static_cast<errc>(i)), errors[i]);
}

void add_durations(family_set& out, const label_list& labels,
                   const gate_snapshot& x) {
  struct form {
    const char* name;
    const char* help;
  };
  constexpr form forms[] = {
    {"caisson_call_duration_seconds",
     "From the arrival of a call or acquire to its answer or the lease's end."},
    {"caisson_attempt_duration_seconds",
     "From sending an attempt, or granting a lease, to its end."},
    {"caisson_wait_duration_seconds",
     "From the arrival of a call until it is first sent, or refused unsent."},
  };
  auto bounds = duration_bounds();
  // Unless unwanted also what has never happened: a rate begins with the second
  // value.
  for (std::uint8_t what = 0; what <= last_measured; ++what)
    for (auto ok : {true, false}) {
      const auto& f = forms[what];
      auto d = std::find_if(
        x.durations.begin(), x.durations.end(), [&](const auto& y) {
          return y.what == static_cast<measured>(what) && y.ok == ok;
        });
      auto is_empty = d == x.durations.end() || d->counts.count() == 0;
      if (is_empty && !out.with_empty())
        continue;
      auto& h = out.histogram(f.name, f.help,
                              with(labels, "result", ok ? "ok" : "failed"));
      h.bucket.reserve(bounds.size() + 1);
      for (auto bound : bounds)
        h.bucket.push_back({0, to_seconds(bound)});
      h.bucket.push_back({0, std::numeric_limits<double>::infinity()});
      if (is_empty)
        continue;
      h.sample_count = d->counts.count();
      h.sample_sum = d->counts.sum() / 1e9;
      auto counts = d->counts.cumulative(bounds);
      for (std::size_t i = 0; i < bounds.size(); ++i)
        h.bucket[i].cumulative_count = counts[i];
      h.bucket.back().cumulative_count = h.sample_count;
    }
}

void add_tallies(family_set& out, const label_list& labels,
                 const gate_snapshot& x) {
  struct form {
    const char* name;
    const char* help;
    double scale;
  };
  constexpr form forms[] = {
    {"caisson_call_attempts",
     "Messages sent for a call, to the worker or an alternative.", 1},
    {"caisson_call_limit_used_ratio",
     "The share of its time limit that a call has used, 0 to 1.", 1e-3},
  };
  for (std::uint8_t i = 0; i <= last_tallied; ++i)
    for (auto ok : {true, false}) {
      auto what = static_cast<tallied>(i);
      auto t = std::find_if(
        x.tallies.begin(), x.tallies.end(),
        [&](const tally_summary& y) { return y.what == what && y.ok == ok; });
      auto is_empty = t == x.tallies.end();
      if (is_empty && !out.with_empty())
        continue;
      const auto& f = forms[i];
      auto& h = out.histogram(f.name, f.help,
                              with(labels, "result", ok ? "ok" : "failed"));
      for (auto bound : bounds_of(what))
        h.bucket.push_back({0, bound * f.scale});
      h.bucket.push_back({0, std::numeric_limits<double>::infinity()});
      if (is_empty)
        continue;
      h.sample_count = t->count;
      h.sample_sum = static_cast<double>(t->sum) * f.scale;
      std::uint64_t seen = 0;
      for (std::size_t k = 0; k < h.bucket.size(); ++k)
        h.bucket[k].cumulative_count = seen += t->counts[k];
    }
}

void add_gate(family_set& out, const label_list& labels,
              const gate_snapshot& x) {
  static const auto states = names_up_to(gate_state::draining);
  static const auto worker_states = names_up_to(worker_state::given_up);
  for (const auto& m : gate_metrics()) {
    auto value = metric_of(x, m.key);
    if (m.type == MetricType::Counter)
      out.counter(m.name, m.help, labels, value);
    else
      out.gauge(m.name, m.help, labels, static_cast<double>(value));
  }
  add_outcomes(out, labels, x);
  for (auto c : names_up_to(last_answer_class))
    out.counter("caisson_answers_total",
                "Answers of the worker by their class; all zero without an "
                "adapter.",
                with(labels, "class", c),
                metric_of(x, "answers_" + std::string{c}));
  add_states(out, "caisson_gate_state", "1 for the state of the gate.", labels,
             "state", states, name_of(x.state));
  add_states(out, "caisson_worker_state", "1 for the state of the worker.",
             labels, "state", worker_states, name_of(x.worker));
  add_durations(out, labels, x);
  add_tallies(out, labels, x);
}

// -- its layers ---------------------------------------------------------------

void add_numbers(family_set& out, const label_list& labels,
                 const layer_snapshot& x) {
  // Two names may be the same as metrics; the first counts.
  std::unordered_set<std::string> told;
  unique_labels decisions;
  for (const auto& n : x.numbers) {
    if (!n.gauge) {
      out.counter("caisson_layer_decisions_total",
                  "Decisions of a layer, by their branch; the page of its kind "
                  "tells what each means.",
                  with(labels, "decision", decisions.add(n.name)), n.value);
      continue;
    }
    auto form = form_of_gauge(x.kind, n.name);
    if ((form.negative_is_none && n.value < 0)
        || !told.insert(form.name + '/' + form.level).second)
      continue;
    out.gauge(form.name, form.help,
              form.level.empty() ? labels : with(labels, "level", form.level),
              static_cast<double>(n.value) * form.scale);
  }
}

void add_keys(family_set& out, const label_list& labels,
              const layer_snapshot& x) {
  unique_labels keys;
  for (const auto& k : x.keys) {
    auto own = with(labels, "key", keys.add(k.key));
    out.counter("caisson_key_admitted_calls_total",
                "Calls of one of the busiest keys that its layer has admitted.",
                own, k.admitted);
    if (!k.state.empty())
      add_states(out, "caisson_key_state", "1 for the state of a busy key.",
                 own, "state", states_of_kind(x.kind), k.state);
  }
}

void add_layer(family_set& out, const label_list& gate, const std::string& name,
               std::size_t position, const layer_snapshot& x) {
  static const auto modes = names_up_to(mode::off);
  auto labels = with(with(gate, "layer", name), "kind", label_text(x.kind));
  out.gauge("caisson_layer_position",
            "The place of a layer in its gate, 0 for the outermost.", labels,
            static_cast<double>(position));
  add_states(out, "caisson_layer_mode", "1 for the mode of a layer.", labels,
             "mode", modes, name_of(x.mode));
  if (!x.state.empty())
    add_states(out, "caisson_layer_state", "1 for the state of a layer.",
               labels, "state", states_of_kind(x.kind), x.state);
  add_numbers(out, labels, x);
  add_keys(out, labels, x);
}

label_list labels_of(const std::string& gate, std::uint32_t number) {
  label_list out{{"gate", gate}};
  if (number > 1)
    out.push_back({"replica", std::to_string(number)});
  return out;
}

} // namespace

std::span<const duration> duration_bounds() {
  static const auto bounds = [] {
    std::vector<duration> out;
    for (auto bits = 14; bits <= 35; bits += bits < 20 ? 2 : 1)
      out.push_back(
        wide_histogram::bucket_end(duration{(std::int64_t{1} << bits) - 1}));
    return out;
  }();
  return bounds;
}

std::vector<MetricFamily> families_of(const std::vector<watched_gate>& gates,
                                      const metrics_config& c) {
  family_set out{c.empty_series};
  unique_labels names;
  std::string name;
  auto n = std::min<std::size_t>(gates.size(), c.max_gates);
  out.gauge("caisson_gates", "Gates that there are metrics of.", {},
            static_cast<double>(n));
  out.gauge("caisson_gates_left_out",
            "Gates beyond the limit, of which there are no metrics.", {},
            static_cast<double>(gates.size() - n));
  for (std::size_t i = 0; i < n; ++i) {
    const auto& g = gates[i];
    if (i == 0 || g.name != gates[i - 1].name)
      name = names.add(g.name);
    auto labels = labels_of(name, g.number);
    add_gate(out, labels, *g.last);
    unique_labels layers;
    for (std::size_t k = 0; k < g.last->layers.size(); ++k) {
      const auto& x = g.last->layers[k];
      add_layer(out, labels, layers.add(x.name), k, x);
    }
  }
  return std::move(out).take();
}

} // namespace caisson::detail
