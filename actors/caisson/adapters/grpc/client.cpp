#include <caisson/adapters/detail/queued_worker.hpp>
#include <caisson/adapters/detail/tls_settings.hpp>
#include <caisson/adapters/grpc/client.hpp>
#include <caisson/adapters/grpc/detail/loop.hpp>
#include <caisson/adapters/grpc/detail/target.hpp>

#include <grpcpp/support/validate_service_config.h>

#include <chrono>
#include <utility>

namespace caisson {

namespace {

class grpc_actor final : public detail::queued_worker {
public:
  grpc_actor(caf::actor_config& cfg, const grpc_client_config& c)
    : detail::queued_worker(cfg, {.places = c.max_in_progress,
                                  .max_waiting = c.max_waiting,
                                  .max_time = c.max_time,
                                  .idle_timeout = unlimited}),
      loop_(portable::make_relay<detail::grpc_loop>(
        system(), system().next_actor_id(), c)) {}

  const char* name() const override { return "caisson.grpc_worker"; }

  void on_exit() override {
    detail::queued_worker::on_exit();
    loop().stop();
  }

protected:
  bool begin(job n, std::size_t, call& what) override {
    forward(caf::actor_cast<caf::actor>(loop_), n,
            caf::make_message(std::move(what)), false);
    return true;
  }

  result finish(std::size_t, caf::message&& content) override {
    return {std::move(content)};
  }

  void interrupt(job n, std::size_t) override { loop().cancel(call_number(n)); }

  void end_place(std::size_t) override {}

private:
  detail::grpc_loop& loop() {
    return *static_cast<detail::grpc_loop*>(loop_->get());
  }

  const caf::strong_actor_ptr loop_;
};

void check_service_config(const grpc_client_config& c, const setting_path& path,
                          problems& out) {
  if (c.service_config.empty())
    return;
  auto why = ::grpc::experimental::ValidateServiceConfigJSON(c.service_config);
  if (!why.empty())
    out.push_back({problem_kind::range, path / "service_config",
                   "it is not a service config of gRPC: " + why});
  for (const auto* name : {"\"retryPolicy\"", "\"hedgingPolicy\""})
    if (!c.channel_retries && c.service_config.find(name) != std::string::npos)
      out.push_back(
        {problem_kind::relation, path / "service_config",
         std::string{"its "} + name
           + " requires `channel_retries`; or leave it out, and retries to a "
             "retrier"});
}

void check_metadata_name(const char* key, const std::string& name,
                         const setting_path& path, problems& out) {
  if (name.empty())
    return;
  if (!is_metadata(name, {}))
    out.push_back({problem_kind::range, path / key,
                   "it is not a name of metadata: "
                     + std::string{detail::metadata_name_rule}});
  else if (name == "traceparent" || name == "tracestate" || name == "baggage"
           || name == "idempotency-key")
    out.push_back({problem_kind::range, path / key,
                   "metadata of that name has another meaning"});
}

void describe_connection(field_visitor& v, grpc_client_config& c) {
  using namespace std::chrono_literals;
  v.on({"connect_timeout", "how long an attempt to connect may take"},
       c.connect_timeout, {100ms, 1h});
  v.on({"max_reconnect_delay",
        "how long to wait at most between two attempts to connect"},
       c.max_reconnect_delay, {100ms, 1h});
  v.on({"idle_timeout", "how long the connection is kept without a call"},
       c.idle_timeout, {1s, 24h});
  v.on({"keepalive", "how long the server may be silent during calls before a "
                     "keepalive ping; 0s: no pings"},
       c.keepalive, {0s, 24h});
}

} // namespace

void describe(field_visitor& v, grpc_client_config& c) {
  using namespace std::chrono_literals;
  v.on({"target", "the server: host:port, or unix:/path"}, c.target);
  v.integer({"max_in_progress", "how many calls are in progress at once"},
            c.max_in_progress, {1, 10'000});
  v.integer({"max_waiting", "how many further messages wait; beyond that they "
                            "are refused as busy"},
            c.max_waiting, {0, 1'000'000});
  v.on({"max_time", "how long one call may take at most, whatever its caller's "
                    "deadline is"},
       c.max_time, {1ms, 24h});
  describe_connection(v, c);
  v.on({"wait_for_ready", "whether a call waits for a connection until its "
                          "deadline"},
       c.wait_for_ready);
  v.integer({"max_request", "how large the message of a request may be, in "
                            "bytes"},
            c.max_request, {0, 1 << 30});
  v.integer({"max_response", "how large the message of a response may be, in "
                             "bytes"},
            c.max_response, {0, 1 << 30});
  v.integer({"max_metadata", "how large the metadata of a call may be, with 32 "
                             "for each and 700 for those of gRPC, in bytes"},
            c.max_metadata, {1 << 10, 16 << 20});
  v.on({"channel_retries", "whether gRPC repeats calls, and not the gate"},
       c.channel_retries);
  v.on({"service_config", "a service config for the channel, as JSON; empty: "
                          "none"},
       c.service_config);
  v.on({"priority_metadata", "the metadata that gives the server the call's "
                             "priority; empty: none"},
       c.priority_metadata);
  v.on({"key_metadata", "the metadata that gives the server the call's key; "
                        "empty: none"},
       c.key_metadata);
  detail::describe_tls(v, c);
}

void check(const grpc_client_config& c, const setting_path& path,
           problems& out) {
  using namespace std::chrono_literals;
  if (!detail::grpc_target_of(c.target))
    out.push_back({problem_kind::range, path / "target",
                   "it is not a server: write host:port, [::1]:port or "
                   "unix:/path"});
  if (c.keepalive != duration::zero() && c.keepalive < 10s)
    out.push_back({problem_kind::range, path / "keepalive",
                   "it must be 0s (no keepalive pings) or at least 10s"});
  check_service_config(c, path, out);
  check_metadata_name("priority_metadata", c.priority_metadata, path, out);
  check_metadata_name("key_metadata", c.key_metadata, path, out);
  if (!c.key_metadata.empty() && c.key_metadata == c.priority_metadata)
    out.push_back({problem_kind::relation, path / "key_metadata",
                   "it is also the `priority_metadata`"});
  if (c.tls && c.target.starts_with("unix:"))
    out.push_back(
      {problem_kind::relation, path / "tls",
       "is not supported over a Unix socket: leave out one of them"});
  detail::check_tls(detail::tls_settings_of(c), path, out);
}

worker grpc_worker(const grpc_client_config& c, supervision_config s) {
  require_valid(c);
  auto make = [c](caf::actor_system& sys) -> caf::expected<caf::actor> {
    return caf::actor_cast<caf::actor>(sys.spawn<grpc_actor>(c));
  };
  // These change it in place.
  // NOLINTBEGIN(bugprone-use-after-move)
  auto w = worker::supervised(make, std::move(s))
             .takes_calls()
             .takes_cancelled();
  std::move(w).classified_by(grpc_adapter());
  std::move(w).classified_by(transport_answer);
  return w;
  // NOLINTEND(bugprone-use-after-move)
}

caf::actor spawn_grpc_worker(caf::actor_system& sys,
                             const grpc_client_config& c) {
  require_valid(c);
  return caf::actor_cast<caf::actor>(sys.spawn<grpc_actor>(c));
}

} // namespace caisson
