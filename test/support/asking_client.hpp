// An actor with a local gate for tests: it does what they say.
#pragma once

#include <support/world.hpp>

#include <caisson/local_gate.hpp>

#include <fmt/format.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace caisson::test {

/// What a client's handlers saw, in order.
struct notes {
  std::vector<std::string> seen;
  int values = 0;
  int errors = 0;
};

/// An actor with a local gate; it does what the test says.
class asking_client final : public caf::event_based_actor {
public:
  using gate_type = local_gate<>;
  using deed = std::function<void(asking_client&)>;

  asking_client(caf::actor_config& cfg, worker behind, stack s,
                std::shared_ptr<notes> n, bool behaves = true)
    : caf::event_based_actor(cfg), log(std::move(n)), behaves_(behaves) {
    gate.emplace(this, std::move(behind), s);
  }

  caf::behavior make_behavior() override {
    if (first)
      first(*this);
    if (!behaves_)
      return {};
    return {[this](int x) { ask(x); },
            [this](const std::string& x) {
              log->seen.push_back(x);
              if (auto i = deeds.find(x); i != deeds.end())
                i->second(*this);
            }};
  }

  void ask(int x) {
    gate->request(x).then([this, x](int y) { good(x, y); },
                          [this, x](caf::error& e) { bad(x, e); });
  }

  void ask_and_wait(int x) {
    gate->request(x).await([this, x](int y) { good(x, y); },
                           [this, x](caf::error& e) { bad(x, e); });
  }

  void good(int x, int y) {
    ++log->values;
    log->seen.push_back(fmt::format("{} -> {}", x, y));
  }

  void bad(int x, const caf::error& e) {
    ++log->errors;
    auto* context = context_of(e);
    log->seen.push_back(fmt::format(
      "{} failed{}", x,
      context ? ": " + std::string{name_of(static_cast<errc>(e.code()))} : ""));
  }

  /// Shared by all clients of a test; what it does when it gets a text.
  static inline std::map<std::string, deed> deeds;
  static inline deed first;

  std::optional<gate_type> gate;
  std::shared_ptr<notes> log;

private:
  bool behaves_;
};

/// The frame of tests with such an actor.
class asking_test : public world_test {
protected:
  ~asking_test() override {
    asking_client::deeds.clear();
    asking_client::first = nullptr;
  }

  caf::actor start(worker behind, stack s, bool behaves = true) {
    auto x = caf::actor_cast<caf::actor>(world.system().spawn<asking_client>(
      std::move(behind), std::move(s), log, behaves));
    owned.insert(owned.begin(), x);
    world.run_until_idle();
    return x;
  }

  void on(const std::string& text, asking_client::deed f) {
    asking_client::deeds[text] = std::move(f);
  }

  std::vector<std::string> seen() { return std::exchange(log->seen, {}); }

  using texts = std::vector<std::string>;
  std::shared_ptr<notes> log = std::make_shared<notes>();
};

} // namespace caisson::test
