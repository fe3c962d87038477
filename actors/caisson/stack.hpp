// A stack of policies, as a value.
#pragma once

#include <caisson/batcher_layer.hpp>
#include <caisson/breaker.hpp>
#include <caisson/cache_layer.hpp>
#include <caisson/deadline.hpp>
#include <caisson/fallback_layer.hpp>
#include <caisson/keyed_layer.hpp>
#include <caisson/layer.hpp>
#include <caisson/limiter.hpp>
#include <caisson/retrier_layer.hpp>
#include <caisson/semaphore.hpp>
#include <caisson/settings.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson {

/// The settings of a gate itself.
struct gate_config {
  /// The gate's name in errors, events and status. Default: `gate`.
  std::string name = "gate";

  /// The deadline of a call without one: 1 ms to unlimited, default 30 s. With
  /// `unlimited` a worker that never answers keeps its callers waiting forever.
  duration default_deadline = std::chrono::seconds(30);

  /// How many calls the gate holds at once, independently of its layers; beyond
  /// that they are refused with `shed`. 1 to 16000000, default 1000000.
  std::uint32_t max_calls = 1'000'000;

  /// Seeds the gate's random source. 0: in virtual time a seed derived from the
  /// gate's actor ID, otherwise one from the machine's entropy.
  std::int64_t seed = 0;

  /// How long a permit may be held, with all its renewals, counted from its
  /// grant: 1 ms to unlimited, default unlimited.
  duration max_lease = unlimited;
};

void describe(field_visitor& v, gate_config& c);

/// A stack of policies. A call passes the layers in the order in which they are
/// added, and its outcome passes them in reverse. A value: you can spawn any
/// number of gates from one stack, each with its own state.
///
///     stack{"payments"}
///       .deadline({.timeout = 2s})
///       .retrier({.max_attempts = 4, .idempotent = true})
///       .breaker({.threshold = 5})
///       .semaphore({.permits = 20})
///       .add<key_ceiling>({.per_key = 3}) // a policy of yours
///
/// A layer without a name is named after its kind. A second one of that kind
/// gets `-2` appended, and so on.
class stack {
public:
  /// At most this many layers.
  static constexpr std::size_t max_layers = 32;

  explicit stack(std::string name = "gate") { config_.name = std::move(name); }
  explicit stack(gate_config c) : config_(std::move(c)) {}

  /// Adds a layer with a policy of any kind, including your own. `extras` are
  /// the other arguments of its constructor. Each gate gets copies of them.
  template <class Policy, class... Extras>
  stack& add(typename Policy::config_type c = {}, Extras... extras);

  // The built-in kinds.

  stack& deadline(deadline_config c = {});
  stack& semaphore(semaphore_config c = {});
  stack& limiter(limiter_config c = {});
  stack& breaker(breaker_config c = {});
  stack& retrier(retrier_config c = {}, verifying how = {});
  stack& batcher(batcher_config c = {}, batching forms = {});
  stack& fallback(std::vector<alternative> chain, fallback_config c = {});
  stack& cache(cache_config c = {}, cache_forms forms = {});

  /// Replaces the settings of the gate itself.
  stack& configure(gate_config c) {
    config_ = std::move(c);
    return *this;
  }

  /// Sets the deadline of calls without one.
  stack& default_deadline(duration d) {
    config_.default_deadline = d;
    return *this;
  }

  /// Sets the name of each gate spawned from this.
  stack& rename(std::string name) {
    config_.name = std::move(name);
    return *this;
  }

  /// Sets how long a permit may be held.
  stack& max_lease(duration d) {
    config_.max_lease = d;
    return *this;
  }

  /// Seeds the random source of each gate spawned from this.
  stack& seed(std::int64_t s) {
    config_.seed = s;
    return *this;
  }

  [[nodiscard]] const gate_config& config() const noexcept { return config_; }
  [[nodiscard]] std::size_t size() const noexcept { return layers_.size(); }

  /// The names of the layers, from the outside in.
  [[nodiscard]] std::vector<std::string> names() const;

  /// All problems; keys begin with the layers' names.
  [[nodiscard]] problems check() const;

  /// New layers with fresh state.
  /// @pre check().empty()
  [[nodiscard]] std::vector<std::unique_ptr<layer>> build() const;

private:
  struct entry {
    std::string name = {};
    std::function<problems()> check;
    std::function<std::unique_ptr<layer>()> make;
  };

  // Names the layer, or reports a duplicate name.
  void settle_name(std::string& name, std::string_view kind);
  [[nodiscard]] bool has(std::string_view name) const noexcept;

  gate_config config_;
  std::vector<entry> layers_;
  problems own_problems_;
};

// -- implementation -----------------------------------------------------------

template <class Policy, class... Extras>
stack& stack::add(typename Policy::config_type c, Extras... extras) {
  using layer_type = layer_of_t<Policy>;
  constexpr auto checks_extras = requires(const setting_path& path,
                                          problems& out) {
    layer_type::check_extras(extras..., path, out);
  };
  settle_name(c.name, Policy::kind_name);
  auto check = [c, extras...] {
    auto out = problems_of(c, c.name);
    if constexpr (checks_extras)
      layer_type::check_extras(extras..., c.name, out);
    return out;
  };
  auto make = [c, extras...]() -> std::unique_ptr<layer> {
    return std::make_unique<layer_type>(c, extras...);
  };
  layers_.push_back({c.name, std::move(check), std::move(make)});
  return *this;
}

} // namespace caisson
