#include <caisson/adapters/detail/queued_worker.hpp>
#include <caisson/adapters/http_client/detail/loop.hpp>

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

namespace caisson::detail {

namespace {

using steady = std::chrono::steady_clock;

constexpr portable::run_context* no_actor = nullptr;

// The library is first to see that a request's time is over.
constexpr auto late_by = std::chrono::milliseconds(20);

// How many transfers without a request are kept.
constexpr std::size_t most_spare = 64;

// Once in a process; it is never undone, as others may use the library, too.
bool prepare_library() {
  static const auto done = ::curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  return done;
}

// Signals are for other threads, but for those that a thread raises by a fault,
// and a broken connection raises none here.
void block_signals() {
  sigset_t all;
  ::sigfillset(&all);
  for (auto fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS})
    ::sigdelset(&all, fault);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

} // namespace

// -- for other threads --------------------------------------------------------

http_loop::http_loop(caf::actor_config& cfg, const http_client_config& c)
  : portable::relay(cfg), config_(c),
    server_(http_url_of(c.url).value_or(http_url{}).origin) {}

bool http_loop::receive(caf::mailbox_element_ptr what, portable::run_context*) {
  if (!what->mid.is_request())
    return drop(*what);
  auto content = content_of(*what);
  portable::reply_to from{*what};
  if (!portable::holds<call>(content) || !start()) {
    from.answer(no_actor, failed_with(transport_errc::busy,
                                      "cannot start the worker's thread"));
    return true;
  }
  std::lock_guard guard{mutex_};
  inbox_.requests.push_back({std::move(from), portable::take<call>(content)});
  wake();
  return true;
}

void http_loop::cancel(std::uint64_t number) {
  std::lock_guard guard{mutex_};
  inbox_.cancelled.push_back(number);
  wake();
}

void http_loop::stop() {
  {
    std::lock_guard guard{mutex_};
    inbox_.stopped = true;
    wake();
  }
  // The last one that refers to the worker may be the thread, while it answers.
  if (thread_.get_id() == std::this_thread::get_id())
    thread_.detach();
  else if (thread_.joinable())
    thread_.join();
  ended_ = true;
  close();
}

// Returns whether the thread runs. Called by one thread only.
bool http_loop::start() {
  if (ended_ || thread_.joinable())
    return !ended_;
  try {
    spare_.reserve(most_spare);
    if (!prepare_library() || !(multi_ = new_multi()))
      return false;
    share_.reset(::curl_share_init());
    if (!share_)
      return false;
    ::curl_share_setopt(share_.get(), CURLSHOPT_SHARE,
                        CURL_LOCK_DATA_SSL_SESSION);
    // Which keeps this object.
    thread_ = std::thread{
      [this, loop = caf::strong_actor_ptr{ctrl()}] { run(); }};
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

http_loop::multi_handle http_loop::new_multi() const {
  multi_handle x{::curl_multi_init()};
  if (!x)
    return x;
  auto most = static_cast<long>(config_.max_connections);
  ::curl_multi_setopt(x.get(), CURLMOPT_MAX_TOTAL_CONNECTIONS, most);
  ::curl_multi_setopt(x.get(), CURLMOPT_MAXCONNECTS, most);
  ::curl_multi_setopt(
    x.get(), CURLMOPT_PIPELINING,
    static_cast<long>(config_.http2 ? CURLPIPE_MULTIPLEX : CURLPIPE_NOTHING));
  return x;
}

// With the mutex held.
void http_loop::wake() {
  if (std::exchange(sleeps_, false))
    ::curl_multi_wakeup(multi_.get());
}

// -- the thread ---------------------------------------------------------------

void http_loop::run() {
  block_signals();
  for (;;) {
    auto next = take_inbox();
    if (next.stopped)
      break;
    for (auto& x : next.requests)
      begin(std::move(x));
    for (auto n : next.cancelled)
      call_off(n, false);
    int running = 0;
    ::curl_multi_perform(multi_.get(), &running);
    take_results();
    call_off_late();
    if (running_.empty() && active_ != never
        && time_until(time_after(active_, config_.idle_timeout), steady::now())
             <= duration::zero())
      close_idle();
    wait();
  }
  for (auto& [n, x] : running_)
    ::curl_multi_remove_handle(multi_.get(), x->handle());
  running_.clear();
  spare_.clear();
  multi_.reset();
}

http_loop::inbox http_loop::take_inbox() {
  std::lock_guard guard{mutex_};
  return std::exchange(inbox_, {});
}

// Until there is something to do.
void http_loop::wait() {
  {
    std::lock_guard guard{mutex_};
    if (inbox_.stopped || !inbox_.requests.empty() || !inbox_.cancelled.empty())
      return;
    sleeps_ = true;
  }
  ::curl_multi_poll(multi_.get(), nullptr, 0, patience(), nullptr);
  std::lock_guard guard{mutex_};
  sleeps_ = false;
}

// How long to wait at most, in milliseconds; the library has timers besides.
int http_loop::patience() const {
  constexpr std::chrono::milliseconds most = std::chrono::hours(1);
  auto next = running_.empty() && active_ != never
                ? time_after(active_, config_.idle_timeout)
                : late_at_;
  if (next == never)
    return static_cast<int>(most.count());
  auto left = std::max(time_until(next, steady::now()), duration::zero());
  auto ms = std::chrono::ceil<std::chrono::milliseconds>(
    std::min<duration>(left, most));
  return static_cast<int>(ms.count());
}

void http_loop::begin(request x) {
  transfer_ptr next;
  try {
    if (spare_.empty()) {
      next = std::make_unique<http_transfer>(config_, server_, sockets_,
                                             share_.get());
    } else {
      next = std::move(spare_.back());
      spare_.pop_back();
    }
  } catch (const std::exception& e) {
    return x.from.answer(no_actor, failed_with(transport_errc::busy, e.what()));
  }
  std::optional<caf::message> refused;
  try {
    refused = next->begin(std::move(x.what), std::move(x.from));
    if (!refused && enter(next))
      return;
  } catch (const std::exception&) {
    // There is no memory.
  }
  answer(std::move(next),
         refused ? *std::move(refused)
                 : failed_with(transport_errc::busy, "out of memory"));
}

// Returns whether the transfer runs; it is taken then.
bool http_loop::enter(transfer_ptr& x) {
  active_ = steady::now();
  auto i = running_.emplace(x->from().number(), nullptr).first;
  if (::curl_multi_add_handle(multi_.get(), x->handle()) != CURLM_OK) {
    running_.erase(i);
    return false;
  }
  late_at_ = std::min(late_at_, time_after(x->due(), late_by));
  i->second = std::move(x);
  return true;
}

void http_loop::take_results() {
  int left = 0;
  while (auto* x = ::curl_multi_info_read(multi_.get(), &left))
    if (x->msg == CURLMSG_DONE) {
      void* transfer = nullptr;
      ::curl_easy_getinfo(x->easy_handle, CURLINFO_PRIVATE, &transfer);
      finish(*static_cast<http_transfer*>(transfer), x->data.result);
    }
}

void http_loop::finish(http_transfer& x, CURLcode code) {
  ::curl_multi_remove_handle(multi_.get(), x.handle());
  active_ = steady::now();
  std::optional<caf::message> result;
  try {
    result = x.end(code);
    if (!result
        && ::curl_multi_add_handle(multi_.get(), x.handle()) == CURLM_OK) {
      late_at_ = std::min(late_at_, time_after(x.due(), late_by));
      return;
    }
  } catch (const std::exception&) {
    // There is no memory.
  }
  auto taken = running_.extract(x.from().number());
  answer(std::move(taken.mapped()),
         result ? *std::move(result)
                : failed_with(transport_errc::lost, "out of memory"));
}

// The library has no timers for requests that wait for a connection of HTTP/2.
void http_loop::call_off_late() {
  auto now = steady::now();
  if (now < late_at_)
    return;
  std::vector<std::uint64_t> late;
  late_at_ = never;
  for (const auto& [number, x] : running_)
    if (auto at = time_after(x->due(), late_by); at <= now)
      late.push_back(number);
    else
      late_at_ = std::min(late_at_, at);
  for (auto number : late)
    call_off(number, true);
}

void http_loop::call_off(std::uint64_t number, bool is_due) {
  auto taken = running_.extract(number);
  if (taken.empty())
    return;
  auto& x = taken.mapped();
  // Closes its connection, whose late answer would be taken for another's.
  ::curl_multi_remove_handle(multi_.get(), x->handle());
  active_ = steady::now();
  auto result = called_off(x->progress(), is_due);
  answer(std::move(x), std::move(result));
}

void http_loop::answer(transfer_ptr x, caf::message content) {
  x->from().answer(no_actor, std::move(content));
  x->release();
  if (spare_.size() < most_spare)
    spare_.push_back(std::move(x));
}

// Connections without requests have no timers of their own.
void http_loop::close_idle() {
  auto next = new_multi();
  active_ = next ? never : steady::now();
  if (!next)
    return;
  {
    std::lock_guard guard{mutex_};
    multi_.swap(next);
  }
  spare_.clear();
}

} // namespace caisson::detail
