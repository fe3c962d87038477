#include <simulator/import/span_places.hpp>

namespace caisson::sim {

namespace {

struct json_way {
  json_place from;
  std::string_view key;
  json_place to;
};

constexpr json_way otlp_ways[] = {
  {json_place::root, "resourcespans", json_place::resource_spans},
  // What Tempo and Jaeger's newer API put around it.
  {json_place::root, "batches", json_place::resource_spans},
  {json_place::root, "trace", json_place::root},
  {json_place::root, "result", json_place::root},
  {json_place::resource_spans, "resource", json_place::resource},
  {json_place::resource, "attributes", json_place::resource_attribute},
  {json_place::resource_attribute, "value", json_place::resource_value},
  {json_place::resource_spans, "scopespans", json_place::scope_spans},
  // Its name before 2022.
  {json_place::resource_spans, "instrumentationlibraryspans",
   json_place::scope_spans},
  {json_place::scope_spans, "spans", json_place::otlp_span},
  {json_place::otlp_span, "status", json_place::status},
  {json_place::otlp_span, "attributes", json_place::attribute},
  {json_place::attribute, "value", json_place::attribute_value},
};

constexpr json_way jaeger_ways[] = {
  {json_place::root, "data", json_place::jaeger_trace},
  {json_place::root, "spans", json_place::jaeger_span},
  {json_place::root, "processes", json_place::processes},
  {json_place::jaeger_trace, "spans", json_place::jaeger_span},
  {json_place::jaeger_trace, "processes", json_place::processes},
  {json_place::jaeger_span, "references", json_place::reference},
  {json_place::jaeger_span, "tags", json_place::tag},
  {json_place::jaeger_span, "process", json_place::own_process},
};

template <std::size_t N>
json_place place_in(const json_way (&ways)[N], json_place in,
                    std::string_view key) {
  for (const auto& w : ways)
    if (w.from == in && w.key == key)
      return w.to;
  return json_place::elsewhere;
}

} // namespace

std::string plain_key(std::string_view key) {
  std::string out;
  out.reserve(key.size());
  for (auto c : key)
    if (c >= 'A' && c <= 'Z')
      out += static_cast<char>(c - 'A' + 'a');
    else if (c != '_')
      out += c;
  return out;
}

json_place place_of(json_place in, std::string_view key, span_format format) {
  // Their keys are ids.
  if (in == json_place::processes)
    return json_place::process;
  auto out = json_place::elsewhere;
  if (format != span_format::jaeger)
    out = place_in(otlp_ways, in, key);
  if (out == json_place::elsewhere && format != span_format::otlp)
    out = place_in(jaeger_ways, in, key);
  return out;
}

} // namespace caisson::sim
