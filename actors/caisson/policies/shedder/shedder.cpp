#include <caisson/policies/shedder/shedder.hpp>

#include <caisson/base/ensure.hpp>
#include <caisson/policy/callback.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace caisson {

// -- construction -------------------------------------------------------------

namespace {

constexpr duration one_second = std::chrono::seconds(1);

// As for the setting; a callee may say anything.
constexpr duration longest_retry_after = std::chrono::hours(1);

} // namespace

shedder::shedder(shedder_config c, std::shared_ptr<load_source> load)
  : policy_base(std::move(c)), source_(std::move(load)),
    meter_(config_.history, config_.baseline),
    floor_(config_.minimum, one_second, config_.minimum),
    acts_(config_.mode == mode::enforce) {}

void shedder::set_acting(bool x) noexcept {
  if (x != acts_)
    callee_.forget_kept();
  acts_ = x;
}

// -- calls --------------------------------------------------------------------

// Inlined: the usual way must not get longer.
[[gnu::always_inline]] inline decision shedder::let_in(slot& notes, counter how,
                                                       env& e) {
  count(how);
  notes.start<call_state>({e.now});
  meter_.begin(e.now);
  return decision::pass();
}

decision shedder::admit(call_info& call, slot& notes, env& e) {
  if (check_at_ == never)
    start(e);
  else if (e.now >= check_at_)
    follow(e, true);
  // What most calls are; the rest is the same for them.
  if (call.user_priority == 0 && call.key.empty() && call.stands_for <= 1
      && !levels_.sheds() && !callee_.known()) [[likely]] {
    if (++calls_ == config_.window_calls) [[unlikely]]
      plan_check(e.now);
    levels_.pass_any(call.priority);
    return let_in(notes, counter::passed, e);
  }
  return admit_slow_path(call, notes, e);
}

decision shedder::admit_slow_path(call_info& call, slot& notes, env& e) {
  find_group(call, e);
  // What the callee would reject is no load here, and takes nothing from what
  // others may have.
  detail::callee_threshold::verdict there;
  if (callee_.known())
    there = judge_for_callee(call, e);
  if (!there.goes)
    return refuse(counter::shed_early, errc::shed, call.id, e,
                  callee_retry_after_, "reported by the callee");
  if (++calls_ == config_.window_calls)
    plan_check(e.now);
  auto lets_pass = passes(call, e);
  auto by_minimum = false;
  if (levels_.sheds()) {
    floor_.advance(e.now);
    by_minimum = floor_.take(1);
    if (!lets_pass && !by_minimum)
      return shed(call, e);
    // It is one of those that always pass, also if it takes less than a token:
    // so that setting adds next to none to a rate above it.
    if (lets_pass && !by_minimum)
      floor_.drain(e.now);
  }
  if (there.stands_for > 0)
    send_sample(call, there.stands_for, e);
  return let_in(notes, lets_pass ? counter::passed : counter::passed_by_minimum,
                e);
}

void shedder::find_group(call_info& call, env& e) {
  // A policy of the user's further out may set any number.
  if (call.user_priority > highest_user_priority) [[unlikely]]
    call.user_priority = 0;
  if (call.user_priority == 0 && !call.key.empty())
    call.user_priority = user_priority(call.key, e);
}

bool shedder::passes(call_info& call, env& e) {
  auto n = std::max<std::uint32_t>(call.stands_for, 1);
  auto x = call.user_priority == 0
             ? levels_.admit_any(call.priority, n, e.random)
             : levels_.admit(call.priority, call.user_priority - 1u, n,
                             e.random);
  // Those that it stands for would not have come any further, either.
  if (!x && acts_)
    call.stands_for = 0;
  return x;
}

std::uint8_t shedder::user_priority(std::string_view key, env& e) {
  if (!secret_)
    secret_ = e.secret_bits();
  auto hour = static_cast<std::uint64_t>(e.now.time_since_epoch()
                                         / std::chrono::hours(1));
  auto group = detail::sip_hash({*secret_, hour}, key)
               % detail::shed_levels::groups;
  return static_cast<std::uint8_t>(group + 1);
}

