// Serves the page that shows gates in a browser.
#pragma once

#include <caisson/adapters/http/messages.hpp>
#include <caisson/observe/control/detail/control_access.hpp>

#include <string>
#include <string_view>

namespace caisson::detail {

/// The page. It shows nothing before its script has a session, so anybody may
/// have it.
[[nodiscard]] http_response control_page();

/// What a link to the page adds to the server's address. Browsers send nothing
/// of it: the ticket is in no log of a proxy.
[[nodiscard]] std::string page_target(control_access& access);

/// The parts of the page, which a build embeds.
namespace page_parts {

extern const std::string_view page;
extern const std::string_view style;
extern const std::string_view script;

} // namespace page_parts

} // namespace caisson::detail
