// The layer of a canary: the second actor, and the answers of both.
#pragma once

#include <caisson/caf/caf.hpp>
#include <caisson/engine/layer.hpp>
#include <caisson/policies/canary/canary.hpp>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace caisson {

/// Whether two messages that answer the same call, the baseline's and the
/// canary's, are the same. May throw: the pair then counts as not compared.
using answer_comparator = std::function<bool(const caf::message& baseline,
                                             const caf::message& canary)>;

/// Compares answers that consist of a single `T`, with `==`. Answers of two
/// different types differ; two of other types than `T` are the same.
template <class T>
[[nodiscard]] answer_comparator compares_values() {
  return [](const caf::message& baseline, const caf::message& canary) {
    auto* a = portable::get_if<T>(baseline);
    auto* b = portable::get_if<T>(canary);
    return a && b ? *a == *b : !a && !b;
  };
}

/// Says how two values differ that a comparator calls different, for events and
/// the status; see `canary_config::max_described`. At most 600 bytes of it are
/// shown. May throw: nothing is said then.
using difference_describer = std::function<std::string(
  const caf::message& baseline, const caf::message& canary)>;

/// Gives a `canary` its actor and the content of calls.
class canary_layer final : public policy_layer<canary> {
public:
  /// Without a second actor: all calls go to the baseline.
  explicit canary_layer(const canary_config& c);

  /// `target` gets the same messages as the worker. Without `same`, all values
  /// are the same: only success and the kind of error are compared, because CAF
  /// cannot compare messages in general. Without `describe`, differences are
  /// described by CAF's texts of the two: the first element that differs, and
  /// both texts around the first byte that does.
  canary_layer(const canary_config& c, caf::actor target,
               answer_comparator same = {}, difference_describer describe = {});

  // The policy refers to its layer.
  canary_layer(const canary_layer&) = delete;
  canary_layer& operator=(const canary_layer&) = delete;

  /// Reports a null actor.
  static void check_extras(const caf::actor& target, const setting_path& path,
                           problems& out);
  /// Reports a null actor; `same` may be empty.
  static void check_extras(const caf::actor& target,
                           const answer_comparator& same,
                           const setting_path& path, problems& out);
  /// Reports a null actor; `same` and `describe` may be empty.
  static void check_extras(const caf::actor& target,
                           const answer_comparator& same,
                           const difference_describer& describe,
                           const setting_path& path, problems& out);

  /// What `c` takes the key of calls for: for whom they belong to if it is
  /// `sticky`, or else for nothing.
  template <class... Extras>
  [[nodiscard]] static key_meaning meaning_of_key(const canary_config& c,
                                                  const Extras&...) {
    return c.sticky ? key_meaning::owner : key_meaning::none;
  }
  [[nodiscard]] key_meaning key_use(const settings& set) const override {
    auto c = config_with(set);
    return c ? meaning_of_key(*c) : key_meaning::none;
  }

  [[nodiscard]] std::map<std::string, std::string> notes() const override;
  [[nodiscard]] bool handles_content() const override { return true; }
  void examine(const caf::message& content, env& e) override;
  caf::message child_content(call_id child, std::vector<caf::message> parents,
                             env& e) override;
  [[nodiscard]] std::vector<caf::actor> targets() const override;

private:
  canary_host host_with(bool present, answer_comparator same,
                        difference_describer describe);

  caf::actor target_;
};

template <>
struct layer_of<canary> {
  using type = canary_layer;
};

} // namespace caisson
