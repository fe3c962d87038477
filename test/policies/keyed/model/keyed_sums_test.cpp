// Sums of a keyed policy over its keys, against the policies themselves.
#include <policies/keyed/model/keyed_rig.hpp>
#include <support/operations.hpp>
#include <support/recorded_policy.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using std::chrono::milliseconds;

using numbers = std::map<std::string_view, std::int64_t>;

// A keyed policy, and each policy of its keys.
class counted_keys {
public:
  counted_keys(std::uint32_t most, duration idle) {
    config_.permits = 1;
    config_.per_key = {.max_keys = most, .idle = idle};
    recorded_policy::final_counts.clear();
    host_ = std::make_unique<keyed_rig<recorded_policy>>(config_);
  }

  // `n` calls of different keys, which go when they `end`.
  void call(int from, int n, int end) {
    for (auto i = 0; i < n; ++i) {
      auto id = host_->arrive(of_key(std::to_string((from + i) % 5000)));
      if (host_->where(id) != place::below)
        continue;
      if (end == 0)
        below_.push_back(id);
      else
        end_of(id, end);
    }
  }

  void end_calls(int end) {
    for (auto id : std::exchange(below_, {}))
      end_of(id, 1 + end % 3);
  }

  void order(operator_command c) {
    host_->command(c);
    if (c != operator_command::reset)
      return;
    // Of those without calls, some wait to be freed.
    for (auto* x : recorded_policy::alive)
      x->counts = x->counts && x->below() > 0;
    recorded_policy::final_counts.clear();
  }

  void set(std::uint32_t permits, std::uint32_t most, int special) {
    config_.permits = permits;
    config_.per_key.max_keys = most;
    config_.per_key.overrides = {{std::to_string(special), {{"permits", "9"}}}};
    host_->reconfigure(config_);
  }

  void pass(duration d) { host_->advance(d); }

  // Until all keys have followed, and those that were dropped are freed.
  void complete() {
    for (int i = 0; i < 20; ++i)
      host_->advance(milliseconds(1));
  }

  [[nodiscard]] numbers listed() const {
    std::vector<metric> all;
    host_->policy.list_metrics(all);
    numbers out;
    for (const auto& m : all)
      if (!m.name.starts_with("key") && !m.name.starts_with("refused"))
        out[m.name] = m.value;
    return out;
  }

  [[nodiscard]] numbers counted() const {
    numbers out = recorded_policy::final_counts;
    for (auto* name : {"admitted", "good", "bad", "woken", "below", "permits"})
      out.try_emplace(name, 0);
    std::map<std::string_view, std::vector<std::int64_t>> levels{
      {"state", {}}, {"longest_id", {}}};
    // That of later keys, which has never had a call.
    numbers blank;
    for (auto* x : recorded_policy::alive) {
      std::vector<metric> all;
      x->list_metrics(all);
      if (x->key.empty())
        for (const auto& m : all)
          blank[m.name] = m.value;
      if (!x->counts)
        continue;
      for (const auto& m : all)
        if (levels.contains(m.name))
          levels[m.name].push_back(m.value);
        else
          out[m.name] += m.value;
    }
    for (const auto& [name, all] : levels)
      out[name] = all.empty() ? blank[name]
                              : *std::max_element(all.begin(), all.end());
    return out;
  }

  void compare() const {
    RC_ASSERT(listed() == counted());
    std::vector<std::pair<std::int64_t, std::string>> all;
    std::string_view state = "closed";
    auto worst = circuit::closed;
    for (auto* x : recorded_policy::alive) {
      if (!x->counts)
        continue;
      all.emplace_back(-x->calls, x->key);
      if (x->circuit({}) > worst) {
        worst = x->circuit({});
        state = x->state();
      }
    }
    RC_ASSERT(host_->policy.keys() == all.size());
    if (!all.empty())
      RC_ASSERT(host_->policy.state() == state);
    std::sort(all.begin(), all.end());
    all.resize(std::min<std::size_t>(all.size(), 10));
    std::vector<std::pair<std::int64_t, std::string>> top;
    for (auto& x : host_->policy.busiest(10))
      top.emplace_back(-x.admitted, x.key);
    RC_ASSERT(top == all);
  }

private:
  void end_of(call_id id, int end) {
    if (end == 1)
      host_->finish(id);
    else if (end == 2)
      host_->fail(id);
    else
      host_->abandon(id);
    host_->calls.erase(id);
  }

  keyed_config<recorded_policy> config_;
  std::unique_ptr<keyed_rig<recorded_policy>> host_;
  std::vector<call_id> below_;
};

void play(counted_keys& h, const scripted_step& o, int bulk, int most) {
  auto [what, n, how] = o;
  constexpr operator_command orders[] = {
    operator_command::force_open, operator_command::force_closed,
    operator_command::enable, operator_command::reset};
  switch (what) {
    case 0:
      return h.call(n * 7, 1 + how % bulk, 0);
    case 1:
    case 2:
      return h.call(n, 1 + how % bulk, what);
    case 3:
      return h.call(n * 3, 1 + how % 3, 3);
    case 4:
      return h.end_calls(n);
    case 5:
      return h.order(orders[n % 4]);
    case 6:
      return h.set(1 + static_cast<std::uint32_t>(n % 3),
                   1 + static_cast<std::uint32_t>(how % most), n);
    default:
      return h.pass(milliseconds(how));
  }
}

// Few enough keys that each of them follows at once.
RC_GTEST_PROP(keyed_sums, are_what_the_keys_say, ()) {
  counted_keys h{150, milliseconds(*rc::gen::inRange(1000, 4000))};
  for (auto& o : *any_steps(60, 8, 3000)) {
    play(h, o, 200, 200);
    h.compare();
  }
  h.pass(2h);
  h.compare();
}

// So many that most of them follow later.
RC_GTEST_PROP(keyed_sums, are_right_when_all_keys_have_followed, ()) {
  counted_keys h{2200, milliseconds(*rc::gen::inRange(1000, 4000))};
  for (auto& o : *any_steps(12, 8, 3000)) {
    play(h, o, 2000, 2200);
    if (std::get<1>(o) % 2 == 0)
      continue;
    h.complete();
    h.compare();
  }
  h.complete();
  h.compare();
}

} // namespace
} // namespace caisson::test
