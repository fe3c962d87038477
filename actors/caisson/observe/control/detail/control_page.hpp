// Serves the page that shows gates in a browser.
#pragma once

#include <caisson/adapters/http/messages.hpp>
#include <caisson/observe/control/detail/control_access.hpp>

#include <string>
#include <string_view>

namespace caisson::detail {

/// The answer to a request for `/`, with this query: the page, for a browser
/// with a session; a cookie and the way back to `/`, for one with a ticket;
/// otherwise how to get one.
[[nodiscard]] http_response answer_browser(const http_request& x,
                                           std::string_view query,
                                           control_access& access);

/// The target of a link that opens the page once.
[[nodiscard]] std::string page_target(control_access& access);

/// The parts of the page, which a build embeds.
namespace page_parts {

extern const std::string_view page;
extern const std::string_view style;
extern const std::string_view script;

} // namespace page_parts

} // namespace caisson::detail
