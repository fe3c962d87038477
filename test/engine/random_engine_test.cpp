// Random policies in random stacks under random events.
#include <support/child_policies.hpp>
#include <support/engine_world.hpp>
#include <support/random_policy.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

/// The layer of a random policy.
class random_layer final : public layer {
public:
  /// It is in `all` as long as it lives, and leaves nothing unresolved unless
  /// its engine has `ended`.
  random_layer(std::string name, std::uint64_t seed,
               std::set<random_policy*>& all, const bool& ended)
    : layer(std::move(name), mode::enforce), machine_(seed), random_(~seed),
      all_(all), ended_(ended) {
    all_.insert(&machine_);
  }

  ~random_layer() override {
    all_.erase(&machine_);
    EXPECT_TRUE(ended_ || machine_.left() == 0) << "dropped with calls";
  }

  random_policy& machine() override { return machine_; }
  problems change(const settings&, env&) override { return {}; }
  [[nodiscard]] std::vector<field_row> config_rows() const override {
    return {};
  }
  [[nodiscard]] bool is_compatible(const layer&) const override { return true; }
  // Children of requests for permits would have no content.
  [[nodiscard]] bool handles_content() const override { return true; }

  std::optional<caf::message> prefilter(const caf::message&, env& e) override {
    if (random_.below(60) == 0)
      e.callback_threw("prefilter", "x");
    if (random_.below(20) == 0)
      return text("filtered");
    return std::nullopt;
  }

  caf::message child_content(call_id, std::vector<caf::message> parents,
                             env& e) override {
    if (random_.below(60) == 0)
      e.callback_threw("content", "x");
    return caf::make_message(batch{std::move(parents)});
  }

  std::optional<std::vector<caf::message>>
  split(call_id, caf::message&, std::size_t n, env& e) override {
    if (random_.below(60) == 0)
      e.callback_threw("split", "x");
    if (random_.below(2) == 0)
      return std::nullopt;
    return std::vector<caf::message>(random_.below(n + 2), text("part"));
  }

  [[nodiscard]] std::vector<caf::actor> targets() const override {
    return std::vector<caf::actor>(random_policy::targets);
  }

  [[nodiscard]] caf::message value(std::uint64_t) const override {
    return text("value");
  }

private:
  random_policy machine_;
  random_source random_;
  std::set<random_policy*>& all_;
  const bool& ended_;
};

/// One world, and what happens in it.
class random_life {
public:
  explicit random_life(std::uint64_t seed) : random_(seed) {
    auto stack = layers();
    first_targets_ = stack.size() * random_policy::targets;
    world_.emplace(std::move(stack), setup());
  }

  /// Plays, and lets everything come to its end.
  void play() {
    for (auto n = 20 + below(100); n > 0 && !ended_; --n)
      happen();
    if (ended_)
      return check_dead_letters();
    for (auto* p : policies_)
      p->calm();
    world_->at(world_->now() + 10s);
    // The default deadline is gone where one of a layer's took its place, so
    // that some may wait for ever.
    for (std::uint64_t caller = 1; caller <= 4; ++caller)
      for (std::size_t n = 1; n <= calls_; ++n)
        world_->cancel(caller, n);
    // Nobody can take a plain send back.
    if (world_->live() > 0 && !sent_.empty()) {
      ended_ = true;
      world_->stop();
      return check_dead_letters();
    }
    EXPECT_EQ(world_->live(), 0u);
    for (auto* p : policies_)
      EXPECT_EQ(p->left(), 0u);
    EXPECT_EQ(policies_.size(), in_force_) << "a layer is left over";
    check_may_have_executed();
    check_dead_letters();
  }

private:
  static constexpr const char* names[] = {"a", "b", "c", "d"};

  // Up to three of those that there can be, in any order.
  std::vector<std::unique_ptr<layer>> layers() {
    std::vector<std::string> left(std::begin(names), std::end(names));
    std::vector<std::unique_ptr<layer>> out;
    for (auto n = below(4); n > 0; --n) {
      auto i = left.begin() + static_cast<std::ptrdiff_t>(below(left.size()));
      out.push_back(std::make_unique<random_layer>(
        std::move(*i), random_.bits(), policies_, ended_));
      left.erase(i);
    }
    in_force_ = out.size();
    return out;
  }

  void swap() {
    auto next = layers();
    std::vector<bool> afresh;
    for (std::size_t i = 0; i < next.size(); ++i)
      afresh.push_back(chance(20));
    world_->swap(std::move(next), std::move(afresh));
  }

  std::uint64_t below(std::uint64_t n) { return random_.below(n); }
  bool chance(unsigned percent) { return below(100) < percent; }

  detail::target_info info() {
    return {.keeps_deadlines = chance(30),
            .takes_calls = chance(60),
            .takes_cancelled = chance(50)};
  }

  world_setup setup() {
    world_setup s;
    s.config.default_deadline = 100ms;
    s.start = chance(50)   ? behind::worker
              : chance(80) ? behind::supervised
                           : behind::dead_worker;
    s.worker = info();
    s.target = info();
    s.supervision.restart = schedule::constant(chance(50) ? 0ms : 3ms);
    s.supervision.on_give_up = give_up_action::refuse;
    s.supervision.lifetime = chance(70)   ? worker_lifetime::permanent
                             : chance(80) ? worker_lifetime::transient
                                          : worker_lifetime::temporary;
    s.seed = random_.bits();
    s.exact_timers = chance(50);
    s.listens = chance(30);
    s.makes_slowly = chance(20);
    if (chance(60))
      s.dead_letters = chance(50) ? dead_letter_calls::all
                                  : dead_letter_calls::plain_sends;
    letters_ = s.dead_letters;
    slowly_ = s.makes_slowly && s.start == behind::supervised;
    return s;
  }

