#include <simulator/remote/run_dispatcher.hpp>

#include <simulator/remote/run_job.hpp>

#include <caisson/caf/error.hpp>
#include <caisson/settings/problem.hpp>

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace caisson::sim {

namespace {

constexpr std::size_t part_length = 1'000'000;
constexpr std::uint32_t most_setbacks = 3;
// For each recording of a job, as a worker may have to throw some away.
constexpr std::size_t most_lacks = 4;
constexpr std::uint32_t most_worker_cores = 1024;

std::string why_of(const caf::error& err) {
  if (err == errc::breaker_open)
    return {};
  if (err == errc::deadline_exceeded)
    return "no answer in time";
  if (err == errc::worker_down)
    return "the connection is gone";
  if (auto context = context_of(err); context && !context->text.empty())
    return context->text;
  return to_text(err);
}

} // namespace

run_dispatcher::run_dispatcher(caf::actor_config& cfg, caf::actor gate,
                               run_dispatcher_config c, run_source& source,
                               std::shared_ptr<worker_record> record)
  : portable::interceptor<dispatcher_end>(cfg), gate_(std::move(gate)),
    config_(std::move(c)), source_(source), record_(std::move(record)) {}

caf::behavior run_dispatcher::make_behavior() {
  auto out = portable::interceptor<dispatcher_end>::make_behavior();
  send_handshake();
  return out;
}

caf::message_handler run_dispatcher::control() {
  return {[this](const dispatcher_end&) { end(); }};
}

// -- requests -----------------------------------------------------------------

void run_dispatcher::ask(const request& r, caf::message content) {
  auto key = next_key_++;
  pending_.emplace(key, r);
  forward(gate_, key, std::move(content), false);
}

void run_dispatcher::on_answer(std::uint64_t key, caf::message&& content) {
  auto found = pending_.extract(key);
  if (found.empty())
    return;
  answered(found.mapped(), content);
  if (ending_)
    leave_if_done();
}

void run_dispatcher::answered(const request& r, const caf::message& content) {
  if (ending_ || std::holds_alternative<drop>(r))
    return;
  auto was_handshake = std::holds_alternative<handshake>(r);
  if (auto reply = portable::get_if<handshake_reply>(content);
      reply && was_handshake)
    return on_handshake_reply(*reply);
  if (auto state = portable::get_if<job_state>(content))
    if (auto t = std::get_if<job_request>(&r))
      return on_job_state(t->run, *state);
  if (auto have = portable::get_if<recording_progress>(content))
    if (auto u = std::get_if<upload>(&r))
      return sent(*u, *have);
  auto err = portable::get_if<caf::error>(content);
  auto no_worker = !err || *err == caf::sec::unexpected_message
                   || *err == caf::sec::unexpected_response;
  if (no_worker)
    return lose(worker_presence::refused, "it is not a Caisson worker");
  lose(worker_presence::disconnected, why_of(*err));
}

void run_dispatcher::on_timer() {
  if (ending_)
    return quit();
  if (cores_ == 0)
    return send_handshake();
  fill();
  set_timer(time_after(clock().now(), config_.poll_interval));
}

// -- the worker ---------------------------------------------------------------

void run_dispatcher::send_handshake() {
  ask(handshake{}, caf::make_message(handshake_request{config_.build}));
}

void run_dispatcher::on_handshake_reply(const handshake_reply& x) {
  if (auto why = difference_of(config_.build, x.build); !why.empty())
    return lose(worker_presence::refused, why);
  cores_ = std::clamp<std::uint32_t>(x.cores, 1, most_worker_cores);
  record_->change([this](worker_view& v) {
    v.presence = worker_presence::connected;
    v.cores = cores_;
    v.text.clear();
  });
  on_timer();
}

// Its runs are repeated elsewhere, or by itself once it is back.
void run_dispatcher::lose(worker_presence p, std::string why) {
  record_->change([&](worker_view& v) {
    // One that was never connected stays expected.
    if (p != worker_presence::disconnected
        || v.presence != worker_presence::expected)
      v.presence = p;
    // A breaker only reports that something was wrong.
    if (!why.empty())
      v.text = std::move(why);
  });
  for (const auto& [which, c] : runs_)
    source_.give_back(which, c.begun);
  runs_.clear();
  waiting_.clear();
  pending_.clear();
  cores_ = 0;
  set_timer(time_after(clock().now(), config_.handshake_interval));
}

// -- runs ---------------------------------------------------------------------

void run_dispatcher::fill() {
  while (cores_ > runs_.size() && clock().now() >= pause_until_) {
    auto which = source_.take();
    if (!which)
      return;
    try {
      run c;
      c.job = source_.job_of(*which);
      c.job.build = config_.build;
      c.job.id = config_.sweep + "-" + std::to_string(*which);
      if (auto why = oversize_of(c.job); !why.empty())
        throw std::runtime_error{why};
      runs_.insert_or_assign(*which, std::move(c));
    } catch (...) {
      source_.give_back(*which, false);
      return source_.fail(std::current_exception());
    }
    begin(*which);
  }
}

void run_dispatcher::begin(std::size_t which) {
  runs_.at(which).moved = clock().now();
  ask(job_request{which}, caf::make_message(runs_.at(which).job));
}

void run_dispatcher::query(std::size_t which) {
  ask(job_request{which}, caf::make_message(job_query{runs_.at(which).job.id}));
}

void run_dispatcher::on_job_state(std::size_t which, const job_state& x) {
  auto found = runs_.find(which);
  if (found == runs_.end())
    return;
  switch (x.stage) {
    case job_stage::running:
      return on_progress(which, x);
    case job_stage::done:
      return finish(which, x);
    case job_stage::needs_recording:
      return need(which, x);
    case job_stage::busy:
      // With another sweep's runs.
      pause_until_ = time_after(clock().now(), config_.handshake_interval);
      return give_up(which, false);
    case job_stage::failed:
      pause_until_ = time_after(clock().now(), config_.handshake_interval);
      return give_up(which, true);
    case job_stage::refused:
      give_up(which, false);
      return source_.fail(std::make_exception_ptr(std::runtime_error{x.text}));
    case job_stage::other_build:
      return lose(worker_presence::refused, "it is another build now");
    default:
      return lose(worker_presence::disconnected, "it was restarted");
  }
}

void run_dispatcher::on_progress(std::size_t which, const job_state& x) {
  auto& c = runs_.at(which);
  c.begun = true;
  auto permille = std::min(x.permille, 1000u);
  if (permille > c.permille) {
    c.permille = permille;
    c.moved = clock().now();
  } else if (clock().now() >= time_after(c.moved, config_.stall_after)) {
    return lose(worker_presence::refused, "a run makes no progress");
  }
  source_.progress(which, permille / 1000.0);
  query(which);
}

void run_dispatcher::finish(std::size_t which, const job_state& x) {
  runs_.erase(which);
  // Counted before, as the last result ends the sweep, which then reads this.
  record_->change([](worker_view& v) { ++v.played; });
  if (!source_.done(which, x)) {
    record_->change([](worker_view& v) { --v.played; });
    source_.give_back(which, true);
    return lose(worker_presence::refused, "its result cannot be read");
  }
  fill();
}

void run_dispatcher::give_up(std::size_t which, bool lost) {
  runs_.erase(which);
  source_.give_back(which, lost);
}

// -- recordings ---------------------------------------------------------------

void run_dispatcher::need(std::size_t which, const job_state& x) {
  auto& c = runs_.at(which);
  if (++c.lacks > most_lacks * (c.job.recordings.size() + 1)) {
    c.begun = true;
    return lose(worker_presence::refused, "it does not keep a recording");
  }
  auto first = !waiting_.contains(x.recording);
  waiting_[x.recording].push_back(which);
  if (first)
    send_part({x.recording, 0, x.have});
}

void run_dispatcher::send_part(upload u) {
  auto text = source_.recording_of(u.hash);
  if (!text || u.have > text->size())
    return lose(worker_presence::refused, "it asks for an unknown recording");
  recording_part part{u.hash, text->size(), u.have,
                      text->substr(u.have, part_length)};
  ask(u, caf::make_message(std::move(part)));
}

void run_dispatcher::sent(const upload& u, const recording_progress& x) {
  if (!x.refused.empty())
    return source_.fail(std::make_exception_ptr(
      std::runtime_error{"worker " + record_->view().name + ": " + x.refused}));
  if (!x.complete) {
    // It takes all of a part, or it was started anew.
    auto part = x.have < u.have + part_length;
    auto next = upload{u.hash, u.setbacks + (part ? 1 : 0), x.have};
    if (next.setbacks > most_setbacks) {
      // For a run that waits for it this is as if the worker was lost with it.
      for (auto which : waiting_[u.hash])
        if (auto c = runs_.find(which); c != runs_.end())
          c->second.begun = true;
      return lose(worker_presence::disconnected,
                  "it does not accept a recording");
    }
    return send_part(next);
  }
  auto runs = waiting_.extract(u.hash);
  if (!runs.empty())
    for (auto which : runs.mapped())
      if (runs_.contains(which))
        begin(which);
}

// -- the end ------------------------------------------------------------------

void run_dispatcher::end() {
  if (std::exchange(ending_, true))
    return;
  pending_.clear();
  for (const auto& [which, c] : runs_) {
    source_.give_back(which, false);
    ask(drop{}, caf::make_message(job_drop{c.job.id}));
  }
  runs_.clear();
  set_timer(time_after(clock().now(), config_.handshake_interval));
  leave_if_done();
}

void run_dispatcher::leave_if_done() {
  if (pending_.empty())
    quit();
}

} // namespace caisson::sim
