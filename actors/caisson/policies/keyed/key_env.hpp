// The host of one key's policy.
#pragma once

#include <caisson/policies/keyed/key_table.hpp>
#include <caisson/policies/keyed/keyed_calls.hpp>
#include <caisson/policy/policy.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace caisson::detail {

/// The policy's requests go into the host's own list, in order; its events get
/// the key.
class key_env final : public env {
public:
  /// Without its events if `quiet`.
  key_env(keyed_calls& calls, key_entry& entry, env& host, bool quiet)
    : env(host.now, host.random), calls_(calls), entry_(entry), host_(host),
      quiet_(quiet) {
    actions.swap(host.actions);
  }

  ~key_env() override { actions.swap(host_.actions); }

  [[nodiscard]] const call_info* find(call_id call) const override {
    return host_.find(call);
  }

  [[nodiscard]] const wide_histogram* durations(measured what,
                                                bool ok) const override {
    return host_.durations(what, ok);
  }

  std::uint64_t secret_bits() override { return host_.secret_bits(); }

  std::optional<duration> probe_mailbox(time_point since) override {
    return host_.probe_mailbox(since);
  }

  void hold_open(bool x) override {
    if (calls_.hold_open(entry_, x))
      host_.hold_open(calls_.holds_open());
  }

  void emit(const event_info& x) override {
    if (quiet_)
      return;
    auto own = x;
    own.key = entry_.key;
    host_.emit(own);
  }

  void emit_wait(call_id call, std::size_t running, std::size_t waiting,
                 std::string_view) override {
    host_.emit_wait(call, running, waiting, entry_.key);
  }

  void callback_threw(std::string_view function,
                      std::string_view what) override {
    host_.callback_threw(function, what);
  }

  [[nodiscard]] caisson::circuit circuit(std::string_view key) const override {
    return host_.circuit(key);
  }

protected:
  // The host notes the start of the child, too; the base class does that here,
  // behind what was asked for before.
  call_id make_child(child_call c) override {
    auto child = host_.start_child(std::move(c));
    host_.actions.pop_back();
    if (child != 0)
      calls_.add_child(child, entry_);
    return child;
  }

private:
  keyed_calls& calls_;
  key_entry& entry_;
  env& host_;
  bool quiet_;
};

} // namespace caisson::detail
