#include <ctl/top/keys.hpp>

#include <caisson/base/utf8.hpp>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

namespace caisson::ctl {

namespace {

struct known_sequence {
  std::string_view bytes;
  key_kind kind;
};

// What follows Escape. Terminals differ in some.
constexpr known_sequence sequences[] = {
  {"[A", key_kind::up},       {"OA", key_kind::up},
  {"[B", key_kind::down},     {"OB", key_kind::down},
  {"[C", key_kind::right},    {"OC", key_kind::right},
  {"[D", key_kind::left},     {"OD", key_kind::left},
  {"[H", key_kind::home},     {"OH", key_kind::home},
  {"[1~", key_kind::home},    {"[7~", key_kind::home},
  {"[F", key_kind::end},      {"OF", key_kind::end},
  {"[4~", key_kind::end},     {"[8~", key_kind::end},
  {"[5~", key_kind::page_up}, {"[6~", key_kind::page_down}};

// Longer ones are none.
constexpr std::size_t longest_sequence = 32;

std::optional<key_kind> control_key(char c) {
  switch (c) {
    case '\r':
    case '\n':
      return key_kind::enter;
    case '\x7f':
    case '\b':
      return key_kind::backspace;
    case '\x03':
      return key_kind::interrupt;
    case '\x1a':
      return key_kind::suspend;
    case '\x0c':
      return key_kind::redraw;
    case '\x15':
      return key_kind::clear;
    case '\x10':
      return key_kind::up;
    case '\x0e':
      return key_kind::down;
    default:
      return std::nullopt;
  }
}

// The length of the sequence that follows Escape; 0 if its end is missing, and
// nothing if there is none.
std::optional<std::size_t> sequence_length(std::string_view text) {
  if (text.empty())
    return 0;
  if (text[0] == 'O')
    return text.size() < 2 ? 0 : 2;
  if (text[0] != '[')
    return std::nullopt;
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] >= 0x40 && text[i] <= 0x7e)
      return i + 1;
    if (text[i] < 0x20 || text[i] > 0x3f || i > longest_sequence)
      return i;
  }
  return 0;
}

// Of a character that is not complete.
bool may_begin_utf8(std::string_view text) {
  auto first = static_cast<unsigned char>(text[0]);
  std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  return first >= 0xc2 && first <= 0xf4 && text.size() < length
         && std::ranges::all_of(text.substr(1), [](char c) {
              return (static_cast<unsigned char>(c) & 0xc0u) == 0x80;
            });
}

} // namespace

std::vector<key> key_decoder::take(std::string_view bytes) {
  rest_ += bytes;
  std::vector<key> out;
  std::size_t done = 0;
  auto all = std::exchange(rest_, {});
  while (done < all.size()) {
    rest_ = all.substr(done);
    auto n = take_first(out);
    if (n == 0)
      return out;
    done += n;
  }
  rest_.clear();
  return out;
}

std::vector<key> key_decoder::finish() {
  auto rest = std::exchange(rest_, {});
  if (rest.empty() || rest[0] != '\x1b')
    return {};
  // Escape, and perhaps a character that was typed right behind it.
  std::vector<key> out{{key_kind::escape, {}}};
  for (auto& x : take(std::string_view{rest}.substr(1)))
    out.push_back(std::move(x));
  return out;
}

// Returns how many bytes it has used; 0 if more are needed.
std::size_t key_decoder::take_first(std::vector<key>& out) const {
  std::string_view text = rest_;
  if (text[0] == '\x1b') {
    auto length = sequence_length(text.substr(1));
    if (length == 0u)
      return 0;
    if (!length) {
      out.push_back({key_kind::escape, {}});
      return 1;
    }
    auto i = std::ranges::find(sequences, text.substr(1, *length),
                               &known_sequence::bytes);
    if (i != std::end(sequences))
      out.push_back({i->kind, {}});
    return 1 + *length;
  }
  if (auto kind = control_key(text[0])) {
    out.push_back({*kind, {}});
    return 1;
  }
  if (auto n = detail::utf8_length(text); n > 0) {
    if (static_cast<unsigned char>(text[0]) >= 0x20)
      out.push_back({key_kind::character, std::string{text.substr(0, n)}});
    return n;
  }
  return may_begin_utf8(text) ? 0 : 1;
}

} // namespace caisson::ctl
