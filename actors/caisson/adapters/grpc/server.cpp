#include <caisson/adapters/grpc/messages.hpp>
#include <caisson/adapters/grpc/server.hpp>

#include <caisson/policy/trace_context.hpp>

#include <atomic>
#include <charconv>
#include <chrono>
#include <string_view>
#include <system_error>

namespace caisson {

namespace {

std::string_view sent_metadata(const ::grpc::ServerContextBase& x,
                               std::string_view name) {
  if (name.empty())
    return {};
  const auto& all = x.client_metadata();
  auto i = all.find(::grpc::string_ref{name.data(), name.size()});
  if (i == all.end())
    return {};
  return {i->second.data(), i->second.size()};
}

// Holds the permit until gRPC is done with the call.
class limited_reactor final : public ::grpc::ServerUnaryReactor {
public:
  explicit limited_reactor(admission x) : admission_(std::move(x)) {}

  void answer(const ::grpc::Status& status) {
    status_ = status;
    Finish(status);
  }

  void OnCancel() override {
    // The handler looks at its context, and ends the call all the same.
  }

  void OnDone() override {
    finish(admission_, status_);
    delete this;
  }

private:
  admission admission_;
  // Written before `Finish`, read after it.
  ::grpc::Status status_;
};

// Answers a call exactly once, at the latest when nobody can any more.
class unary_answer {
public:
  explicit unary_answer(limited_reactor& to) : to_(to) {}

  ~unary_answer() {
    say({::grpc::StatusCode::INTERNAL, "the handler has not answered"});
  }

  unary_answer(const unary_answer&) = delete;
  unary_answer& operator=(const unary_answer&) = delete;

  void say(const ::grpc::Status& x) {
    if (!answered_.exchange(true))
      to_.answer(x);
  }

private:
  limited_reactor& to_;
  std::atomic<bool> answered_{false};
};

} // namespace

call_options grpc_options_of(const ::grpc::ServerContextBase& x,
                             const grpc_option_metadata& names) {
  call_options out;
  out.time_left = x.deadline() > std::chrono::system_clock::now()
                    ? unlimited
                    : no_time_left;
  auto set = [&](std::string& to, std::string_view from) {
    if (from.size() <= max_key_length)
      to = from;
  };
  set(out.key, sent_metadata(x, names.key));
  set(out.idempotency_key, sent_metadata(x, "idempotency-key"));
  auto trace = sent_metadata(x, "traceparent");
  // Without a trace its state means nothing.
  if (trace_context::parse(trace)) {
    out.traceparent = trace;
    out.propagated.set_tracestate(sent_metadata(x, "tracestate"));
  }
  out.propagated.set_baggage(sent_metadata(x, "baggage"));
  auto priority = sent_metadata(x, names.priority);
  auto* end = priority.data() + priority.size();
  std::int32_t number = 0;
  auto [last, failure] = std::from_chars(priority.data(), end, number);
  if (failure == std::errc{} && last == end)
    out.priority = number;
  return out;
}

admission admit(guard& by, ::grpc::ServerContextBase& context,
                const grpc_option_metadata& names) {
  auto out = by.admit(grpc_options_of(context, names));
  if (!out)
    if (auto after = grpc_pushback_of(out.retry_after()))
      context.AddTrailingMetadata(std::string{grpc_pushback_trailer}, *after);
  return out;
}

void finish(admission& x, const ::grpc::Status& status) noexcept {
  if (status.ok())
    x.succeed();
  else
    x.fail(status.error_message(), grpc_meaning_of(status));
}

::grpc::ServerUnaryReactor*
limited_unary(guard& by, ::grpc::CallbackServerContext& context,
              const std::function<void(grpc_unary_end)>& f,
              const grpc_option_metadata& names) {
  auto admitted = admit(by, context, names);
  auto refused = admitted ? std::optional<::grpc::Status>{}
                          : grpc_status_of(admitted.error());
  // gRPC ends its life, with `OnDone`.
  auto* reactor = new limited_reactor{std::move(admitted)};
  if (refused) {
    reactor->answer(*refused);
    return reactor;
  }
  auto end = std::make_shared<unary_answer>(*reactor);
  try {
    f(grpc_unary_end{[end](const ::grpc::Status& x) { end->say(x); }});
  } catch (...) {
    end->say({::grpc::StatusCode::UNKNOWN, "an exception"});
  }
  return reactor;
}

} // namespace caisson
