// Plan that is played before one gate and before a chain of gates: layers,
// calls, answers of the worker, and commands of operators.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/policies/chaos.hpp>
#include <caisson/policy/errc.hpp>
#include <caisson/settings/settings_text.hpp>
#include <caisson/stack.hpp>
#include <caisson/stack/layers/canary_layer.hpp>
#include <caisson/stack/layers/degradation_layer.hpp>
#include <caisson/stack/layers/feature_layer.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {

using texts = std::map<std::string, std::string>;

enum class layer_kind {
  deadline,
  semaphore,
  limiter,
  breaker,
  retrier,
  batcher,
  fallback,
  chaos,
  canary,
  cache,
  degradation,
  feature
};

/// What a fallback has to offer.
enum class offer { value, actor, actor_then_value };

struct layer_plan {
  layer_kind kind = layer_kind::deadline;
  /// The same in both worlds: errors name it.
  std::string name = {};
  texts set = {};
  offer alternatives = offer::value;
  /// Of those that can: one such policy for each key.
  bool per_key = false;
  /// Of a retrier: it asks the verifier before it repeats a call, and waits as
  /// long as the outcome says.
  bool looks = false;
  bool waits_as_told = false;
  /// Of a cache: some calls set or change what others read.
  bool writes = false;
};

/// Whom layers ask besides the worker.
struct plan_actors {
  caf::actor alternative = {};
  caf::actor verifier = {};
};

/// What the worker says to one attempt.
struct reply_plan {
  enum class what { value, error, own_error, no_answer, nothing };
  what kind = what::value;
  /// Of an error of caisson's, which the worker got somewhere else.
  errc code = errc::breaker_open;
  bool may_have_executed = false;
  duration retry_after = duration::zero();
  duration after = duration::zero();
};

struct call_plan {
  int id = 0;
  /// Since the start. No two calls come at the same instant.
  duration at = duration::zero();
  /// The instant by which it must be answered; `unlimited`: none.
  duration deadline = unlimited;
  int idempotent = 0;
  std::int32_t priority = 0;
  std::uint32_t permits = 1;
  /// To its attempts in order; the last one is repeated.
  std::vector<reply_plan> worker = {};
  std::vector<reply_plan> alternative = {};
};

struct act_plan {
  enum class what {
    reconfigure,
    command,
    worker_dies,
    alternative_dies,
    /// Behind the worker: all that it is asked fails like that of a worker with
    /// threads.
    server_goes,
    server_comes
  };
  what kind = what::command;
  duration at = duration::zero();
  /// The name of a layer.
  std::string layer = {};
  std::string command = {};
  texts set = {};
};

struct stack_plan {
  std::vector<layer_plan> layers = {};
  std::vector<call_plan> calls = {};
  std::vector<act_plan> acts = {};
  /// The gate makes the worker, again if it dies.
  bool supervised = false;
  /// The gate is stopped then. Nothing else happens from then on.
  duration end = unlimited;
};

// -- as stacks ----------------------------------------------------------------

/// The configuration of a layer; problems are appended to `found`.
template <class Config>
Config config_of(const layer_plan& x, Config c, problems& found) {
  c.name = x.name;
  for (auto& p : read_settings(settings_from_text(x.set), x.name, c))
    found.push_back(std::move(p));
  return c;
}

/// Adds a policy, or one for each key.
template <class Policy>
void add_policy(stack& s, const layer_plan& x, typename Policy::config_type c,
                problems& found) {
  if (x.per_key)
    s.add<keyed<Policy>>(
      config_of(x, keyed_config<Policy>{std::move(c), {}}, found));
  else
    s.add<Policy>(config_of(x, std::move(c), found));
}

/// Longer for some outcomes than for others; for some it does not say.
inline std::optional<duration> told_delay(const outcome& o) {
  if (o.ok || o.code % 3 == 0)
    return std::nullopt;
  return duration{7'000'003 * (1 + o.code % 5)};
}

inline void add_retrier(stack& s, const layer_plan& x,
                        const caf::actor& verifier, problems& found) {
  retrier_config c{
    .backoff = schedule::constant(std::chrono::milliseconds(10))};
  if (x.waits_as_told)
    c.delay_of = told_delay;
  if (x.looks)
    s.retrier(config_of(x, std::move(c), found), verifying::by(verifier));
  else
    add_policy<retrier>(s, x, std::move(c), found);
}

/// Without writes, calls with the same key get the same answer. Otherwise one
/// in three sets what is read, one in three changes it, and the rest read it.
inline cache_forms forms_of(const layer_plan& x) {
  if (!x.writes)
    return {};
  auto part = [](const caf::message& content, int n) {
    auto* id = portable::get_if<int>(content);
    return id && *id % 3 == n ? std::optional{fmt::format("k{}", *id % 2)}
                              : std::nullopt;
  };
  cache_forms forms;
  forms.key = [=](const caf::message& m) { return part(m, 0); };
  forms.invalidates = [=](const caf::message& m) { return part(m, 1); };
  forms.write = [=](const caf::message& m) -> std::optional<cached_write> {
    auto key = part(m, 2);
    if (!key)
      return std::nullopt;
    return cached_write{*key, caf::make_message(m.get_as<int>(0) * 100),
                        caf::make_message(-2)};
  };
  return forms;
}

inline void add_fallback(stack& s, const layer_plan& x,
                         const caf::actor& alternative_actor, problems& found) {
  std::vector<alternative> chain;
  if (x.alternatives != offer::value)
    chain.push_back(alternative::ask(alternative_actor));
  if (x.alternatives != offer::actor)
    chain.push_back(alternative::answer(-1));
  s.fallback(std::move(chain), config_of(x, fallback_config{}, found));
}

