#include <caisson/settings/setting_path.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <optional>

namespace caisson {

namespace {

// The index in `[17]`, if it is one that is written just so.
std::optional<std::size_t> index_in(std::string_view text) {
  if (text.size() < 3 || text.front() != '[' || text.back() != ']')
    return std::nullopt;
  auto digits = text.substr(1, text.size() - 2);
  if (digits.front() == '0' && digits.size() > 1)
    return std::nullopt;
  std::size_t n = 0;
  auto end = digits.data() + digits.size();
  auto [rest, ec] = std::from_chars(digits.data(), end, n);
  if (rest != end || ec != std::errc{})
    return std::nullopt;
  return n;
}

} // namespace

setting_path::setting_path(std::string_view text) {
  while (!text.empty() || !parts_.empty()) {
    auto dot = text.find('.');
    auto key = text.substr(0, dot);
    // Indexes are taken off the end: `a[0][1]`.
    std::vector<part> indexes;
    for (auto open = key.rfind('['); open != std::string_view::npos;
         open = key.rfind('[')) {
      auto index = index_in(key.substr(open));
      if (!index)
        break;
      indexes.emplace_back(*index);
      key = key.substr(0, open);
    }
    // The path may begin with the index of a list that has no key.
    if (!key.empty() || indexes.empty() || !parts_.empty())
      parts_.emplace_back(std::string{key});
    parts_.insert(parts_.end(), indexes.rbegin(), indexes.rend());
    if (dot == std::string_view::npos)
      break;
    text.remove_prefix(dot + 1);
  }
}

bool setting_path::starts_with(const setting_path& outer) const {
  return outer.parts_.size() <= parts_.size()
         && std::equal(outer.parts_.begin(), outer.parts_.end(),
                       parts_.begin());
}

setting_path setting_path::without_first(std::size_t n) const {
  setting_path out;
  auto begin = parts_.begin()
               + static_cast<std::ptrdiff_t>(std::min(n, parts_.size()));
  out.parts_.assign(begin, parts_.end());
  return out;
}

setting_path setting_path::joined_with(const setting_path& more) const {
  auto out = *this;
  out.parts_.insert(out.parts_.end(), more.parts_.begin(), more.parts_.end());
  return out;
}

std::string to_text(const setting_path& path) {
  std::string out;
  auto first = true;
  for (const auto& part : path.parts()) {
    if (auto index = std::get_if<std::size_t>(&part)) {
      out += fmt::format("[{}]", *index);
    } else {
      if (!first)
        out += '.';
      out += std::get<std::string>(part);
    }
    first = false;
  }
  return out;
}

} // namespace caisson
