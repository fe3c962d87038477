#include "load.hpp"

#include <caisson/adapters/http_client/client.hpp>
#include <caisson/base/random.hpp>
#include <caisson/gate.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <fstream>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_set>
#include <utility>
#include <vector>

namespace shop {

namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;
using json = nlohmann::ordered_json;

/// How long a customer waits.
constexpr auto patience = 1s;

/// One in so many requests is an order; the others look at an item.
constexpr std::uint64_t order_share = 3;

struct visit {
  steady::duration at{};
  bool order = false;
  /// Who orders.
  std::uint64_t user = 0;
  std::string target;
};

struct outcome {
  bool answered = false;
  bool good = false;
  /// Whether it was an order of one who had bought something before.
  bool paying = false;
  steady::duration took{};
  std::string what;
};

std::vector<visit> draw(const arguments& args) {
  caisson::random_source random{args.seed};
  std::vector<visit> out;
  const auto mean = 1.0 / args.rate;
  for (double at = 0;;) {
    at += -std::log(1 - random.uniform()) * mean;
    if (at >= static_cast<double>(args.time.count()))
      return out;
    visit x;
    x.at = std::chrono::duration_cast<steady::duration>(
      std::chrono::duration<double>(at));
    x.order = random.below(order_share) == 0;
    auto item = std::to_string(1 + random.below(args.items));
    if (x.order)
      x.user = random.below(args.users);
    x.target = x.order ? fmt::format("/orders/{}/{}", x.user, item)
                       : "/items/" + item;
    out.push_back(std::move(x));
  }
}

/// Where answers are noted.
class notebook {
public:
  explicit notebook(std::size_t n) : all_(n) {}

  void note(std::size_t i, outcome x) {
    std::lock_guard guard{mutex_};
    if (all_[i].answered)
      ++twice_;
    all_[i] = std::move(x);
    all_[i].answered = true;
    if (++answered_ == all_.size())
      done_.notify_all();
  }

  /// All of them, or those that were answered by then.
  std::vector<outcome> wait(steady::time_point until) {
    std::unique_lock guard{mutex_};
    done_.wait_until(guard, until, [&] { return answered_ >= all_.size(); });
    return all_;
  }

  std::size_t twice() {
    std::lock_guard guard{mutex_};
    return twice_;
  }

private:
  std::mutex mutex_;
  std::condition_variable done_;
  std::vector<outcome> all_;
  std::size_t answered_ = 0;
  std::size_t twice_ = 0;
};

/// Sends a request when it gets its number.
class customers final : public caf::event_based_actor {
public:
  customers(caf::actor_config& cfg, caf::actor gate,
            const std::vector<visit>& all, notebook& notes,
            steady::time_point start)
    : caf::event_based_actor(cfg), gate_(std::move(gate)), all_(all),
      notes_(notes), start_(start) {}

  caf::behavior make_behavior() override {
    return {[this](std::uint64_t i) { send_request(i); }};
  }

private:
  void send_request(std::uint64_t i) {
    const auto& x = all_[i];
    caisson::http_request what{x.order ? "POST" : "GET", x.target};
    if (x.order)
      what.headers["idempotency-key"] = std::to_string(i);
    // From when it was to come, even if this process is late itself.
    auto due = start_ + x.at;
    auto paying = x.order && paying_.count(x.user) != 0;
    auto note = [this, i, due, paying](bool good, std::string text) {
      auto took = steady::now() - due;
      if (good && all_[i].order && took <= patience)
        paying_.insert(all_[i].user);
      notes_.note(i, {true, good, paying, took, std::move(text)});
    };
    auto left = std::max<steady::duration>(1ms, due + patience - steady::now());
    caisson::portable::ask(this, gate_, caisson::portable::no_timeout,
                           caisson::as_call(std::move(what)).within(left))
      .then(
        [note](const caisson::http_response& r) {
          note(r.status == 200, std::to_string(r.status));
        },
        [note](const caf::error& e) {
          auto* context = caisson::context_of(e);
          note(false, context
                        ? std::string{caisson::name_of(caisson::errc{e.code()})}
                        : "other error");
        });
  }

  caf::actor gate_;
  const std::vector<visit>& all_;
  notebook& notes_;
  steady::time_point start_;
  /// People who have bought something.
  std::unordered_set<std::uint64_t> paying_;
};

double ms(steady::duration d) {
  return std::chrono::duration<double, std::milli>(d).count();
}

std::size_t second_of(steady::duration d) {
  return static_cast<std::size_t>(
    std::chrono::duration_cast<std::chrono::seconds>(d).count());
}

// When they came, in seconds, so that a simulation can have the same customers.
// Those who pay are among those who order, too.
json arrivals_of(const std::vector<visit>& all,
                 const std::vector<outcome>& got) {
  json out{{"item", json::array()},
           {"order", json::array()},
           {"paying", json::array()}};
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto at = ms(all[i].at) / 1000;
    out[all[i].order ? "order" : "item"].push_back(at);
    if (got[i].paying)
      out["paying"].push_back(at);
  }
  return out;
}

