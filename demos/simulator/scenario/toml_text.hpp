// Settings as a TOML document.
#pragma once

#include <caisson/settings/setting.hpp>

#include <string>

namespace caisson::sim {

/// The settings as a document that reads back to the same values in the same
/// order: first what is no table, then sections in the order of the places,
/// such as `[service.web.op.home]`, `[[stack.few.layer]]` and `[[fault]]`.
/// Tables further in are written on one line.
[[nodiscard]] std::string toml_text(const settings& root);

} // namespace caisson::sim
