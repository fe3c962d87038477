// The layer of a retrier: the verifier, and the replies that it decides about.
#pragma once

#include <caisson/caf/caf.hpp>
#include <caisson/caf/messages.hpp>
#include <caisson/engine/layer.hpp>
#include <caisson/policies/retrier/retrier.hpp>
#include <caisson/stack/content.hpp>
#include <caisson/stack/layers/keyed_layer.hpp>

#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace caisson {

/// Gives a `retrier` its verifier, and its budget if it is a named one.
class retrier_layer final : public policy_layer<retrier> {
public:
  /// Throws `config_error` if `c` is not valid. Without a verifier, calls that
  /// must not be carried out twice are not repeated if they may have been.
  explicit retrier_layer(const retrier_config& c, verifier how = {});

  retrier_layer(const retrier_layer&) = delete;
  retrier_layer& operator=(const retrier_layer&) = delete;

  /// Without a verifier there is nothing to report.
  static void check_extras(const setting_path&, problems&) {}
  /// Reports a null actor, and an empty function.
  static void check_extras(const verifier& how, const setting_path& path,
                           problems& out);

  problems change(const settings& set, env& e) override;
  void adopt(layer& next, env& e) override;
  void start_in(caf::actor_system& sys) override;
  void mode_changed() override { take_budget(); }

  [[nodiscard]] bool handles_content() const override { return how_.asks; }
  [[nodiscard]] std::vector<caf::actor> targets() const override;
  [[nodiscard]] caf::message value(std::uint64_t index) const override;

private:
  class kept_replies final : public reply_store {
  public:
    void keep(call_id call, const outcome& o) override;
    effect read(call_id call, const outcome& answer) override;
    [[nodiscard]] bool has(call_id call) const override;
    void drop(call_id call) override { replies_.erase(call); }

    [[nodiscard]] caf::message of(call_id call) const;

  private:
    std::unordered_map<call_id, caf::message> replies_;
  };

  void take_budget();

  verifier how_;
  kept_replies kept_;
  caf::actor_system* home_ = nullptr;
};

template <>
struct layer_of<retrier> {
  using type = retrier_layer;
};

/// Without a verifier and without a named budget.
template <>
inline constexpr bool works_without_layer<retrier> = true;

} // namespace caisson