  void happen() {
    switch (below(17)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return call();
      case 4:
        return acquire();
      case 5:
      case 6:
      case 7:
      case 8:
        return answer();
      case 9:
      case 10:
        return world_->at(world_->now() + time());
      case 11:
        return world_->jump(world_->now() + time());
      case 12:
        return world_->cancel(1 + below(4), 1 + below(calls_ + 1));
      case 13:
        return world_->caller_down(1 + below(4));
      case 14:
        return operate();
      case 15:
        return swap();
      default:
        return strike();
    }
  }

  duration time() { return std::chrono::microseconds(below(10) * 700); }

  void call() {
    call_options o;
    if (chance(70))
      o.time_left = std::chrono::milliseconds(1 + below(40));
    o.idempotent = static_cast<idempotence>(below(3));
    o.priority = static_cast<std::int32_t>(below(3));
    o.permits = static_cast<std::uint32_t>(below(3));
    if (chance(50))
      o.key = chance(50) ? "k" : "l";
    if (chance(10)) {
      sent_.push_back(fmt::format("send {}.", calls_));
      world_->send(sent_.back());
      ++calls_;
      return;
    }
    texts_.emplace_back(calls_, fmt::format("call {}.", calls_));
    world_->call(texts_.back().second, std::move(o), 1 + below(4));
    ++calls_;
  }

  void acquire() {
    auto n = world_->acquire_permit({.time_left = time() + 1ms}, 1 + below(4));
    ++calls_;
    if (auto id = world_->permit_of(n); id != 0)
      permits_.push_back(id);
    if (!permits_.empty() && chance(50)) {
      world_->release_permit(permits_[below(permits_.size())], chance(50));
      ++calls_;
    }
  }

  void answer() {
    auto all = world_->attempts.size();
    if (all == 0)
      return;
    // Mostly one of the latest, which may be answered already.
    auto n = all - 1 - below(chance(90) ? std::min<std::size_t>(all, 6) : all);
    switch (below(4)) {
      case 0:
        return world_->fail(n);
      case 1:
        return world_->answer(n, caf::make_message(make_error(errc::shed)));
      default:
        return world_->answer(n, "good");
    }
  }

  void operate() {
    static constexpr operator_command some[] = {
      operator_command::off, operator_command::enable,
      operator_command::observe, operator_command::reset};
    world_->command(some[below(4)], names[below(std::size(names))]);
  }

  void strike() {
    switch (below(12)) {
      case 0:
      case 1:
        return world_->kill(0, "killed", static_cast<actor_end>(below(3)));
      case 2:
        if (first_targets_ > 0)
          world_->kill(1 + static_cast<std::uint32_t>(below(first_targets_)));
        return;
      case 3:
        world_->drain();
        ++calls_;
        return;
      case 4:
        ended_ = true;
        return world_->stop();
      default:
        if (slowly_ && world_->awaits_worker())
          world_->worker_made(chance(30) ? "no" : "");
        return;
    }
  }

  /// Nobody whose content was sent to anybody gets that it was not.
  void check_may_have_executed() {
    for (const auto& [number, content] : texts_) {
      const auto& answer = world_->answer_to(number);
      if (answer.find(" by ") == std::string::npos
          || answer.find(", executed") != std::string::npos)
        continue;
      for (const auto& x : world_->attempts)
        EXPECT_EQ(words_of(x.content).find(content), std::string::npos)
          << "call " << number << " = " << answer;
    }
  }

  /// Each call that has failed and was not taken back is one, once.
  void check_dead_letters() {
    std::map<std::string, int> found;
    for (const auto& x : world_->letters)
      ++found[words_of(x.content)];
    auto expected_letters = 0;
    for (const auto& [number, content] : texts_) {
      const auto& answer = world_->answer_to(number);
      auto good = std::set<std::string>{"good", "filtered", "part", "value"}
                    .contains(answer);
      auto unknown = ended_ && answer.starts_with("cancelled by gate");
      auto failed = letters_ == dead_letter_calls::all && !good
                    && !answer.starts_with("cancelled by gate");
      if (!unknown) {
        EXPECT_EQ(found[content], failed ? 1 : 0) << content << answer;
      }
      expected_letters += found[content];
    }
    for (const auto& content : sent_) {
      EXPECT_LE(found[content], letters_ ? 1 : 0) << content;
      expected_letters += found[content];
    }
    // There are no others, such as children.
    EXPECT_EQ(world_->letters.size(),
              static_cast<std::size_t>(expected_letters));
    if (!ended_) {
      EXPECT_EQ(world_->metric("dead_letters"), expected_letters);
    }
  }

  random_source random_;
  std::set<random_policy*> policies_;
  std::vector<std::string> sent_;
  std::optional<dead_letter_calls> letters_;
  std::size_t in_force_ = 0;
  std::size_t first_targets_ = 0;
  std::vector<std::pair<std::size_t, std::string>> texts_;
  std::vector<std::uint64_t> permits_;
  std::size_t calls_ = 0;
  bool slowly_ = false;
  bool ended_ = false;
  std::optional<engine_world> world_;
};

RC_GTEST_PROP(random_engine, keeps_its_promises, ()) {
  auto seed = *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>());
  {
    random_life life{seed};
    life.play();
  }
  // The world reports what went wrong; the seed, by RapidCheck.
  RC_ASSERT(!testing::Test::HasFailure());
}

} // namespace
} // namespace caisson::test
