// The cost of a gate: the time per call through a gate, of its own or local,
// against that of a direct request of the same message, measured in turns
// within one run.
//
//   caisson_gate_ratio [ROUNDS [CALLS [SUBJECT]]]
//   caisson_gate_ratio --subjects
//
// With a SUBJECT only that one, on one thread, and nothing else; --subjects
// prints their names. The subject `direct` is always there.
#include <caisson/gate.hpp>
#include <caisson/local_gate.hpp>

#include <fmt/format.h>

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace {

struct query {
  std::uint64_t id = 0;
  std::string text;
};
CAISSON_MESSAGE(query, id, text)

} // namespace

CAF_BEGIN_TYPE_ID_BLOCK(bench, caisson::first_free_type_id)
CAF_ADD_TYPE_ID(bench, (query))
CAF_END_TYPE_ID_BLOCK(bench)

namespace {

using namespace caisson;

class echo final : public caf::event_based_actor {
public:
  using caf::event_based_actor::event_based_actor;
  caf::behavior make_behavior() override {
    return {[](const query& q) { return static_cast<int>(q.id & 0xff); }};
  }
};

// Answers a batch of queries with one result each.
class batch_echo final : public caf::event_based_actor {
public:
  using caf::event_based_actor::event_based_actor;
  caf::behavior make_behavior() override {
    return {[](batch& b) {
      batch_reply out;
      out.results.reserve(b.items.size());
      for (auto& item : b.items)
        out.results.push_back(
          caf::make_message(static_cast<int>(item.get_as<query>(0).id & 0xff)));
      return out;
    }};
  }
};

// Takes permits and gives them back, one after the other.
class leaser final : public caf::event_based_actor {
public:
  leaser(caf::actor_config& cfg, caf::actor desk, std::size_t total,
         std::promise<void>* finished)
    : caf::event_based_actor(cfg), desk_(std::move(desk)), left_(total),
      done_(finished) {}

  caf::behavior make_behavior() override {
    next();
    return {[](int) {}};
  }

private:
  void next() {
    if (left_-- == 0) {
      done_->set_value();
      return quit();
    }
    portable::ask(this, desk_, portable::no_timeout, acquire{})
      .then(
        [this](const permit& p) {
          portable::ask(this, desk_, portable::no_timeout, release{p.id})
            .then([this] { next(); }, [](caf::error&) { std::exit(1); });
        },
        [](caf::error&) { std::exit(1); });
  }

  caf::actor desk_;
  std::size_t left_;
  std::promise<void>* done_;
};

// Takes requests and keeps them, for the measurement of memory.
class sponge final : public caf::event_based_actor {
public:
  using caf::event_based_actor::event_based_actor;
  caf::behavior make_behavior() override {
    return {[this](const query&) -> caf::result<int> {
      auto p = make_response_promise<int>();
      kept_.push_back(p);
      return p;
    }};
  }
  void on_exit() override {
    for (auto& p : kept_)
      p.deliver(0);
    kept_.clear();
  }

private:
  std::vector<caf::typed_response_promise<int>> kept_;
};

// Whom a driver asks, and through what inside of it, if anything.
struct route {
  caf::actor to;
  std::optional<stack> local = {};
  /// The breaker of the local gate is forced open.
  bool refused = false;
};

// Keeps `window` requests in progress until `total` are answered.
class driver final : public caf::event_based_actor {
public:
  driver(caf::actor_config& cfg, const route& way, std::size_t window,
         std::size_t total, std::promise<void>* finished)
    : caf::event_based_actor(cfg), to_(way.to), window_(window), left_(total),
      done_(finished) {
    if (way.local)
      gate_.emplace(this, worker{way.to}, *way.local);
    if (way.refused && gate_->command(command{operator_command::force_open}))
      std::exit(1);
  }

  caf::behavior make_behavior() override {
    for (std::size_t i = 0; i < window_; ++i)
      next();
    return {[](int) {}};
  }

private:
  void next() {
    if (left_ == 0)
      return;
    --left_;
    ++open_;
    auto good = [this](int) { answered(); };
    auto bad = [this](caf::error& e) {
      // Refusals are what one of the measurements is about.
      if (e == errc::breaker_open)
        return answered();
      fmt::print("failed: {}\n", portable::render(system(), e));
      std::exit(1);
    };
    if (gate_)
      gate_->request(query{left_, "some text"}).then(good, bad);
    else
      portable::ask(this, to_, portable::no_timeout, query{left_, "some text"})
        .then(good, bad);
  }

  void answered() {
    --open_;
    next();
    if (open_ == 0) {
      done_->set_value();
      quit();
    }
  }

