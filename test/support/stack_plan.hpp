// What is played before one gate and before a chain of gates alike: layers,
// calls, what the worker says to each, and what operators do meanwhile.
#pragma once

#include <caisson/canary_layer.hpp>
#include <caisson/chaos.hpp>
#include <caisson/detail/settings_text.hpp>
#include <caisson/errc.hpp>
#include <caisson/stack.hpp>
#include <caisson/time.hpp>

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
  canary
};

/// What a fallback has to offer.
enum class offer { value, actor, actor_then_value };

struct layer_plan {
  layer_kind kind = layer_kind::deadline;
  /// The same in both worlds: errors name it.
  std::string name = {};
  texts set = {};
  offer alternatives = offer::value;
};

/// What the worker says to one attempt.
struct reply_plan {
  enum class what { value, error, own_error, nothing };
  what kind = what::value;
  /// Of an error of caisson's, which the worker got somewhere else.
  errc code = errc::breaker_open;
  bool reached = false;
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
  std::uint32_t permits = 1;
  /// To its attempts in order; the last one is repeated.
  std::vector<reply_plan> worker = {};
  std::vector<reply_plan> alternative = {};
};

struct act_plan {
  enum class what { reconfigure, command, worker_dies, alternative_dies };
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

/// Adds the layer to `s`. Nothing is drawn at random in it.
inline problems add_layer(stack& s, const layer_plan& x,
                          const caf::actor& alternative_actor) {
  problems found;
  switch (x.kind) {
    case layer_kind::deadline:
      s.deadline(config_of(x, deadline_config{}, found));
      break;
    case layer_kind::semaphore:
      s.semaphore(config_of(x, semaphore_config{}, found));
      break;
    case layer_kind::limiter:
      s.limiter(config_of(x, limiter_config{}, found));
      break;
    case layer_kind::breaker:
      s.breaker(config_of(
        x, breaker_config{.open = schedule::constant(std::chrono::seconds(1))},
        found));
      break;
    case layer_kind::retrier:
      s.retrier(config_of(x,
                          retrier_config{.backoff = schedule::constant(
                                           std::chrono::milliseconds(10))},
                          found));
      break;
    case layer_kind::batcher:
      s.batcher(config_of(x, batcher_config{}, found));
      break;
    case layer_kind::fallback: {
      std::vector<alternative> chain;
      if (x.alternatives != offer::value)
        chain.push_back(alternative::ask(alternative_actor));
      if (x.alternatives != offer::actor)
        chain.push_back(alternative::answer(-1));
      s.fallback(std::move(chain), config_of(x, fallback_config{}, found));
      break;
    }
    case layer_kind::chaos:
      s.add<chaos>(config_of(x, chaos_config{}, found));
      break;
    case layer_kind::canary:
      s.add<canary>(config_of(x, canary_config{}, found), alternative_actor);
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
  constexpr const char* kinds[] = {"deadline", "semaphore", "limiter",
                                   "breaker",  "retrier",   "batcher",
                                   "fallback", "chaos",     "canary"};
  constexpr const char* offers[] = {"value", "actor", "actor, value"};
  auto text = fmt::format("{} {} {}", x.name, kinds[static_cast<int>(x.kind)],
                          to_text(x.set));
  if (x.kind == layer_kind::fallback)
    text += fmt::format(" [{}]", offers[static_cast<int>(x.alternatives)]);
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
                           x.reached ? " (reached)" : "",
                           caisson::to_text(x.retry_after));
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
  }
  return {};
}

inline std::string to_text(const stack_plan& p) {
  std::string out;
  for (const auto& x : p.layers)
    out += to_text(x) + "\n";
  if (p.supervised)
    out += "a supervised worker\n";
  constexpr const char* marks[] = {"", ", idempotent", ", not idempotent"};
  for (const auto& x : p.calls)
    out += fmt::format(
      "call {} at {}{}{}{}: {} | {}\n", x.id, caisson::to_text(x.at),
      x.deadline == unlimited ? "" : ", until " + caisson::to_text(x.deadline),
      marks[x.idempotent],
      x.permits == 1 ? "" : fmt::format(", permits {}", x.permits),
      to_text(x.worker), to_text(x.alternative));
  for (const auto& x : p.acts)
    out += to_text(x) + "\n";
  return out;
}

} // namespace caisson::test
