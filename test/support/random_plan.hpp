// Plans drawn at random, with settings from the edges of their ranges.
//
// A gate behind another one cannot see as much as one gate with all layers, nor
// do messages between gates take no time at all. Where the two may differ for
// such a reason, plans do not go there; each comment below names one.
#pragma once

#include "support/random_settings.hpp"
#include "support/stack_plan.hpp"

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
    alike_ = has_cache(p.layers) ? static_cast<int>(number(3)) : -1;
    endless_ = tries_endlessly(p.layers);
    // In `mixed` a limiter judges by `may_have_executed`, and the worker's gate
    // holds calls while the worker is being started.
    p.supervised = kind_ == plan_kind::patient && chance(30);
    if (kind_ == plan_kind::patient)
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
    auto in_batch = false;
    auto in_chaos = false;
    auto in_limiter = false;
    for (std::size_t i = 0; i < n; ++i) {
      layer_plan x;
      // A gate takes a value from another one for the worker's. If it loses an
      // alternative's, or one from a cache, or cannot share it among the items
      // of a batch, it says that the worker was reached.
      do
        x.kind = some_kind(i + 1 == n, in_batch);
      while ((in_chaos && x.kind == layer_kind::fallback)
             || ((in_chaos || in_batch) && x.kind == layer_kind::cache));
      in_batch = in_batch || x.kind == layer_kind::batcher;
      in_chaos = in_chaos || x.kind == layer_kind::chaos;
      x.name = fmt::format("L{}", i);
      x.set = some_settings(x.kind);
      // A call that was not reached gives its token back: the silence of one
      // call would end at the instant at which there is a token for another.
      if (x.kind == layer_kind::chaos && in_limiter)
        x.set["silence_rate"] = "0";
      in_limiter = in_limiter || x.kind == layer_kind::limiter;
      x.set["mode"] = chance(80) ? "enforce" : word({"observe", "off"});
      x.alternatives = pick(
        {offer::value, offer::actor, offer::actor_then_value});
      x.per_key = chance(30) && can_be_per_key(x.kind);
      if (x.per_key)
        add_key_settings(x.set);
      if (x.kind == layer_kind::retrier) {
        x.waits_as_told = chance(30);
        // In `mixed` nothing is asked, as all calls may be repeated.
        x.looks = !x.per_key && chance(40);
      }
      all.push_back(std::move(x));
    }
    return all;
  }

  layer_kind some_kind(bool innermost, bool in_batch) {
    using enum layer_kind;
    switch (kind_) {
      case plan_kind::patient:
        return pick({semaphore, limiter, breaker, retrier, batcher, fallback,
                     chaos, canary, cache, cache, degradation, feature});
      case plan_kind::prompt:
        // A batch may be held below its batcher when an item's time is over.
        return pick({deadline, semaphore, limiter, breaker, retrier, fallback,
                     deadline, retrier, chaos, canary, cache, degradation,
                     feature});
      case plan_kind::mixed:
        // The deadlines of a batch and of its last item pass at the same
        // instant, and the next batch goes then: layers below would have to be
        // told of the two in the same order.
        if (in_batch)
          return pick({deadline, retrier, fallback});
        // A limiter gives tokens back for calls that were not reached, so that
        // no layer below it may hold one.
        return innermost && chance(30)
                 ? limiter
                 : pick({deadline, semaphore, breaker, retrier, batcher,
                         fallback, chaos, canary, cache, degradation, feature});
    }
    return deadline;
  }

  static bool can_be_per_key(layer_kind kind) {
    using enum layer_kind;
    return kind == deadline || kind == semaphore || kind == limiter
           || kind == breaker || kind == retrier || kind == chaos;
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
    auto is_plain = std::none_of(all.begin(), all.end(), [](auto& x) {
      return x.kind == layer_kind::fallback;
    });
    auto caches = std::count_if(all.begin(), all.end(), [](auto& x) {
      return x.kind == layer_kind::cache;
    });
    for (auto& x : all)
      x.writes = x.kind == layer_kind::cache && is_plain && caches == 1
                 && kind_ == plan_kind::patient && chance(50);
  }

  // Of an error that was kept, the next gate out does not see that no worker
  // was asked: only callers may get it.
  void keep_errors(layer_plan& outermost) {
    if (outermost.kind != layer_kind::cache || !chance(60))
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
      if (x->kind == layer_kind::cache && waits) {
        x->set["refresh_timeout"] = x->set["flush_timeout"] = "1h";
        x->set["staleness"] = "unlimited";
      }
      waits = waits || can_wait_in(x->kind);
    }
  }

  static bool can_wait_in(layer_kind kind) {
    using enum layer_kind;
    return kind == semaphore || kind == limiter || kind == batcher
           || kind == chaos;
  }

  // -- calls ------------------------------------------------------------------

  call_plan some_call(int id) {
    call_plan x;
    x.id = id;
    // Calls come in crowds, none with another: a crowd that is in the mailbox
    // of one gate comes to the next one later than in a single gate.
    x.at = odd(ms(500) * static_cast<int>(number(8))) + duration{id};
    if (kind_ != plan_kind::patient && (endless_ || chance(70)))
      // Some share their deadline with others.
      x.deadline = chance(30) ? pick({ms(1'001), ms(2'003)})
                              : x.at + odd(pick({ms(2), ms(60), ms(2'500)}));
    x.idempotent = kind_ == plan_kind::mixed ? 1 : static_cast<int>(number(3));
    x.priority = id % 3;
    // A load is as important as the most important call that waits for it, and
    // may be repeated if all of them may: also calls that come when it has been
    // sent to the next gate.
    if (alike_ >= 0) {
      x.idempotent = kind_ == plan_kind::mixed ? 1 : alike_;
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
      for (auto& [key, value] : some_settings(layer.kind))
        if (chance(50) && can_change(layer, key, value))
          x.set[key] = value;
    // A deadline that was handed to the next gate cannot be taken back there:
    // the mode of a deadline stays as it is.
    if (layer.kind == layer_kind::deadline)
      x.command = "reset";
    else if (layer.kind == layer_kind::breaker && chance(50))
      x.command = word({"force_open", "force_closed"});
    else
      x.command = word({"reset", "off", "enable", "observe"});
    p.acts.push_back(std::move(x));
  }

  bool can_change(const layer_plan& layer, const std::string& key,
                  const std::string& value) const {
    // See `give_time`.
    auto was_chosen = kind_ == plan_kind::patient
                      && layer.kind == layer_kind::cache
                      && key.ends_with("_timeout");
    auto makes_silence = layer.kind == layer_kind::chaos
                         && key == "silence_rate";
    // Not every call has a deadline then.
    auto is_endless = key == "max_attempts" && value == "0";
    return key.find('.') == std::string::npos && !was_chosen && !makes_silence
           && !is_endless;
  }

  static bool has_cache(const std::vector<layer_plan>& all) {
    return std::any_of(all.begin(), all.end(),
                       [](auto& x) { return x.kind == layer_kind::cache; });
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
