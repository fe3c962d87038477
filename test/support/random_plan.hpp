// Plans drawn at random, with settings from the edges of their ranges.
//
// A gate behind another one cannot see as much as one gate with all layers, nor
// do messages between gates take no time at all. Where the two may differ for
// such a reason, plans do not go there; each comment below names one.
#pragma once

#include "support/layer_traits.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {

class random_plan : random_settings {
public:
  using random_settings::random_settings;

  stack_plan draw() {
    stack_plan p;
    do
      p.layers = some_layers(1 + number(5));
    while (!valid(p.layers));
    choose_writers(p.layers);
    keep_errors(p.layers.front());
    alike_ = has(p.layers, "cache") ? static_cast<int>(number(3)) : -1;
    endless_ = tries_endlessly(p.layers);
    // In `mixed` a limiter judges by `may_have_executed`, and the worker's gate
    // holds calls while the worker is being started.
    p.supervised = patient() && chance(30);
    if (patient())
      give_time(p);
    auto calls = static_cast<int>(1 + number(24));
    for (auto id = 1; id <= calls; ++id)
      p.calls.push_back(some_call(id));
    for (auto n = number(6); n > 0; --n)
      add_act(p);
    std::stable_sort(p.calls.begin(), p.calls.end(),
                     [](auto& a, auto& b) { return a.at < b.at; });
    std::stable_sort(p.acts.begin(), p.acts.end(),
                     [](auto& a, auto& b) { return a.at < b.at; });
    return p;
  }

  static bool valid(const std::vector<layer_plan>& layers) {
    stack s;
    problems found;
    for (const auto& x : layers)
      for (auto& p : add_layer(s, x, {}))
        found.push_back(std::move(p));
    for (auto& p : s.check())
      // There is no actor to ask yet.
      if (p.kind != problem_kind::missing)
        found.push_back(std::move(p));
    return found.empty();
  }

private:
  // -- layers -----------------------------------------------------------------

  std::vector<layer_plan> some_layers(std::size_t n) {
    std::vector<layer_plan> all;
    for (std::size_t i = 0; i < n; ++i) {
      const auto& kind = some_kind(i + 1 == n, all);
      layer_plan x;
      x.kind = kind.kind;
      x.name = fmt::format("L{}", i);
      x.set = kind.settings(*this);
      x.set["mode"] = chance(80) ? "enforce" : word({"observe", "off"});
      x.per_key = kind.keyable && chance(30);
      if (x.per_key)
        add_key_settings(x.set);
      kind.fit(x, all, *this);
      all.push_back(std::move(x));
    }
    return all;
  }

  const layer_traits& some_kind(bool innermost,
                                const std::vector<layer_plan>& above) {
    // A limiter gives tokens back for calls that have not executed, so that in
    // `mixed` no layer below it may hold one.
    if (mixed() && innermost && !has(above, "batcher") && chance(30))
      return traits_of("limiter");
    std::vector<const layer_traits*> possible;
    for (const auto& x : all_layer_traits())
      if (std::none_of(x.not_below.begin(), x.not_below.end(),
                       [&](auto& kind) { return has(above, kind); }))
        possible.insert(possible.end(), weight_of(x.weights, above), &x);
    return *possible[number(possible.size())];
  }

  // The deadlines of a batch and of its last item pass at the same instant, and
  // the next batch goes then: in `mixed`, layers below a batcher would have to
  // be notified of the two in the same order.
  unsigned weight_of(const layer_weights& x,
                     const std::vector<layer_plan>& above) const {
    if (patient())
      return x.patient;
    if (prompt())
      return x.prompt;
    return has(above, "batcher") ? x.mixed_in_batch : x.mixed;
  }

  static bool has(const std::vector<layer_plan>& all, const std::string& kind) {
    return std::any_of(all.begin(), all.end(),
                       [&](auto& x) { return x.kind == kind; });
  }

  // There are two keys.
  void add_key_settings(texts& set) {
    set["per_key.max_keys"] = word({"1", "2", "10000"});
    set["per_key.idle"] = time({ms(1'000), ms(60'000), unlimited});
  }

  // A write is sent again until the worker, and not a layer in its place, has
  // it: a gate takes a value from another one for the worker's. What waits for
  // a write could wait when its deadline passes.
  void choose_writers(std::vector<layer_plan>& all) {
    auto is_plain = !has(all, "fallback");
    auto caches = std::count_if(all.begin(), all.end(),
                                [](auto& x) { return x.kind == "cache"; });
    for (auto& x : all)
      x.writes = x.kind == "cache" && is_plain && caches == 1 && patient()
                 && chance(50);
  }

  // Of an error that was kept, the next gate out does not see that no worker
  // was asked: only callers may get it.
  void keep_errors(layer_plan& outermost) {
    if (outermost.kind != "cache" || !chance(60))
      return;
    outermost.set["negative_ttl"] = time({ms(1), ms(500), unlimited});
    outermost.set["negative_on"] = word(
      {"system_error:*", "class:retry,system_error:*"});
  }

