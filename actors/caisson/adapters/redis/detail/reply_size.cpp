#include <caisson/adapters/redis/detail/reply_size.hpp>

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>

namespace caisson::detail {

namespace {

// Far more than any limit, and so little that sums do not overflow.
constexpr std::int64_t beyond_all = std::int64_t{1} << 40;

// The shortest element is an empty line.
constexpr std::int64_t shortest = 3;

bool has_length(char type) {
  return std::string_view{"*%~>|$=!"}.find(type) != std::string_view::npos;
}

bool is_text(char type) {
  return type == '$' || type == '=' || type == '!';
}

// How many elements follow, if there are `n` entries.
std::int64_t elements_of(char type, std::int64_t n) {
  if (type == '%')
    return 2 * n;
  // What the attributes belong to follows them.
  return type == '|' ? 2 * n + 1 : n;
}

std::optional<std::int64_t> length_in(std::string_view x) {
  std::int64_t n = 0;
  auto [end, error] = std::from_chars(x.data(), x.data() + x.size(), n);
  if (error != std::errc{} || end != x.data() + x.size() || n < -1)
    return std::nullopt;
  return std::min(n, beyond_all);
}

} // namespace

void redis_reply_size::add(std::string_view bytes) {
  while (!bytes.empty() && is_valid_ && !is_done()) {
    auto n = std::clamp<std::int64_t>(text_, 1,
                                      static_cast<std::int64_t>(bytes.size()));
    if (text_ > 0)
      text_ -= n;
    else
      take(bytes.front());
    received_ += n;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

std::int64_t redis_reply_size::at_least() const noexcept {
  return received_ + text_ + shortest * elements_;
}

void redis_reply_size::take(char c) {
  if (type_ == '\0') {
    type_ = c;
    last_ = '\0';
    length_.clear();
    --elements_;
  } else if (last_ == '\r' && c == '\n') {
    end_line();
  } else {
    // Not the CR before the end.
    if (last_ != '\0' && has_length(type_))
      length_ += last_;
    last_ = c;
    // No number is as long.
    is_valid_ = length_.size() < 32;
  }
}

void redis_reply_size::end_line() {
  if (has_length(type_)) {
    auto n = length_in(length_);
    is_valid_ = n.has_value();
    if (is_text(type_))
      text_ = n.value_or(-1) < 0 ? 0 : *n + 2;
    else if (n.value_or(-1) >= 0)
      elements_ += elements_of(type_, *n);
  }
  type_ = '\0';
}

} // namespace caisson::detail
