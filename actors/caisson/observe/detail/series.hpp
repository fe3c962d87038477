// Writes the series of gates: which there are, their labels and values.
#pragma once

#include <caisson/engine/duration_bounds.hpp>
#include <caisson/observe/detail/labels.hpp>
#include <caisson/observe/detail/metric_names.hpp>
#include <caisson/observe/gate_watch.hpp>
#include <caisson/observe/metrics_config.hpp>
#include <caisson/policy/answer_class.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace caisson::detail {

/// A histogram as Prometheus wants it: the last bucket has no upper bound, and
/// each counts those before it, too.
struct series_histogram {
  std::span<const double> bounds;
  std::vector<std::uint64_t> counts;
  std::uint64_t count = 0;
  double sum = 0;
  /// Examples, and when the gate published them, on its clock.
  std::span<const duration_exemplar> exemplars = {};
  time_point published = {};
};

/// A label of one series, besides those it has in common with others.
struct series_label {
  const char* name = "";
  std::string_view value = {};

  [[nodiscard]] bool is_none() const noexcept { return *name == '\0'; }
};

/// Writes all series of gates into a `Sink`, which has a type `labels` that is
/// empty by default, and the functions
///
///     with(labels, series_label) -> labels
///     family(name, help, metric_type) -> family
///     number(family, labels, series_label, double)
///     histogram(family, labels, series_label, series_histogram)
///
/// docs/operation.md lists the metrics.
template <class Sink>
class series_writer {
public:
  using labels = typename Sink::labels;

  series_writer(Sink& out, const metrics_config& c) : out_(out), config_(c) {}

  void write(const std::vector<watched_gate>& gates) {
    unique_labels names;
    std::string name;
    auto n = std::min<std::size_t>(gates.size(), config_.max_gates);
    gauge("caisson_gates", "Gates that there are metrics of.", {},
          static_cast<double>(n));
    gauge("caisson_gates_left_out",
          "Gates beyond the limit, of which there are no metrics.", {},
          static_cast<double>(gates.size() - n));
    for (std::size_t i = 0; i < n; ++i) {
      const auto& g = gates[i];
      if (i == 0 || g.name != gates[i - 1].name)
        name = names.add(g.name);
      auto own = out_.with({}, {"gate", name});
      if (g.number > 1)
        own = out_.with(own, {"replica", std::to_string(g.number)});
      write_gate(own, *g.last);
      unique_labels layers;
      for (std::size_t k = 0; k < g.last->layers.size(); ++k) {
        const auto& x = g.last->layers[k];
        write_layer(own, layers.add(x.name), k, x);
      }
    }
  }

private:
  using type = metric_type;

  void counter(std::string_view name, const char* help, const labels& l,
               std::int64_t value, series_label own = {}) {
    if (value != 0 || config_.zero_counters)
      out_.number(out_.family(name, help, type::counter), l, own,
                  static_cast<double>(value));
  }

  void gauge(std::string_view name, const char* help, const labels& l,
             double value, series_label own = {}) {
    out_.number(out_.family(name, help, type::gauge), l, own, value);
  }

  // 1 for the state in question, 0 for all others.
  template <class States>
  void states(std::string_view name, const char* help, const labels& l,
              const char* label, const States& known, std::string_view state) {
    auto& family = out_.family(name, help, type::gauge);
    auto found = false;
    for (std::string_view x : known) {
      out_.number(family, l, {label, x}, x == state ? 1 : 0);
      found = found || x == state;
    }
    if (!found && !state.empty())
      out_.number(family, l, {label, label_text(state)}, 1);
  }

  void write_gate(const labels& l, const gate_snapshot& x) {
    static const auto gate_states = names_up_to(gate_state::draining);
    static const auto worker_states = names_up_to(worker_state::ended);
    for (const auto& m : gate_metrics()) {
      auto value = metric_of(x, m.key);
      if (m.type == type::counter)
        counter(m.name, m.help, l, value);
      else
        gauge(m.name, m.help, l, static_cast<double>(value));
    }
    write_outcomes(l, x);
    write_answers(l, x);
    states("caisson_gate_state", "1 for the state of the gate.", l, "state",
           gate_states, name_of(x.state));
    states("caisson_worker_state", "1 for the state of the worker.", l, "state",
           worker_states, name_of(x.worker));
    write_durations(l, x);
    write_tallies(l, x);
  }