decision shedder::shed(const call_info& call, env& e) {
  CAISSON_ENSURE(levels_.sheds() && cause_ != signal::none,
                 "it is {}, and sheds for reason {}", state(), cause_);
  auto why = counter::shed_cpu;
  switch (cause_) {
    case signal::memory:
      why = counter::shed_memory;
      break;
    case signal::mailbox:
      why = counter::shed_mailbox;
      break;
    case signal::delay:
      why = counter::shed_delay;
      break;
    case signal::in_flight:
      why = counter::shed_in_flight;
      break;
    case signal::cpu:
    case signal::none:
      break;
  }
  auto d = refuse(why, errc::shed, call.id, e, config_.retry_after);
  d.threshold = static_cast<std::uint16_t>(levels_.certain());
  return d;
}

// A call of no user gets a group now, if that decides: it has the same one at
// the callee, which would draw another.
detail::callee_threshold::verdict shedder::judge_for_callee(call_info& call,
                                                            env& e) {
  using detail::shed_levels;
  std::uint32_t group = call.user_priority;
  CAISSON_ENSURE(group <= shed_levels::groups, "group {} of {}", group,
                 shed_levels::groups);
  auto first = shed_levels::level_of(call.priority, 0);
  if (group == 0 && callee_.cuts(first, shed_levels::groups)) {
    group = static_cast<std::uint32_t>(1 + e.random.below(shed_levels::groups));
    if (acts_)
      call.user_priority = static_cast<std::uint8_t>(group);
  }
  return callee_.judge(first + std::max(group, 1u) - 1, e.now);
}

void shedder::send_sample(call_info& call, std::uint16_t stands_for, env& e) {
  CAISSON_ENSURE(stands_for > 0 && stands_for <= most_stood_for,
                 "a call stands for {} of {}", stands_for, most_stood_for);
  callee_.sent(e.now);
  count(counter::asked);
  if (acts_)
    call.stands_for = stands_for;
}

void shedder::on_threshold(const outcome& result, env& e) {
  if (config_.follow_for == duration::zero())
    return;
  count(counter::thresholds_received);
  shown_at_ = e.now;
  callee_.on_threshold(result.threshold, time_after(e.now, config_.follow_for));
  callee_retry_after_ = std::clamp(result.retry_after, duration::zero(),
                                   longest_retry_after);
}

decision shedder::complete(call_info& call, slot& notes, outcome& result,
                           env& e) {
  CAISSON_ENSURE(meter_.in_flight() > 0, "{} calls in flight, and one ends",
                 meter_.in_flight());
  count(counter::finished);
  call.stands_for = 0;
  // A shedder further in of this gate sheds for the gate, not for the worker.
  if (result.threshold != 0 && result.reply) [[unlikely]]
    on_threshold(result, e);
  auto begun = notes.as<call_state>().begun;
  if (result.ok)
    meter_.succeed(begun, e.now);
  else if (result.is_time_limit())
    meter_.time_out(begun, e.now);
  else
    meter_.end(e.now);
  return decision::pass();
}

// A call whose caller has gone would have taken longer, too.
void shedder::abandon(call_info& call, slot& notes, const outcome&,
                      bool in_flight, env& e) {
  CAISSON_ENSURE(meter_.in_flight() > 0, "{} calls in flight, and one leaves",
                 meter_.in_flight());
  count(counter::abandoned);
  call.stands_for = 0;
  if (in_flight)
    meter_.time_out(notes.as<call_state>().begun, e.now);
  else
    meter_.end(e.now);
}

// -- time ---------------------------------------------------------------------

// The first call after a time without any.
void shedder::start(env& e) {
  calls_ = 0;
  window_begin_ = e.now;
  window_end_ = time_after(e.now, window_length());
  meter_.resume(e.now);
  reads_mailbox_since_ = never;
  look(true, e);
  plan_check(e.now);
}

void shedder::wake(env& e) {
  follow(e, false);
}

void shedder::follow(env& e, bool called) {
  shown_at_ = e.now;
  if (e.now >= sample_at_)
    look(called || calls_ > 0, e);
  auto is_full = calls_ >= config_.window_calls
                 && e.now >= time_after(window_begin_, config_.sample);
  if (e.now >= window_end_ || is_full)
    end_window(e);
  plan_check(e.now);
}

void shedder::plan_check(time_point now) {
  if (window_end_ == never) {
    check_at_ = sample_at_ = never;
    return;
  }
  auto full_at = calls_ >= config_.window_calls
                   ? time_after(window_begin_, config_.sample)
                   : never;
  check_at_ = std::max(now, std::min({sample_at_, window_end_, full_at}));
}

