#include <simulator/import/span_collector.hpp>

#include <simulator/import/span_ids.hpp>

#include <algorithm>
#include <array>

namespace caisson::sim {

namespace {

// The year 2096, so that times can be moved without an overflow.
constexpr std::int64_t most_nanoseconds = 4'000'000'000'000'000'000;

// `SPAN_KIND_SERVER`, `server`.
span_kind kind_named(std::string_view text) {
  auto plain = plain_key(text);
  std::string_view name = plain;
  if (name.starts_with("spankind"))
    name.remove_prefix(8);
  if (name == "client")
    return span_kind::client;
  if (name == "server")
    return span_kind::server;
  if (name == "producer")
    return span_kind::producer;
  if (name == "consumer")
    return span_kind::consumer;
  return span_kind::internal;
}

// By the numbers of OTLP.
span_kind kind_numbered(std::int64_t n) {
  constexpr std::array kinds{span_kind::internal, span_kind::internal,
                             span_kind::server,   span_kind::client,
                             span_kind::producer, span_kind::consumer};
  return n >= 0 && n < std::ssize(kinds) ? kinds[static_cast<std::size_t>(n)]
                                         : span_kind::internal;
}

// Not in the middle of a character.
std::string_view cut_name(std::string_view text, std::size_t most) {
  if (text.size() <= most)
    return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80)
    --most;
  return text.substr(0, most);
}

} // namespace

// -- objects ------------------------------------------------------------------

void span_collector::recognise(json_place place) {
  using enum json_place;
  recognised_ = recognised_ || place == resource_spans || place == jaeger_trace
                || place == processes || place == otlp_span
                || place == jaeger_span;
}

void span_collector::begin(json_place place, std::string_view key) {
  using enum json_place;
  recognise(place);
  switch (place) {
    case resource_spans:
      service_.clear();
      arm_.clear();
      first_of_resource_ = into_.spans.size();
      break;
    case otlp_span:
    case jaeger_span:
      begin_span();
      break;
    case resource_attribute:
    case attribute:
    case tag:
      key_.clear();
      value_.clear();
      truth_.reset();
      break;
    case reference:
      is_child_ = true;
      reference_ = 0;
      reference_trace_.reset();
      break;
    case process:
      process_key_ = key;
      break;
    default:
      break;
  }
}

void span_collector::end(json_place place) {
  using enum json_place;
  switch (place) {
    case resource_attribute:
      if (key_ == "service.name")
        service_ = value_;
      else if (key_ == "caisson.arm")
        arm_ = value_;
      break;
    case attribute:
    case tag:
      end_attribute();
      break;
    case reference:
      end_reference();
      break;
    case otlp_span:
      end_span(false);
      break;
    case jaeger_span:
      end_span(true);
      break;
    case resource_spans:
      end_resource();
      break;
    case jaeger_trace:
    case root:
      end_trace();
      break;
    default:
      break;
  }
}

// -- values -------------------------------------------------------------------

void span_collector::value(json_place in, std::string_view plain,
                           const json_scalar& x) {
  using enum json_place;
  switch (in) {
    case otlp_span:
    case jaeger_span:
      span_value(plain, x);
      break;
    case status:
      if (plain == "code")
        span_.failed = x.integer == 2 || plain_key(x.text) == "statuscodeerror";
      break;
    case resource_attribute:
    case attribute:
    case tag:
      if (plain == "key")
        key_ = x.text;
      else if (plain == "value")
        keep(x);
      break;
    case resource_value:
    case attribute_value:
      keep(x);
      break;
    case reference:
      if (plain == "reftype")
        is_child_ = plain_key(x.text) != "followsfrom";
      else if (plain == "spanid")
        reference_ = span_id_in(x.text);
      else if (plain == "traceid")
        reference_trace_ = id_in(x.text);
      break;
    case own_process:
      if (plain == "servicename")
        own_service_ = into_.names.number(cut_name(x.text, longest_span_name));
      break;
    case process:
      if (plain == "servicename")
        process_services_[process_number(process_key_)] = into_.names.number(
          cut_name(x.text, longest_span_name));
      break;
    default:
      break;
  }
}

void span_collector::keep(const json_scalar& x) {
  value_ = x.text;
  truth_ = x.truth;
}

