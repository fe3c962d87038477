// A policy that knows all others of its kind, to compare sums with.
#pragma once

#include <caisson/policies/semaphore.hpp>
#include <caisson/policy/policy_base.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson::test {

enum class recorded_counter : std::uint8_t {
  admitted,
  good,
  bad,
  woken,
  count_
};

} // namespace caisson::test

template <>
struct caisson::enum_names<caisson::test::recorded_counter> {
  static constexpr std::string_view value[] = {"admitted", "good", "bad",
                                               "woken"};
};

namespace caisson::test {

/// Lets every call pass. A failure makes its circuit worse, until an hour or a
/// success later.
class recorded_policy final
  : public policy_base<recorded_policy, semaphore_config, recorded_counter> {
public:
  static constexpr std::string_view kind_name = "recorded";

  explicit recorded_policy(semaphore_config c) : policy_base(std::move(c)) {
    alive.insert(this);
  }
  recorded_policy(const recorded_policy&) = delete;
  recorded_policy& operator=(const recorded_policy&) = delete;

  ~recorded_policy() override {
    alive.erase(this);
    std::vector<metric> all;
    list_metrics(all);
    for (const auto& m : all)
      if (counts && !m.gauge)
        final_counts[m.name] += m.value;
  }

  decision admit(call_info& call, slot&, env&) override {
    key = call.key;
    counts = true;
    ++calls;
    ++below_;
    count(counter::admitted);
    return decision::pass();
  }

  decision complete(call_info& call, slot&, outcome& o, env& e) override {
    --below_;
    longest_ = std::max(longest_, static_cast<std::int64_t>(call.id % 50));
    count(o.ok ? counter::good : counter::bad);
    automatic_ = o.ok ? caisson::circuit::closed
                 : automatic_ == caisson::circuit::half_open
                   ? caisson::circuit::open
                   : caisson::circuit::half_open;
    until_ = o.ok ? never : time_after(e.now, std::chrono::hours(1));
    return decision::pass();
  }

  void abandon(call_info&, slot&, const outcome&, bool, env&) override {
    --below_;
  }

  [[nodiscard]] time_point wakeup() const override { return until_; }
  void wake(env&) override {
    count(counter::woken);
    until_ = never;
    automatic_ = caisson::circuit::closed;
  }

  [[nodiscard]] caisson::circuit
  circuit(std::string_view) const noexcept override {
    return forced_ ? *forced_ : automatic_;
  }

  [[nodiscard]] std::string_view state() const override {
    constexpr std::string_view names[] = {"closed", "half_open", "open"};
    return names[static_cast<std::size_t>(circuit({}))];
  }

  bool command(policy_command c, env& e) override {
    if (!c.has_no_end())
      return false;
    if (c.what == operator_command::force_open)
      forced_ = caisson::circuit::open;
    else if (c.what == operator_command::force_closed)
      forced_ = caisson::circuit::closed;
    else if (c.what == operator_command::enable)
      forced_.reset();
    else
      return policy_base::command(c, e);
    return true;
  }

  /// All of them.
  static inline std::set<recorded_policy*> alive = {};
  /// What those that are gone have counted.
  static inline std::map<std::string_view, std::int64_t> final_counts = {};

  [[nodiscard]] std::int64_t below() const noexcept { return below_; }

  /// That of its calls, and how many there were.
  std::string key;
  std::int64_t calls = 0;
  /// Whether it is one of a key that is in use.
  bool counts = false;

protected:
  void list_gauges(std::vector<metric>& out) const override {
    out.push_back({"below", below_, true});
    out.push_back({"permits", config_.permits, true});
    out.push_back({"state", static_cast<std::int64_t>(circuit({})), true});
    // Below zero for most, as a score that is not known yet.
    out.push_back({"longest_id", longest_ - 40, true});
  }

  void forget(env&) override {
    calls = 0;
    longest_ = 0;
    automatic_ = caisson::circuit::closed;
    until_ = never;
  }

private:
  std::int64_t below_ = 0;
  std::int64_t longest_ = 0;
  caisson::circuit automatic_ = caisson::circuit::closed;
  std::optional<caisson::circuit> forced_;
  time_point until_ = never;
};

} // namespace caisson::test
