// A layer of any kind for a stack in TOML, with settings drawn from the table
// of its kind: mostly from the edges of their ranges.
#pragma once

#include <caisson/config/stack_toml.hpp>
#include <caisson/settings/toml.hpp>
#include <caisson/stack/policy_kinds.hpp>

#include <support/setting_ranges.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace caisson::test {

/// Draws layers with `Random::below`.
template <class Random>
class random_layer {
public:
  explicit random_layer(Random& random) : random_(random) {}

  /// The lines below `[[stack.NAME.layer]]`. They have no problem, also not
  /// with one another.
  std::string text() {
    // Relations between settings are those of the kind: draw until they hold.
    for (int i = 0; i < 1'000; ++i)
      if (auto x = attempt(); is_sound(x))
        return x;
    throw std::logic_error{"no sound layer in a thousand"};
  }

  /// By the name of a setting, of one kind or of all that have it. What takes
  /// long, in virtual or in real time; what is not drawn from a range; and what
  /// has no effect at its default.
  static const std::map<std::string, std::vector<std::string>>&
  chosen_values() {
    static const std::map<std::string, texts> all = {
      {"mode", {"", "", "", "\"observe\"", "\"off\""}},
      {"retrier.max_attempts", {"1", "2", "5"}},
      {"retrier.backoff", delays()},
      {"retrier.unsafe", {"true"}},
      {"cache.unsafe", {"true"}},
      {"retrier.budget_name", {"", "", "\"b\""}},
      {"breaker.open", delays()},
      {"breaker.minimum_calls", {"1", "5"}},
      {"breaker.threshold", {"1", "5"}},
      {"breaker.score",
       {"", "{ limit = 0.5, window = \"1s\", baseline_window = \"5s\", "
            "baseline_step = \"1s\" }"}},
      {"breaker.slow_call", {"\"1ms\"", "\"50ms\"", "\"unlimited\""}},
      {"breaker.initial", {"", "\"half_open\""}},
      {"batcher.max_delay", {"\"0s\"", "\"10ms\"", "\"1h\""}},
      {"batcher.min_items", {"", "1", "5"}},
      {"batcher.min_delay", {"", "", "\"1ms\""}},
      {"limiter.rate", {"1", "50", "10000", "1000000000"}},
      {"limiter.per", {"", "", "\"1ms\"", "\"1min\""}},
      {"limiter.warm_up_time", {""}},
      {"limiter.cold_factor", {""}},
      {"chaos.enabled", {"true"}},
      {"chaos.latency", delays()},
      {"chaos.error_rate", rates()},
      {"chaos.latency_rate", rates()},
      {"chaos.outcome_rate", rates()},
      {"chaos.silence_rate", rates()},
      {"degradation.levels", {""}},
      {"degradation.held_off", {"", "", "[\"extras\"]", "[\"core\"]"}},
      {"degradation.held_on", {"", "", "[\"checks\"]"}},
      {"degradation.window", {"\"1s\"", "\"10s\""}},
      {"degradation.min_calls", {"1", "20"}},
      {"degradation.check_every", {"\"10ms\"", "\"500ms\"", "\"1h\""}},
      {"degradation.recover_after", {"\"0s\"", "\"2s\""}},
      {"degradation.recover_after_max", {"\"2s\"", "\"10s\""}},
      {"throttle.window", {"\"1s\"", "\"10s\""}},
      {"throttle.multiplier", {"1.0", "2.0"}},
      {"throttle.min_rate", {"0", "1", "20"}},
      {"shedder.max_delay", {"\"0s\"", "\"1ms\"", "\"50ms\""}},
      {"shedder.in_flight_factor", {"0.0", "1.0"}},
      {"shedder.in_flight_needs_cpu", {"true", "false"}},
      {"shedder.window", {"\"10ms\"", "\"1s\""}},
      {"shedder.window_calls", {"1", "100"}},
      {"shedder.minimum", {"1", "20"}},
      {"shedder.history", {"\"1s\"", "\"10s\""}},
      {"shedder.baseline", {"\"10s\"", "\"1min\""}},
      {"adaptive_limit.window", {"\"1ms\"", "\"50ms\""}},
      {"adaptive_limit.min_samples", {"1", "10"}},
      {"adaptive_limit.initial_limit", {"3", "20"}},
      {"adaptive_limit.max_limit", {"20", "1000000"}},
      {"adaptive_limit.measure_every", {"", "\"10s\"", "\"1min\""}},
      {"adaptive_limit.measure_samples", {"", "1", "20"}},
      {"adaptive_limit.measure_at_most", {"", "\"50ms\"", "\"1s\""}},
      {"lifo_above", {"", "", "", "", "", "0"}},
      {"codel_target", {"", "", "", "", "", "\"1ms\""}},
      {"codel_interval", {"", "", "", "", "", "\"10ms\""}},
      {"codel_keep", {"", "", "", "", "", "0"}},
      {"aging", {"", "", "", "", "", "\"1ms\"", "\"unlimited\""}},
      {"partitions", {"", "", "", "{ a = 0.5, b = 0.25 }"}},
      {"borrow", {""}},
      {"reject_delay", {"", "", "", "\"10ms\""}},
      {"max_delayed", {""}},
      {"feature.feature", {"\"core\"", "\"checks\"", "\"extras\""}},
    };
    return all;
  }

private:
  using texts = std::vector<std::string>;

  std::uint64_t number(std::uint64_t n) { return random_.below(n); }
  bool chance(unsigned percent) { return number(100) < percent; }

  const std::string& one_of(const texts& all) {
    return all[number(all.size())];
  }

  std::string attempt() {
    const auto& kind = kinds_[number(kinds_.size())];
    auto out = "kind = \"" + kind.name + "\"\n" + example(kind);
    for (const auto& row : kind.rows())
      if (auto value = some_value(kind.name, row); !value.empty())
        out += row.key + " = " + value + "\n";
    // Without content: calls here have no key, either.
    if (chance(15)) {
      out += "per_key = { max_keys = " + one_of({"1", "10000"});
      out += ", keyless = \"" + one_of({"pass", "share", "share", "reject"});
      out += "\" }\n";
    }
    return out;
  }

  static std::string example(const policy_kind& kind) {
    return kind.name == "fallback" ? "alternatives = [{ value = \"no\" }]\n"
                                   : kind.example;
  }

  static bool is_sound(const std::string& layer) {
    problems found;
    auto root = parse_toml("[[stack.s.layer]]\n" + layer, "random", found);
    static_cast<void>(read_stacks(root, found));
    return found.empty();
  }

  // -- values -----------------------------------------------------------------

  // Empty: the setting is left out.
  std::string some_value(const std::string& kind, const field_row& row) {
    const auto& chosen = chosen_values();
    for (const auto& name : {kind + "." + row.key, row.key})
      if (auto i = chosen.find(name); i != chosen.end())
        return one_of(i->second);
    return chance(35) ? from_range(row) : std::string{};
  }

  static texts delays() {
    return {"",
            "\"0s\"",
            "\"10ms\"",
            "\"1s\"",
            "{ kind = \"exponential\", base = \"5ms\", jitter = \"full\" }",
            "[\"1ms\", \"100ms\"]"};
  }

  static texts rates() { return {"0.0", "0.0", "0.0", "0.05", "0.25", "1.0"}; }

  std::string from_range(const field_row& row) {
    auto is = [&](std::string_view type) { return row.type.starts_with(type); };
    if (is("boolean") || is("integer") || is("number"))
      return one_of(setting_ranges::edges(row));
    if (is("duration"))
      return "\"" + one_of(setting_ranges::edges(row)) + "\"";
    if (is("choice or list"))
      return some_list(row);
    if (is("choice"))
      return "\"" + one_of(setting_ranges::split(row.allowed, ", ")) + "\"";
    if (row.allowed == "a list of strings")
      return one_of({"[\"queue_full\"]", "[\"breaker_open\", \"rate_limited\"]",
                     "[\"deadline_exceeded\", \"system_error:*\"]"});
    return {};
  }

  // The first names of `a, b, c, or a list of these`.
  std::string some_list(const field_row& row) {
    auto names = setting_ranges::split(row.allowed, ", ");
    names.pop_back();
    if (chance(60))
      return "\"" + one_of(names) + "\"";
    auto first = number(names.size());
    auto second = (first + 1 + number(names.size() - 1)) % names.size();
    return fmt::format("[\"{}\", \"{}\"]", names[first], names[second]);
  }

  Random& random_;
  std::vector<policy_kind> kinds_ = policy_kinds();
};

} // namespace caisson::test