  // A gate counts what it refuses apart from what has failed.
  void write_outcomes(const labels& l, const gate_snapshot& x) {
    auto add = [&](std::string_view outcome, std::int64_t n) {
      counter("caisson_outcomes_total",
              "Calls and leases that ended: succeeded, neutral, with an error "
              "of Caisson's by its name, or another error.",
              l, n, {"outcome", outcome});
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

  void write_answers(const labels& l, const gate_snapshot& x) {
    static const auto classes = names_up_to(last_answer_class);
    static const auto keys = [] {
      std::vector<std::string> out;
      out.reserve(classes.size());
      for (auto c : classes)
        out.push_back("answers_" + std::string{c});
      return out;
    }();
    for (std::size_t i = 0; i < classes.size(); ++i)
      counter("caisson_answers_total",
              "Answers of the worker by their class; all zero without an "
              "adapter.",
              l, metric_of(x, keys[i]), {"class", classes[i]});
  }

  void write_durations(const labels& l, const gate_snapshot& x) {
    struct form {
      const char* name;
      const char* help;
    };
    constexpr form forms[] = {
      {"caisson_call_duration_seconds", "From the arrival of a call or acquire "
                                        "to its answer or the lease's end."},
      {"caisson_attempt_duration_seconds",
       "From sending an attempt, or granting a lease, to its end."},
      {"caisson_wait_duration_seconds",
       "From the arrival of a call until it is first sent, or refused unsent."},
    };
    static const auto ends = [] {
      std::vector<double> out;
      for (auto bound : duration_bounds())
        out.push_back(to_seconds(bound));
      out.push_back(std::numeric_limits<double>::infinity());
      return out;
    }();
    for (std::uint8_t what = 0; what <= last_measured; ++what)
      for (auto ok : {true, false}) {
        auto d = std::find_if(
          x.durations.begin(), x.durations.end(), [&](const auto& y) {
            return y.what == static_cast<measured>(what) && y.ok == ok;
          });
        series_histogram h{ends, {}, 0, 0};
        if (d != x.durations.end() && d->counts.count() > 0) {
          h.counts = d->counts.cumulative(duration_bounds());
          h.count = d->counts.count();
          h.counts.push_back(h.count);
          h.sum = d->counts.sum() / 1e9;
          h.exemplars = d->exemplars;
          h.published = x.taken;
        }
        histogram(forms[what].name, forms[what].help, l, ok, std::move(h));
      }
  }

  void write_tallies(const labels& l, const gate_snapshot& x) {
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
    static const auto ends = [&] {
      std::array<std::vector<double>, std::size(forms)> out;
      for (std::size_t i = 0; i < out.size(); ++i) {
        for (auto bound : bounds_of(static_cast<tallied>(i)))
          out[i].push_back(bound * forms[i].scale);
        out[i].push_back(std::numeric_limits<double>::infinity());
      }
      return out;
    }();
    for (std::uint8_t i = 0; i <= last_tallied; ++i)
      for (auto ok : {true, false}) {
        auto t = std::find_if(
          x.tallies.begin(), x.tallies.end(), [&](const tally_summary& y) {
            return y.what == static_cast<tallied>(i) && y.ok == ok;
          });
        series_histogram h{ends[i], {}, 0, 0};
        if (t != x.tallies.end()) {
          h.count = t->count;
          h.sum = static_cast<double>(t->sum) * forms[i].scale;
          std::uint64_t seen = 0;
          for (std::size_t k = 0; k < h.bounds.size(); ++k)
            h.counts.push_back(seen += t->counts[k]);
        }
        histogram(forms[i].name, forms[i].help, l, ok, std::move(h));
      }
  }

  void histogram(const char* name, const char* help, const labels& l, bool ok,
                 series_histogram x) {
    if (x.counts.empty()) {
      if (!config_.empty_histograms)
        return;
      x.counts.resize(x.bounds.size());
    }
    out_.histogram(out_.family(name, help, type::histogram), l,
                   {"result", ok ? "ok" : "failed"}, x);
  }

  void write_layer(const labels& gate, const std::string& name,
                   std::size_t position, const layer_snapshot& x) {
    static const auto modes = names_up_to(mode::off);
    auto l = out_.with(out_.with(gate, {"layer", name}),
                       {"kind", label_text(x.kind)});
    gauge("caisson_layer_position",
          "The place of a layer in its gate, 0 for the outermost.", l,
          static_cast<double>(position));
    states("caisson_layer_mode", "1 for the mode of a layer.", l, "mode", modes,
           name_of(x.mode));
    if (!x.state.empty())
      states("caisson_layer_state", "1 for the state of a layer.", l, "state",
             states_of_kind(x.kind), x.state);
    write_numbers(l, x);
    write_keys(l, x);
  }

  void write_numbers(const labels& l, const layer_snapshot& x) {
    // Two names may be the same as metrics; the first counts.
    std::unordered_set<std::string> written;
    unique_labels decisions;
    for (const auto& n : x.numbers) {
      if (!n.gauge) {
        counter("caisson_layer_decisions_total",
                "Decisions of a layer, by their branch; the page of its kind "
                "describes each.",
                l, n.value, {"decision", decisions.add(n.name)});
        continue;
      }
      const auto& form = form_of(x.kind, n.name);
      if ((form.negative_is_none && n.value < 0)
          || !written.insert(form.name + '/' + form.about).second)
        continue;
      gauge(form.name, form.help, l, static_cast<double>(n.value) * form.scale,
            {form.label, form.about});
    }
  }

  void write_keys(const labels& l, const layer_snapshot& x) {
    unique_labels keys;
    for (const auto& k : x.keys) {
      auto own = out_.with(l, {"key", keys.add(k.key)});
      counter("caisson_key_admitted_calls_total",
              "Calls of one of the busiest keys that its layer has admitted.",
              own, k.admitted);
      if (!k.state.empty())
        states("caisson_key_state", "1 for the state of a busy key.", own,
               "state", states_of_kind(x.kind), k.state);
    }
  }

  template <class Enum>
  static std::vector<std::string_view> names_up_to(Enum last) {
    std::vector<std::string_view> out;
    for (std::uint8_t i = 0; i <= static_cast<std::uint8_t>(last); ++i)
      out.push_back(name_of(static_cast<Enum>(i)));
    return out;
  }

  static std::int64_t metric_of(const gate_snapshot& x,
                                const std::string& key) {
    auto i = x.metrics.find(key);
    return i == x.metrics.end() ? 0 : i->second;
  }

  // Kinds and names are few, and the same in many gates.
  const gauge_form& form_of(const std::string& kind, const std::string& name) {
    auto [i, is_new] = forms_[kind].try_emplace(name);
    if (is_new)
      i->second = form_of_gauge(kind, name);
    return i->second;
  }

  Sink& out_;
  const metrics_config& config_;
  std::unordered_map<std::string, std::unordered_map<std::string, gauge_form>>
    forms_;
};

} // namespace caisson::detail
