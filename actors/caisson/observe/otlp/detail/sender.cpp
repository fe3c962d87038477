#include <caisson/observe/otlp/detail/sender.hpp>

#include <caisson/caf/error.hpp>
#include <caisson/engine/transport_errc.hpp>
#include <caisson/gate/gate.hpp>
#include <caisson/gate/request.hpp>
#include <caisson/observe/otlp/detail/answers.hpp>
#include <caisson/stack/stack.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace caisson::detail {

namespace {

http_headers secret_headers(const otlp_config& c) {
  http_headers out;
  for (const auto& text : c.headers)
    out.insert(pair_of(text));
  return out;
}

std::optional<answer_info> meaning_of(const caf::message& answer) {
  if (const auto* x = portable::get_if<http_response>(answer))
    return otlp_meaning(*x);
  return transport_answer(answer);
}

// Not that of `http_worker`, which goes by what HTTP says of its statuses.
worker collector(const otlp_config& c, std::shared_ptr<otlp_tally> tally) {
  auto make =
    [client = c.client](caf::actor_system& sys) -> caf::expected<caf::actor> {
    return spawn_http_worker(sys, client);
  };
  return worker::supervised(make, patient_supervision())
    .takes_calls()
    .takes_cancelled()
    .classified_by([tally = std::move(tally)](const caf::message& answer) {
      tally->note(answer);
      return meaning_of(answer);
    });
}

batching joined_by(otlp_frame frame) {
  batching out;
  out.assemble = [frame = std::move(frame)](std::vector<caf::message> items) {
    std::vector<std::string> spans;
    spans.reserve(items.size());
    for (auto& x : items)
      spans.push_back(portable::take<std::string>(x));
    return caf::make_message(frame.around(spans));
  };
  return out;
}

control_handle spans_gate(caf::actor_system& sys, const control_handle& gate,
                          const otlp_config& c, otlp_frame frame) {
  return spawn_gate(sys, worker{gate}.classified_by(meaning_of),
                    stack{"otlp_spans"}.batcher({.max_items = c.max_spans,
                                                 .max_delay = c.max_delay,
                                                 .max_waiting = c.max_waiting},
                                                joined_by(std::move(frame))));
}

// More than any request has.
constexpr std::uint64_t most_points = 1'000'000'000;

// For what is called off.
constexpr duration last_wait = std::chrono::seconds(1);

} // namespace

retrier_config otlp_retrier(const otlp_config& c) {
  // There are few requests at a time, so a budget would only get in the way. A
  // collector may get a span twice, as with any exporter.
  return {.max_attempts = 0,
          .backoff = c.backoff,
          .idempotent = true,
          .budget = false};
}

// -- what is on its way -------------------------------------------------------

otlp_tally::otlp_tally(const otlp_config& c)
  : max_spans_(c.max_waiting), max_request_(c.max_spans),
    secret_(secret_headers(c)) {}

bool otlp_tally::begin_span() {
  std::lock_guard guard{mutex_};
  if (spans_ >= max_spans_) {
    ++counts_.spans_dropped;
    return false;
  }
  ++spans_;
  return true;
}

void otlp_tally::end_span(const caf::message& answer) {
  const auto* x = portable::get_if<http_response>(answer);
  std::lock_guard guard{mutex_};
  if (x && is_taken(*x))
    ++taken_;
  else
    ++counts_.spans_failed;
  if (--spans_ == 0)
    empty_.notify_all();
}

bool otlp_tally::takes_metrics() {
  std::lock_guard guard{mutex_};
  if (requests_ == 0)
    return true;
  ++counts_.metrics_skipped;
  return false;
}

void otlp_tally::begin_metrics(std::size_t requests) {
  std::lock_guard guard{mutex_};
  requests_ += requests;
}

void otlp_tally::end_metrics(const caf::message& answer) {
  const auto* x = portable::get_if<http_response>(answer);
  std::lock_guard guard{mutex_};
  ++(x && is_taken(*x) ? counts_.metrics_exported : counts_.metrics_failed);
  if (--requests_ == 0)
    empty_.notify_all();
}

void otlp_tally::note(const caf::message& answer) {
  if (const auto* error = portable::get_if<caf::error>(answer))
    return note_problem(to_text(*error));
  const auto* x = portable::get_if<http_response>(answer);
  if (!x)
    return;
  if (!is_taken(*x))
    return note_problem(failure_text(*x, secret_));
  auto partial = partial_success_of(*x, secret_);
  if (!partial.text.empty())
    note_problem("the collector reports: " + partial.text);
  std::lock_guard guard{mutex_};
  // A request cannot have more of them, whatever the collector says.
  counts_.spans_rejected += std::min<std::uint64_t>(partial.rejected_spans,
                                                    max_request_);
  counts_.points_rejected += std::min(partial.rejected_points, most_points);
}

void otlp_tally::note_problem(std::string text) {
  text = without_values(std::move(text), secret_);
  std::lock_guard guard{mutex_};
  counts_.last_problem = std::move(text);
}

bool otlp_tally::wait_until_empty(std::chrono::steady_clock::time_point until) {
  std::unique_lock lock{mutex_};
  return empty_.wait_until(lock, until,
                           [&] { return spans_ == 0 && requests_ == 0; });
}

bool otlp_tally::wait_for_metrics(std::chrono::steady_clock::time_point until) {
  std::unique_lock lock{mutex_};
  return empty_.wait_until(lock, until, [&] { return requests_ == 0; });
}

otlp_counts otlp_tally::counts() const {
  std::lock_guard guard{mutex_};
  auto out = counts_;
  // The answer is noted before the spans have it.
  out.spans_exported = taken_ - std::min(taken_, out.spans_rejected);
  return out;
}

// -- the sender ---------------------------------------------------------------

otlp_sender::otlp_sender(caf::actor_system& sys, const otlp_config& c)
  : otlp_sender(sys, c, otlp_resource(c)) {}

otlp_sender::otlp_sender(caf::actor_system& sys, const otlp_config& c,
                         const std::string& resource)
  : sys_(sys), timeout_(c.timeout), tally_(std::make_shared<otlp_tally>(c)),
    metrics_(metrics_frame(c, resource)),
    gate_(spawn_gate(sys, collector(c, tally_),
                     stack{"otlp"}.retrier(otlp_retrier(c)))),
    spans_gate_(spans_gate(sys, gate_, c, traces_frame(c, resource))) {}

otlp_sender::~otlp_sender() {
  stop();
}

void otlp_sender::send_span(std::string span) {
  if (tally_->begin_span())
    request_from_thread(
      sys_, spans_gate_, timeout_, wrap(std::move(span)),
      [tally = tally_](caf::message&& answer) { tally->end_span(answer); });
}

void otlp_sender::send_metrics(
  const std::vector<std::vector<std::string>>& requests) {
  tally_->begin_metrics(requests.size());
  for (const auto& x : requests)
    request_from_thread(
      sys_, gate_, timeout_, wrap(metrics_.around(x)),
      [tally = tally_](caf::message&& answer) { tally->end_metrics(answer); });
}

void otlp_sender::send_waiting_spans() {
  portable::send_anon(spans_gate_, drain{});
}

bool otlp_sender::finish(std::chrono::steady_clock::time_point until) {
  return tally_->wait_until_empty(until);
}

void otlp_sender::stop() {
  stop_gate(spans_gate_);
  stop_gate(gate_);
  tally_->wait_until_empty(std::chrono::steady_clock::now() + last_wait);
}

} // namespace caisson::detail