void span_collector::span_value(std::string_view plain, const json_scalar& x) {
  if (plain == "traceid") {
    auto id = id_in(x.text);
    has_trace_ = id.has_value();
    span_.trace = id.value_or(trace_number{});
  } else if (plain == "spanid") {
    span_.id = span_id_in(x.text);
  } else if (plain == "parentspanid") {
    // What a reference says is newer.
    if (span_.parent == 0)
      span_.parent = span_id_in(x.text);
  } else if (plain == "name" || plain == "operationname") {
    span_.name = into_.names.number(cut_name(x.text, longest_span_name));
  } else if (plain == "processid") {
    process_of_span_ = x.text;
  } else if (plain == "kind") {
    span_.kind = x.integer ? kind_numbered(*x.integer) : kind_named(x.text);
  } else {
    times(plain, x);
  }
}

void span_collector::times(std::string_view plain, const json_scalar& x) {
  auto scaled = [&](std::int64_t unit) {
    return x.integer && *x.integer <= most_nanoseconds / unit
             ? std::optional{*x.integer * unit}
             : std::nullopt;
  };
  if (plain == "starttimeunixnano")
    start_ = scaled(1);
  else if (plain == "endtimeunixnano")
    end_ = scaled(1);
  // Jaeger has microseconds.
  else if (plain == "starttime")
    start_ = scaled(1000);
  else if (plain == "duration")
    lasts_ = scaled(1000);
}

// -- parts of a span ----------------------------------------------------------

void span_collector::begin_span() {
  span_ = {};
  has_trace_ = false;
  start_.reset();
  end_.reset();
  lasts_.reset();
  process_of_span_.clear();
  own_service_.reset();
  peer_.clear();
  has_child_reference_ = false;
}

void span_collector::end_attribute() {
  if (key_ == "span.kind")
    span_.kind = kind_named(value_);
  else if (key_ == "error")
    span_.failed = span_.failed || truth_ == true || value_ == "true";
  else if (key_ == "otel.status_code")
    span_.failed = span_.failed || plain_key(value_) == "error";
  else
    peer_.add(key_, value_);
}

void span_collector::end_reference() {
  if (reference_ == 0
      || (reference_trace_ && has_trace_ && *reference_trace_ != span_.trace))
    return;
  // The first parent that waits, or else the first that does not.
  auto better = is_child_ ? !has_child_reference_ : span_.parent == 0;
  if (!better)
    return;
  span_.parent = reference_;
  span_.follows = !is_child_;
  has_child_reference_ = is_child_;
}

void span_collector::end_span(bool of_jaeger) {
  if (!has_trace_ || span_.id == 0) {
    ++into_.without_ids;
    return;
  }
  if (!end_ && start_ && lasts_ && *lasts_ <= most_nanoseconds - *start_)
    end_ = *start_ + *lasts_;
  // 0 stands for a time that is not known.
  if (!start_ || !end_ || *start_ == 0 || *end_ == 0) {
    ++into_.without_times;
    return;
  }
  into_.backwards += *end_ < *start_;
  span_.start = *start_;
  span_.end = std::max(*start_, *end_);
  span_.peer = into_.names.number(cut_name(peer_.text(), longest_span_name));
  span_.service = own_service_.value_or(0);
  if (of_jaeger && !own_service_)
    waiting_.push_back({into_.spans.size(), process_number(process_of_span_)});
  into_.spans.push_back(span_);
}

// -- services -----------------------------------------------------------------

std::uint32_t span_collector::process_number(const std::string& key) {
  auto [at, fresh] = process_numbers_.try_emplace(
    key, static_cast<std::uint32_t>(process_services_.size()));
  if (fresh)
    process_services_.push_back(0);
  return at->second;
}

void span_collector::end_resource() {
  auto own = into_.spans.size() - first_of_resource_;
  if (!arm_.empty())
    into_.arms[arm_] += own;
  if (into_.only_arm && *into_.only_arm != arm_) {
    into_.of_other_arms += own;
    into_.spans.resize(first_of_resource_);
    return;
  }
  auto number = into_.names.number(cut_name(service_, longest_span_name));
  for (auto i = first_of_resource_; i < into_.spans.size(); ++i)
    into_.spans[i].service = number;
  if (number == 0)
    into_.without_service += own;
}

void span_collector::end_trace() {
  for (const auto& w : waiting_) {
    auto service = process_services_[w.process];
    into_.spans[w.span].service = service;
    into_.without_service += service == 0;
  }
  waiting_.clear();
  process_numbers_.clear();
  process_services_.clear();
}

} // namespace caisson::sim
