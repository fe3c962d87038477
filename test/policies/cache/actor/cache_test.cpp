// Caches in gates and in local gates.
#include <caisson/stack/layers/cache_layer.hpp>

#include <support/both_hosts.hpp>
#include <support/scratch.hpp>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace caisson::test {
namespace {

using namespace std::chrono_literals;

using strings = std::vector<std::string>;

/// `get:NAME` reads the key NAME, `put:NAME` changes it, `odd` throws.
cache_forms by_name() {
  auto name_after = [](std::string verb) {
    return [=](const caf::message& x) -> std::optional<std::string> {
      auto* text = portable::get_if<std::string>(x);
      if (text && *text == "odd")
        throw std::runtime_error{"odd"};
      if (!text || !text->starts_with(verb))
        return std::nullopt;
      return text->substr(verb.size());
    };
  };
  return {.key = name_after("get:"), .invalidates = name_after("put:")};
}

class cache_test : public both_hosts {
protected:
  using both_hosts::host;

  caf::actor host(const scripted_worker& w, cache_config c = {},
                  cache_forms forms = by_name()) {
    return host(w.handle(), stack{}.cache(std::move(c), std::move(forms)));
  }

  std::int64_t count(const caf::actor& g, const std::string& name) {
    return look(g).metric("cache", name);
  }

  /// Large in one order of messages only, as each takes seconds.
  static int call_count() {
    return std::get<1>(GetParam()) == 0 ? 10'000 : 100;
  }

