// The layer of a canary: the second actor, and the answers of both.
#pragma once

#include <caisson/caf.hpp>
#include <caisson/canary.hpp>
#include <caisson/layer.hpp>

#include <functional>
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

/// Gives a `canary` its actor and the content of calls.
class canary_layer final : public policy_layer<canary> {
public:
  /// Without a second actor: all calls go to the baseline.
  explicit canary_layer(const canary_config& c);

  /// `target` gets the same messages as the worker. Without `same`, all values
  /// are the same: only success and the kind of error are compared, because CAF
  /// cannot compare messages in general.
  canary_layer(const canary_config& c, caf::actor target,
               answer_comparator same = {});

  // The policy refers to its layer.
  canary_layer(const canary_layer&) = delete;
  canary_layer& operator=(const canary_layer&) = delete;

  /// Reports a null actor.
  static void check_extras(const caf::actor& target, const setting_path& path,
                           problems& out);
  static void check_extras(const caf::actor& target,
                           const answer_comparator& same,
                           const setting_path& path, problems& out);

  [[nodiscard]] bool handles_content() const override { return true; }
  void examine(const caf::message& content, env& e) override;
  caf::message child_content(call_id child, std::vector<caf::message> parents,
                             env& e) override;
  [[nodiscard]] std::vector<caf::actor> targets() const override;

private:
  canary_host host_with(bool present, answer_comparator same);

  caf::actor target_;
};

template <>
struct layer_of<canary> {
  using type = canary_layer;
};

} // namespace caisson
