// A host for caches whose calls and answers are texts.
#pragma once

#include <caisson/policies/cache/cache.hpp>

#include <support/rig.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {

/// Keeps texts. One that begins with `for ` and a number of seconds answers
/// that long; `boom` throws.
inline cache_content texts_as_content() {
  cache_content out;
  out.keep = [](const void* x) {
    return std::make_shared<const std::string>(
      x ? *static_cast<const std::string*>(x) : "nothing");
  };
  out.ttl = [](const void* x) -> std::optional<duration> {
    const auto& text = *static_cast<const std::string*>(x);
    if (text == "boom")
      throw std::runtime_error{"no idea"};
    if (!text.starts_with("for "))
      return std::nullopt;
    return std::chrono::seconds(std::stoi(text.substr(4)));
  };
  return out;
}

/// Acts as the gate of a cache. An answer that begins with `!` is an
/// error of the worker's, one that begins with `!none` of the class `fail`.
/// Children are numbered from 1 on.
class cache_rig : public rig<cache> {
public:
  explicit cache_rig(cache_config c = {})
    : rig(std::move(c), texts_as_content()) {}

  /// A call with that key and the content `ask KEY`.
  call_id read(std::string key, cache_lookup how = {}, call_info call = {}) {
    auto content = "ask " + key;
    call.key = std::move(key);
    how.content = &content;
    if (acts != mode::enforce)
      how.acts = acts;
    policy.set_next(std::move(how));
    auto id = arrive(std::move(call));
    // The host calls `expire` for holds that end now.
    pass(duration::zero());
    return id;
  }

  /// The same, with so much time.
  call_id read_within(std::string key, duration time) {
    call_info call;
    call.deadline = time_after(e.now, time);
    return read(std::move(key), {}, std::move(call));
  }

  call_id change(std::string key) {
    return read(std::move(key), {.use = cache_use::change});
  }

  /// A write that may be acknowledged, with `ok`.
  call_id write(const std::string& key, const std::string& value) {
    auto content = key + "=" + value;
    policy.set_next({.use = cache_use::write,
                     .content = &content,
                     .value = std::make_shared<const std::string>(value),
                     .answer = std::make_shared<const std::string>("ok"),
                     .acts = acts});
    call_info call;
    call.key = key;
    auto id = arrive(std::move(call));
    pass(duration::zero());
    return id;
  }

  /// What the child sends.
  [[nodiscard]] std::string sent(std::uint64_t child) {
    auto content = policy.take_content(child);
    return content ? *static_cast<const std::string*>(content.get()) : "";
  }

  void drain() {
    policy.drain(e);
    pass(duration::zero());
  }

  /// The child has this answer.
  void reply(std::uint64_t child, std::string text) {
    auto o = outcome_of(text);
    o.reply = &text;
    end(child, o, text);
  }

  /// The worker answers the child with an error of that class, after which a
  /// call has at most so many attempts (0: no limit).
  void answer(std::uint64_t child, answer_class what, duration retry_after,
              std::uint32_t max_attempts = 0) {
    auto o = outcome_of("!");
    o.kind = what;
    o.retry_after = retry_after;
    o.max_attempts = max_attempts;
    std::string text = "!";
    o.reply = &text;
    end(child, o, text);
  }

  /// The worker has no answer of a server's for the child.
  void no_answer(std::uint64_t child, answer_class what = answer_class::retry,
                 bool out_of_time = false) {
    auto o = outcome_of("!");
    o.kind = what;
    o.unanswered = true;
    o.out_of_time = out_of_time;
    o.max_attempts = 2;
    std::string text = "!";
    o.reply = &text;
    end(child, o, text);
  }

  /// The mode of the layer is another one from now on.
  void set_mode(mode m) {
    acts = m;
    policy.set_enforced(m == mode::enforce);
    pass(duration::zero());
  }

  /// A layer below answers the child in place of the worker.
  void stand_in(std::uint64_t child, std::string text) {
    auto o = outcome_of(text);
    o.reply = &text;
    o.may_have_executed = o.from_worker = false;
    end(child, o, text);
  }

  /// The child fails in a layer below.
  void refuse(std::uint64_t child, errc code, bool may_have_executed = false) {
    end(child, outcome::failure(code, may_have_executed),
        std::string{name_of(code)});
  }

  /// A call that went down itself has this answer.
  void reply_to(call_id id, std::string text) {
    auto o = outcome_of(text);
    o.reply = &text;
    complete_with(id, o, text);
    pump();
  }

  /// The call leaves; a child that nobody waits for any more is given up.
  void drop(call_id id) {
    abandon(id);
    for (std::uint64_t n = 1; n <= e.children.size(); ++n) {
      auto& child = e.children[n - 1];
      // One that was started without parents goes on.
      if (std::erase(child.parents, id) != 0 && child.parents.empty()
          && child.started_by == 0 && !ended_[n])
        end(n, outcome::failure(errc::cancelled, false), "");
    }
  }

  /// Time passes; holds that end are reported.
  void pass(duration d) {
    advance(d);
    pump();
  }

  void reset() { command(operator_command::reset); }

  bool preheat(const std::string& key, const std::string& value) {
    return policy.preheat(key, std::make_shared<const std::string>(value), e);
  }

  /// What the call got; `...` while it waits, `below` while it is below.
  [[nodiscard]] std::string got(call_id id) const {
    if (where(id) == place::below)
      return "below";
    auto i = got_.find(id);
    return i == got_.end() ? "..." : i->second;
  }

  /// What a read gets at once.
  std::string get(const std::string& key) { return got(read(key)); }

  [[nodiscard]] std::uint64_t children() const { return e.children.size(); }

private:
  static outcome outcome_of(const std::string& text) {
    auto o = outcome::success();
    o.from_worker = true;
    if (text.starts_with("!")) {
      o.ok = false;
      o.code = 3;
      o.category = category_hash("app");
    }
    if (text.starts_with("!none"))
      o.kind = answer_class::fail;
    return o;
  }

  void end(std::uint64_t child, outcome o, const std::string& text) {
    ASSERT_FALSE(std::exchange(ended_[child], true)) << child;
    ASSERT_EQ(policy.child_done(child, o, e).what, decision::kind::pass);
    auto parents = e.children.at(child - 1).parents;
    for (auto id : parents)
      if (where(id) == place::held)
        complete_with(id, o, text);
    work();
    pump();
    // What is to be done within this step.
    if (policy.wakeup() == time_point::min())
      pass(duration::zero());
  }

  void complete_with(call_id id, const outcome& o, const std::string& text) {
    finish(id, o);
    if (where(id) == place::passed)
      got_[id] = text;
  }

  // Hands over the answers that the cache has named.
  void pump() {
    for (auto more = true; std::exchange(more, false);)
      for (auto& [id, x] : calls)
        if (x.where == place::redirected) {
          auto text = *static_cast<const std::string*>(policy.value(x.index));
          auto o = outcome_of(text);
          o.may_have_executed = o.from_worker = false;
          complete_with(id, o, text);
          more = true;
        }
  }

  std::map<call_id, std::string> got_;
  std::map<std::uint64_t, bool> ended_;
};

} // namespace caisson::test
