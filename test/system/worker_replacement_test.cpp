// Workers that a file replaces, on the real scheduler.
#include <caisson/gate/worker_kind.hpp>

#include <support/real_gates.hpp>

#include <atomic>
#include <chrono>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <utility>

using namespace std::chrono_literals;

namespace caisson::test {
namespace {

struct quay_config {
  std::string url = "old";
};

void describe(field_visitor& v, quay_config& c) {
  v.on({"url", "the server"}, c.url);
}

constexpr int stalling = 777;

/// The worker `old` fails at its first call; `new` is made when the test lets
/// it. An answer `stalling` stalls the gate until the test goes on.
class replaced_workers : public real_gates {
protected:
  replaced_workers() {
    auto make = [this](const quay_config& c, const supervision_config& s) {
      return worker::supervised(
               [this, url = c.url](
                 caf::actor_system& home) -> caf::expected<caf::actor> {
                 if (url == "new")
                   may_make.get_future().wait();
                 return home.spawn(work, this, url);
               },
               s)
        .on_own_thread()
        .classified_by([this](const caf::message& x) {
          auto* n = portable::get_if<int>(x);
          if (n && *n == stalling) {
            stalled.set_value();
            may_go_on.get_future().wait();
          }
          return std::optional<answer_info>{};
        });
    };
    names.add_kind(worker_kind::of<quay_config>("quay", make));
  }

  static caf::behavior work(caf::event_based_actor*, replaced_workers* test,
                            const std::string& url) {
    return {[=](int x) -> caf::result<int> {
      if (x == stalling)
        return x;
      if (url == "new") {
        ++test->at_new;
        return x;
      }
      if (++test->at_old == 1)
        return caf::make_error(caf::sec::runtime_error);
      return x;
    }};
  }

  void write_url(const std::string& url) {
    write("[gates.a]\nworker = { kind = 'quay', url = '" + url
          + "' }\n"
            "layer = [{ kind = 'retrier', backoff = '200ms', "
            "idempotent = true }]\n");
  }

  std::promise<void> may_make, stalled, may_go_on;
  std::atomic<int> at_old{0}, at_new{0};
};

// Its time has come, and so has the new worker, while the gate was busy.
TEST_F(replaced_workers, get_the_retries_that_are_overdue) {
  write_url("old");
  gates = spawn_gates(*sys, dir / "gates.toml", names);
  auto a = gates.find("a");
  while (look(a).worker != worker_state::up)
    std::this_thread::yield();
  std::promise<int> answered;
  auto ask = [&](int x) {
    sys->spawn([&, x](caf::event_based_actor* self) {
      portable::ask(self, a, patience, x)
        .then(
          [&](int y) {
            if (y != stalling)
              answered.set_value(y);
          },
          [&](const caf::error&) { answered.set_value(-1); });
    });
  };
  ask(1);
  while (at_old == 0)
    std::this_thread::yield();
  write_url("new");
  EXPECT_TRUE(load().ok());
  ask(stalling);
  stalled.get_future().wait();
  may_make.set_value();
  std::this_thread::sleep_for(300ms);
  may_go_on.set_value();
  EXPECT_EQ(answered.get_future().get(), 1);
  EXPECT_EQ(at_old, 2);
  EXPECT_EQ(at_new, 0);
  gates.stop();
}

} // namespace
} // namespace caisson::test
