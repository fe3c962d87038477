#include <caisson/engine/key_meaning.hpp>

#include <fmt/format.h>

namespace caisson::detail {

std::string key_conflict_text(std::string_view by_content,
                              std::string_view by_owner) {
  return fmt::format("must be true, or else {} needs a key of its own from a "
                     "function (cache_forms::key): it takes the key of calls "
                     "for what they ask for, {} for whom they belong to, and "
                     "all calls of one would get the same answer",
                     by_content, by_owner);
}

} // namespace caisson::detail
