#include <simulator/world/details_recorder.hpp>

#include <utility>

namespace caisson::sim {

details_recorder::details_recorder(
  std::size_t routes, const std::optional<sample_settings>& samples,
  const std::optional<trace_settings>& trace)
  : now_(routes) {
  if (samples)
    samples_.emplace(*samples);
  if (trace) {
    trace_settings_ = *trace;
    trace_.emplace(*trace);
  }
}

template <class F>
void details_recorder::for_each(F f) {
  if (samples_)
    f(*samples_);
  if (trace_)
    f(*trace_);
}

// -- requests -----------------------------------------------------------------

void details_recorder::request_begun(std::uint64_t number, std::size_t load,
                                     duration at) {
  for_each([&](auto& x) { x.request_begun(number, load, at); });
}

void details_recorder::request_over(std::uint64_t number, ending how,
                                    duration at) {
  for_each([&](auto& x) { x.request_over(number, how, at); });
}

// -- calls --------------------------------------------------------------------

void details_recorder::called(caller from, std::uint64_t call,
                              std::uint32_t route, const work& what,
                              duration at) {
  ++now_[route].calls;
  for_each([&](auto& x) { x.called(from, call, route, what, at); });
}

void details_recorder::called_for(std::size_t service, std::uint64_t order,
                                  std::uint64_t call, std::uint32_t route,
                                  const work& what, duration at) {
  ++now_[route].calls;
  for_each(
    [&](auto& x) { x.called_for(service, order, call, route, what, at); });
}

void details_recorder::call_over(caller from, std::uint64_t call,
                                 std::uint32_t route, ending how, duration at) {
  now_[route].failed += how != ending::good;
  for_each([&](auto& x) { x.call_over(from, call, name_of(how), at); });
}

void details_recorder::call_given_up(caller from, std::uint64_t call,
                                     duration at) {
  for_each([&](auto& x) { x.call_over(from, call, "given_up", at); });
}

// -- the network --------------------------------------------------------------

void details_recorder::sent(std::uint64_t link, std::uint64_t call,
                            const work& what, duration at) {
  for_each([&](auto& x) { x.sent(link, call, what, at); });
}

void details_recorder::answered(std::uint64_t link, std::uint64_t call,
                                duration at) {
  for_each([&](auto& x) { x.answered(link, call, at); });
}

// -- attempts -----------------------------------------------------------------

void details_recorder::entered(std::size_t service, std::uint64_t order,
                               const work& what, duration at) {
  for_each([&](auto& x) { x.entered(service, order, what, at); });
}

void details_recorder::rejected(std::string_view how, const work& what,
                                duration at) {
  for_each([&](auto& x) { x.rejected(how, what, at); });
}

void details_recorder::begun(std::size_t service, std::uint64_t order,
                             duration at) {
  for_each([&](auto& x) { x.begun(service, order, at); });
}

void details_recorder::left(std::size_t service, std::uint64_t order,
                            std::string_view how, duration at) {
  for_each([&](auto& x) { x.left(service, order, how, at); });
}

// -- gates --------------------------------------------------------------------

void details_recorder::breaker_changed(std::size_t breaker,
                                       const std::string& state, duration at) {
  if (trace_ && at >= trace_settings_.from && at < trace_settings_.to
      && breakers_.size() < trace_settings_.most)
    breakers_.push_back({at, breaker, state});
}

// -- results ------------------------------------------------------------------

void details_recorder::end_second() {
  for_each([](auto& x) { x.end_second(); });
}

void details_recorder::end_row() {
  edges_.push_back(now_);
  now_.assign(now_.size(), {});
}

run_details details_recorder::take(duration end) {
  run_details out;
  out.edges = std::move(edges_);
  if (samples_)
    out.samples = samples_->take_samples();
  if (trace_)
    out.trace = trace_details{trace_settings_, trace_->take_samples(),
                              trace_->left_out(), std::move(breakers_), end};
  return out;
}

} // namespace caisson::sim
