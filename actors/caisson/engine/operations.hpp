// Operating an engine: status, settings, commands, drain.
#pragma once

#include <caisson/caf/messages.hpp>
#include <caisson/engine/engine_core.hpp>
#include <caisson/engine/reply_slot.hpp>
#include <caisson/engine/upstream.hpp>
#include <caisson/settings/problem.hpp>
#include <caisson/settings/setting.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace caisson::detail {

class operations {
public:
  operations(engine_core& core, upstream& upstream_part)
    : core_(core), upstream_(upstream_part) {}

  operations(const operations&) = delete;
  operations& operator=(const operations&) = delete;

  [[nodiscard]] status make_status();

  /// The gate's own counters and gauges.
  [[nodiscard]] std::map<std::string, std::int64_t> metrics() const;

  /// Changes settings of a layer. Returns an error if nothing was changed.
  [[nodiscard]] caf::error apply(const reconfigure& x);

  /// Carries out an operator's command. Returns an error if no layer supports
  /// it.
  [[nodiscard]] caf::error apply(const command& x);

  // -- drain ------------------------------------------------------------------

  /// Whether there are calls, or a layer has something left to do.
  [[nodiscard]] bool busy() const noexcept {
    return core_.calls.live() > 0 || upstream_.serves_layers();
  }

  [[nodiscard]] bool draining() const noexcept { return draining_; }

  void start_drain(reply_slot&& from);

  /// Answers pending requests to drain, if the drain has ended.
  void finish_drain();

  /// Answers them in any case.
  void stop();

private:
  [[nodiscard]] layer_status status_of(std::size_t layer);
  [[nodiscard]] caf::error invalid(std::string text) const;
  [[nodiscard]] problems key_conflict_with(std::size_t layer,
                                           const settings& set) const;
  [[nodiscard]] caf::error no_such_layer(const std::string& name) const;
  bool apply(std::size_t layer, const command& x);

  engine_core& core_;
  upstream& upstream_;
  std::vector<reply_slot> drains_;
  bool draining_ = false;
};

} // namespace caisson::detail
