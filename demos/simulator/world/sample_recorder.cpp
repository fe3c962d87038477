#include <simulator/world/messages.hpp>
#include <simulator/world/sample_recorder.hpp>

namespace caisson::sim {

sample_recorder::sample_recorder(const sample_settings& settings)
  : settings_(settings) {}

sample_recorder::sample_recorder(const trace_settings& settings)
  : trace_(settings), most_(settings.most) {
  settings_.calls = settings_.works = most_;
}

// -- requests -----------------------------------------------------------------

bool sample_recorder::in_time(duration at) {
  if (at < trace_->from || at >= trace_->to)
    return false;
  auto room = kept_ < most_ / 2;
  left_out_ += !room;
  return room;
}

bool sample_recorder::chosen(duration at) {
  if (trace_)
    return in_time(at);
  if (second_ % settings_.every != 0 || taken_ >= settings_.requests)
    return false;
  ++taken_;
  return true;
}

void sample_recorder::request_begun(std::uint64_t number, std::size_t load,
                                    duration at) {
  if (!chosen(at))
    return;
  ++kept_;
  by_number_.emplace(number, all_.size());
  all_.push_back({.number = number, .load = load, .begun = at});
}

void sample_recorder::request_over(std::uint64_t number, ending how,
                                   duration at) {
  auto found = by_number_.find(number);
  if (found == by_number_.end())
    return;
  auto& sample = all_[found->second];
  sample.took = at - sample.begun;
  sample.how = name_of(how);
}

// Whether one more may be kept of what a list has `used` of `most` places.
bool sample_recorder::room_in(sample_request& s, std::size_t used,
                              std::size_t most) {
  auto room = used < most && kept_ < most_;
  ++(room ? kept_ : s.more);
  return room;
}

// -- calls --------------------------------------------------------------------

void sample_recorder::add_call(std::size_t sample, std::size_t parent,
                               sample_caller from, std::uint64_t call,
                               std::uint32_t route, const work& what,
                               duration at) {
  auto& s = all_[sample];
  if (!room_in(s, s.calls.size(), settings_.calls))
    return;
  call_place p{sample, s.calls.size()};
  s.calls.push_back({.parent = parent,
                     .operation = what.operation,
                     .route = route,
                     .sent_at = at - s.begun});
  calls_[{from, call}] = p;
  by_key_[{sample, what.key}] = p.call;
}

void sample_recorder::called(sample_caller from, std::uint64_t call,
                             std::uint32_t route, const work& what,
                             duration at) {
  auto found = by_number_.find(what.request);
  if (found != by_number_.end())
    add_call(found->second, sample_call::none, from, call, route, what, at);
}

void sample_recorder::called_for(std::size_t service, std::uint64_t order,
                                 std::uint64_t call, std::uint32_t route,
                                 const work& what, duration at) {
  auto found = by_number_.find(what.request);
  if (found == by_number_.end())
    return;
  auto job = works_.find({service, order});
  if (job == works_.end())
    ++all_[found->second].more;
  else
    add_call(found->second, job->second.at.call, {false, service}, call, route,
             what, at);
}

void sample_recorder::call_over(sample_caller from, std::uint64_t call,
                                std::string_view how, duration at) {
  auto found = calls_.find({from, call});
  if (found == calls_.end())
    return;
  auto& c = call_at(found->second);
  c.ended = at - all_[found->second.sample].begun;
  c.how = how;
  calls_.erase(found);
}

// Nothing if it belongs to no sample, or to a call that is not kept.
std::optional<sample_recorder::call_place>
sample_recorder::call_of(const work& what) const {
  auto found = by_number_.find(what.request);
  if (found == by_number_.end())
    return std::nullopt;
  auto call = by_key_.find({found->second, what.key});
  if (call == by_key_.end())
    return std::nullopt;
  return call_place{found->second, call->second};
}

// -- trips --------------------------------------------------------------------

void sample_recorder::sent(std::uint64_t link, std::uint64_t call,
                           const work& what, duration at) {
  if (!trace_)
    return;
  auto p = call_of(what);
  if (!p)
    return;
  auto& s = all_[p->sample];
  auto& trips = call_at(*p).trips;
  if (!room_in(s, trips.size(), settings_.works))
    return;
  trips_[{link, call}] = {*p, trips.size()};
  trips.push_back({.sent = at - s.begun});
}

void sample_recorder::answered(std::uint64_t link, std::uint64_t call,
                               duration at) {
  auto found = trips_.find({link, call});
  if (found == trips_.end())
    return;
  const auto& p = found->second;
  call_at(p.at).trips[p.part].back = at - all_[p.at.sample].begun;
  trips_.erase(found);
}

// -- attempts -----------------------------------------------------------------

sample_work* sample_recorder::add_work(const work& what, duration at,
                                       part_place& into) {
  auto p = call_of(what);
  if (!p)
    return nullptr;
  auto& s = all_[p->sample];
  auto& works = call_at(*p).works;
  if (!room_in(s, works.size(), settings_.works))
    return nullptr;
  into = {*p, works.size()};
  return &works.emplace_back(sample_work{.arrived = at - s.begun});
}

void sample_recorder::entered(std::size_t service, std::uint64_t order,
                              const work& what, duration at) {
  part_place into;
  if (add_work(what, at, into))
    works_[{service, order}] = into;
}

void sample_recorder::rejected(std::string_view how, const work& what,
                               duration at) {
  part_place ignored;
  if (auto* x = add_work(what, at, ignored)) {
    x->left = x->arrived;
    x->how = how;
  }
}

void sample_recorder::begun(std::size_t service, std::uint64_t order,
                            duration at) {
  auto found = works_.find({service, order});
  if (found == works_.end())
    return;
  const auto& p = found->second;
  call_at(p.at).works[p.part].begun = at - all_[p.at.sample].begun;
}

void sample_recorder::left(std::size_t service, std::uint64_t order,
                           std::string_view how, duration at) {
  auto found = works_.find({service, order});
  if (found == works_.end())
    return;
  const auto& p = found->second;
  auto& x = call_at(p.at).works[p.part];
  x.left = at - all_[p.at.sample].begun;
  x.how = how;
  works_.erase(found);
}

std::vector<sample_request> sample_recorder::take_samples() {
  by_number_.clear();
  calls_.clear();
  by_key_.clear();
  works_.clear();
  trips_.clear();
  most_ = 0;
  settings_.requests = 0;
  return std::move(all_);
}

void sample_recorder::end_second() {
  ++second_;
  taken_ = 0;
}

} // namespace caisson::sim
