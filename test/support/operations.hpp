// Random sequences of operations for property tests.
#pragma once

#include <rapidcheck.h>

#include <cstddef>
#include <ostream>
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

/// Up to 400 operations of `kinds` kinds, 200 on average: with RapidCheck's
/// usual hundred cases that makes some twenty thousand a run.
inline rc::Gen<std::vector<operation>> operations(unsigned kinds) {
  auto any = [](unsigned end) {
    return rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0u, end));
  };
  return rc::gen::scale(
    4.0, rc::gen::container<std::vector<operation>>(
           rc::gen::construct<operation>(any(kinds), any(1'000), any(1'000))));
}

/// The element of `xs` that the number `n` stands for.
template <class Container>
const typename Container::value_type& pick(const Container& xs, unsigned n) {
  return *(xs.begin() + static_cast<std::ptrdiff_t>(n % xs.size()));
}

} // namespace caisson::test
