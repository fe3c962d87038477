// Random reloads, good and bad, among random calls.
#include <support/gate_sets.hpp>

#include <caisson/policy/policy_base.hpp>
#include <caisson/stack/policy_kinds.hpp>

#include <fmt/format.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

// -- a policy that notes by which settings it has judged ----------------------

/// Of each key: the layers that admitted the call, in order, with the number of
/// the configuration that they had.
std::map<std::string, std::vector<std::pair<std::string, std::int64_t>>> stamps;

/// Calls that are with a stamp.
int stamped = 0;

struct stamp_config {
  std::string name = {};
  caisson::mode mode = mode::enforce;
  std::int64_t number = 0;
};

void describe(field_visitor& v, stamp_config& c) {
  describe_common(v, c);
  v.on({"number", "of the configuration"}, c.number, {0, 1'000'000});
}

enum class stamp_counter : std::uint8_t { passed, count_ };

} // namespace
} // namespace caisson::test

template <>
struct caisson::enum_names<caisson::test::stamp_counter> {
  static constexpr std::string_view value[] = {"passed"};
};

namespace caisson::test {
namespace {

class stamp final : public policy_base<stamp, stamp_config, stamp_counter> {
public:
  static constexpr std::string_view kind_name = "stamp";

  explicit stamp(stamp_config c) : policy_base(std::move(c)) {}

  decision admit(call_info& c, slot&, env&) override {
    stamps[c.key].emplace_back(config_.name, config_.number);
    ++stamped;
    return decision::pass();
  }
  decision complete(call_info&, slot&, outcome&, env&) override {
    --stamped;
    return decision::pass();
  }
  void abandon(call_info&, slot&, const outcome&, bool, env&) override {
    --stamped;
  }
};

// -- one life -----------------------------------------------------------------

class reload_life {
public:
  explicit reload_life(std::uint64_t seed) : random_(seed), world_(seed) {
    if (!find_policy_kind("stamp"))
      add_policy_kind<stamp>();
    stamps.clear();
    stamped = 0;
    names_.add("worker", worker{worker_.handle()});
    dir_.write("gates.toml", good());
    gates_ = spawn_gates(world_, dir_ / "gates.toml", names_);
    gate_ = gates_.find("g");
    self_.emplace(world_.make_probe());
  }

  void play() {
    for (auto n = 30 + below(100); n > 0; --n)
      happen();
    while (worker_.open() > 0) {
      worker_.answer(1);
      world_.advance(20ms);
    }
    world_.advance(40s);
    for (std::size_t i = 0; i < answers_.size(); ++i)
      EXPECT_EQ(answers_[i].count(), 1u) << "call " << i;
    EXPECT_EQ(stamped, 0) << "admitted and not completed";
    check_permits();
    check_stamps();
    gates_ = {};
    world_.run_until_idle();
    world_.kill(worker_.handle());
    world_.run_until_idle();
    EXPECT_EQ(world_.actors(), 0u);
    EXPECT_EQ(world_.timers(), 0u);
  }

private:
  std::uint64_t below(std::uint64_t n) { return random_.below(n); }

  // Stamps of one number around layers that hold calls.
  std::string good() {
    ++number_;
    std::string out = "[gates.g]\nworker = 'worker'\n";
    auto add = [&](const std::string& text) {
      out += "[[gates.g.layer]]\n" + text + '\n';
    };
    auto add_stamp = [&](const char* name) {
      if (below(3) > 0)
        add(fmt::format("kind = 'stamp'\nname = '{}'\nnumber = {}", name,
                        number_));
    };
    add_stamp("a");
    if (below(2) == 0)
      add(fmt::format("kind = 'retrier'\nmax_attempts = {}\nbackoff = '5ms'",
                      1 + below(3)));
    add_stamp("b");
    add_stamp("c");
    if (below(2) == 0)
      add(fmt::format("kind = 'semaphore'\npermits = {}\nmax_waiters = 50\n"
                      "max_wait = '10s'",
                      1 + below(4)));
    add_stamp("d");
    if (below(3) == 0)
      add("kind = 'batcher'\nmax_items = 3\nmax_delay = '5ms'");
    add_stamp("e");
    if (below(4) == 0)
      out += "[gates.other]\nworker = 'worker'\n";
    return out;
  }

  std::string bad() {
    auto before = number_;
    auto text = good() + (below(2) == 0 ? "[gates.g.layer" : "[gates.x]\n");
    number_ = before;
    return text;
  }

  void reload_with(bool well) {
    dir_.write("gates.toml", well ? good() : bad());
    auto answer = self_->request(gates_.controller(), reload{});
    // Some come in the middle of calls.
    pending_.emplace_back(std::move(answer), well);
    if (below(2) == 0 || !well)
      world_.run_until_idle();
    if (!well) {
      ASSERT_EQ(pending_.back().first.count(), 1u);
      EXPECT_FALSE(pending_.back().first.value<reload_report>().ok());
    }
  }

  void happen() {
    switch (below(10)) {
      case 0:
        return reload_with(true);
      case 1:
        return reload_with(false);
      case 2:
      case 3:
      case 4: {
        auto key = fmt::format("call {}", answers_.size());
        answers_.push_back(
          self_->request(gate_, wrap(1).key(key).within(10s).idempotent()));
        if (below(3) == 0)
          world_.run_until_idle();
        return;
      }
      case 5:
        return world_.advance(std::chrono::milliseconds(below(8)));
      default:
        world_.run_until_idle();
        if (worker_.open() == 0)
          return;
        if (below(3) == 0)
          worker_.fail(caf::sec::runtime_error);
        else
          worker_.answer(1);
        return;
    }
  }

  void check_permits() {
    auto s = world_.request(gate_, get_status{}).value<status>();
    EXPECT_EQ(s.metric("in_progress"), 0);
    EXPECT_EQ(s.metric("leases"), 0);
    for (const auto& x : s.layers) {
      if (x.kind == "semaphore") {
        EXPECT_EQ(x.metrics.at("in_use"), 0);
      }
    }
  }

  // No layer before these holds a call that comes: it is judged by the settings
  // of one file. All attempts at it pass the layers with which it began.
  void check_stamps() {
    for (const auto& [key, all] : stamps) {
      std::vector<std::string> attempts{""};
      std::set<std::int64_t> numbers;
      for (const auto& [layer, number] : all) {
        if (layer > "c")
          continue;
        if (!attempts.back().empty()
            && layer <= attempts.back().substr(attempts.back().size() - 1))
          attempts.emplace_back();
        if (attempts.size() == 1)
          numbers.insert(number);
        attempts.back() += layer;
      }
      EXPECT_LE(numbers.size(), 1u) << key;
      // The outermost one is above the retrier.
      auto first = attempts[0];
      std::erase(first, 'a');
      for (std::size_t i = 1; i < attempts.size(); ++i)
        EXPECT_EQ(attempts[i], first) << key;
    }
  }

  random_source random_;
  virtual_time world_;
  scratch_dir dir_;
  worker_names names_;
  scripted_worker worker_{world_};
  gate_set gates_;
  control_handle gate_;
  std::optional<probe> self_;
  std::int64_t number_ = 0;
  std::vector<pending_answer> answers_;
  std::vector<std::pair<pending_answer, bool>> pending_;
};

RC_GTEST_PROP(random_reloads, lose_no_call_and_judge_none_by_half, ()) {
  auto seed = *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>());
  {
    reload_life life{seed};
    life.play();
  }
  RC_ASSERT(!testing::Test::HasFailure());
}

} // namespace
} // namespace caisson::test
