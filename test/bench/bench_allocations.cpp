// Counts allocations of memory for a call, directly and through gates.
#include <caisson/gate.hpp>
#include <caisson/local_gate.hpp>
#include <caisson/testing/virtual_time.hpp>

#include <fmt/format.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

using namespace std::chrono_literals;

namespace {

// Everything here runs on one thread.
std::size_t allocations = 0;

void* allocate(std::size_t n) {
  ++allocations;
  if (auto* x = std::malloc(n > 0 ? n : 1))
    return x;
  throw std::bad_alloc{};
}

} // namespace

void* operator new(std::size_t n) {
  return allocate(n);
}
void* operator new[](std::size_t n) {
  return allocate(n);
}
void operator delete(void* x) noexcept {
  std::free(x);
}
void operator delete[](void* x) noexcept {
  std::free(x);
}
void operator delete(void* x, std::size_t) noexcept {
  std::free(x);
}
void operator delete[](void* x, std::size_t) noexcept {
  std::free(x);
}

namespace caisson::bench {
namespace {

constexpr int calls = 10'000;

caf::behavior doubler() {
  return {[](int x) { return 2 * x; }};
}

stack five_layers() {
  return stack{}
    .deadline({.timeout = 10s})
    .retrier({.max_attempts = 3, .idempotent = true})
    .breaker({.threshold = 5})
    .limiter({.rate = 1'000'000'000, .burst = 1'000'000})
    .semaphore({.permits = 100'000});
}

// Makes one request after the other, once it is asked to.
class client final : public caf::event_based_actor {
public:
  client(caf::actor_config& cfg, caf::actor to, std::optional<stack> local)
    : caf::event_based_actor(cfg), to_(std::move(to)) {
    if (local)
      gate_.emplace(this, worker{to_}, *std::move(local));
  }

  caf::behavior make_behavior() override {
    return {[this](int n) {
      left_ = n;
      next();
    }};
  }

private:
  void next() {
    if (left_-- == 0)
      return;
    auto good = [this](int) { next(); };
    auto bad = [](caf::error&) { std::exit(1); };
    if (gate_)
      gate_->request(1).then(good, bad);
    else
      portable::ask(this, to_, portable::no_timeout, 1).then(good, bad);
  }

  caf::actor to_;
  std::optional<local_gate<>> gate_;
  int left_ = 0;
};

// Allocations per call, after as many calls that warm up what is kept.
double measure(std::optional<stack> gate, std::optional<stack> local) {
  virtual_time world;
  auto service = world.system().spawn(doubler);
  auto to = gate ? caf::actor{spawn_gate(world, worker{service}, *gate)}
                 : service;
  auto asks = world.system().spawn<client>(to, std::move(local));
  auto play = [&] {
    caf::anon_send(asks, calls);
    world.run_until_idle();
  };
  play();
  auto before = allocations;
  play();
  return static_cast<double>(allocations - before) / calls;
}

} // namespace
} // namespace caisson::bench

int main() {
  using namespace caisson;
  init_types();
  fmt::print("allocations per call, in virtual time\n\n");
  auto direct = bench::measure({}, {});
  fmt::print("{:<28} {:5.2f}\n", "direct", direct);
  auto show = [&](std::string_view name, double n) {
    fmt::print("{:<28} {:5.2f}, {:+.2f}\n", name, n, n - direct);
  };
  show("local gate, empty", bench::measure({}, stack{}));
  show("local gate, five layers", bench::measure({}, bench::five_layers()));
  show("gate, empty", bench::measure(stack{}, {}));
  show("gate, five layers", bench::measure(bench::five_layers(), {}));
}
