#include <caisson/adapters/detail/queued_worker.hpp>
#include <caisson/adapters/detail/tls_settings.hpp>
#include <caisson/adapters/http_client/client.hpp>
#include <caisson/adapters/http_client/detail/loop.hpp>
#include <caisson/adapters/http_client/detail/origin.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace caisson {

namespace {

std::size_t places_of(const http_client_config& c) {
  return c.http2 ? c.max_in_progress
                 : std::min(c.max_in_progress, c.max_connections);
}

class http_actor final : public detail::queued_worker {
public:
  http_actor(caf::actor_config& cfg, const http_client_config& c)
    : detail::queued_worker(cfg, {.places = places_of(c),
                                  .max_waiting = c.max_waiting,
                                  .max_time = c.max_time,
                                  .idle_timeout = unlimited}),
      loop_(portable::make_relay<detail::http_loop>(
        system(), system().next_actor_id(), c)) {}

  const char* name() const override { return "caisson.http_worker"; }

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
  detail::http_loop& loop() {
    return *static_cast<detail::http_loop*>(loop_->get());
  }

  const caf::strong_actor_ptr loop_;
};

void check_tls(const http_client_config& c, const setting_path& path, bool used,
               problems& out) {
  auto add = [&](const char* key, std::string text) {
    out.push_back({problem_kind::relation, path / key, std::move(text)});
  };
  const std::pair<const char*, const std::string&> files[] = {
    {"ca_file", c.ca_file},
    {"client_certificate", c.client_certificate},
    {"client_key", c.client_key}};
  for (const auto& [key, file] : files)
    if (!file.empty() && !used)
      add(key, "it has no effect unless `url` begins with https://");
    else if (!file.empty() && !detail::can_be_read(file))
      out.push_back(
        {problem_kind::range, path / key,
         fmt::format(
           "{} cannot be read, or is empty; name a PEM file that this "
           "process may read",
           file)});
  if (c.client_certificate.empty() != c.client_key.empty())
    add(c.client_key.empty() ? "client_key" : "client_certificate",
        "it is missing: a client has a certificate and its key, or neither");
  if (!c.verify_server && !c.ca_file.empty())
    add("verify_server", "with false, nothing is compared with `ca_file`: "
                         "leave out one of them");
}

} // namespace

void describe(field_visitor& v, http_client_config& c) {
  using namespace std::chrono_literals;
  v.on({"url", "the server: http://host or https://host, perhaps with :port"},
       c.url);
  v.integer({"max_in_progress", "how many requests are in progress at once"},
            c.max_in_progress, {1, 10'000});
  v.integer({"max_waiting", "how many further messages wait; beyond that they "
                            "are refused as busy"},
            c.max_waiting, {0, 1'000'000});
  v.integer({"max_connections", "how many connections there are at most"},
            c.max_connections, {1, 10'000});
  v.on({"max_time", "how long one message may take at most, whatever its "
                    "caller's deadline is"},
       c.max_time, {1ms, 24h});
  v.on({"idle_timeout", "how long a connection is kept without a request"},
       c.idle_timeout, {1ms, 24h});
  v.on({"connect_timeout", "how long it may take until there is a connection"},
       c.connect_timeout, {1ms, 1h});
  v.integer({"max_body", "how large the body of a response may be, in bytes"},
            c.max_body, {0, 1 << 30});
  v.on({"deadline_header", "the header that gives the server the milliseconds "
                           "that are left; empty: none"},
       c.deadline_header);
  v.on({"priority_header", "the header that gives the server the call's "
                           "priority; empty: none"},
       c.priority_header);
  v.on({"key_header", "the header that gives the server the call's key; empty: "
                      "none"},
       c.key_header);
  v.on({"ca_file", "a PEM file with the authorities that are trusted; empty: "
                   "those of the system"},
       c.ca_file);
  v.on({"client_certificate", "a PEM file with the client's certificate"},
       c.client_certificate);
  v.on({"client_key", "a PEM file with the client's key"}, c.client_key);
  v.on({"verify_server", "whether the server's certificate is checked"},
       c.verify_server);
  v.on({"http2", "whether HTTP/2 is spoken if the server offers it"}, c.http2);
  v.on({"proxy", "the proxy, http://host:port; empty: none"}, c.proxy);
  v.on({"compression", "whether bodies are asked for in compressed form"},
       c.compression);
  v.integer({"redirects", "how many redirections a request follows at most"},
            c.redirects, {0, 20});
}

void check(const http_client_config& c, const setting_path& path,
           problems& out) {
  auto url = detail::http_url_of(c.url);
  if (!url || url->target != "/" || c.url.find('#') != std::string::npos)
    out.push_back(
      {problem_kind::range, path / "url",
       "it is not a server: write http://host or https://host, perhaps with "
       ":port, and no user or path"});
  check_header_names({{"deadline_header", c.deadline_header},
                      {"priority_header", c.priority_header},
                      {"key_header", c.key_header}},
                     path, out);
  if (!c.proxy.empty() && !detail::is_proxy_url(c.proxy))
    out.push_back({problem_kind::range, path / "proxy",
                   "it is not a proxy: write http://host:port"});
  check_tls(c, path, !url || url->origin.tls || c.redirects > 0, out);
}

worker http_worker(const http_client_config& c, supervision_config s) {
  require_valid(c);
  auto make = [c](caf::actor_system& sys) -> caf::expected<caf::actor> {
    return caf::actor_cast<caf::actor>(sys.spawn<http_actor>(c));
  };
  // These change it in place.
  // NOLINTBEGIN(bugprone-use-after-move)
  auto w = worker::supervised(make, std::move(s))
             .takes_calls()
             .takes_cancelled();
  std::move(w).classified_by(http_adapter());
  std::move(w).classified_by(transport_answer);
  return w;
  // NOLINTEND(bugprone-use-after-move)
}

caf::actor spawn_http_worker(caf::actor_system& sys,
                             const http_client_config& c) {
  require_valid(c);
  return caf::actor_cast<caf::actor>(sys.spawn<http_actor>(c));
}

worker_kind http_worker_kind() {
  return worker_kind::of<http_client_config>(
    "http", http_worker,
    {.secrets = {"proxy"}, .supervision = patient_supervision()});
}

} // namespace caisson
