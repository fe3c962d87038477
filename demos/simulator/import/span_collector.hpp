// Puts spans together from the values of a JSON document.
#pragma once

#include <simulator/import/peer_names.hpp>
#include <simulator/import/span.hpp>
#include <simulator/import/span_places.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace caisson::sim {

/// A value that is neither an object nor a list.
struct json_scalar {
  /// As text; of a number only if it is an integer.
  std::string_view text;
  /// What it is as an integer that is not negative, be it written as a number
  /// or as a text.
  std::optional<std::int64_t> integer;
  std::optional<bool> truth;
};

/// Gets the objects that mean something and of their values, and adds
/// each span to a set when its object ends. The service of a span may come
/// after it.
class span_collector {
public:
  explicit span_collector(span_set& into) : into_(into) {}

  /// A list of such objects, which may be empty.
  void recognise(json_place place);
  /// `key`: the key of the object.
  void begin(json_place place, std::string_view key);
  void end(json_place place);
  /// `plain`: the key as places know it.
  void value(json_place in, std::string_view plain, const json_scalar& x);

  /// Whether anything of a format of traces was there.
  [[nodiscard]] bool recognised() const noexcept { return recognised_; }

private:
  void begin_span();
  void span_value(std::string_view plain, const json_scalar& x);
  void times(std::string_view plain, const json_scalar& x);
  void keep(const json_scalar& x);
  void end_attribute();
  void end_reference();
  void end_span(bool of_jaeger);
  void end_resource();
  void end_trace();

  span_set& into_;
  bool recognised_ = false;

  // -- the span that is being read --------------------------------------------
  trace_span span_;
  bool has_trace_ = false;
  std::optional<std::int64_t> start_;
  std::optional<std::int64_t> end_;
  std::optional<std::int64_t> lasts_;
  std::string process_of_span_;
  std::optional<std::uint32_t> own_service_;
  peer_name peer_;

  // -- an attribute, a tag or a reference of it -------------------------------
  std::string key_;
  std::string value_;
  std::optional<bool> truth_;
  bool is_child_ = true;
  std::uint64_t reference_ = 0;
  std::optional<trace_number> reference_trace_;
  bool has_child_reference_ = false;

  // -- what gives spans their service -----------------------------------------
  std::string service_;
  std::string arm_;
  std::size_t first_of_resource_ = 0;
  std::string process_key_;
  // Of this trace: spans that wait for the name of a process, as numbers of
  // texts; and names by these.
  struct waiting_span {
    std::size_t span;
    std::uint32_t process;
  };
  std::vector<waiting_span> waiting_;
  std::unordered_map<std::string, std::uint32_t> process_numbers_;
  std::vector<std::uint32_t> process_services_;

  std::uint32_t process_number(const std::string& key);
};

} // namespace caisson::sim
