// A second cache, for comparison, which looks at everything each time.
#pragma once

#include <caisson/policies/cache/cache.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace caisson::test {

/// What a cache is to do. It is no model for `check_against_model`, which knows
/// calls only: one load ends many calls, apart from them and with texts that
/// are compared, and what is drawn depends on the loads that there are.
struct cache_model {
  static bool is_bad(const std::string& text) { return text.starts_with("!"); }
  // Of the class `fail`.
  static bool is_none(const std::string& text) {
    return text.starts_with("!none");
  }

  struct answer {
    std::string text;
    time_point expires;
    std::uint64_t used;
    [[nodiscard]] bool bad() const { return is_bad(text); }
  };

  struct load {
    std::string key;
    time_point sent;
    std::uint64_t order;
    bool refresh = false;
    bool outdated = false; // may not be joined, nor kept
    bool over = false;
    time_point until = never;
    std::vector<call_id> waiting = {};
  };

  cache_config config;
  std::map<std::string, answer> answers;
  std::map<std::string, std::uint64_t> newest;
  std::map<std::string, time_point> next_refresh;
  std::map<std::string, time_point> failing;
  // Child number i is called i + 1. Those that are no children, by call.
  std::vector<load> children;
  std::map<call_id, load> alone;
  std::map<call_id, std::string> changing;
  std::map<call_id, std::string> got;
  std::map<call_id, time_point> deadline;
  std::map<std::string, std::int64_t> counted;
  std::uint64_t order = 0;
  time_point now;

  static time_point since(const std::map<std::string, time_point>& all,
                          const std::string& key) {
    auto i = all.find(key);
    return i == all.end() ? time_point::min() : i->second;
  }

  void give(call_id call, answer& a, const char* why) {
    ++counted[why];
    a.used = ++order;
    got[call] = a.text;
  }

  load* current(const std::string& key) {
    load* last = nullptr;
    for (auto& x : children)
      if (x.key == key && !x.outdated)
        last = &x;
    // Only the last one that was started may be joined.
    return last && !last->over ? last : nullptr;
  }

  [[nodiscard]] bool stands_in(const std::string& key) const {
    auto i = answers.find(key);
    return i != answers.end() && !i->second.bad()
           && config.stale_if_error > duration::zero()
           && now < i->second.expires + config.stale_if_error;
  }

  void read(call_id call, const std::string& key, time_point until) {
    deadline[call] = until;
    got[call] = "...";
    auto i = answers.find(key);
    if (i == answers.end())
      return fetch(call, key);
    auto& a = i->second;
    if (now < a.expires)
      return give(call, a, a.bad() ? "negative_hits" : "hits");
    if (!a.bad() && now < a.expires + config.stale_while) {
      auto* c = current(key);
      auto fresh = c && now < c->sent + config.join_within;
      if (now >= since(next_refresh, key) && !(c && (c->refresh || fresh)))
        children.push_back({.key = key,
                            .sent = now,
                            .order = ++order,
                            .refresh = true,
                            .until = now + config.refresh_timeout});
      return give(call, a, "stale_hits");
    }
    if (!stands_in(key)) {
      ++counted["expired"];
      answers.erase(key);
    } else if (now < since(failing, key)) {
      return give(call, a, "stale_on_error");
    }
    fetch(call, key);
  }

  void fetch(call_id call, const std::string& key) {
    auto* c = current(key);
    if (!config.single_flight) {
      ++counted["misses"];
      got[call] = "below";
      alone[call] = {key, now, ++order};
    } else if (c && now < c->sent + config.join_within) {
      ++counted["joined"];
      c->waiting.push_back(call);
    } else {
      ++counted["misses"];
      children.push_back({key, now, ++order});
      children.back().until = deadline[call];
      children.back().waiting.push_back(call);
    }
  }

