#include <caisson/engine/key_meaning.hpp>

#include <fmt/format.h>

namespace caisson::detail {

std::string key_conflict_text(const key_remedy& remedy,
                              std::string_view by_owner) {
  return fmt::format("{}: it takes the key of calls for what they ask for, {} "
                     "for whom they belong to, and all calls of one would get "
                     "the same answer",
                     remedy.text.empty() ? "must stand in another stack"
                                         : remedy.text,
                     by_owner);
}

setting_path key_conflict_path(const setting_path& layer,
                               std::string_view setting) {
  return setting.empty() ? layer : layer / setting;
}

} // namespace caisson::detail
