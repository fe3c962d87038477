// A policy that does not come with caisson: how many calls of one key may be
// in flight. It keeps one loud tenant from taking all the places of the others.
#pragma once

#include <caisson/policy/policy_base.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace demo {

// -- configuration ------------------------------------------------------------

// [config]
struct key_ceiling_config {
  std::string name = {};
  caisson::mode mode = caisson::mode::enforce;

  /// How many calls with the same key may be below: 1 to 1000000, default 10.
  std::uint32_t per_key = 10;

  /// Whether calls without a key are those of one more key, default no.
  bool count_unnamed = false;
};

inline void describe(caisson::field_visitor& v, key_ceiling_config& c) {
  caisson::describe_common(v, c);
  v.integer({"per_key", "how many calls with the same key may be in flight"},
            c.per_key, {1, 1'000'000});
  v.on({"count_unnamed", "whether calls without a key count as those of one "
                         "more key; otherwise they pass"},
       c.count_unnamed);
}
// [/config]

// -- counters -----------------------------------------------------------------

// [counters]
enum class key_ceiling_counter : std::uint8_t {
  passed,
  unnamed,
  refused,
  finished,
  abandoned,
  count_
};

} // namespace demo

template <>
struct caisson::enum_names<demo::key_ceiling_counter> {
  static constexpr std::string_view value[] = {"passed", "unnamed", "refused",
                                               "finished", "abandoned"};
};
// [/counters]

namespace demo {

// -- policy -------------------------------------------------------------------

// [policy]
class key_ceiling final
  : public caisson::policy_base<key_ceiling, key_ceiling_config,
                                key_ceiling_counter> {
public:
  static constexpr std::string_view kind_name = "key_ceiling";

  // -- construction -----------------------------------------------------------

  /// Throws `config_error` if `c` is not valid.
  explicit key_ceiling(key_ceiling_config c) : policy_base(std::move(c)) {}

  // -- calls ------------------------------------------------------------------

  caisson::decision admit(caisson::call_info& call, caisson::slot& notes,
                          caisson::env& e) override {
    auto counts = !call.key.empty() || config_.count_unnamed;
    notes.start<bool>(counts);
    if (!counts) {
      count(counter::unnamed);
      return caisson::decision::pass();
    }
    // Above the ceiling after it was lowered, too.
    if (auto i = below_.find(call.key);
        i != below_.end() && i->second >= config_.per_key)
      return refuse(counter::refused, caisson::errc::queue_full, call.id, e);
    count(counter::passed);
    ++below_[call.key];
    ++in_use_;
    return caisson::decision::pass();
  }

  caisson::decision complete(caisson::call_info& call, caisson::slot& notes,
                             caisson::outcome&, caisson::env&) override {
    count(counter::finished);
    leave(call, notes);
    return caisson::decision::pass();
  }

  void abandon(caisson::call_info& call, caisson::slot& notes,
               const caisson::outcome&, bool, caisson::env&) override {
    count(counter::abandoned);
    leave(call, notes);
  }

protected:
  // -- operation --------------------------------------------------------------

  void list_gauges(std::vector<caisson::metric>& out) const override {
    out.push_back({"in_use", in_use_, true});
    out.push_back({"keys", static_cast<std::int64_t>(below_.size()), true});
  }

private:
  // What the slot says was true when the call came; the setting may be another
  // one by now.
  void leave(const caisson::call_info& call, caisson::slot& notes) {
    if (!notes.as<bool>())
      return;
    --in_use_;
    auto i = below_.find(call.key);
    if (--i->second == 0)
      below_.erase(i);
  }

  // How many calls of each key are below; no key has none.
  std::map<std::string, std::uint32_t, std::less<>> below_;
  std::int64_t in_use_ = 0;
};
// [/policy]

} // namespace demo
