// A supervision group whose gates report anything at any time, also late,
// against a list of its members.
#include <caisson/gate/detail/group_plan.hpp>

#include <support/operations.hpp>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;
using detail::group_plan;
using strings = std::vector<std::string>;

// Looks at all members for everything.
class group_plan_model {
public:
  explicit group_plan_model(supervision_group_config c) : c_(c) {}

  void join(std::size_t id, std::uint32_t rank) {
    if (id == all_.size())
      all_.emplace_back();
    all_[id] = {rank, life::starting, 0};
    if (over_)
      send_order(id, "give_up");
  }

  void down(std::size_t id, std::uint64_t after, time_point now) {
    auto& x = all_[id];
    if (over_ || after != x.orders)
      return;
    x.at = life::failing;
    std::erase_if(losses_, [&](auto t) { return now - t > c_.period; });
    if (losses_.size() >= c_.max_restarts)
      return give_up();
    losses_.push_back(now);
    for (auto i : in_turn(true))
      if ((is_up(i) || all_[i].at == life::ended) && stops_with(i, id)) {
        all_[i].at = life::due;
        send_order(i, "stop");
      }
  }

  void due(std::size_t id) {
    if (all_[id].at != life::failing)
      return;
    all_[id].at = life::due;
    if (c_.strategy == group_strategy::one_for_one)
      start(id);
    start_first();
  }

  void up(std::size_t id, std::uint64_t after) {
    if (after != all_[id].orders)
      return;
    all_[id].at = life::up;
    start_first();
  }

  void ended(std::size_t id, std::uint64_t after, bool restarts) {
    if (over_ || after != all_[id].orders)
      return;
    auto its_turn = all_[id].at == life::starting;
    all_[id].at = restarts ? life::ended : life::finished;
    if (its_turn)
      start_first();
  }

  void leave(std::size_t id) {
    all_[id].at = life::gone;
    if (std::all_of(all_.begin(), all_.end(),
                    [](auto& x) { return x.at == life::gone; })) {
      over_ = false;
      losses_.clear();
    }
    start_first();
  }

  void reconfigure(supervision_group_config c) {
    c_ = c;
    for (auto i : in_turn(false))
      if (c_.strategy == group_strategy::one_for_one && all_[i].at == life::due)
        start(i);
  }

  void give_up() {
    if (over_)
      return;
    over_ = true;
    for (auto i : in_turn(true))
      if (all_[i].at != life::gone)
        send_order(i, "give_up");
  }

  strings take() { return std::exchange(reports_, {}); }

  [[nodiscard]] bool is_over() const { return over_; }
  [[nodiscard]] std::size_t members() const {
    return static_cast<std::size_t>(std::count_if(
      all_.begin(), all_.end(), [](auto& x) { return x.at != life::gone; }));
  }
  [[nodiscard]] std::size_t ended() const {
    return static_cast<std::size_t>(
      std::count_if(all_.begin(), all_.end(), [](auto& x) {
        return x.at == life::ended || x.at == life::finished;
      }));
  }
  [[nodiscard]] bool is_gone(std::size_t i) const {
    return all_[i].at == life::gone;
  }
  [[nodiscard]] std::uint64_t orders(std::size_t i) const {
    return all_[i].orders;
  }

private:
  enum class life : std::uint8_t {
    up,
    failing,
    due,
    starting,
    ended,
    finished,
    gone,
  };

  struct member {
    std::uint32_t rank = 0;
    life at = life::up;
    std::uint64_t orders = 0;
  };

  void send_order(std::size_t id, std::string_view what) {
    reports_.push_back(fmt::format("{} {} {}", what, id, ++all_[id].orders));
  }