/// Adds the layer to `s`. Nothing is drawn at random in it.
inline problems add_layer(stack& s, const layer_plan& x,
                          const plan_actors& actors) {
  problems found;
  switch (x.kind) {
    case layer_kind::deadline:
      add_policy<deadline>(s, x, {}, found);
      break;
    case layer_kind::semaphore:
      add_policy<semaphore>(s, x, {}, found);
      break;
    case layer_kind::limiter:
      add_policy<limiter>(s, x, {}, found);
      break;
    case layer_kind::breaker:
      add_policy<breaker>(
        s, x, {.open = schedule::constant(std::chrono::seconds(1))}, found);
      break;
    case layer_kind::retrier:
      add_retrier(s, x, actors.verifier, found);
      break;
    case layer_kind::batcher:
      s.batcher(config_of(x, batcher_config{}, found));
      break;
    case layer_kind::fallback:
      add_fallback(s, x, actors.alternative, found);
      break;
    case layer_kind::chaos:
      add_policy<chaos>(s, x, {}, found);
      break;
    case layer_kind::canary:
      s.add<canary>(config_of(x, canary_config{}, found), actors.alternative);
      break;
    case layer_kind::cache:
      s.cache(config_of(x, cache_config{}, found), forms_of(x));
      break;
    case layer_kind::degradation:
      s.add<degradation>(config_of(x, degradation_config{}, found));
      break;
    case layer_kind::feature:
      s.add<feature>(config_of(x, feature_config{}, found));
      break;
  }
  return found;
}

// -- as text ------------------------------------------------------------------

inline std::string to_text(const texts& set) {
  std::string out;
  for (const auto& [key, value] : set)
    out += fmt::format("{}{} = {}", out.empty() ? "" : ", ", key, value);
  return "{" + out + "}";
}

inline std::string to_text(const layer_plan& x) {
  constexpr const char* kinds[] = {
    "deadline", "semaphore", "limiter", "breaker", "retrier",     "batcher",
    "fallback", "chaos",     "canary",  "cache",   "degradation", "feature"};
  constexpr const char* offers[] = {"value", "actor", "actor, value"};
  auto text = fmt::format("{} {} {}", x.name, kinds[static_cast<int>(x.kind)],
                          to_text(x.set));
  if (x.kind == layer_kind::fallback)
    text += fmt::format(" [{}]", offers[static_cast<int>(x.alternatives)]);
  for (auto [is_set, name] :
       {std::pair{x.per_key, "per key"}, std::pair{x.looks, "looks"},
        std::pair{x.waits_as_told, "waits as told"},
        std::pair{x.writes, "writes"}})
    if (is_set)
      text += fmt::format(", {}", name);
  return text;
}

inline std::string to_text(const std::vector<reply_plan>& replies) {
  std::string out;
  for (const auto& x : replies) {
    out += out.empty() ? "" : ", ";
    switch (x.kind) {
      case reply_plan::what::value:
        out += "value";
        break;
      case reply_plan::what::error:
        out += "error";
        break;
      case reply_plan::what::own_error:
        out += fmt::format("{}{}, retry after {}", name_of(x.code),
                           x.may_have_executed ? " (reached)" : "",
                           caisson::to_text(x.retry_after));
        break;
      case reply_plan::what::no_answer:
        out += "no answer of a server";
        break;
      case reply_plan::what::nothing:
        out += "nothing";
        continue;
    }
    if (x.after != duration::zero())
      out += " after " + caisson::to_text(x.after);
  }
  return out;
}

inline std::string to_text(const act_plan& x) {
  switch (x.kind) {
    case act_plan::what::reconfigure:
      return fmt::format("at {} reconfigure {} {}", caisson::to_text(x.at),
                         x.layer, to_text(x.set));
    case act_plan::what::command:
      return fmt::format("at {} {} {}", caisson::to_text(x.at), x.command,
                         x.layer);
    case act_plan::what::worker_dies:
      return fmt::format("at {} the worker dies", caisson::to_text(x.at));
    case act_plan::what::alternative_dies:
      return fmt::format("at {} the alternative dies", caisson::to_text(x.at));
    case act_plan::what::server_goes:
      return fmt::format("at {} the server goes", caisson::to_text(x.at));
    case act_plan::what::server_comes:
      return fmt::format("at {} the server comes", caisson::to_text(x.at));
  }
  return {};
}

inline std::string to_text(const stack_plan& p) {
  std::string out;
  for (const auto& x : p.layers)
    out += to_text(x) + "\n";
  if (p.supervised)
    out += "a supervised worker\n";
  if (p.end != unlimited)
    out += fmt::format("stopped at {}\n", caisson::to_text(p.end));
  constexpr const char* marks[] = {"", ", idempotent", ", not idempotent"};
  for (const auto& x : p.calls)
    out += fmt::format(
      "call {} at {}{}{}{}, priority {}: {} | {}\n", x.id,
      caisson::to_text(x.at),
      x.deadline == unlimited ? "" : ", until " + caisson::to_text(x.deadline),
      marks[x.idempotent],
      x.permits == 1 ? "" : fmt::format(", permits {}", x.permits), x.priority,
      to_text(x.worker), to_text(x.alternative));
  for (const auto& x : p.acts)
    out += to_text(x) + "\n";
  return out;
}

} // namespace caisson::test
