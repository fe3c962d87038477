#include <simulator/import/span_reader.hpp>

#include <simulator/import/byte_source.hpp>
#include <simulator/import/span_collector.hpp>
#include <simulator/import/span_places.hpp>

#include <caisson/settings/problem.hpp>
#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <istream>
#include <string>
#include <utility>
#include <vector>

namespace caisson::sim {

namespace {

// The number in a text of nothing but digits.
std::optional<std::int64_t> digits_in(std::string_view text) {
  std::int64_t out = 0;
  if (detail::read_number(text, out) != detail::read_result::good || out < 0)
    return std::nullopt;
  return out;
}

// What nlohmann's parser calls. Its memory is that of the nesting and of the
// longest text.
class span_events {
public:
  span_events(span_collector& out, span_format format)
    : out_(out), format_(format) {}

  bool null() { return true; }
  bool boolean(bool x) {
    return scalar({.text = {}, .integer = {}, .truth = x});
  }
  bool number_integer(std::int64_t) { return true; }
  bool number_unsigned(std::uint64_t x) {
    auto text = std::to_string(x);
    return scalar({.text = text, .integer = digits_in(text), .truth = {}});
  }
  bool number_float(double x, const std::string&) {
    // Some writers know no integers.
    std::optional<std::int64_t> integer;
    if (x >= 0 && x < 9e18)
      integer = static_cast<std::int64_t>(std::llround(x));
    return scalar({.text = {}, .integer = integer, .truth = {}});
  }
  bool string(const std::string& x) {
    return scalar({.text = x, .integer = digits_in(x), .truth = {}});
  }
  bool binary(const std::vector<std::uint8_t>&) { return true; }

  bool start_object(std::size_t) {
    auto place = next_place();
    nesting_.push_back({place, false});
    out_.begin(place, key_);
    return true;
  }
  bool key(const std::string& x) {
    key_ = x;
    plain_ = plain_key(x);
    return true;
  }
  bool end_object() {
    out_.end(nesting_.back().place);
    nesting_.pop_back();
    return true;
  }
  bool start_array(std::size_t) {
    nesting_.push_back({next_place(), true});
    out_.recognise(nesting_.back().place);
    return true;
  }
  bool end_array() {
    nesting_.pop_back();
    return true;
  }
  bool parse_error(std::size_t, const std::string&,
                   const nlohmann::json::exception& e) {
    error_ = e.what();
    return false;
  }

  [[nodiscard]] const std::string& error() const noexcept { return error_; }

private:
  struct level {
    json_place place;
    bool is_list;
  };

  [[nodiscard]] json_place next_place() const {
    if (nesting_.empty())
      return json_place::root;
    const auto& in = nesting_.back();
    return in.is_list ? in.place : place_of(in.place, plain_, format_);
  }

  bool scalar(const json_scalar& x) {
    if (!nesting_.empty() && !nesting_.back().is_list)
      out_.value(nesting_.back().place, plain_, x);
    return true;
  }

  span_collector& out_;
  span_format format_;
  std::vector<level> nesting_;
  std::string key_;
  std::string plain_;
  std::string error_;
};

// Without what only its own programmers want to know.
std::string parser_message(std::string_view text) {
  if (auto i = text.find("column "); i != text.npos)
    if (i = text.find(": ", i); i != text.npos)
      text.remove_prefix(i + 2);
  return "is not JSON: " + detail::shortened(text, 200);
}

[[noreturn]] void refuse_file(std::string place, std::string message) {
  throw config_error{
    {{problem_kind::syntax, {}, std::move(message), std::move(place)}}};
}

bool is_compressed(const byte_source& source) {
  return !source.at_end() && source.peek() == '\x1f';
}

std::string_view expected(span_format format) {
  switch (format) {
    case span_format::otlp:
      return "resourceSpans, as OTLP's JSON form has them";
    case span_format::jaeger:
      return "data or spans, as Jaeger's JSON has them";
    default:
      return "resourceSpans (OTLP), or data or spans (Jaeger)";
  }
}

} // namespace

bool read_spans(std::istream& in, std::string_view file, span_format format,
                span_set& into,
                const std::function<bool(std::uint64_t)>& each_block) {
  byte_source source{in, each_block};
  span_collector collector{into};
  if (is_compressed(source))
    refuse_file(std::string{file},
                "is compressed, not JSON: uncompress it first, as in zcat FILE "
                "| caisson import /dev/stdin");
  for (source.skip_blanks(); !source.at_end(); source.skip_blanks()) {
    span_events events{collector, format};
    auto good = nlohmann::json::sax_parse(
      source.begin(), byte_source::end(), &events,
      nlohmann::json::input_format_t::json, false);
    if (source.stopped())
      return false;
    if (!good)
      refuse_file(fmt::format("{}:{}:{}", file, source.line(), source.column()),
                  parser_message(events.error()));
  }
  if (source.stopped())
    return false;
  if (in.bad())
    refuse_file(std::string{file}, "cannot be read");
  if (!collector.recognised())
    refuse_file(std::string{file},
                fmt::format("has no spans: expected {}", expected(format)));
  return true;
}

} // namespace caisson::sim
