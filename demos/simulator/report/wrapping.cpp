#include <simulator/report/wrapping.hpp>

#include <algorithm>
#include <ostream>

namespace caisson::sim {

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> out;
  while (width != any_width && text.size() > width) {
    auto end = text.rfind(' ', width);
    if (end == text.npos || end == 0)
      end = text.find(' ', width);
    if (end == text.npos)
      break;
    out.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(text.find_first_not_of(' ', end), text.size()));
  }
  if (!text.empty() || out.empty())
    out.emplace_back(text);
  return out;
}

void write_wrapped(std::ostream& out, std::string_view text,
                   std::size_t width) {
  // A break among the first blanks would be an empty line.
  const auto first = std::min(text.find_first_not_of(' '), text.size());
  const auto indent = first + 2;
  out << std::string(first, ' ');
  text.remove_prefix(first);
  auto lines = wrapped(text, width > first ? width - first : width);
  out << lines.front() << '\n';
  if (lines.size() == 1)
    return;
  // The rest has less room, so that it is broken anew.
  text.remove_prefix(
    std::min(text.find_first_not_of(' ', lines.front().size()), text.size()));
  auto rest = width > indent ? width - indent : 1;
  for (const auto& line : wrapped(text, rest))
    out << std::string(indent, ' ') << line << '\n';
}

} // namespace caisson::sim
