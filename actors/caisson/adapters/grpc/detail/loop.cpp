#include <caisson/adapters/detail/queued_worker.hpp>
#include <caisson/adapters/grpc/channel.hpp>
#include <caisson/adapters/grpc/detail/context.hpp>
#include <caisson/adapters/grpc/detail/loop.hpp>

#include <fmt/format.h>

#include <signal.h>

#include <chrono>
#include <exception>
#include <string>
#include <utility>

namespace caisson::detail {

namespace {

// Why the call is not sent, but for the size of its metadata; empty: it is.
std::string problem_of(const grpc_request& x, const call_options& options,
                       const grpc_client_config& c) {
  if (auto problem = problem_with(x); !problem.empty())
    return problem;
  if (x.bytes.size() > static_cast<std::size_t>(c.max_request))
    return fmt::format("the message has {} bytes, more than {}", x.bytes.size(),
                       c.max_request);
  const auto& key = options.idempotency_key;
  if (!key.empty() && !is_metadata("idempotency-key", key))
    return "the idempotency key is not printable ASCII";
  return {};
}

} // namespace

namespace {

constexpr portable::run_context* grpc_no_actor = nullptr;

// Signals are for other threads, but for those that a thread raises by a fault.
void block_signals_of_grpc() {
  sigset_t all;
  ::sigfillset(&all);
  for (auto fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS})
    ::sigdelset(&all, fault);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

} // namespace

grpc_loop::grpc_loop(caf::actor_config& cfg, const grpc_client_config& c)
  : portable::relay(cfg), config_(c) {}

// -- for other threads --------------------------------------------------------

bool grpc_loop::receive(caf::mailbox_element_ptr what, portable::run_context*) {
  if (!what->mid.is_request())
    return drop(*what);
  auto content = content_of(*what);
  portable::reply_to from{*what};
  auto refused = portable::holds<call>(content) && start()
                   ? begin(portable::take<call>(content), from)
                   : failed_with(transport_errc::busy,
                                 "cannot start the worker's thread");
  if (refused)
    from.answer(grpc_no_actor, *std::move(refused));
  return true;
}

// Returns the answer if it cannot begin, and otherwise takes `from`.
std::optional<caf::message> grpc_loop::begin(call what,
                                             portable::reply_to& from) {
  auto* x = portable::get_if<grpc_request>(what.payload);
  if (!x)
    return caf::make_message(make_error(caf::sec::unexpected_message));
  const auto most = static_cast<std::size_t>(config_.max_metadata);
  const auto size = size_of_metadata(*x, what.options);
  auto problem = problem_of(*x, what.options, config_);
  if (problem.empty() && size > most)
    problem = fmt::format("the metadata has {} bytes, more than {}", size,
                          most);
  if (!problem.empty())
    return failed_with(transport_errc::bad_request, std::move(problem));
  if (time_point{duration{what.options.deadline_ns}}
      <= std::chrono::steady_clock::now())
    return failed_with(transport_errc::busy, "no time is left");
  try {
    auto next = std::make_unique<grpc_unary_call>(config_, *x, what.options,
                                                  most - size);
    std::lock_guard guard{mutex_};
    if (stopped_)
      return failed_with(transport_errc::stopped);
    auto i = running_.emplace(from.number(), nullptr).first;
    try {
      next->start(*stub_, *results_, *x, from);
    } catch (...) {
      running_.erase(i);
      throw;
    }
    i->second = std::move(next);
    return std::nullopt;
  } catch (const std::exception& e) {
    return failed_with(transport_errc::busy, e.what());
  }
}

void grpc_loop::cancel(std::uint64_t number) {
  std::lock_guard guard{mutex_};
  if (auto i = running_.find(number); i != running_.end())
    i->second->cancel();
}

void grpc_loop::stop() {
  {
    std::lock_guard guard{mutex_};
    stopped_ = true;
    for (auto& [n, x] : running_)
      x->cancel();
    shut_down_if_over();
  }
  // The last one that refers to the worker may be the thread, while it answers.
  if (thread_.get_id() == std::this_thread::get_id())
    thread_.detach();
  else if (thread_.joinable())
    thread_.join();
  ended_ = true;
  close();
}

// With the mutex held. Not before, as a call that is going on needs the queue
// for its next step.
void grpc_loop::shut_down_if_over() {
  if (stopped_ && running_.empty() && results_)
    results_->Shutdown();
}

// Returns whether the thread runs. Called by one thread only.
bool grpc_loop::start() {
  if (ended_ || thread_.joinable())
    return !ended_;
  try {
    if (!stub_)
      stub_ = std::make_unique<::grpc::GenericStub>(grpc_channel(config_));
    if (!results_)
      results_ = std::make_unique<::grpc::CompletionQueue>();
    // Which keeps this object.
    thread_ = std::thread{
      [this, loop = caf::strong_actor_ptr{ctrl()}] { run(); }};
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

// -- the thread ---------------------------------------------------------------

void grpc_loop::run() {
  block_signals_of_grpc();
  void* tag = nullptr;
  bool ok = false;
  while (results_->Next(&tag, &ok)) {
    auto [x, step] = *static_cast<grpc_unary_call::tag*>(tag);
    if (x->advance(step, ok))
      finish(*x);
  }
  stub_.reset();
}

void grpc_loop::finish(grpc_unary_call& ended) {
  call_ptr x;
  auto is_awaited = false;
  {
    std::lock_guard guard{mutex_};
    auto taken = running_.extract(ended.from().number());
    x = std::move(taken.mapped());
    is_awaited = !stopped_;
    shut_down_if_over();
  }
  if (!is_awaited)
    return;
  caf::message content;
  try {
    content = x->answer();
  } catch (const std::exception& e) {
    content = failed_with(transport_errc::lost, e.what());
  }
  x->from().answer(grpc_no_actor, std::move(content));
}

} // namespace caisson::detail
