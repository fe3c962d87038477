#include <simulator/remote/run_worker.hpp>

#include <exception>
#include <iterator>
#include <utility>

namespace caisson::sim {

namespace {

// Results that nobody has fetched yet are kept until their lease is over; so
// many for each core.
constexpr std::size_t most_jobs_per_core = 16;

} // namespace

run_worker::run_worker(caf::actor_config& cfg, run_worker_config c)
  : portable::interceptor<check_jobs>(cfg), config_(std::move(c)),
    recordings_(config_.recording_room) {}

run_worker::~run_worker() = default;

void run_worker::on_exit() {
  for (auto i = jobs_.begin(); i != jobs_.end();)
    i = give_up(i);
  // Waits for the threads.
  ending_.clear();
  portable::interceptor<check_jobs>::on_exit();
}

caf::message_handler run_worker::control() {
  return {[this](const check_jobs&) { check(); }};
}

void run_worker::on_message(portable::reply_to from, caf::message&& content) {
  if (portable::holds<handshake_request>(content)) {
    from.answer(
      this, caf::make_message(handshake_reply{config_.build, config_.cores}));
  } else if (auto x = portable::get_if<run_job>(content)) {
    reply(from, begin(*x));
  } else if (auto asked = portable::get_if<job_query>(content)) {
    query(std::move(from), asked->id);
  } else if (auto dropped_job = portable::get_if<job_drop>(content)) {
    drop(dropped_job->id);
    reply(from, {});
  } else if (auto part = portable::get_if<recording_part>(content)) {
    from.answer(this, caf::make_message(recordings_.add(*part)));
  } else {
    from.answer(
      this, caf::make_message(caf::make_error(caf::sec::unexpected_message)));
  }
}

// -- jobs ---------------------------------------------------------------------

job_state run_worker::begin(const run_job& x) {
  job_state out;
  if (x.build != config_.build) {
    out.stage = job_stage::other_build;
    return out;
  }
  if (auto why = oversize_of(x); !why.empty()) {
    out.stage = job_stage::refused;
    out.text = std::move(why);
    return out;
  }
  check();
  if (auto i = jobs_.find(x.id); i != jobs_.end()) {
    i->second.asked = clock().now();
    return running(i->second);
  }
  if (at_work() >= config_.cores
      || jobs_.size() >= most_jobs_per_core * config_.cores) {
    out.stage = job_stage::busy;
    return out;
  }
  std::map<std::string, recording_cache::content> recordings;
  for (const auto& t : x.recordings) {
    auto found = recordings_.find(t.hash, t.size);
    if (!found) {
      out.stage = job_stage::needs_recording;
      out.recording = t.hash;
      out.have = recordings_.have(t.hash, t.size);
      return out;
    }
    recordings[t.path] = std::move(found);
  }
  try {
    start(x, std::move(recordings));
    out.stage = job_stage::running;
  } catch (const std::exception& e) {
    // There is no thread, or no memory.
    out.stage = job_stage::failed;
    out.text = e.what();
  }
  return out;
}

void run_worker::start(
  const run_job& x,
  std::map<std::string, recording_cache::content> recordings) {
  auto shared = std::make_shared<progress>();
  auto work = [what = x, worlds = worlds_, play = config_.play, shared,
               recordings = std::move(recordings),
               self = caf::actor_cast<caf::actor>(this)] {
    auto end = play_job(
      what,
      {.play = play,
       .recordings =
         [&](const std::string& path) {
           auto found = recordings.find(path);
           return found == recordings.end() ? nullptr : found->second;
         },
       .stop = &shared->stop,
       .progress =
         [&](double share) {
           shared->permille = static_cast<std::uint32_t>(share * 1000);
         }},
      *worlds);
    {
      std::lock_guard guard{shared->mutex};
      shared->end = std::move(end);
    }
    portable::send_anon(self, check_jobs{});
  };
  auto now = clock().now();
  job j;
  j.shared = shared;
  j.asked = now;
  j.thread = std::jthread{std::move(work)};
  jobs_.emplace(x.id, std::move(j));
  set_timer(time_after(now, config_.query_time));
}

void run_worker::query(portable::reply_to from, const std::string& id) {
  auto i = jobs_.find(id);
  if (i == jobs_.end())
    return reply(from, {});
  auto& x = i->second;
  auto now = clock().now();
  x.asked = now;
  reply(x.query, running(x));
  x.query = std::move(from);
  x.query_until = time_after(now, config_.query_time);
  check();
}

void run_worker::drop(const std::string& id) {
  if (auto i = jobs_.find(id); i != jobs_.end())
    give_up(i);
  check();
}

run_worker::jobs::iterator run_worker::give_up(jobs::iterator i) {
  i->second.shared->stop = true;
  reply(i->second.query, {});
  ending_.push_back(std::move(i->second));
  return jobs_.erase(i);
}

// Answers queries, gives jobs up, and forgets what has ended.
void run_worker::check() {
  auto now = clock().now();
  for (auto i = jobs_.begin(); i != jobs_.end();)
    i = check(i->second, now) ? std::next(i) : give_up(i);
  ending_.remove_if(has_ended);
  if (!jobs_.empty() || !ending_.empty())
    set_timer(time_after(now, config_.query_time / 4));
}

// False if the job need not be kept.
bool run_worker::check(job& x, time_point now) {
  if (!x.query.expects_reply())
    return now - x.asked < config_.lease;
  x.asked = now;
  if (has_ended(x)) {
    std::lock_guard guard{x.shared->mutex};
    reply(x.query, *x.shared->end);
    return false;
  }
  if (now >= x.query_until)
    reply(x.query, running(x));
  return true;
}

std::size_t run_worker::at_work() const {
  auto n = ending_.size();
  for (const auto& [id, x] : jobs_)
    n += has_ended(x) ? 0 : 1;
  return n;
}

bool run_worker::has_ended(const job& x) {
  std::lock_guard guard{x.shared->mutex};
  return x.shared->end.has_value();
}

job_state run_worker::running(const job& x) {
  job_state out;
  out.stage = job_stage::running;
  out.permille = x.shared->permille;
  return out;
}

void run_worker::reply(portable::reply_to& to, job_state x) {
  to.answer(this, caf::make_message(std::move(x)));
}

} // namespace caisson::sim
