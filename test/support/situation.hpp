// Situations of a call when something happens to the actors around it, and the
// ways into them.
#pragma once

#include <caisson/stack.hpp>
#include <caisson/testing/scripted_worker.hpp>
#include <caisson/testing/virtual_time.hpp>
#include <caisson/worker.hpp>

#include <chrono>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

namespace caisson::test {

/// Those around a gate. Neither of the two answers unless asked to.
struct two_workers {
  virtual_time& world;
  scripted_worker worker;
  /// A canary, or who is asked before a call is repeated.
  scripted_worker second;
};

/// What a call is doing.
struct situation {
  std::string name;
  /// The stack that brings it there.
  std::function<stack(two_workers&)> policies;
  /// How many requests are made before it to bring it there.
  int before = 0;
  /// The content of a request, by its number.
  std::function<caf::message(int)> content = [](int i) {
    return caf::make_message(i);
  };
  /// How long after each request the next one is made.
  duration pause = duration::zero();
  /// How long after the last one the call is where it is to be.
  duration wait = duration::zero();
  /// What is behind the gate, if it is not just the worker.
  std::function<worker(two_workers&)> behind = [](two_workers& x) {
    return worker{x.worker.handle()};
  };
  /// What happens before the first request.
  std::function<void(two_workers&)> prepare = [](two_workers&) {};
  /// The second actor matters.
  bool has_second = false;
  /// The gate may have something left to write after the last answer.
  bool writes = false;
};

inline std::ostream& operator<<(std::ostream& out, const situation& x) {
  return out << x.name;
}

namespace situations {

using namespace std::chrono_literals;

using list = std::vector<situation>;

inline caf::message with_key(int i) {
  return caf::make_message(wrap(i).key("k"));
}

inline caf::message may_be_repeated(int i) {
  return caf::make_message(wrap(i).idempotent());
}

} // namespace situations
} // namespace caisson::test
