#include <sim/world/details_recorder.hpp>
#include <sim/world/messages.hpp>

#include <chrono>

namespace caisson::sim {

// -- requests -----------------------------------------------------------------

void details_recorder::request_begun(std::uint64_t number, std::size_t load,
                                     duration at) {
  auto second = all_.edges.size();
  if (second % settings_.every != 0 || taken_ >= settings_.requests)
    return;
  ++taken_;
  samples_.emplace(number, all_.samples.size());
  all_.samples.push_back({.number = number, .load = load, .begun = at});
}

void details_recorder::request_over(std::uint64_t number, ending how,
                                    duration at) {
  auto found = samples_.find(number);
  if (found == samples_.end())
    return;
  auto& sample = all_.samples[found->second];
  sample.took = at - sample.begun;
  sample.how = name_of(how);
}

// -- calls --------------------------------------------------------------------

void details_recorder::add_call(std::size_t sample, std::size_t parent,
                                caller who, std::uint64_t call,
                                const work& what, duration at) {
  auto& s = all_.samples[sample];
  if (s.calls.size() >= settings_.calls) {
    ++s.more;
    return;
  }
  place p{sample, s.calls.size()};
  s.calls.push_back(
    {.parent = parent, .operation = what.operation, .made = at - s.begun});
  calls_[{who, call}] = p;
  by_key_[{sample, what.key}] = p.call;
}

void details_recorder::called(caller who, std::uint64_t call,
                              std::uint32_t route, const work& what,
                              duration at) {
  ++now_[route].calls;
  if (auto found = samples_.find(what.request); found != samples_.end())
    add_call(found->second, sample_call::none, who, call, what, at);
}

void details_recorder::called_for(std::size_t service, std::uint64_t order,
                                  std::uint64_t call, std::uint32_t route,
                                  const work& what, duration at) {
  ++now_[route].calls;
  if (auto found = samples_.find(what.request); found != samples_.end()) {
    auto job = works_.find({service, order});
    if (job == works_.end())
      ++all_.samples[found->second].more;
    else
      add_call(found->second, job->second.at.call, {false, service}, call, what,
               at);
  }
}

void details_recorder::end_call(caller who, std::uint64_t call,
                                std::string_view how, duration at) {
  auto found = calls_.find({who, call});
  if (found == calls_.end())
    return;
  auto& c = call_at(found->second);
  c.ended = at - all_.samples[found->second.sample].begun;
  c.how = how;
  calls_.erase(found);
}

void details_recorder::call_over(caller who, std::uint64_t call,
                                 std::uint32_t route, ending how, duration at) {
  now_[route].failed += how != ending::good;
  end_call(who, call, name_of(how), at);
}

void details_recorder::call_given_up(caller who, std::uint64_t call,
                                     duration at) {
  end_call(who, call, "given_up", at);
}

// -- attempts -----------------------------------------------------------------

// Nothing if it belongs to no sample, or to a call that is not kept.
sample_work* details_recorder::add_work(const work& what, duration at,
                                        work_place& into) {
  auto found = samples_.find(what.request);
  if (found == samples_.end())
    return nullptr;
  auto& s = all_.samples[found->second];
  auto call = by_key_.find({found->second, what.key});
  if (call == by_key_.end())
    return nullptr;
  auto& works = s.calls[call->second].works;
  if (works.size() >= settings_.works) {
    ++s.more;
    return nullptr;
  }
  into = {{found->second, call->second}, works.size()};
  return &works.emplace_back(sample_work{.arrived = at - s.begun});
}

void details_recorder::entered(std::size_t service, std::uint64_t order,
                               const work& what, duration at) {
  work_place into;
  if (add_work(what, at, into))
    works_[{service, order}] = into;
}

void details_recorder::turned_away(std::string_view how, const work& what,
                                   duration at) {
  work_place ignored;
  if (auto* x = add_work(what, at, ignored)) {
    x->left = x->arrived;
    x->how = how;
  }
}

void details_recorder::begun(std::size_t service, std::uint64_t order,
                             duration at) {
  auto found = works_.find({service, order});
  if (found == works_.end())
    return;
  const auto& p = found->second;
  call_at(p.at).works[p.work].begun = at - all_.samples[p.at.sample].begun;
}

void details_recorder::left(std::size_t service, std::uint64_t order,
                            std::string_view how, duration at) {
  auto found = works_.find({service, order});
  if (found == works_.end())
    return;
  const auto& p = found->second;
  auto& x = call_at(p.at).works[p.work];
  x.left = at - all_.samples[p.at.sample].begun;
  x.how = how;
  works_.erase(found);
}

// -- results ------------------------------------------------------------------

void details_recorder::end_second() {
  all_.edges.push_back(now_);
  now_.assign(now_.size(), {});
  taken_ = 0;
}

} // namespace caisson::sim