  // The load that they waited for has ended by its time limit.
  void fetch_again(const std::string& key, const std::vector<call_id>& all) {
    std::vector<call_id> rest;
    for (auto call : all) {
      auto i = answers.find(key);
      auto* c = current(key);
      if (i != answers.end() && now < i->second.expires) {
        give(call, i->second, i->second.bad() ? "negative_hits" : "hits");
      } else if (c && now < c->sent + config.join_within) {
        ++counted["joined"];
        c->waiting.push_back(call);
      } else {
        ++counted[rest.empty() ? "misses" : "joined"];
        rest.push_back(call);
      }
    }
    if (rest.empty())
      return;
    auto until = time_point::min();
    for (auto call : rest)
      until = std::max(until, deadline[call]);
    children.push_back({.key = key,
                        .sent = now,
                        .order = ++order,
                        .until = until,
                        .waiting = rest});
  }

  void change(call_id call, const std::string& key) {
    ++counted["invalidated"];
    got[call] = "below";
    changing[call] = key;
    outdate(key);
  }

  void outdate(const std::string& key) {
    answers.erase(key);
    for (auto& x : children)
      x.outdated = x.outdated || x.key == key;
    for (auto& [call, x] : alone)
      x.outdated = x.outdated || x.key == key;
  }

  bool keep(const load& x, const std::string& text) {
    auto bad = text.starts_with("!");
    if (x.outdated || x.order < newest[x.key])
      return false;
    if (bad && (!is_none(text) || config.negative_ttl == duration::zero())) {
      if (is_none(text) && answers.erase(x.key) != 0)
        newest[x.key] = x.order;
      return false;
    }
    newest[x.key] = x.order;
    next_refresh.erase(x.key);
    failing.erase(x.key);
    ++counted[bad ? "stored_negative" : "stored"];
    answers[x.key] = {text, now + (bad ? config.negative_ttl : config.ttl),
                      ++order};
    if (answers.size() > config.max_entries) {
      ++counted["evicted"];
      answers.erase(
        std::min_element(answers.begin(), answers.end(), [](auto& a, auto& b) {
          return a.second.used < b.second.used;
        }));
    }
    return true;
  }

  void emit(call_id call, const std::string& key, const std::string& text,
            bool ok) {
    if (!ok && !is_none(text) && stands_in(key)) {
      failing[key] = now + config.refresh_backoff;
      give(call, answers.at(key), "stale_on_error");
    } else {
      got[call] = text;
    }
  }

  // `text` is an answer, or else the name of an error from a layer below.
  void end(std::size_t n, const std::string& text, bool answered) {
    auto& x = children[n - 1];
    x.over = true;
    auto kept = answered && keep(x, text);
    if (x.refresh) {
      ++counted[kept ? "refreshed" : "refresh_failed"];
      if (!kept)
        next_refresh[x.key] = now + config.refresh_backoff;
    }
    auto key = x.key;
    auto until = x.until;
    std::vector<call_id> again;
    for (auto call : std::vector<call_id>{x.waiting})
      if (text == "deadline_exceeded" && config.single_flight
          && now < deadline[call] && until < deadline[call])
        again.push_back(call);
      else
        emit(call, key, text, answered && !text.starts_with("!"));
    fetch_again(key, again);
  }

  void end_alone(call_id call, const std::string& text) {
    if (auto i = changing.find(call); i != changing.end()) {
      outdate(i->second);
      changing.erase(i);
      got[call] = text;
      return;
    }
    auto x = alone.at(call);
    alone.erase(call);
    keep(x, text);
    emit(call, x.key, text, !text.starts_with("!"));
  }

  void leave(call_id call) {
    got.erase(call);
    if (auto i = changing.find(call); i != changing.end()) {
      outdate(i->second);
      changing.erase(i);
      return;
    }
    ++counted["abandoned"];
    alone.erase(call);
    for (auto& x : children)
      if (std::erase(x.waiting, call) != 0 && x.waiting.empty() && !x.refresh)
        x.over = true;
  }

  // Of which anything is known.
  [[nodiscard]] std::int64_t keys() const {
    std::set<std::string> all;
    for (const auto& [key, x] : answers)
      all.insert(key);
    for (const auto& x : children)
      if (!x.over)
        all.insert(x.key);
    for (const auto& [call, x] : alone)
      all.insert(x.key);
    for (const auto& [call, key] : changing)
      all.insert(key);
    return static_cast<std::int64_t>(all.size());
  }

  void reset() {
    counted.clear();
    answers.clear();
    for (auto& x : children)
      x.outdated = true;
    for (auto& [call, x] : alone)
      x.outdated = true;
  }
};

} // namespace caisson::test
