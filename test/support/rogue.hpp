// A policy that breaks its word when a call asks for it.
#pragma once

#include <caisson/policies/feature.hpp>
#include <caisson/policy/policy_base.hpp>

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson::test {

struct rogue_config {
  std::string name = {};
  caisson::mode mode = caisson::mode::enforce;
};

inline void describe(field_visitor& v, rogue_config& c) {
  describe_common(v, c);
}

enum class rogue_counter : std::uint8_t { admitted, count_ };

} // namespace caisson::test

template <>
struct caisson::enum_names<caisson::test::rogue_counter> {
  static constexpr std::string_view value[] = {"admitted"};
};

namespace caisson::test {

/// Passes all calls but those with one of the keys below, or `hold`.
class rogue final : public policy_base<rogue, rogue_config, rogue_counter> {
public:
  static constexpr std::string_view kind_name = "rogue";

  /// Each is a way to break its word.
  static std::vector<std::string> misdeeds() {
    return {"throw",     "throw late", "ensure",   "odd decision",
            "odd code",  "negative",   "stranger", "no target",
            "more time", "other id",   "loop",     "hold again"};
  }

  explicit rogue(rogue_config c) : policy_base(std::move(c)) {}

  decision admit(call_info& call, slot&, env& e) override {
    count(counter::admitted);
    const auto& what = call.key;
    if (what == "throw")
      throw std::runtime_error{"odd"};
    if (what == "throw late")
      wake_at_ = e.now; // Not within the call, but at the end of the step.
    CAISSON_ENSURE(what != "ensure", "in call {}", 1);
    if (what == "odd decision") {
      auto d = decision::pass();
      d.what = static_cast<decision::kind>(7);
      return d;
    }
    if (what == "odd code")
      return decision::reject(static_cast<errc>(99));
    if (what == "negative")
      return decision::reject(errc::shed, duration{-1});
    if (what == "stranger")
      e.resume(call.id + (std::uint64_t{1} << 40));
    if (what == "no target")
      e.start_child({.parents = {call.id}, .target = 3});
    if (what == "more time")
      call.deadline = time_after(call.deadline, std::chrono::hours(1));
    if (what == "other id")
      ++call.id;
    if (what == "loop")
      wake_at_ = time_point::min();
    if (what == "hold again")
      return decision::hold(e.now);
    return what == "hold" ? decision::hold() : decision::pass();
  }

  decision complete(call_info&, slot&, outcome&, env&) override {
    return decision::pass();
  }

  void abandon(call_info&, slot&, const outcome&, bool, env&) override {}

  decision expire(call_info&, slot&, env& e) override {
    return decision::hold(e.now - std::chrono::seconds(1));
  }

  [[nodiscard]] time_point wakeup() const override { return wake_at_; }

  void wake(env&) override {
    if (wake_at_ != time_point::min())
      throw 3;
  }

private:
  time_point wake_at_ = never;
};

} // namespace caisson::test
