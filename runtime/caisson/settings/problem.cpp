#include <caisson/settings/problem.hpp>

#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace caisson {

using detail::printable;
using detail::shortened;

namespace {

// A longer line helps no one.
constexpr std::size_t longest_shown_key = 300;
constexpr std::size_t longest_shown_message = 4000;

} // namespace

std::string to_text(const problem& p) {
  auto out = printable(p.place);
  for (const auto& part :
       {printable(shortened(to_text(p.key), longest_shown_key)),
        printable(shortened(p.message, longest_shown_message))}) {
    if (!out.empty() && !part.empty())
      out += ": ";
    out += part;
  }
  return out;
}

std::string to_text(const problems& ps) {
  std::string out;
  auto listed = std::min(ps.size(), most_listed_problems);
  for (std::size_t i = 0; i < listed; ++i) {
    if (i > 0)
      out += '\n';
    out += to_text(ps[i]);
  }
  if (listed < ps.size())
    out += fmt::format("\n... and {} more: {} problems in all",
                       ps.size() - listed, ps.size());
  return out;
}

config_error::config_error(problems found)
  : std::invalid_argument(to_text(found)), problems_(std::move(found)) {}

} // namespace caisson
