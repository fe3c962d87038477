#include <caisson/observe/event_text.hpp>

#include <caisson/base/utf8.hpp>
#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace caisson {

namespace {

// How long a text may be, in bytes of the output.
constexpr std::size_t longest_text = 1024;
constexpr std::string_view cut_here = "…";
constexpr std::string_view replacement = "\xef\xbf\xbd";

// As much as one character takes in JSON, and how many bytes of `text` that is.
struct json_character {
  std::string text;
  std::size_t bytes;
};

json_character first_character(std::string_view text) {
  auto length = detail::utf8_length(text);
  if (length == 0)
    return {std::string{replacement}, 1};
  if (length > 1)
    return {std::string{text.substr(0, length)}, length};
  switch (auto c = text[0]) {
    case '"':
      return {"\\\"", 1};
    case '\\':
      return {"\\\\", 1};
    case '\n':
      return {"\\n", 1};
    case '\t':
      return {"\\t", 1};
    default:
      if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f)
        return {std::string(1, c), 1};
      return {fmt::format("\\u{:04x}", static_cast<unsigned>(c)), 1};
  }
}

void add_string(std::string& out, std::string_view text) {
  out += '"';
  auto start = out.size();
  // Where the text would be cut.
  auto end = start;
  while (!text.empty()) {
    auto next = first_character(text);
    if (out.size() - start + next.text.size() > longest_text) {
      out.resize(end);
      out += cut_here;
      break;
    }
    out += next.text;
    if (out.size() - start + cut_here.size() <= longest_text)
      end = out.size();
    text.remove_prefix(next.bytes);
  }
  out += '"';
}

class json_object {
public:
  void text(std::string_view name, std::string_view value) {
    key(name);
    add_string(out_, value);
  }

  template <class Number>
  void number(std::string_view name, Number value) {
    key(name);
    out_ += fmt::format("{}", value);
  }

  std::string end() {
    out_ += '}';
    return std::move(out_);
  }

private:
  void key(std::string_view name) {
    out_ += fmt::format("{}\"{}\":", out_.empty() ? '{' : ',', name);
  }

  std::string out_;
};

// Those of gates are not longer.
std::string_view id(std::string_view text) {
  return text.substr(0, 32);
}

// Policies say exactly how long a call waited (detail::wait_text); people want
// less.
std::string with_rounded_wait(std::string_view text) {
  constexpr std::string_view words = "waited ";
  auto at = text.rfind(words);
  // At the beginning, or behind a key.
  if (at == text.npos || !(at == 0 || text.substr(0, at).ends_with(": ")))
    return std::string{text};
  at += words.size();
  auto waited = parse_duration(text.substr(at));
  return std::string{text.substr(0, at)}
         + (waited ? rounded_text(*waited) : std::string{text.substr(at)});
}

std::string shown(std::string_view text) {
  return detail::shortened(detail::printable(detail::shortened(text, 256)),
                           longest_text);
}

} // namespace

std::string to_text(utc_time at) {
  using namespace std::chrono;
  auto day = floor<days>(at);
  year_month_day date{day};
  hh_mm_ss time{at - day};
  return fmt::format(
    "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:09}Z", static_cast<int>(date.year()),
    static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
    time.hours().count(), time.minutes().count(), time.seconds().count(),
    time.subseconds().count());
}

std::string json_string(std::string_view text) {
  std::string out;
  add_string(out, text);
  return out;
}

std::string to_json(const event& x, utc_time at) {
  json_object o;
  o.text("time", to_text(at));
  o.text("gate", x.gate);
  o.number("number", x.number);
  o.text("kind", name_of(x.kind));
  o.text("layer", x.layer);
  o.text("from", x.from);
  o.text("to", x.to);
  o.text("detail", x.detail);
  o.number("delay_ns", x.delay.count());
  // As text: readers take numbers for floating-point ones, which have 53 bits.
  o.text("call", fmt::format("{}", x.call));
  if (!x.trace_id.empty()) {
    o.text("trace_id", id(x.trace_id));
    o.text("span_id", id(x.span_id));
    o.text("parent_span_id", id(x.parent_span_id));
  }
  return o.end();
}

std::string dropped_to_json(std::uint64_t count, utc_time at) {
  json_object o;
  o.text("time", to_text(at));
  o.text("kind", "dropped");
  o.number("dropped", count);
  return o.end();
}

std::string to_text(const event& x) {
  auto out = shown(x.gate);
  if (!x.layer.empty())
    out += "/" + shown(x.layer);
  out += fmt::format(": {}", name_of(x.kind));
  if (!x.from.empty())
    out += " " + shown(x.from);
  if (!x.to.empty())
    out += (x.from.empty() ? " " : " -> ") + shown(x.to);
  if (!x.detail.empty())
    out += " (" + shown(with_rounded_wait(x.detail)) + ")";
  if (x.delay != duration::zero())
    out += fmt::format(", delay {}", rounded_text(x.delay));
  if (x.call != 0)
    out += fmt::format(", call {}", x.call);
  if (!x.trace_id.empty())
    out += fmt::format(", trace {}, span {}", shown(x.trace_id),
                       shown(x.span_id));
  return out;
}

} // namespace caisson