  caf::actor to_;
  std::optional<local_gate<>> gate_;
  std::size_t window_;
  std::size_t left_;
  std::size_t open_ = 0;
  std::promise<void>* done_;
};

double ns_per_call(caf::actor_system& sys, const route& way, std::size_t window,
                   std::size_t total) {
  std::promise<void> done;
  auto start = std::chrono::steady_clock::now();
  auto d = sys.spawn<driver>(way, window, total, &done);
  done.get_future().wait();
  auto took = std::chrono::steady_clock::now() - start;
  return std::chrono::duration<double, std::nano>(took).count()
         / static_cast<double>(total);
}

double median(std::vector<double> xs) {
  std::nth_element(xs.begin(), xs.begin() + static_cast<long>(xs.size() / 2),
                   xs.end());
  return xs[xs.size() / 2];
}

struct subject {
  std::string name;
  std::function<route(caf::actor_system&, const caf::actor&)> make;
};

stack roomy_stack() {
  return stack{}
    .deadline({.timeout = 10s})
    .retrier({.max_attempts = 3, .idempotent = true})
    .breaker({.threshold = 5})
    .limiter({.rate = 1'000'000'000, .burst = 1'000'000})
    .semaphore({.permits = 100'000});
}

// Answers every query but the first.
stack cached() {
  return stack{}.cache({.ttl = 24h}, cache_forms::keyed_by<query>(
                                       [](const query& q) { return q.text; }));
}

std::vector<subject> subjects() {
  auto through = [](stack s) {
    return [s](caf::actor_system& sys, const caf::actor& w) {
      return route{spawn_gate(sys, worker{w}, s)};
    };
  };
  auto local = [](stack s) {
    return [s](caf::actor_system&, const caf::actor& w) { return route{w, s}; };
  };
  return {
    {"local, empty", local(stack{})},
    {"local, stack of five", local(roomy_stack())},
    {"local, refused",
     [](caf::actor_system&, const caf::actor& w) {
       return route{w, stack{}.breaker(), true};
     }},
    {"local, answered by a cache", local(cached())},
    {"empty gate", through(stack{})},
    {"deadline", through(stack{}.deadline({.timeout = 10s}))},
    {"retrier", through(stack{}.retrier({.idempotent = true}))},
    {"breaker", through(stack{}.breaker({.threshold = 5}))},
    {"limiter",
     through(stack{}.limiter({.rate = 1'000'000'000, .burst = 1'000'000}))},
    {"semaphore", through(stack{}.semaphore({.permits = 100'000}))},
    {"fallback", through(stack{}.fallback({alternative::answer(1)}))},
    {"answered by a cache", through(cached())},
    {"fused stack of five", through(roomy_stack())},
    {"five chained gates",
     [](caf::actor_system& sys, const caf::actor& w) {
       auto at = spawn_semaphore(sys, worker{w}, {.permits = 100'000});
       at = spawn_limiter(sys, worker{at},
                          {.rate = 1'000'000'000, .burst = 1'000'000});
       at = spawn_breaker(sys, worker{at}, {.threshold = 5});
       at = spawn_retrier(sys, worker{at}, {.idempotent = true});
       return route{spawn_deadline(sys, worker{at}, {.timeout = 10s})};
     }},
  };
}

void print_times(caf::actor_system& sys, std::size_t rounds, std::size_t total,
                 const std::string& only) {
  auto w = sys.spawn<echo>();
  fmt::print("| {:26} | {:>20} | {:>20} | {:>20} |\n"
             "| --- | --- | --- | --- |\n",
             "in flight", "1", "16", "256");
  std::vector<std::size_t> windows{1, 16, 256};
  auto all = subjects();
  std::erase_if(
    all, [&](const subject& x) { return !only.empty() && x.name != only; });
  all.insert(all.begin(),
             {"direct", [](caf::actor_system&, const caf::actor& x) {
                return route{x};
              }});
  std::vector<route> gates;
  for (auto& s : all)
    gates.push_back(s.make(sys, w));
  // times[subject][window]: the subjects take turns, so that what else the
  // machine does hits all of them alike.
  std::vector<std::vector<double>> ratio(all.size()), ns(all.size());
  for (auto window : windows) {
    std::vector<std::vector<double>> t(all.size()), q(all.size());
    for (std::size_t r = 0; r < rounds; ++r) {
      for (std::size_t i = 0; i < all.size(); ++i)
        t[i].push_back(ns_per_call(sys, gates[i], window, total));
      for (std::size_t i = 0; i < all.size(); ++i)
        q[i].push_back(t[i].back() / t[0].back());
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      ns[i].push_back(median(t[i]));
      ratio[i].push_back(median(q[i]));
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    fmt::print("| {:26} |", all[i].name);
    for (std::size_t k = 0; k < windows.size(); ++k)
      fmt::print(" {:>10.0f} ns {:>5.2f}x |", ns[i][k], ratio[i][k]);
    fmt::print("\n");
  }
  for (const auto& x : gates)
    if (x.to != w)
      stop_gate(x.to);
  caf::anon_send_exit(w, caf::exit_reason::user_shutdown);
}

void print_others(caf::actor_system& sys, std::size_t total) {
  auto w = sys.spawn<echo>();
  auto open = spawn_breaker(sys, worker{w}, {.threshold = 5});
  {
    caf::scoped_actor self{sys};
    portable::ask_blocking(self, open, 5s,
                           command{operator_command::force_open})
      .receive([](const status&) {}, [](caf::error&) { std::exit(1); });
  }
  fmt::print("\nrequest refused by an open breaker: {:.0f} ns, 256 in flight "
             "(direct, answered: {:.0f} ns)\n",
             ns_per_call(sys, {open}, 256, total),
             ns_per_call(sys, {w}, 256, total));
  auto desk = spawn_semaphore(sys, worker{}, {.permits = 10});
  std::promise<void> done;
  auto start = std::chrono::steady_clock::now();
  sys.spawn<leaser>(desk, total, &done);
  done.get_future().wait();
  auto took = std::chrono::steady_clock::now() - start;
  fmt::print("acquire and release, one after the other: {:.0f} ns a pair\n",
             std::chrono::duration<double, std::nano>(took).count()
               / static_cast<double>(total));
  auto items = sys.spawn<batch_echo>();
  auto b = spawn_batcher(sys, worker{items},
                         {.max_items = 64, .max_delay = 1ms});
  fmt::print("batcher, 256 in flight, batches of 64: {:.0f} ns an item\n",
             ns_per_call(sys, {b}, 256, total));
  for (auto& x : {open, desk, b})
    stop_gate(x);
  caf::anon_send_exit(w, caf::exit_reason::user_shutdown);
  caf::anon_send_exit(items, caf::exit_reason::user_shutdown);
}

std::size_t heap_in_use() {
  return mallinfo2().uordblks;
}

// Bytes for each call that is in flight at the worker, in all actors together.
double bytes_per_call(caf::actor_system& sys, const subject& through,
                      std::size_t n) {
  auto w = caf::actor_cast<caf::actor>(sys.spawn<sponge>());
  auto way = through.make(sys, w);
  {
    // Warms up what is allocated once.
    caf::scoped_actor self{sys};
    portable::ask_blocking(self, way.to, 50ms, query{})
      .receive([](int) {}, [](caf::error&) {});
  }
  auto before = heap_in_use();
  std::promise<void> never_done;
  auto d = sys.spawn<driver>(way, n, n, &never_done);
  std::this_thread::sleep_for(1500ms);
  auto after = heap_in_use();
  caf::anon_send_exit(d, caf::exit_reason::kill);
  caf::anon_send_exit(way.to, caf::exit_reason::kill);
  caf::anon_send_exit(w, caf::exit_reason::kill);
  std::this_thread::sleep_for(500ms);
  return (static_cast<double>(after) - static_cast<double>(before))
         / static_cast<double>(n);
}

void print_bytes(caf::actor_system& sys) {
  constexpr std::size_t n = 50'000;
  auto direct = bytes_per_call(
    sys, {"direct", [](auto&, const caf::actor& w) { return route{w}; }}, n);
  fmt::print("\nmemory per call in flight: {:.0f} bytes direct", direct);
  for (auto& x : subjects())
    if (x.name.find("empty") != std::string::npos
        || x.name.find("stack") != std::string::npos)
      fmt::print(", {:.0f} more by {}", bytes_per_call(sys, x, n) - direct,
                 x.name);
  fmt::print("\n");
}

// One worker thread: what is compared is work, not how well it spreads. Two:
// what is left of the difference where caller and worker run at once.
void measure(std::size_t threads, std::size_t rounds, std::size_t total,
             const std::string& only) {
  system_config cfg;
  portable::add_types<caf::id_block::bench>(cfg);
  portable::set_threads(cfg, threads);
  caf::actor_system sys{cfg};
  fmt::print("\n{} worker thread{}: time per call, median of {} rounds; ratio "
             "to a direct request\n\n",
             threads, threads == 1 ? "" : "s", rounds);
  print_times(sys, rounds, total, only);
  if (threads != 1 || !only.empty())
    return;
  print_others(sys, total);
  print_bytes(sys);
}

} // namespace

int main(int argc, char** argv) {
  init_types();
  portable::init_types<caf::id_block::bench>();
  if (argc == 2 && argv[1] == std::string{"--subjects"}) {
    for (const auto& x : subjects())
      fmt::print("{}\n", x.name);
    return 0;
  }
  std::size_t rounds = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 7;
  std::size_t total = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 100'000;
  std::string only = argc > 3 ? argv[3] : "";
  measure(1, rounds, total, only);
  if (only.empty())
    measure(2, rounds, total, only);
}
