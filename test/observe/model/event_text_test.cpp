#include <caisson/base/utf8.hpp>
#include <caisson/observe/event_text.hpp>

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <cctype>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace caisson {
namespace {

/// Reads an object of texts and integers, by the grammar of RFC 8259. Nothing
/// if it is not one.
class flat_json {
public:
  static std::optional<std::map<std::string, std::string>>
  read(std::string_view text) {
    flat_json r{text};
    std::map<std::string, std::string> out;
    if (!r.take('{'))
      return std::nullopt;
    do {
      auto key = r.string();
      if (!key || !r.take(':'))
        return std::nullopt;
      auto value = r.text_.starts_with('"') ? r.string() : r.integer();
      if (!value || !out.emplace(*key, *value).second)
        return std::nullopt;
    } while (r.take(','));
    if (!r.take('}') || !r.text_.empty())
      return std::nullopt;
    return out;
  }

private:
  explicit flat_json(std::string_view text) : text_(text) {}

  bool take(char c) {
    if (!text_.starts_with(c))
      return false;
    text_.remove_prefix(1);
    return true;
  }

  std::optional<std::string> integer() {
    std::string out;
    if (take('-'))
      out = "-";
    while (!text_.empty() && std::isdigit(text_[0])) {
      out += text_[0];
      text_.remove_prefix(1);
    }
    if (out.empty() || out == "-")
      return std::nullopt;
    return out;
  }

  std::optional<std::string> string() {
    if (!take('"'))
      return std::nullopt;
    std::string out;
    while (!text_.empty() && text_[0] != '"') {
      auto n = detail::utf8_length(text_);
      if (n == 0 || static_cast<unsigned char>(text_[0]) < 0x20)
        return std::nullopt;
      if (text_[0] != '\\') {
        out += text_.substr(0, n);
        text_.remove_prefix(n);
      } else if (!escape(out)) {
        return std::nullopt;
      }
    }
    return take('"') ? std::optional{out} : std::nullopt;
  }

  bool escape(std::string& out) {
    if (text_.size() < 2)
      return false;
    auto c = text_[1];
    text_.remove_prefix(2);
    if (c == 'u') {
      // Only characters below 128 are written like that.
      if (text_.size() < 4 || !text_.starts_with("00"))
        return false;
      out += static_cast<char>(
        std::stoi(std::string{text_.substr(2, 2)}, nullptr, 16));
      text_.remove_prefix(4);
      return true;
    }
    constexpr std::string_view names = "\"\\/bfnrt";
    constexpr std::string_view means = "\"\\/\b\f\n\r\t";
    auto i = names.find(c);
    if (i == std::string_view::npos)
      return false;
    out += means[i];
    return true;
  }

  std::string_view text_;
};

/// Bytes of which many are special in JSON or UTF-8.
std::string draw_bytes() {
  static const std::string special = "\"\\\n\r\t/u\x7f\x80\xbf\xc2\xc3\xe2\x82"
                                     "\xac\xed\xa0\xf0\x9f\x98\x80\xf4\xff";
  auto n = *rc::gen::inRange(0, 1100);
  auto plain = *rc::gen::arbitrary<bool>();
  return *rc::gen::container<std::string>(
    static_cast<std::size_t>(n),
    plain ? rc::gen::elementOf(special)
          : rc::gen::map(rc::gen::inRange(0, 256),
                         [](int x) { return static_cast<char>(x); }));
}

/// The text with U+FFFD in place of each byte that is not UTF-8.
std::string repaired(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    auto n = detail::utf8_length(text);
    if (n == 0)
      out += "\xef\xbf\xbd";
    else
      out += text.substr(0, n);
    text.remove_prefix(std::max<std::size_t>(n, 1));
  }
  return out;
}

RC_GTEST_PROP(event_as_json, is_valid_whatever_the_texts, ()) {
  event x;
  x.gate = draw_bytes();
  x.layer = draw_bytes();
  x.from = draw_bytes();
  x.to = draw_bytes();
  x.detail = draw_bytes();
  x.number = *rc::gen::arbitrary<std::uint64_t>();
  x.call = *rc::gen::arbitrary<std::uint64_t>();
  x.delay = duration{*rc::gen::arbitrary<std::int64_t>()};
  auto line = to_json(x, utc_time{});
  RC_ASSERT(line.size() <= max_json_line);
  auto read = flat_json::read(line);
  RC_ASSERT(read);
  RC_ASSERT(read->size() == 10u);
  RC_ASSERT(read->at("number") == std::to_string(x.number));
  RC_ASSERT(read->at("call") == std::to_string(x.call));
  RC_ASSERT(read->at("delay_ns") == std::to_string(x.delay.count()));
  for (auto [name, text] : {std::pair{"gate", &x.gate},
                            {"layer", &x.layer},
                            {"from", &x.from},
                            {"to", &x.to},
                            {"detail", &x.detail}}) {
    auto whole = repaired(*text);
    auto got = read->at(name);
    if (got == whole)
      continue;
    // It was cut: not without need, and it is the beginning.
    RC_ASSERT(got.ends_with("…"));
    got.resize(got.size() - std::string_view{"…"}.size());
    RC_ASSERT(whole.starts_with(got));
    RC_ASSERT(whole.size() * 6 > 1024u);
  }
}

} // namespace
} // namespace caisson
