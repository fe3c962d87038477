// Parts of a program's answers, whose types are checked.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>

namespace caisson::ctl {

/// Throws `ctl_error` unless it is right: another version may leave
/// something out, but what it says has the type that is expected.
void require_type(bool right, const char* key);

/// The text under that key; empty if there is none. These functions throw
/// `ctl_error` if it has another type.
[[nodiscard]] std::string text_in(const nlohmann::ordered_json& x,
                                  const char* key);

/// 0 if there is none. Numbers that are too large become the largest one.
[[nodiscard]] std::int64_t number_in(const nlohmann::ordered_json& x,
                                     const char* key);

/// An empty one if there is none.
[[nodiscard]] const nlohmann::ordered_json&
object_in(const nlohmann::ordered_json& x, const char* key);

/// A list of objects; an empty one if there is none.
[[nodiscard]] const nlohmann::ordered_json&
list_in(const nlohmann::ordered_json& x, const char* key);

/// The same, but it must be there: it is what the answer is about.
[[nodiscard]] const nlohmann::ordered_json&
needed_list(const nlohmann::ordered_json& x, const char* key);

/// Whether the layer is as an operator expects it: closed or normal, if it has
/// a state, and in the mode `enforce`.
[[nodiscard]] bool is_usual(const nlohmann::ordered_json& layer);

} // namespace caisson::ctl