// People who have ordered, and those of them who have bought something.
json people_of(const std::vector<visit>& all, const std::vector<outcome>& got) {
  std::unordered_set<std::uint64_t> ordered;
  std::unordered_set<std::uint64_t> bought;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].order)
      continue;
    ordered.insert(all[i].user);
    if (got[i].good && got[i].took <= patience)
      bought.insert(all[i].user);
  }
  return {{"ordered", ordered.size()}, {"bought", bought.size()}};
}

// Requests by the second in which they came; goodput by that of the answer.
json report(const arguments& args, const std::vector<visit>& all,
            const std::vector<outcome>& got, std::size_t twice,
            double started) {
  auto rows = json::array();
  const auto seconds = static_cast<std::size_t>(args.time.count());
  std::vector<json> row(seconds);
  for (auto& x : row)
    x = {{"offered", 0},
         {"good", 0},
         {"goodput", 0},
         {"orders", 0},
         {"sold", 0},
         {"paying", 0},
         {"paying_sold", 0},
         {"errors", json::object()},
         {"good_ms", json::array()},
         {"sold_ms", json::array()},
         {"failed_ms", json::array()}};
  std::size_t too_late = 0;
  std::size_t none = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto& x = row[second_of(all[i].at)];
    auto add = [&](const char* key) { x[key] = x[key].get<int>() + 1; };
    const auto good = got[i].answered && got[i].good && got[i].took <= patience;
    add("offered");
    if (all[i].order)
      add("orders");
    if (good)
      add("good");
    if (got[i].paying)
      add("paying");
    if (good && all[i].order) {
      add("sold");
      x["sold_ms"].push_back(ms(got[i].took));
    }
    if (good && got[i].paying)
      add("paying_sold");
    none += !got[i].answered;
    too_late += got[i].answered && got[i].took > patience + args.grace;
    if (got[i].answered)
      x[good ? "good_ms" : "failed_ms"].push_back(ms(got[i].took));
    if (auto answer = good ? second_of(all[i].at + got[i].took) : seconds;
        answer < seconds)
      row[answer]["goodput"] = row[answer]["goodput"].get<int>() + 1;
    if (!good) {
      auto& n = x["errors"][got[i].answered ? got[i].what : "no answer"];
      n = n.is_null() ? 1 : n.get<int>() + 1;
    }
  }
  return {{"seed", args.seed},       {"rate", args.rate},
          {"started", started},      {"requests", all.size()},
          {"unanswered", none},      {"answered_late", too_late},
          {"answered_twice", twice}, {"arrivals", arrivals_of(all, got)},
          {"seconds", row},          {"people", people_of(all, got)}};
}

} // namespace

int load(caf::actor_system& sys, const arguments& args) {
  auto all = draw(args);
  notebook notes{all.size()};
  caisson::http_client_config c{
    .url = fmt::format("http://127.0.0.1:{}", args.front),
    .max_in_progress = 1024,
    .max_waiting = 100'000,
    .max_connections = 1024,
    .idle_timeout = 4s};
  if (!args.deadlines)
    c.deadline_header.clear();
  auto gate = caisson::spawn_gate(sys, caisson::http_worker(c),
                                  caisson::stack{"load"});
  const auto start = steady::now() + 100ms;
  const auto started = std::chrono::duration<double>(
    std::chrono::system_clock::now().time_since_epoch() + 100ms);
  auto buyers = caf::actor_cast<caf::actor>(
    sys.spawn<customers>(gate, all, notes, start));
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::this_thread::sleep_until(start + all[i].at);
    caf::anon_send(buyers, static_cast<std::uint64_t>(i));
  }
  auto got = notes.wait(start + args.time + patience + 5s);
  auto x = report(args, all, got, notes.twice(), started.count());
  caf::anon_send_exit(buyers, caf::exit_reason::user_shutdown);
  caisson::stop_gate(gate);
  sys.await_all_actors_done();
  std::ofstream out{args.out};
  out << x << '\n';
  out.close();
  if (!out)
    throw std::runtime_error{"cannot write " + args.out};
  return x["unanswered"] == 0 && x["answered_late"] == 0
             && x["answered_twice"] == 0
           ? 0
           : 1;
}

} // namespace shop