// No window is judged by readings of the one before.
duration shedder::window_length() const noexcept {
  return looks() ? std::max(config_.window, config_.sample) : config_.window;
}

bool shedder::looks() const noexcept {
  return reads() || config_.max_mailbox_delay > duration::zero();
}

bool shedder::reads() const noexcept {
  return source_ && (config_.max_cpu > 0 || config_.max_memory > 0);
}

void shedder::look(bool has_calls, env& e) {
  sample_at_ = looks() ? time_after(e.now, config_.sample) : never;
  auto known = read_load(e);
  // Without calls nothing is sent.
  if (!has_calls)
    reads_mailbox_since_ = never;
  else if (config_.max_mailbox_delay > duration::zero())
    known = read_mailbox(e) && known;
  if (!known)
    count(counter::unread);
}

// Returns whether all of it that is a signal is known.
bool shedder::read_load(env& e) {
  auto known = [](std::optional<double> x) {
    return x && *x >= 0 ? std::optional{std::min(*x, 1.0)} : std::nullopt;
  };
  load_ = {};
  if (reads())
    if (auto x = call_user(
          "load_source", [&] { return source_->read(e.now, config_.sample); },
          e))
      load_ = {known(x->cpu), known(x->memory)};
  if (config_.max_cpu > 0 && load_.cpu && *load_.cpu >= config_.max_cpu)
    hot_until_ = std::max(hot_until_, time_after(e.now, config_.cool_off));
  return (config_.max_cpu == 0 || load_.cpu)
         && (config_.max_memory == 0 || load_.memory);
}

// Returns whether there is one.
bool shedder::read_mailbox(env& e) {
  auto is_first = reads_mailbox_since_ == never;
  if (is_first)
    reads_mailbox_since_ = e.now;
  auto x = e.probe_mailbox(reads_mailbox_since_);
  // A message has to be sent before there is anything to read.
  if (x && !is_first) {
    mailbox_sum_ += *x;
    ++mailbox_reads_;
  }
  return x.has_value();
}

// Without a call since the last window, no call of this layer is at fault,
// whatever the signals say, and the threshold comes back.
void shedder::end_window(env& e) {
  auto before = state();
  auto shed_before = levels_.sheds();
  auto length = std::clamp(to_seconds(e.now - window_begin_), 0.0,
                           to_seconds(window_length()));
  auto least = config_.minimum * length;
  measure(e.now);
  auto why = calls_ > 0 ? overload(e.now) : signal::none;
  if (why != signal::none) {
    cause_ = why;
    count(counter::tightened);
    levels_.tighten(1 - config_.decrease, least);
  } else if (shed_before) {
    count(counter::relaxed);
    levels_.relax(1 + config_.increase, least);
  } else {
    levels_.keep();
  }
  e.emit_change(before, state(), shed_before ? "all calls pass" : reason());
  auto goes_on = calls_ > 0 || levels_.sheds();
  calls_ = 0;
  meter_.restart(e.now);
  window_begin_ = e.now;
  window_end_ = goes_on ? time_after(e.now, window_length()) : never;
  CAISSON_ENSURE(mailbox_reads_ == 0 && meter_.in_flight() >= 0,
                 "a window begins with {} readings, {} calls in flight",
                 mailbox_reads_, meter_.in_flight());
}

void shedder::measure(time_point now) {
  mean_in_flight_ = meter_.mean_in_flight(now);
  capacity_ = meter_.capacity(now);
  delay_ = meter_.delay(now);
  if (mailbox_reads_ > 0)
    mailbox_delay_ = mailbox_sum_ / mailbox_reads_;
  else
    mailbox_delay_.reset();
  mailbox_sum_ = duration::zero();
  mailbox_reads_ = 0;
}

shedder::signal shedder::overload(time_point now) {
  const auto& c = config_;
  auto cpu = c.max_cpu > 0 && load_.cpu && *load_.cpu >= c.max_cpu;
  if (c.max_memory > 0 && load_.memory && *load_.memory >= c.max_memory)
    return signal::memory;
  if (c.max_mailbox_delay > duration::zero() && mailbox_delay_
      && *mailbox_delay_ > c.max_mailbox_delay)
    return signal::mailbox;
  if (c.max_delay > duration::zero() && delay_ && *delay_ > c.max_delay)
    return signal::delay;
  auto together = c.in_flight_needs_cpu && c.max_cpu > 0
                  && c.in_flight_factor > 0;
  if (c.in_flight_factor > 0 && capacity_
      && mean_in_flight_ > std::max(1.0, *capacity_ * c.in_flight_factor)
      && (!together || cpu || now < hot_until_))
    return signal::in_flight;
  return cpu && !together ? signal::cpu : signal::none;
}

