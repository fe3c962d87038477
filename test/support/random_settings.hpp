// Source of random settings for a kind of plan.
#pragma once

#include <caisson/base/random.hpp>
#include <caisson/base/time.hpp>
#include <caisson/settings/settings_value.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <ostream>
#include <string>
#include <string_view>

namespace caisson::test {

/// Which plans are drawn.
enum class plan_kind {
  /// No deadlines: a call waits wherever it must for as long as it takes.
  patient,
  /// Deadlines, and no layer in which a call could wait when its deadline
  /// passes. A gate in front of another does not know whether that one has sent
  /// the call on, and must take it for executed; a single gate knows.
  prompt,
  /// Both. No policy may then judge by `may_have_executed`, and the answers to
  /// the callers are compared accordingly.
  mixed,
};

inline std::ostream& operator<<(std::ostream& out, plan_kind kind) {
  constexpr const char* names[] = {"patient", "prompt", "mixed"};
  return out << names[static_cast<int>(kind)];
}

/// Draws values; what a layer makes of them is in its `layer_traits`.
class random_settings {
public:
  random_settings(plan_kind kind, std::uint64_t seed)
    : kind_(kind), random_(mix_seed(seed * 3 + static_cast<int>(kind))) {}

  using texts = std::map<std::string, std::string>;
  using words = std::initializer_list<std::string_view>;

  std::uint64_t number(std::uint64_t n) { return random_.below(n); }
  bool chance(unsigned percent) { return number(100) < percent; }
  bool patient() const { return kind_ == plan_kind::patient; }
  bool prompt() const { return kind_ == plan_kind::prompt; }
  bool mixed() const { return kind_ == plan_kind::mixed; }

  template <class T>
  T pick(std::initializer_list<T> all) {
    return *(all.begin() + static_cast<std::ptrdiff_t>(number(all.size())));
  }

  std::string word(words all) { return std::string{pick(all)}; }

  // Two things that are due at the same instant in different gates come in an
  // order that a single gate need not have: all times are odd.
  duration odd(duration d) {
    return d + duration{1'013 * static_cast<std::int64_t>(1 + number(997))};
  }

  std::string time(std::initializer_list<duration> all) {
    auto d = pick(all);
    return caisson::to_text(d == duration::zero() || d == unlimited ? d
                                                                    : odd(d));
  }

  /// The order of a queue that has `max_waiters`, with what belongs to it.
  void order_of_queue(texts& set) {
    if (set.at("max_waiters") == "0")
      return;
    auto order = word({"fifo", "lifo", "adaptive_lifo", "codel",
                       "deadline_first", "priority", "fair"});
    set["order"] = order;
    set["reject_hopeless"] = word({"false", "false", "true"});
    if (order == "adaptive_lifo")
      set["lifo_above"] = "0";
    if (order == "codel") {
      set["codel_target"] = time({ms(1), ms(20)});
      set["codel_interval"] = time({ms(50), ms(500)});
      set["codel_keep"] = "0";
    }
    if (order == "priority")
      set["aging"] = time({ms(1), ms(100), unlimited});
  }

  static constexpr duration ms(std::int64_t n) {
    return std::chrono::milliseconds(n);
  }

  /// By default a failure that did not reach the worker does not count.
  void judge_without_execution(texts& set) const {
    if (mixed())
      set["count_only"] = "deadline_exceeded,worker_down,batch_failed,"
                          "system_error:*";
  }

private:
  plan_kind kind_;
  random_source random_;
};

} // namespace caisson::test
