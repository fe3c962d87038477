#include <caisson/observe/otlp/config.hpp>

#include <caisson/adapters/http/parser.hpp>
#include <caisson/observe/otlp/detail/requests.hpp>
#include <caisson/observe/otlp/detail/sender.hpp>
#include <caisson/policy/schedule_settings.hpp>
#include <caisson/settings/settings.hpp>

#include <set>
#include <string_view>

namespace caisson {

namespace {

void check_path(const std::string& target, std::string_view key,
                const setting_path& path, problems& out) {
  if (!problem_with({.target = target}).empty())
    out.push_back({problem_kind::range, path / key,
                   "it is not a path: begin it with / and use no blanks"});
}

// Repeats nothing of a text: what looks like its name may be a secret.
void check_pairs(const std::vector<std::string>& all, std::string_view key,
                 const setting_path& path, problems& out) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto name = detail::pair_of(all[i]).first;
    if (name.empty())
      out.push_back({problem_kind::range, path / key / i,
                     "it is not of the form name=value"});
    else if (!names.insert(detail::in_lower_case(name)).second)
      out.push_back({problem_kind::relation, path / key / i,
                     "it has the name of an earlier one"});
  }
}

void check_headers(const std::vector<std::string>& all,
                   const setting_path& path, problems& out) {
  check_pairs(all, "headers", path, out);
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto [name, value] = detail::pair_of(all[i]);
    if (name.empty())
      continue;
    if (!problem_with({.headers = {{name, value}}}).empty())
      out.push_back({problem_kind::range, path / "headers" / i,
                     "its name or its value cannot be in a header"});
    else if (auto x = detail::in_lower_case(name);
             is_of_connection(x) || x == "host" || x == "content-type"
             || x == "content-encoding")
      out.push_back({problem_kind::range, path / "headers" / i,
                     name + " follows from what is sent"});
  }
}

void check_client(const otlp_config& c, const setting_path& path,
                  problems& out) {
  // A redirection may lead to a page, which would be taken for an answer, or to
  // another server, which would get the headers.
  if (c.client.redirects > 0)
    out.push_back({problem_kind::range, path / "client" / "redirects",
                   "redirections of a collector are not followed, allowed: 0"});
  for (const auto& text : c.headers)
    for (const auto& header : {c.client.deadline_header,
                               c.client.priority_header, c.client.key_header})
      if (!header.empty()
          && detail::in_lower_case(detail::pair_of(text).first)
               == detail::in_lower_case(header))
        out.push_back({problem_kind::relation, path / "headers",
                       "one of them is also a header of the client"});
}

} // namespace

void describe(field_visitor& v, otlp_config& c) {
  using namespace std::chrono_literals;
  v.on({"client", "the collector, and how it is reached: the settings of an "
                  "HTTP worker"},
       c.client);
  v.on({"traces_path", "where the collector takes spans"}, c.traces_path);
  v.on({"metrics_path", "where the collector takes metrics"}, c.metrics_path);
  v.on({"headers", "headers of all requests, each as name=value"}, c.headers);
  v.on({"service_name", "the attribute `service.name`"}, c.service_name);
  v.on({"resource", "further attributes of the program, each as name=value"},
       c.resource);
  v.integer({"max_spans", "a request is sent when it has this many spans"},
            c.max_spans, {1, 10'000});
  v.on({"max_delay", "how long a span waits for others to be sent with"},
       c.max_delay, {0s, 1h});
  v.integer({"max_waiting", "how many spans may be on their way at once, at "
                            "least `max_spans`; further ones are dropped"},
            c.max_waiting, {1, 1'000'000});
  v.on({"timeout", "how long spans and metrics may be on their way, with all "
                   "attempts; then they are dropped"},
       c.timeout, {10ms, 1h});
  v.on({"backoff", "how long to wait before each further attempt, if the "
                   "collector does not say"},
       c.backoff);
  v.on({"metrics_interval", "how often metrics are sent, at most every 10ms; "
                            "0: never"},
       c.metrics_interval, {0s, 24h});
  v.on({"metrics", "which metrics there are: the settings of the metrics for "
                   "Prometheus"},
       c.metrics);
  v.on({"shutdown_time", "how long the destructor waits for what is on its "
                         "way"},
       c.shutdown_time, {0s, 1h});
}

void check(const otlp_config& c, const setting_path& path, problems& out) {
  using namespace std::chrono_literals;
  check_path(c.traces_path, "traces_path", path, out);
  check_path(c.metrics_path, "metrics_path", path, out);
  check_headers(c.headers, path, out);
  check_client(c, path, out);
  check_pairs(c.resource, "resource", path, out);
  for (std::size_t i = 0; i < c.resource.size(); ++i)
    if (detail::pair_of(c.resource[i]).first == "service.name")
      out.push_back({problem_kind::relation, path / "resource" / i,
                     "set it by `service_name`"});
  if (c.max_waiting < c.max_spans)
    out.push_back({problem_kind::relation, path / "max_waiting",
                   "it is less than `max_spans`"});
  if (c.metrics_interval > 0s && c.metrics_interval < 10ms)
    out.push_back({problem_kind::range, path / "metrics_interval",
                   "it is less than 10ms, and not 0"});
  check(detail::otlp_retrier(c), path, out);
}

} // namespace caisson