  pending_answer ask(const caf::actor& g, std::string text) {
    return world.request(g, std::move(text));
  }
};
CAISSON_BOTH_HOSTS(cache_test, 4);

/// Counts its messages, and answers with the number.
scripted_worker::script counting() {
  return [n = std::make_shared<int>()](const caf::message&) {
    return std::optional{caf::make_message(++*n)};
  };
}

TEST_P(cache_test, ten_thousand_callers_make_one_call) {
  auto w = make_worker();
  auto g = host(w);
  std::vector<pending_answer> all;
  for (int i = 0; i < call_count(); ++i)
    all.push_back(ask(g, "get:k"));
  ASSERT_EQ(w.count(), 1u);
  w.answer(std::string{"v"});
  for (auto& x : all)
    ASSERT_EQ(x.value<std::string>(), "v");
  EXPECT_EQ(ask(g, "get:k").value<std::string>(), "v");
  EXPECT_EQ(w.count(), 1u);
}

TEST_P(cache_test, ten_thousand_callers_share_one_failure) {
  auto w = make_worker();
  auto g = host(w);
  std::vector<pending_answer> all;
  for (int i = 0; i < call_count(); ++i)
    all.push_back(ask(g, "get:k"));
  w.fail(caf::make_error(caf::sec::end_of_stream));
  for (auto& x : all)
    ASSERT_EQ(x.error(), caf::sec::end_of_stream);
  EXPECT_EQ(count(g, "loading"), 0);
}

TEST_P(cache_test, all_are_answered_if_the_worker_dies) {
  auto w = make_worker();
  auto g = host(w);
  auto a = ask(g, "get:k");
  auto b = ask(g, "get:k");
  world.kill(w.handle());
  EXPECT_TRUE(a.is(errc::worker_down));
  EXPECT_TRUE(b.is(errc::worker_down));
}

TEST_P(cache_test, an_old_value_outlives_the_worker) {
  auto w = make_worker(counting());
  auto g = host(w, {.ttl = 1s, .stale_if_error = 1h});
  EXPECT_EQ(ask(g, "get:k").value<int>(), 1);
  world.kill(w.handle());
  world.advance(1s);
  EXPECT_EQ(ask(g, "get:k").value<int>(), 1);
  EXPECT_TRUE(ask(g, "get:l").is(errc::worker_down));
  EXPECT_EQ(count(g, "stale_on_error"), 1);
}

TEST_P(cache_test, answers_at_once_while_it_refreshes) {
  auto w = make_worker(counting());
  auto g = host(w, {.ttl = 1s, .stale_while = 1s});
  ask(g, "get:k");
  world.advance(1s);
  EXPECT_EQ(ask(g, "get:k").value<int>(), 1);
  EXPECT_EQ(w.count(), 2u);
  EXPECT_EQ(w.received_as<std::string>(), (strings{"get:k", "get:k"}));
  EXPECT_EQ(ask(g, "get:k").value<int>(), 2);
  EXPECT_EQ(w.count(), 2u);
}

TEST_P(cache_test, other_messages_and_changes_go_to_the_worker) {
  auto w = make_worker(counting());
  auto g = host(w);
  EXPECT_EQ(ask(g, "get:k").value<int>(), 1);
  EXPECT_EQ(ask(g, "list").value<int>(), 2);
  EXPECT_EQ(ask(g, "get:k").value<int>(), 1);
  EXPECT_EQ(ask(g, "put:k").value<int>(), 3);
  EXPECT_EQ(ask(g, "get:k").value<int>(), 4);
  EXPECT_EQ(count(g, "invalidated"), 1);
  EXPECT_EQ(count(g, "bypassed"), 1);
}

TEST_P(cache_test, a_function_that_throws_makes_its_call_bypass_the_cache) {
  auto w = make_worker(counting());
  auto g = host(w);
  EXPECT_EQ(ask(g, "odd").value<int>(), 1);
  EXPECT_EQ(ask(g, "odd").value<int>(), 2);
  EXPECT_EQ(count(g, "callbacks_failed"), 2);
  EXPECT_EQ(count(g, "bypassed"), 2);
}

TEST_P(cache_test, begins_with_what_it_is_given) {
  auto w = make_worker(counting());
  auto forms = by_name();
  forms.preheat = [] {
    std::vector<std::pair<std::string, caf::message>> all;
    for (const auto* key : {"a", "b", "c"})
      all.emplace_back(key, caf::make_message(-1));
    return all;
  };
  auto g = host(w, {.max_entries = 2}, forms);
  EXPECT_EQ(ask(g, "get:a").value<int>(), -1);
  EXPECT_EQ(ask(g, "get:b").value<int>(), -1);
  EXPECT_EQ(ask(g, "get:c").value<int>(), 1);
}

// Lines such as `a=7`; those that begin with `#` are left out.
std::optional<cache_forms::entries::value_type>
name_and_number(std::string_view line) {
  if (line.starts_with("#"))
    return std::nullopt;
  auto at = line.find('=');
  if (at == line.npos)
    throw std::invalid_argument{"no ="};
  return std::pair{
    std::string{line.substr(0, at)},
    caf::make_message(std::stoi(std::string{line.substr(at + 1)}))};
}

TEST_P(cache_test, begins_with_what_is_in_a_file) {
  scratch_dir dir;
  auto w = make_worker(counting());
  auto forms = by_name();
  forms.preheat = cache_forms::from_file(
    dir.write("all.txt", "# names\na=-1\nb=-2").string(), name_and_number);
  auto g = host(w, {}, forms);
  EXPECT_EQ(ask(g, "get:a").value<int>(), -1);
  EXPECT_EQ(ask(g, "get:b").value<int>(), -2);
  EXPECT_EQ(ask(g, "get:c").value<int>(), 1);
  EXPECT_EQ(count(g, "preheated"), 2);
}

TEST(cache_forms, say_what_is_wrong_with_a_file) {
  scratch_dir dir;
  auto complaint_about = [](const std::filesystem::path& path) -> std::string {
    try {
      cache_forms::from_file(path.string(), name_and_number)();
      return {};
    } catch (const std::runtime_error& e) {
      return e.what();
    }
  };
  auto bad = dir.write("bad.txt", "a=1\nb\n");
  EXPECT_EQ(complaint_about(bad), bad.string() + ":2: no =");
  for (const auto& path : {dir / "missing", dir.path()})
    EXPECT_EQ(complaint_about(path), "cannot read " + path.string());
  EXPECT_EQ(complaint_about(dir.write("empty", "")), "");
}

TEST_P(cache_test, does_without_a_beginning_that_throws) {
  auto w = make_worker(counting());
  auto forms = by_name();
  forms.preheat = []() -> std::vector<std::pair<std::string, caf::message>> {
    throw std::runtime_error{"no file"};
  };
  auto g = host(w, {}, forms);
  EXPECT_EQ(ask(g, "get:a").value<int>(), 1);
  EXPECT_EQ(ask(g, "get:a").value<int>(), 1);
  EXPECT_EQ(count(g, "callbacks_failed"), 1);
}

TEST_P(cache_test, goes_by_the_key_of_the_call_without_a_function) {
  auto w = make_worker(counting());
  auto g = host(w, {}, {});
  EXPECT_EQ(world.request(g, wrap(1).key("k")).value<int>(), 1);
  EXPECT_EQ(world.request(g, wrap(2).key("k")).value<int>(), 1);
  EXPECT_EQ(world.request(g, wrap(2)).value<int>(), 2);
  EXPECT_EQ(world.request(g, wrap(2)).value<int>(), 3);
}

TEST_P(cache_test, reset_empties_it) {
  auto w = make_worker(counting());
  auto g = host(w);
  ask(g, "get:k");
  world.request(g, command{operator_command::reset, "cache"});
  EXPECT_EQ(ask(g, "get:k").value<int>(), 2);
}

TEST_P(cache_test, a_breaker_below_counts_calls_to_the_worker_only) {
  auto w = make_worker(counting());
  auto g = host(w.handle(),
                stack{}
                  .cache({.ttl = 1s, .stale_if_error = 1h}, by_name())
                  .breaker({.threshold = 1}));
  for (int i = 0; i < 5; ++i)
    ask(g, "get:k");
  auto s = world.request(g, get_status{}).value<status>();
  EXPECT_EQ(s.metric("breaker", "successes"), 1);
  world.advance(1s);
  w.plan(scripted_worker::reply::error(caf::sec::runtime_error));
  EXPECT_EQ(ask(g, "get:k").value<int>(), 1);
  // The next one is refused by the breaker.
  world.advance(1s);
  EXPECT_EQ(ask(g, "get:k").value<int>(), 1);
  EXPECT_TRUE(ask(g, "get:l").is(errc::breaker_open));
}

// -- with other layers --------------------------------------------------------

TEST_P(cache_test, each_caller_has_his_own_deadline) {
  auto w = make_worker();
  auto g = host(w.handle(),
                stack{}.deadline({.timeout = 1s}).cache({}, by_name()));
  auto a = ask(g, "get:k");
  world.advance(500ms);
  auto b = ask(g, "get:k");
  world.advance(500ms);
  EXPECT_TRUE(a.is(errc::deadline_exceeded));
  EXPECT_FALSE(b.ready());
  world.advance(100ms);
  w.answer(std::string{"v"});
  EXPECT_EQ(b.value<std::string>(), "v");
  EXPECT_EQ(a.count() + b.count(), 2u);
  EXPECT_EQ(w.count(), 1u);
}

TEST_P(cache_test, a_refresh_is_as_repeatable_as_its_call) {
  auto w = make_worker(counting());
  auto g = host(w.handle(), stack{}
                              .cache({.ttl = 1s, .stale_while = 1h}, by_name())
                              .retrier({.backoff = schedule::constant(1s)}));
  ask(g, "get:k");
  world.advance(1s);
  w.plan(scripted_worker::reply::error(caf::sec::runtime_error));
  auto marked = wrap(std::string{"get:k"}).idempotent();
  EXPECT_EQ(world.request(g, marked).value<int>(), 1);
  world.advance(1s);
  EXPECT_EQ(count(g, "refreshed"), 1);
  EXPECT_EQ(ask(g, "get:k").value<int>(), 2);
}

TEST_P(cache_test, loads_are_items_of_a_batcher_below) {
  auto w = make_worker(scripted_worker::on<batch>([](const batch& x) {
    batch_reply out;
    for (const auto& item : x.items)
      out.results.push_back(item);
    return out;
  }));
  auto g = host(
    w.handle(),
    stack{}.cache({}, by_name()).batcher({.max_items = 2, .max_delay = 1h}));
  auto a = ask(g, "get:k");
  auto b = ask(g, "get:k");
  auto c = ask(g, "get:l");
  EXPECT_EQ(a.value<std::string>(), "get:k");
  EXPECT_EQ(b.value<std::string>(), "get:k");
  EXPECT_EQ(c.value<std::string>(), "get:l");
  EXPECT_EQ(ask(g, "get:l").value<std::string>(), "get:l");
  EXPECT_EQ(w.count(), 1u);
}

TEST_P(cache_test, a_classifier_that_throws_ends_the_current_calls_only) {
  auto w = make_worker(counting());
  cache_config c{.ttl = 1s, .stale_if_error = 1h};
  c.failures.by_value = [](const outcome&) -> verdict {
    throw std::runtime_error{"odd"};
  };
  auto g = host(w, c);
  ask(g, "get:k");
  world.advance(1s);
  w.plan(scripted_worker::reply::error(caf::sec::runtime_error));
  EXPECT_TRUE(ask(g, "get:k").is(errc::callback_failed));
  EXPECT_EQ(ask(g, "get:k").value<int>(), 2);
  EXPECT_EQ(count(g, "loading"), 0);
  EXPECT_EQ(count(g, "keys"), 1);
}

TEST_P(cache_test, an_error_that_cannot_be_judged_is_not_kept) {
  auto w = make_worker();
  cache_config c{.negative_ttl = 1h};
  c.negative.by_value = [](const outcome&) -> verdict {
    throw std::runtime_error{"odd"};
  };
  auto g = host(w, c);
  auto a = ask(g, "get:k");
  auto b = ask(g, "get:k");
  w.fail(caf::make_error(caf::sec::runtime_error));
  EXPECT_TRUE(a.is(errc::callback_failed));
  EXPECT_TRUE(b.is(errc::callback_failed));
  EXPECT_EQ(count(g, "keys"), 0);
}

// -- what callers may do ------------------------------------------------------

/// Asks when it is asked to, and changes each answer that it gets.
caf::behavior vandal(caf::event_based_actor* self, const caf::actor& g,
                     const std::shared_ptr<strings>& seen) {
  return {[=](int) {
    self->request(g, caf::infinite, std::string{"get:k"})
      .then([seen](std::string& x) {
        seen->push_back(x);
        x = "changed";
      });
  }};
}

TEST_P(cache_test, callers_cannot_change_what_others_get) {
  auto w = make_worker();
  auto g = host(w);
  auto seen = std::make_shared<strings>();
  for (int i = 0; i < 3; ++i)
    owned.push_back(world.system().spawn(vandal, g, seen));
  for (int i = 0; i < 3; ++i)
    world.send(owned[owned.size() - 1 - i], 1);
  w.answer(std::string{"v"});
  for (int i = 0; i < 3; ++i)
    world.send(owned.back(), 1);
  EXPECT_EQ(*seen, strings(6, "v"));
  EXPECT_EQ(w.count(), 1u);
}

/// The same with its own gate, from which answers come without a message.
class local_vandal final : public caf::event_based_actor {
public:
  local_vandal(caf::actor_config& cfg, caf::actor behind,
               std::shared_ptr<strings> seen)
    : caf::event_based_actor(cfg),
      gate_(this, std::move(behind), stack{}.cache({}, by_name())),
      seen_(std::move(seen)) {}

  caf::behavior make_behavior() override {
    return {[this](int) {
      gate_.request(std::string{"get:k"})
        .then(
          [this](std::string& x) {
            seen_->push_back(x);
            x = "changed";
          },
          [](caf::error&) { FAIL(); });
      seen_->emplace_back("asked");
    }};
  }

private:
  local_gate<> gate_;
  std::shared_ptr<strings> seen_;
};

TEST(local_cache, answers_within_the_request_what_nobody_has_changed) {
  virtual_time world;
  scripted_worker w{world, scripted_worker::always(std::string{"v"})};
  auto seen = std::make_shared<strings>();
  auto client = caf::actor_cast<caf::actor>(
    world.system().spawn<local_vandal>(w.handle(), seen));
  for (int i = 0; i < 3; ++i)
    world.send(client, 1);
  EXPECT_EQ(*seen, (strings{"asked", "v", "v", "asked", "v", "asked"}));
  EXPECT_EQ(w.count(), 1u);
  world.kill(client);
}

} // namespace
} // namespace caisson::test