  [[nodiscard]] std::vector<std::size_t> in_turn(bool last_first) const {
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < all_.size(); ++i)
      out.push_back(i);
    std::stable_sort(out.begin(), out.end(), [&](auto a, auto b) {
      return all_[a].rank < all_[b].rank;
    });
    if (last_first)
      std::reverse(out.begin(), out.end());
    return out;
  }

  [[nodiscard]] bool is_up(std::size_t i) const {
    return all_[i].at == life::up || all_[i].at == life::starting;
  }

  [[nodiscard]] bool stops_with(std::size_t i, std::size_t lost) const {
    switch (c_.strategy) {
      case group_strategy::one_for_one:
        return false;
      case group_strategy::one_for_all:
        return true;
      case group_strategy::rest_for_one:
        return all_[i].rank > all_[lost].rank;
    }
    return false;
  }

  void start(std::size_t id) {
    if (over_)
      return;
    all_[id].at = life::starting;
    send_order(id, "start");
  }

  // The first of those that are not up, if it is its turn.
  void start_first() {
    if (c_.strategy == group_strategy::one_for_one)
      return;
    for (auto i : in_turn(false)) {
      if (all_[i].at == life::up || all_[i].at == life::ended
          || all_[i].at == life::finished || all_[i].at == life::gone)
        continue;
      if (all_[i].at == life::due)
        start(i);
      return;
    }
  }

  supervision_group_config c_;
  std::vector<member> all_;
  std::vector<time_point> losses_;
  strings reports_;
  bool over_ = false;
};

supervision_group_config config_number(unsigned n) {
  constexpr group_strategy strategies[] = {group_strategy::one_for_one,
                                           group_strategy::one_for_all,
                                           group_strategy::rest_for_one};
  constexpr std::uint32_t limits[] = {0, 1, 5, 1'000};
  return {.strategy = strategies[n % 3],
          .max_restarts = limits[n / 3 % 4],
          .period = n / 12 % 2 == 0 ? duration{1s} : duration{20s}};
}

RC_GTEST_PROP(group_plan_model_property, gives_the_same_orders, ()) {
  auto c = config_number(*rc::gen::inRange(0u, 24u));
  group_plan plan{c};
  group_plan_model expected{c};
  auto now = time_point{} + 1h;
  std::size_t n = 0;
  auto join = [&](std::uint32_t rank) {
    auto id = plan.join(rank);
    RC_ASSERT(id <= n);
    n = std::max(n, id + 1);
    expected.join(id, rank);
  };
  join(1);
  for (const auto& x : *operations(12)) {
    auto id = x.which % n;
    // What a member has carried out when it reports: all its orders, mostly.
    auto after = expected.orders(id);
    if (x.how % 5 == 0 && after > 0)
      --after;
    if (x.kind == 0 && n < 6) {
      join(x.how % 3);
    } else if (x.kind == 1 && x.how % 200 == 0) {
      plan.on_gave_up("");
      expected.give_up();
    } else if (x.kind == 10) {
      auto next = config_number(static_cast<unsigned>(x.how));
      plan.reconfigure(next);
      expected.reconfigure(next);
    } else if (x.kind == 11) {
      if (!expected.is_gone(id)) {
        plan.on_ended(id, after, x.how % 2 == 0);
        expected.ended(id, after, x.how % 2 == 0);
      }
    } else if (x.kind == 2) {
      now += (x.how % 5) * 1s;
    } else if (!expected.is_gone(id)) {
      if (x.kind <= 4) {
        plan.on_down(id, after, now, "");
        expected.down(id, after, now);
      } else if (x.kind <= 6) {
        plan.on_due(id);
        expected.due(id);
      } else if (x.kind <= 8) {
        plan.on_up(id, after);
        expected.up(id, after);
      } else if (x.how % 4 == 0) {
        plan.leave(id);
        expected.leave(id);
      }
    }
    strings orders;
    for (const auto& o : plan.take_orders())
      orders.push_back(
        fmt::format("{} {} {}", name_of(o.what), o.to, o.number));
    RC_ASSERT(orders == expected.take());
    RC_ASSERT(plan.is_over() == expected.is_over());
    RC_ASSERT(plan.members() == expected.members());
    RC_ASSERT(plan.ended() == expected.ended());
  }
}

} // namespace
} // namespace caisson::test
