// Parts of a page besides data. Their source is made by the build, from the
// files in report/html/ and from the plotting library.
#pragma once

#include <string_view>

namespace caisson::sim::html_parts {

/// With the names of the other parts in double braces where they belong.
extern const std::string_view page;
extern const std::string_view style;
extern const std::string_view script;
extern const std::string_view library;
extern const std::string_view library_style;

/// Of the page of a sweep, which has `style`, too.
extern const std::string_view sweep_page;
extern const std::string_view sweep_style;
extern const std::string_view sweep_script;

} // namespace caisson::sim::html_parts