  // What a cache loads or writes on its own has a deadline, also where calls
  // have none: it must not wait below when that passes.
  static void give_time(stack_plan& p) {
    auto waits = p.supervised;
    for (auto x = p.layers.rbegin(); x != p.layers.rend(); ++x) {
      if (x->kind == "cache" && waits) {
        x->set["refresh_timeout"] = x->set["flush_timeout"] = "1h";
        x->set["staleness"] = "unlimited";
      }
      waits = waits || traits_of(x->kind).can_wait;
    }
  }

  // -- calls ------------------------------------------------------------------

  call_plan some_call(int id) {
    call_plan x;
    x.id = id;
    // Calls come in crowds, none with another: a crowd that is in the mailbox
    // of one gate comes to the next one later than in a single gate.
    x.at = odd(ms(500) * static_cast<int>(number(8))) + duration{id};
    if (!patient() && (endless_ || chance(70)))
      // Some share their deadline with others.
      x.deadline = chance(30) ? pick({ms(1'001), ms(2'003)})
                              : x.at + odd(pick({ms(2), ms(60), ms(2'500)}));
    x.idempotent = mixed() ? 1 : static_cast<int>(number(3));
    x.priority = id % 3;
    // A load is as important as the most important call that waits for it, and
    // may be repeated if all of them may: also calls that come when it has been
    // sent to the next gate.
    if (alike_ >= 0) {
      x.idempotent = mixed() ? 1 : alike_;
      x.priority = 0;
    }
    // A heavy call lets several that wait go at once when it ends; in a single
    // gate the first of them may be back before the next one goes.
    x.permits = !prompt() || chance(80)
                  ? 1
                  : 1 + static_cast<std::uint32_t>(number(3));
    x.worker = some_replies();
    x.alternative = some_replies();
    return x;
  }

  std::vector<reply_plan> some_replies() {
    std::vector<reply_plan> all;
    for (auto n = 1 + number(4); n > 0; --n)
      all.push_back(some_reply());
    return all;
  }

  reply_plan some_reply() {
    using what = reply_plan::what;
    reply_plan x;
    x.kind = chance(8) ? what::nothing
                       : pick({what::value, what::error, what::error,
                               what::own_error, what::no_answer});
    x.code = pick({errc::breaker_open, errc::rate_limited, errc::queue_full,
                   errc::deadline_exceeded, errc::worker_down, errc::shed,
                   errc::cancelled});
    x.may_have_executed = chance(40);
    x.retry_after = chance(50) ? ms(0) : odd(pick({ms(1), ms(150)}));
    x.after = chance(30) ? ms(0) : odd(pick({ms(1), ms(30), ms(900)}));
    return x;
  }

  // -- what operators and the world do ----------------------------------------

  void add_act(stack_plan& p) {
    using what = act_plan::what;
    act_plan x;
    x.at = odd(ms(400) * static_cast<int>(number(10))) + duration{500};
    const auto& layer = p.layers[number(p.layers.size())];
    x.layer = layer.name;
    x.kind = !prompt() && chance(10)
               ? pick({what::worker_dies, what::alternative_dies})
             : chance(20) ? pick({what::server_goes, what::server_comes})
             : chance(50) ? what::reconfigure
                          : what::command;
    if (x.kind == what::reconfigure)
      for (auto& [key, value] : traits_of(layer.kind).settings(*this))
        if (chance(50) && can_change(layer, key, value))
          x.set[key] = value;
    // A deadline that was handed to the next gate cannot be taken back there:
    // the mode of a deadline stays as it is.
    if (layer.kind == "deadline")
      x.command = "reset";
    else if (layer.kind == "breaker" && chance(50))
      x.command = word({"force_open", "force_closed"});
    else
      x.command = word({"reset", "off", "enable", "observe"});
    p.acts.push_back(std::move(x));
  }

  bool can_change(const layer_plan& layer, const std::string& key,
                  const std::string& value) const {
    // See `give_time`.
    auto was_chosen = patient() && layer.kind == "cache"
                      && key.ends_with("_timeout");
    auto makes_silence = layer.kind == "chaos" && key == "silence_rate";
    // Not every call has a deadline then.
    auto is_endless = key == "max_attempts" && value == "0";
    return key.find('.') == std::string::npos && !was_chosen && !makes_silence
           && !is_endless;
  }

  // Until the deadline, which each call must have then.
  static bool tries_endlessly(const std::vector<layer_plan>& all) {
    return std::any_of(all.begin(), all.end(), [](auto& x) {
      auto i = x.set.find("max_attempts");
      return i != x.set.end() && i->second == "0";
    });
  }

  /// The mark of all calls; -1: each has one of its own.
  int alike_ = -1;
  bool endless_ = false;
};

} // namespace caisson::test
