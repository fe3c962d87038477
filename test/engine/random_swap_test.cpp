// Random calls and stacks: each call meets the layers with which it began.
#include <support/engine_world.hpp>
#include <support/puppet.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

/// Calls and swaps, and a book of which layers each call must meet.
class swap_life {
public:
  explicit swap_life(std::uint64_t seed) : random_(seed) {
    world_.emplace(stack());
  }

  void play() {
    for (auto n = 50 + below(150); n > 0; --n)
      happen();
    calm_ = true;
    world_->at(world_->now() + 1s);
    while (world_->unanswered() > 0 && open_ < world_->attempts.size()) {
      world_->answer(open_++, "end");
      world_->at(world_->now() + 10ms);
    }
    EXPECT_EQ(world_->unanswered(), 0u);
    for (const auto& [call, layers_seen] : layers_seen_)
      EXPECT_EQ(layers_seen, stacks_.at(call)) << call;
    EXPECT_EQ(alive_, in_force_) << "a layer is left over";
  }

private:
  std::uint64_t below(std::uint64_t n) { return random_.below(n); }

  puppet_layer& add(puppets& to, const std::string& name, int id) {
    auto& l = to.add(name);
    l.number = static_cast<int>(below(5));
    l.machine().keeps_content = true;
    l.on_end = [this, id] { alive_.erase(id); };
    alive_.insert(id);
    l.machine().on_admit = [this, id](call_info& c, auto&, env& e) {
      // Again after a retry of a layer above.
      auto& layers_seen = layers_seen_[c.key];
      layers_seen.erase(std::find(layers_seen.begin(), layers_seen.end(), id),
                        layers_seen.end());
      layers_seen.push_back(id);
      return calm_ || below(4) > 0 ? decision::pass()
                                   : decision::hold(time_after(e.now, time()));
    };
    l.machine().on_complete = [this](auto&, auto&, outcome& o, env& e) {
      return calm_ || o.ok || below(2) > 0
               ? decision::pass()
               : decision::hold(time_after(e.now, time()));
    };
    return l;
  }

  // The layers that go on keep their identity, so the book needs to know which
  // those are: all whose name the present stack has, as names keep their order.
  puppets stack() {
    puppets out;
    std::vector<int> ids;
    std::map<std::string, int> named;
    std::set<int> in_force;
    for (std::size_t i = 0; i < std::size(names); ++i) {
      if (below(2) == 0)
        continue;
      auto id = ++last_;
      add(out, names[i], id);
      auto old = named_.find(names[i]);
      auto goes_on = old != named_.end() && below(4) > 0;
      afresh_.push_back(!goes_on);
      named[names[i]] = goes_on ? old->second : id;
      ids.push_back(named[names[i]]);
    }
    in_force_ = {ids.begin(), ids.end()};
    named_ = std::move(named);
    present_ = std::move(ids);
    return out;
  }

  duration time() { return std::chrono::milliseconds(below(4)); }

  void happen() {
    switch (below(8)) {
      case 0: {
        afresh_.clear();
        auto before = std::tuple{named_, present_, in_force_};
        auto next = stack();
        auto changes = world_->swap(std::move(next), afresh_);
        // There was no room.
        if (!changes.empty() && changes[0].starts_with("calls that began"))
          std::tie(named_, present_, in_force_) = before;
        return;
      }
      case 1:
      case 2:
      case 3: {
        auto key = "call " + std::to_string(calls_++);
        stacks_[key] = present_;
        layers_seen_[key] = {};
        world_->call("x", {.idempotent = idempotence::yes, .key = key});
        return;
      }
      case 4:
      case 5:
        return world_->at(world_->now() + time());
      default:
        if (open_ == world_->attempts.size())
          return;
        if (below(3) == 0)
          world_->fail(open_++);
        else
          world_->answer(open_++, "y");
        return;
    }
  }

  static constexpr const char* names[] = {"a", "b", "c", "d", "e", "f"};

  random_source random_;
  bool calm_ = false;
  int last_ = 0;
  int calls_ = 0;
  /// The first attempt without an answer.
  std::size_t open_ = 0;
  std::map<std::string, int> named_;
  std::vector<int> present_;
  std::vector<bool> afresh_;
  std::set<int> alive_;
  std::set<int> in_force_;
  std::map<std::string, std::vector<int>> stacks_;
  std::map<std::string, std::vector<int>> layers_seen_;
  std::optional<engine_world> world_;
};

RC_GTEST_PROP(random_swaps, each_call_meets_the_stack_with_which_it_began, ()) {
  auto seed = *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>());
  {
    swap_life life{seed};
    life.play();
  }
  RC_ASSERT(!testing::Test::HasFailure());
}

} // namespace
} // namespace caisson::test
