#include <caisson/canary_config.hpp>

#include <caisson/detail/read_value.hpp>
#include <caisson/detail/settings_text.hpp>

#include <fmt/format.h>

#include <iterator>
#include <utility>
#include <variant>

namespace caisson {

namespace {

using namespace std::chrono_literals;

// -- shares -------------------------------------------------------------------

constexpr range<double> shares{0.000001, 1.0};

/// The shares of the stages.
class share_list final : public field_value {
public:
  explicit share_list(std::vector<double>& x) : x_(x) {}

  [[nodiscard]] std::string type() const override { return "list"; }
  [[nodiscard]] std::string allowed() const override {
    return fmt::format("a list of 1 to {} numbers from 0.000001 to 1, each "
                       "greater than the one before",
                       canary_config::max_stages);
  }

  [[nodiscard]] std::string text() const override {
    std::string out;
    for (auto x : x_)
      out += (out.empty() ? "" : ", ") + to_text(x);
    return "[" + out + "]";
  }

  void read(const setting& from, const setting_path& path,
            problems& out) override {
    std::vector<setting> items;
    if (auto* list = std::get_if<std::vector<setting>>(&from.value)) {
      items = *list;
    } else {
      std::vector<std::string> texts;
      if (!detail::read_value(from, path, texts, allowed(), out))
        return;
      for (auto& x : texts)
        items.push_back({setting::raw{std::move(x)}, from.place});
    }
    x_.assign(items.size(), shares.hi);
    for (std::size_t i = 0; i < items.size(); ++i)
      detail::read_value(items[i], path / i, x_[i], shares, out);
  }

  void check(const setting_path& path, problems& out) const override {
    auto known = out.size();
    for (std::size_t i = 0; i < x_.size(); ++i)
      // Not a number is not within, either.
      if (!detail::within(x_[i], shares))
        out.push_back({problem_kind::range, path / i,
                       detail::out_of_range(to_text(x_[i]), shares)});
    if (out.size() == known)
      relate(path, out);
  }

  void relate(const setting_path& path, problems& out) const override {
    if (x_.empty() || x_.size() > canary_config::max_stages)
      out.push_back({problem_kind::range, path,
                     fmt::format("{} stages are out of range, allowed: 1 to {}",
                                 x_.size(), canary_config::max_stages)});
    for (std::size_t i = 1; i < x_.size(); ++i)
      if (x_[i] <= x_[i - 1])
        return out.push_back(
          {problem_kind::relation, path / i,
           fmt::format("{} is not greater than the share of the stage before, "
                       "allowed: more than {}",
                       to_text(x_[i]), to_text(x_[i - 1]))});
  }

private:
  std::vector<double>& x_;
};

// -- fields -------------------------------------------------------------------

void describe_judgement(field_visitor& v, canary_config& c) {
  v.integer({"min_calls", "how many answers of the canary are needed at least "
                          "to judge it, and to go on to the next stage"},
            c.min_calls, {1, 1'000'000});
  v.on({"window", "how far back answers count; farther if the canary gave "
                  "fewer than min_calls answers in that time"},
       c.window, {1ms, 24h});
  v.on({"max_error_excess", "how much larger the canary's share of failures "
                            "may be than the baseline's; 1: no limit"},
       c.max_error_excess, {0.0, 1.0});
  v.on({"max_latency_ratio", "how many times the baseline's 99th percentile "
                             "of latencies the canary's may be"},
       c.max_latency_ratio, {1.0, 1000.0});
  v.on({"min_latency_excess", "a 99th percentile that exceeds the baseline's "
                              "by no more than this is not too long"},
       c.min_latency_excess, {0s, 1h});
  v.integer({"max_failures_in_a_row", "how many consecutive failures of the "
                                      "canary end the stage at once; 0: no "
                                      "limit"},
            c.max_failures_in_a_row, {0, 1'000'000});
}

void describe_mirroring(field_visitor& v, canary_config& c) {
  v.on({"mirror_rate", "the share of the idempotent calls answered by the "
                       "baseline that the canary gets, too"},
       c.mirror_rate, {0.0, 1.0});
  v.integer({"max_mirrored",
             "how many mirrored calls may be with the canary "
             "at once",
             "calls"},
            c.max_mirrored, {1, 10'000});
  v.on({"mirror_timeout", "how long a mirrored call may take"},
       c.mirror_timeout, {1ms, 1h});
  v.on({"max_difference_rate", "the share of the mirrored answers of a stage "
                               "that may differ; 1: all of them"},
       c.max_difference_rate, {0.0, 1.0});
}

} // namespace

void describe(field_visitor& v, canary_config& c) {
  describe_common(v, c);
  v.on({"enabled", "whether the canary gets calls at all"}, c.enabled);
  share_list stages{c.stages};
  v.on({"stages", "the share of the calls that the canary gets in each stage; "
                  "after the last one it keeps that share"},
       stages);
  v.on({"dwell", "how long each stage lasts at least; unlimited: the canary "
                 "stays in the first one"},
       c.dwell, {1ms, unlimited});
  describe_judgement(v, c);
  v.on({"sticky", "whether all calls with the same key go to the same worker; "
                  "keys of the canary stay with it in later stages"},
       c.sticky);
  v.choice({"on_failure", "a call that the canary failed: baseline: the "
                          "baseline gets it if no worker was reached, or it is "
                          "idempotent; pass: its outcome goes up"},
           c.on_failure);
  v.on({"retry_after", "how long after a rollback the first stage begins "
                       "again; unlimited: only when an operator says so"},
       c.retry_after, {1ms, unlimited});
  describe_mirroring(v, c);
  v.on({"count_only", "errors that count as failures, all others being "
                      "neutral; empty: the default table, `shed` and "
                      "`draining`"},
       c.classify.allow);
  v.on({"ignore", "errors that are neutral; wins over count_only"},
       c.classify.deny);
}

void check(const canary_config& c, const setting_path& path, problems& out) {
  check_lists(c.classify, "count_only", "ignore", path, out);
}

std::string_view name_of_stage(std::size_t number) noexcept {
  // Names of states are static.
  static constexpr std::string_view names[] = {
    "stage_1",  "stage_2",  "stage_3",  "stage_4",  "stage_5",
    "stage_6",  "stage_7",  "stage_8",  "stage_9",  "stage_10",
    "stage_11", "stage_12", "stage_13", "stage_14", "stage_15",
    "stage_16", "stage_17", "stage_18", "stage_19", "stage_20"};
  static_assert(std::size(names) == canary_config::max_stages);
  return names[number];
}

// -- outcomes -----------------------------------------------------------------

canary_verdict verdict_on(const outcome& o, const canary_config& c, env& e) {
  // An error that the lists make no failure is given an answer that the default
  // table never gives to an error, so that `neutral` comes from the table.
  // Errors that blame the request count, too: the baseline has its share of
  // them, and a canary that finds no orders at all is broken.
  static constexpr list_meaning lists{verdict::transient, verdict::success,
                                      verdict::success, verdict::failure};
  switch (c.classify.judge(o, lists, e)) {
    case verdict::failure:
    case verdict::transient:
    case verdict::refused:
      return canary_verdict::bad;
    case verdict::success:
      return o.ok || c.classify.by_value ? canary_verdict::good
                                         : canary_verdict::neutral;
    case verdict::neutral:
      break;
  }
  // A worker that rejects calls cannot replace one that does not.
  return !c.classify.by_value && (o.is(errc::shed) || o.is(errc::draining))
           ? canary_verdict::bad
           : canary_verdict::neutral;
}

} // namespace caisson
