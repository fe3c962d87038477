// A stack of policies, as a value.
#pragma once

#include <caisson/engine/gate_config.hpp>
#include <caisson/engine/key_meaning.hpp>
#include <caisson/policies/batcher/batcher_config.hpp>
#include <caisson/policies/breaker/breaker_config.hpp>
#include <caisson/policies/cache/cache_config.hpp>
#include <caisson/policies/deadline/deadline_config.hpp>
#include <caisson/policies/fallback_config.hpp>
#include <caisson/policies/limiter_config.hpp>
#include <caisson/policies/retrier/retrier_config.hpp>
#include <caisson/policies/semaphore_config.hpp>
#include <caisson/settings/problem.hpp>
#include <caisson/stack/content.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson {

class layer;

/// How a stack makes layers of a policy. Defined in <caisson/stack/add.hpp>,
/// which <caisson/policies.hpp> includes: whoever calls `stack::add` needs one
/// of these.
template <class Policy>
struct layer_source;

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

  /// A stack without layers, for gates called `name`.
  explicit stack(std::string name = "gate") { config_.name = std::move(name); }
  /// A stack without layers, for gates with these settings.
  explicit stack(gate_config c) : config_(std::move(c)) {}

  /// Adds a layer with a policy of any kind, including your own. `extras` are
  /// the other arguments of its constructor. Each gate gets copies of them. As
  /// in the functions below, the new layer is the innermost one, and problems
  /// are not thrown here: `check` reports them, and what spawns a gate.
  /// Needs <caisson/stack/add.hpp>, or <caisson/policies.hpp>.
  template <class Policy, class... Extras>
  stack& add(typename Policy::config_type c = {}, Extras... extras) {
    layer_source<Policy>::add_to(*this, std::move(c), std::move(extras)...);
    return *this;
  }

  // The built-in kinds.

  /// Adds a layer that limits the time of calls; see docs/deadline.md.
  stack& deadline(deadline_config c = {});
  /// Adds a layer that limits how many calls are in flight; see
  /// docs/semaphore.md.
  stack& semaphore(semaphore_config c = {});
  /// Adds a layer that limits how many calls pass per unit of time; see
  /// docs/limiter.md. `weigh` says what calls cost; without it, their `permits`
  /// do.
  stack& limiter(limiter_config c = {}, weight_function weigh = {});
  /// Adds a layer that stops calls to a failing worker; see docs/breaker.md.
  stack& breaker(breaker_config c = {});
  /// Adds a layer that repeats failed calls; see docs/retrier.md. `how` says
  /// whom it asks before it repeats a call that must not be carried out twice.
  stack& retrier(retrier_config c = {}, verifier how = {});
  /// Adds a layer that sends several calls as one message; see docs/batcher.md.
  /// `forms` says how batches are made and split.
  stack& batcher(batcher_config c = {}, batching forms = {});
  /// Adds a layer that answers calls which the layers below fail by the
  /// alternatives in `chain`, tried in this order; see docs/fallback.md.
  stack& fallback(std::vector<alternative> chain, fallback_config c = {});
  /// Adds a layer that keeps answers; see docs/cache.md. `forms` says what it
  /// does with the content of calls.
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

  /// Whether an event reports when a call begins to wait.
  stack& emit_waits(bool x = true) {
    config_.emit_waits = x;
    return *this;
  }

  /// Seeds the random source of each gate spawned from this.
  stack& seed(std::int64_t s) {
    config_.seed = s;
    return *this;
  }

  /// The settings of the gate.
  [[nodiscard]] const gate_config& config() const noexcept { return config_; }
  /// How many layers there are.
  [[nodiscard]] std::size_t size() const noexcept { return layers_.size(); }

  /// The names of the layers, from the outside in.
  [[nodiscard]] std::vector<std::string> names() const;

  /// All problems; keys begin with the layers' names.
  [[nodiscard]] problems check() const;

  /// A layer, by its number, for which the key of a call is what it asks for (a
  /// cache), while for another one it is whom the call belongs to (a tenant).
  struct key_conflict {
    /// The number of the layer, from 0 on, from the outside in.
    std::size_t layer;
    /// The conflict, in words for people.
    std::string what;
    /// The setting of the layer that is wrong; empty: none in particular.
    std::string setting = {};
  };

  /// All of them; `check` reports them, too.
  [[nodiscard]] std::vector<key_conflict> key_conflicts() const;

  /// New layers with fresh state.
  /// @pre check().empty()
  [[nodiscard]] std::vector<std::unique_ptr<layer>> build() const;

private:
  template <class Policy>
  friend struct layer_source;

  struct entry {
    std::string name = {};
    std::function<problems()> check;
    std::function<std::unique_ptr<layer>()> make;
    key_meaning keys = key_meaning::none;
    key_remedy remedy = {};
  };

  // Names the layer, or reports a duplicate name.
  void choose_name(std::string& name, std::string_view kind);
  [[nodiscard]] bool has(std::string_view name) const noexcept;

  gate_config config_;
  std::vector<entry> layers_;
  problems own_problems_;
};

} // namespace caisson
