// Random sequences of operations for property tests.
#pragma once

#include <rapidcheck.h>

#include <caisson/policy/policy.hpp>

#include <cstddef>
#include <ostream>
#include <tuple>
#include <vector>

namespace caisson::test {

/// One step of a random run: what to do, to which of the candidates, and a
/// number that the operation interprets.
struct operation {
  unsigned kind = 0;
  unsigned which = 0;
  unsigned how = 0;
};

inline std::ostream& operator<<(std::ostream& out, const operation& x) {
  return out << '{' << x.kind << ", " << x.which << ", " << x.how << '}';
}

/// Operations of `kinds` kinds.
inline rc::Gen<operation> any_operation(unsigned kinds) {
  auto any = [](unsigned end) {
    return rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0u, end));
  };
  return rc::gen::construct<operation>(any(kinds), any(1'000), any(1'000));
}

/// Up to 400 of them, at first fewer, 100 on average.
inline rc::Gen<std::vector<operation>> operations(unsigned kinds) {
  return rc::gen::scale(
    4.0, rc::gen::container<std::vector<operation>>(any_operation(kinds)));
}

/// Up to `most` from the first run on, on average half of that: with
/// RapidCheck's usual hundred cases, 400 make some twenty thousand.
inline rc::Gen<std::vector<operation>> operations(unsigned kinds, int most) {
  return rc::gen::resize(
    most, rc::gen::container<std::vector<operation>>(any_operation(kinds)));
}

/// What to do, and two numbers that say how.
using scripted_step = std::tuple<int, int, int>;

/// `length` steps of `kinds` kinds, all equally likely. RapidCheck narrows
/// ranges in its early runs, which would draw almost nothing but the first
/// kinds; the fixed size keeps them whole.
inline rc::Gen<std::vector<scripted_step>> any_steps(std::size_t length,
                                                     int kinds, int last) {
  return rc::gen::container<std::vector<scripted_step>>(
    length, rc::gen::resize(rc::kNominalSize,
                            rc::gen::tuple(rc::gen::inRange(0, kinds),
                                           rc::gen::inRange(0, 1000),
                                           rc::gen::inRange(0, last))));
}

/// The `n`-th call of a model that is not over yet, counted round; 0 if there
/// is none.
template <class Model>
call_id live_call(const Model& m, int n, bool also_waiting) {
  std::vector<call_id> alive;
  for (auto& [id, weight] : m.running)
    alive.push_back(id);
  if (also_waiting)
    for (auto& w : m.queue)
      alive.push_back(w.id);
  if (alive.empty())
    return 0;
  return alive[static_cast<std::size_t>(n) % alive.size()];
}

/// The element of `xs` that the number `n` stands for.
template <class Container>
const typename Container::value_type& pick(const Container& xs, unsigned n) {
  return *(xs.begin() + static_cast<std::ptrdiff_t>(n % xs.size()));
}

} // namespace caisson::test