std::string shedder::reason() const {
  auto percent = [](double x) { return static_cast<int>(x * 100); };
  switch (cause_) {
    case signal::memory:
      return fmt::format("memory {} %", percent(load_.memory.value_or(0)));
    case signal::mailbox:
      return "delay in the mailbox "
             + rounded_text(mailbox_delay_.value_or(duration::zero()));
    case signal::delay:
      return "delay " + rounded_text(delay_.value_or(duration::zero()));
    case signal::in_flight:
      return fmt::format("{:.1f} calls in flight, of {:.1f}", mean_in_flight_,
                         capacity_.value_or(0) * config_.in_flight_factor);
    case signal::cpu:
      return fmt::format("cpu {} %", percent(load_.cpu.value_or(0)));
    case signal::none:
      break;
  }
  return {};
}

// -- operation ----------------------------------------------------------------

std::string_view shedder::state() const {
  return levels_.sheds() ? "shedding" : "passing";
}

void shedder::prepare(shedder_config& next, env& e) {
  floor_.advance(e.now);
  // Busy means something else from now on.
  if (next.max_cpu != config_.max_cpu)
    hot_until_ = time_point::min();
}

void shedder::adapt(env& e) {
  meter_.resize(config_.history, config_.baseline, e.now);
  floor_.reshape(config_.minimum, one_second, config_.minimum);
  // What was read before the signals were off says nothing of later.
  if (!reads())
    load_ = {};
  if (config_.max_mailbox_delay == duration::zero())
    forget_mailbox();
  if (auto latest = time_after(e.now, config_.cool_off); hot_until_ > latest)
    hot_until_ = latest;
  if (config_.follow_for == duration::zero())
    callee_.forget();
  else
    callee_.shorten(time_after(e.now, config_.follow_for));
  if (check_at_ == never)
    return;
  window_end_ = time_after(window_begin_, window_length());
  if (!looks())
    sample_at_ = never;
  else if (sample_at_ == never)
    sample_at_ = e.now;
  else
    sample_at_ = std::min(sample_at_, time_after(e.now, config_.sample));
  plan_check(e.now);
}

void shedder::forget(env& e) {
  auto before = state();
  levels_.open();
  CAISSON_ENSURE(!levels_.sheds() && meter_.in_flight() >= 0,
                 "it is {} after a reset, {} calls in flight", state(),
                 meter_.in_flight());
  meter_.forget(e.now);
  floor_.fill(e.now);
  hot_until_ = time_point::min();
  mean_in_flight_ = 0;
  capacity_.reset();
  delay_.reset();
  forget_mailbox();
  cause_ = signal::none;
  callee_.forget();
  e.emit_change(before, state(), "reset");
}

void shedder::forget_mailbox() noexcept {
  mailbox_sum_ = duration::zero();
  mailbox_reads_ = 0;
  mailbox_delay_.reset();
  reads_mailbox_since_ = never;
}

void shedder::list_gauges(std::vector<metric>& out) const {
  auto whole = [](double x) { return static_cast<std::int64_t>(x); };
  out.push_back({"threshold", levels_.threshold(), true});
  out.push_back({"cpu_permille", whole(load_.cpu.value_or(0) * 1000), true});
  out.push_back(
    {"memory_permille", whole(load_.memory.value_or(0) * 1000), true});
  out.push_back(
    {"mailbox_delay_us",
     mailbox_delay_.value_or(duration::zero()) / std::chrono::microseconds(1),
     true});
  out.push_back(
    {"delay_us",
     delay_.value_or(duration::zero()) / std::chrono::microseconds(1), true});
  out.push_back({"in_flight", meter_.in_flight(), true});
  out.push_back(
    {"in_flight_limit",
     whole(std::min(capacity_.value_or(0) * config_.in_flight_factor, 1e15)),
     true});
  out.push_back({"callee_threshold", callee_.at(shown_at_), true});
}

} // namespace caisson
