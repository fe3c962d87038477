// Plan that is run before one gate and before a chain of gates: layers,
// calls, answers of the worker, and commands of operators.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/caf/caf.hpp>
#include <caisson/policy/errc.hpp>

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

/// What a fallback has to offer.
enum class offer { value, actor, actor_then_value };

struct layer_plan {
  std::string kind = {};
  /// The same in both worlds: errors name it.
  std::string name = {};
  texts set = {};
  offer alternatives = offer::value;
  /// Of those that can: one such policy for each key.
  bool per_key = false;
  /// Of a retrier: it asks the verifier before it repeats a call, and waits as
  /// long as the outcome says.
  bool verifies = false;
  bool waits_as_announced = false;
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

// -- as text ------------------------------------------------------------------

inline std::string plan_text(const texts& set) {
  std::string out;
  for (const auto& [key, value] : set)
    out += fmt::format("{}{} = {}", out.empty() ? "" : ", ", key, value);
  return "{" + out + "}";
}

inline std::string plan_text(const layer_plan& x) {
  constexpr const char* offers[] = {"value", "actor", "actor, value"};
  auto text = fmt::format("{} {} {}", x.name, x.kind, plan_text(x.set));
  if (x.kind == "fallback")
    text += fmt::format(" [{}]", offers[static_cast<int>(x.alternatives)]);
  for (auto [is_set, name] :
       {std::pair{x.per_key, "per key"}, std::pair{x.verifies, "looks"},
        std::pair{x.waits_as_announced, "waits as announced"},
        std::pair{x.writes, "writes"}})
    if (is_set)
      text += fmt::format(", {}", name);
  return text;
}

inline std::string plan_text(const std::vector<reply_plan>& replies) {
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
                           x.may_have_executed ? " (may have executed)" : "",
                           to_text(x.retry_after));
        break;
      case reply_plan::what::no_answer:
        out += "no answer of a server";
        break;
      case reply_plan::what::nothing:
        out += "nothing";
        continue;
    }
    if (x.after != duration::zero())
      out += " after " + to_text(x.after);
  }
  return out;
}

inline std::string plan_text(const act_plan& x) {
  switch (x.kind) {
    case act_plan::what::reconfigure:
      return fmt::format("at {} reconfigure {} {}", to_text(x.at), x.layer,
                         plan_text(x.set));
    case act_plan::what::command:
      return fmt::format("at {} {} {}", to_text(x.at), x.command, x.layer);
    case act_plan::what::worker_dies:
      return fmt::format("at {} the worker dies", to_text(x.at));
    case act_plan::what::alternative_dies:
      return fmt::format("at {} the alternative dies", to_text(x.at));
    case act_plan::what::server_goes:
      return fmt::format("at {} the server goes", to_text(x.at));
    case act_plan::what::server_comes:
      return fmt::format("at {} the server comes", to_text(x.at));
  }
  return {};
}

inline std::string plan_text(const stack_plan& p) {
  std::string out;
  for (const auto& x : p.layers)
    out += plan_text(x) + "\n";
  if (p.supervised)
    out += "a supervised worker\n";
  if (p.end != unlimited)
    out += fmt::format("stopped at {}\n", to_text(p.end));
  constexpr const char* marks[] = {"", ", idempotent", ", not idempotent"};
  for (const auto& x : p.calls)
    out += fmt::format(
      "call {} at {}{}{}{}, priority {}: {} | {}\n", x.id, to_text(x.at),
      x.deadline == unlimited ? "" : ", until " + to_text(x.deadline),
      marks[x.idempotent],
      x.permits == 1 ? "" : fmt::format(", permits {}", x.permits), x.priority,
      plan_text(x.worker), plan_text(x.alternative));
  for (const auto& x : p.acts)
    out += plan_text(x) + "\n";
  return out;
}

} // namespace caisson::test
