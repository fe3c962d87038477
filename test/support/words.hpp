// Messages, outcomes and instants as short texts, for tests that compare them.
#pragma once

#include <caisson/caf/error.hpp>
#include <caisson/messages.hpp>
#include <caisson/policy/outcome.hpp>

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

namespace caisson::test {

using lines = std::vector<std::string>;

/// A message with a text, which is all that most tests want of one.
inline caf::message text(std::string s) {
  return caf::make_message(std::move(s));
}

/// An error that is not caisson's: `failed`.
inline caf::message failure() {
  return caf::make_message(caf::make_error(caf::sec::runtime_error));
}

inline std::string name_of_error(const outcome& o) {
  return o.own_error ? std::string{name_of(static_cast<errc>(o.code))}
                     : std::string{"failed"};
}

/// `worker_down, may_have_executed`; of a value `ok`.
inline std::string words_of(const outcome& o) {
  if (o.ok)
    return o.may_have_executed ? "ok" : "ok, not executed";
  return fmt::format(
    "{}{}{}", name_of_error(o), o.may_have_executed ? ", executed" : "",
    o.retry_after > duration::zero() ? ", after " + to_text(o.retry_after)
                                     : "");
}

/// `worker_down by gate, may_have_executed`.
inline std::string words_of(const caf::error& err) {
  auto* r = context_of(err);
  auto msg = caf::make_message(err);
  auto o = outcome_of(msg);
  if (!r)
    return name_of_error(o);
  return fmt::format("{} by {}{}{}{}{}", name_of_error(o), r->policy,
                     r->may_have_executed ? ", executed" : "",
                     r->from_worker ? ", from worker" : "",
                     r->retry_after > duration::zero()
                       ? ", after " + to_text(r->retry_after)
                       : "",
                     r->text.empty() ? "" : ": " + r->text);
}

/// A text as it is, a list of messages in brackets, an error as above.
inline std::string words_of(const caf::message& x) {
  if (x.empty())
    return "()";
  if (auto* s = portable::get_if<std::string>(x))
    return *s;
  if (auto* err = portable::get_if<caf::error>(x))
    return words_of(*err);
  if (auto* c = portable::get_if<call>(x))
    return words_of(c->payload);
  if (portable::holds<permit>(x))
    return "permit";
  auto* items = portable::get_if<batch>(x);
  if (!items)
    return "?";
  std::string out;
  for (const auto& item : items->items)
    out += (out.empty() ? "" : " ") + words_of(item);
  return "[" + out + "]";
}

} // namespace caisson::test
