// Succeeds if violated invariants end this process.
#include <caisson/base/ensure.hpp>

int main() {
  return caisson::aborts_on_violation() ? 0 : 1;
}
