// Settings that all policies have in common.
#pragma once

#include <caisson/policy/outcome.hpp>
#include <caisson/policy/policy.hpp>
#include <caisson/settings/settings.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace caisson {

template <>
struct enum_names<mode> {
  static constexpr std::string_view value[] = {"enforce", "observe", "off"};
};

/// Describes the two fields that begin every policy's config.
template <class Config>
void describe_common(field_visitor& v, Config& c) {
  v.on({"name", "what the layer is called in errors, events and status; "
                "default: its kind"},
       c.name);
  v.choice({"mode", "enforce: decide and act; observe: decide, count and send "
                    "events, but let every call pass; off: skip the layer"},
           c.mode);
}

/// Reports names in a classifier's list that do not name an error.
void check_error_names(const std::vector<std::string>& names,
                       std::string_view key, const setting_path& path,
                       problems& out);

/// Reports problems of the lists of `c`, which are called `allow` and `deny` in
/// configurations: names that do not name an error, names on both lists, and
/// lists without effect because there is a function.
void check_lists(const classifier& c, std::string_view allow,
                 std::string_view deny, const setting_path& path,
                 problems& out);

} // namespace caisson
