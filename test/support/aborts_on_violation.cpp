// Linked into each test program: a violated invariant ends it.
#include <caisson/base/ensure.hpp>

namespace {

[[maybe_unused]] const bool violations_abort = (caisson::abort_on_violation(
                                                  true),
                                                true);

} // namespace
