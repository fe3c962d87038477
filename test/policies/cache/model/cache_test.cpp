#include <policies/cache/model/cache_model.hpp>
#include <policies/cache/model/cache_rig.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

// -- the driver ---------------------------------------------------------------

cache_config some_cache() {
  cache_config c;
  c.ttl = *rc::gen::element<duration>(1ms, 5ms, 1s);
  c.max_entries = *rc::gen::element<std::uint32_t>(1, 2, 3, 1'000'000);
  c.single_flight = *rc::gen::element(true, true, false);
  c.join_within = *rc::gen::element<duration>(1ms, 4ms, 1h);
  c.negative_ttl = *rc::gen::element<duration>(0ms, 2ms, 1h);
  c.stale_while = *rc::gen::element<duration>(0ms, 3ms, 1h);
  c.stale_if_error = *rc::gen::element<duration>(0ms, 3ms, 1h);
  c.refresh_backoff = *rc::gen::element<duration>(1ms, 3ms);
  return c;
}

class pair_of_caches {
public:
  explicit pair_of_caches(const cache_config& c) : real_{c} {
    model_.config = c;
    model_.now = real_.e.now;
  }

  void step() {
    switch (*rc::gen::inRange(0, 12)) {
      case 0:
      case 1:
      case 2:
      case 3: {
        auto key = some_key();
        auto time = *rc::gen::element<duration>(2ms, 1h, unlimited);
        auto id = real_.read_within(key, time);
        model_.read(id, key, time_after(model_.now, time));
        break;
      }
      case 4:
      case 5:
      case 6:
        end_one();
        break;
      case 7:
        leave_one();
        break;
      case 8: {
        auto key = some_key();
        auto id = real_.change(key);
        model_.change(id, key);
        break;
      }
      case 9:
        if (*rc::gen::inRange(0, 8) == 0) {
          real_.reset();
          model_.reset();
        }
        break;
      default: {
        auto d = *rc::gen::element<duration>(1ns, 1ms, 2ms, 3ms, 1s);
        real_.pass(d);
        model_.now += d;
      }
    }
    compare();
  }

private:
  static std::string some_key() {
    return *rc::gen::element<std::string>("a", "b", "c", "d");
  }

  // No two are the same.
  std::string some_text() {
    return *rc::gen::element<std::string>("", "", "!", "!none")
           + std::to_string(++texts_);
  }

  void end_one() {
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < model_.children.size(); ++i)
      if (!model_.children[i].over)
        open.push_back(i + 1);
    std::vector<call_id> below;
    for (const auto& [call, text] : model_.got)
      if (text == "below")
        below.push_back(call);
    if (open.size() + below.size() == 0)
      return;
    auto n = *rc::gen::inRange<std::size_t>(0, open.size() + below.size());
    auto text = some_text();
    if (n >= open.size()) {
      real_.reply_to(below[n - open.size()], text);
      model_.end_alone(below[n - open.size()], text);
    } else if (*rc::gen::inRange(0, 4) == 0) {
      auto why = *rc::gen::element(errc::breaker_open, errc::deadline_exceeded,
                                   errc::deadline_exceeded);
      real_.refuse(open[n], why);
      model_.end(open[n], std::string{name_of(why)}, false);
    } else {
      real_.reply(open[n], text);
      model_.end(open[n], text, true);
    }
  }

  void leave_one() {
    std::vector<call_id> open;
    for (const auto& [call, text] : model_.got)
      if (text == "below" || text == "...")
        open.push_back(call);
    if (open.empty())
      return;
    auto call = *rc::gen::elementOf(open);
    real_.drop(call);
    model_.leave(call);
  }

  void compare() {
    RC_ASSERT(real_.children() == model_.children.size());
    for (const auto& [call, text] : model_.got)
      RC_ASSERT(real_.got(call) == text);
    std::vector<metric> all;
    real_.policy.list_metrics(all);
    for (const auto& m : all)
      if (std::string name{m.name}; !m.gauge)
        RC_ASSERT(std::pair(name, model_.counted[name])
                  == std::pair(name, m.value));
    RC_ASSERT(real_.count("entries")
              == static_cast<std::int64_t>(model_.answers.size()));
    RC_ASSERT(real_.count("entries")
              <= std::int64_t{real_.policy.config().max_entries});
    auto loading = std::count_if(model_.children.begin(), model_.children.end(),
                                 [](const auto& x) { return !x.over; });
    RC_ASSERT(real_.count("loading") == loading);
    RC_ASSERT(real_.count("keys") == model_.keys());
  }

  cache_rig real_;
  cache_model model_;
  int texts_ = 0;
};

RC_GTEST_PROP(cache_property, agrees_with_its_model, ()) {
  pair_of_caches both{some_cache()};
  auto steps = *rc::gen::inRange(1, 120);
  for (int i = 0; i < steps; ++i)
    both.step();
}

} // namespace
} // namespace caisson::test
