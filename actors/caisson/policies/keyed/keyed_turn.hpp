// Runs the policy of one key, as its host.
#pragma once

#include <caisson/base/ensure.hpp>
#include <caisson/policies/keyed/keyed.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

namespace caisson {

// -- the host of one key's policy ---------------------------------------------

// The policy's requests go into the host's own list, in order; its events get
// the key.
class keyed_policy::inner_env final : public env {
public:
  inner_env(keyed_policy& owner, entry& who, env& host, bool quiet)
    : env(host.now, host.random), owner_(owner), who_(who), host_(host),
      quiet_(quiet) {
    actions.swap(host.actions);
  }

  ~inner_env() override { actions.swap(host_.actions); }

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

  // A policy that holds the host open is in use, like one that has a child.
  void hold_open(bool x) override {
    if (x == std::exchange(who_.holds_open, x))
      return;
    auto& n = owner_.holding_open_;
    CAISSON_ENSURE(x || (n > 0 && who_.busy > 0), "{} keys hold the host open",
                   n);
    x ? ++who_.busy : --who_.busy;
    x ? ++n : --n;
    host_.hold_open(n > 0);
  }

  void emit(const event_info& x) override {
    if (quiet_)
      return;
    auto own = x;
    own.key = who_.key;
    host_.emit(own);
  }

  void emit_wait(call_id call, std::size_t running, std::size_t waiting,
                 std::string_view) override {
    host_.emit_wait(call, running, waiting, who_.key);
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
    if (child != 0 && owner_.children_.emplace(child, &who_).second)
      ++who_.busy;
    return child;
  }

private:
  keyed_policy& owner_;
  entry& who_;
  env& host_;
  bool quiet_;
};

// -- turns --------------------------------------------------------------------

// Takes note of what a policy has asked for, from the request `first` on.
// Inlined: as a rule it has asked for nothing.
[[gnu::always_inline]] inline void keyed_policy::carry(entry& x, env& e,
                                                       std::size_t first) {
  if (e.actions.size() > first) [[unlikely]]
    follow_all(x, e, first);
  if (auto at = x.machine->wakeup(); at != x.wake_at)
    set_timer(x, at);
}

template <class F>
decltype(auto) keyed_policy::turn_as_it_is(entry& x, env& e, F f, bool quiet) {
  auto first = e.actions.size();
  if (&x != blank_.get())
    sums_.touch(x);
  auto ask = [&]() -> decltype(auto) {
    inner_env inner{*this, x, e, quiet};
    return f(*x.machine, static_cast<env&>(inner));
  };
  // If it throws, the host ends, and nothing is carried out.
  if constexpr (std::is_void_v<decltype(ask())>) {
    ask();
    carry(x, e, first);
  } else {
    decltype(auto) result = ask();
    carry(x, e, first);
    return result;
  }
}

template <class F>
decltype(auto) keyed_policy::turn(entry& x, env& e, F f, bool quiet) {
  if (x.epoch != epoch_)
    catch_up(x, e);
  return turn_as_it_is(x, e, f, quiet);
}

} // namespace caisson
