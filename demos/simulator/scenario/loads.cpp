#include <simulator/scenario/loads.hpp>

#include <simulator/scenario/distribution_value.hpp>
#include <simulator/scenario/fields.hpp>

#include <caisson/settings/file_order.hpp>
#include <caisson/settings/read_value.hpp>

#include <fmt/format.h>

#include <chrono>
#include <limits>
#include <utility>

namespace caisson {

// -- points of a profile ------------------------------------------------------

using value_of_point = field_value_for<sim::rate_point>;

namespace {

constexpr range<duration> any_time{duration::zero(), unlimited};
constexpr range<double> any_rate{0.0, 1e7};

} // namespace

std::string value_of_point::text() const {
  return fmt::format("[\"{}\", {}]", to_text(x_.at), to_text(x_.rate));
}

void value_of_point::read(const setting& from, const setting_path& path,
                          problems& out) {
  auto pair = std::get_if<std::vector<setting>>(&from.value);
  if (!pair || pair->size() != 2) {
    out.push_back({problem_kind::type, path,
                   fmt::format("{} is not a point, allowed: {}",
                               pair ? fmt::format("a list of {}", pair->size())
                                    : to_text(from),
                               allowed()),
                   from.place});
    return;
  }
  detail::read_value((*pair)[0], path / 0, x_.at, any_time, out);
  detail::read_value((*pair)[1], path / 1, x_.rate, any_rate, out);
}

void value_of_point::check(const setting_path& path, problems& out) const {
  if (!detail::within(x_.rate, any_rate))
    out.push_back({problem_kind::range, path / 1,
                   detail::out_of_range(to_text(x_.rate), any_rate)});
}

} // namespace caisson

namespace caisson::sim {

// -- what is asked for --------------------------------------------------------

std::string mix_value::text() const {
  std::string out;
  for (const auto& [name, weight] : x_)
    out += fmt::format("{}{} = {}", out.empty() ? "{ " : ", ",
                       detail::quoted(name), to_text(weight));
  return out.empty() ? "{}" : out + " }";
}

namespace {

constexpr range<double> any_weight{1e-9, 1e9};

} // namespace

void mix_value::read(const setting& from, const setting_path& path,
                     problems& out) {
  auto table = detail::table_in(from, path, out);
  if (!table)
    return;
  x_.clear();
  for (const auto& [name, value] : detail::in_file_order(*table)) {
    auto& weight = x_.emplace_back(name, 1.0).second;
    detail::read_value(*value, path / name, weight, any_weight, out);
  }
}

void mix_value::check(const setting_path& path, problems& out) const {
  for (const auto& [name, weight] : x_)
    if (!detail::within(weight, any_weight))
      out.push_back({problem_kind::range, path / name,
                     detail::out_of_range(to_text(weight), any_weight)});
}

// -- a load -------------------------------------------------------------------

namespace {

void describe_targets(field_visitor& v, load_config& c) {
  v.on({.key = "target",
        .help = "the operation that is requested; either this or mix is "
                "required",
        .allowed = "the name of an operation",
        .required = true,
        .nonempty = true,
        .one_of = "target"},
       c.target);
  mix_value mix{c.mix};
  v.on({.key = "mix",
        .help = "operations and how often each is requested, by weight",
        .required = true,
        .nonempty = true,
        .one_of = "target"},
       mix);
}

// Where the rate comes from. The profile of a recording is not read here.
void describe_rate(field_visitor& v, load_config& c) {
  v.on({.key = "rate",
        .help = "how many requests begin; this, profile or trace is required",
        .unit = "per second",
        .required = true,
        .when = {"kind", {"constant", "poisson"}},
        .one_of = "rate"},
       c.rate, {1e-6, 1e7});
  v.on({.key = "profile",
        .help = "times, ascending from 0s, and the rate from each on",
        .allowed = "a list of points such as [\"60s\", 100]",
        .nonempty = true,
        .when = {"kind", {"constant", "poisson"}},
        .one_of = "rate"},
       c.profile);
  v.on({.key = "trace",
        .help = "a file with the times of requests, or with their numbers",
        .allowed = "a table with file and format",
        .when = {"kind", {"constant", "poisson"}},
        .one_of = "rate"},
       c.recording);
  v.on({.key = "ramps",
        .help = "whether the rate changes linearly from one point of the "
                "profile to the next",
        .needs = {"profile"}},
       c.ramps);
  v.on({.key = "scale",
        .help = "multiplies the rate of a profile or of a load recording",
        .needs = {"profile", "trace"}},
       c.scale, {1e-6, 1e6});
  v.on(
    {.key = "burst",
     .help = "poisson only: the factor by which a burst multiplies the rate; "
             "bursts begin and end at random",
     .when = {"kind", {"poisson"}}},
    c.burst, {0.0, 1e6});
  v.on({.key = "burst_every",
        .help = "the mean time from the end of a burst to the next one",
        .needs = {"burst"}},
       c.burst_every, {std::chrono::milliseconds(1), longest_time});
  v.on({.key = "burst_for",
        .help = "the mean length of a burst",
        .needs = {"burst"}},
       c.burst_for, {std::chrono::milliseconds(1), longest_time});
  v.integer<std::uint32_t>({.key = "users",
                            .help = "closed only: number of users",
                            .required = true,
                            .when = {"kind", {"closed"}}},
                           c.users, {1, 1'000'000});
  v.on({.key = "think",
        .help = "closed only: how long a user waits before each request",
        .when = {"kind", {"closed"}}},
       c.think);
}

void describe_client(field_visitor& v, load_config& c) {
  v.on({.key = "timeout",
        .help = "how long the client waits for the answer to each attempt",
        .one_of = "timeout"},
       c.timeout, {shortest_time, unlimited});
  v.on({.key = "patience",
        .help = "the same, drawn for each request; excludes timeout",
        .one_of = "timeout"},
       c.patience);
  v.integer<std::uint32_t>({"attempts", "how many attempts a client makes in "
                                        "all, the first one included"},
                           c.attempts, {1, 100});
  v.on({"pause", "time between the end of an attempt and the next attempt"},
       c.pause);
  auto rule = c.retry_timeouts_only ? retry_rule::timeout : retry_rule::failure;
  v.choice({"retry", "failure: every attempt that failed is followed by "
                     "another; timeout: only one that was not answered in "
                     "time"},
           rule);
  c.retry_timeouts_only = rule == retry_rule::timeout;
  using limits = std::numeric_limits<std::int32_t>;
  v.integer<std::int32_t>({"priority",
                           "of the calls, where services or limits go "
                           "by priorities; higher is more important"},
                          c.priority, {limits::min(), limits::max()});
  v.integer<std::uint32_t>({"keys", "more than 0: the calls of each request "
                                    "have one of this many keys, for policies "
                                    "per key"},
                           c.keys, {0, 1'000'000});
  v.on({.key = "key_skew",
        .help = "the exponent of Zipf's law, by which keys are chosen: the "
                "probability of key i is proportional to 1 / i to the power "
                "of this; 0: all are equally likely",
        .needs = {"keys"}},
       c.key_skew, {0.0, 10.0});
}

// Reports points that are not where the profile begins, or not after the one
// before them.
void check_profile(const load_config& c, const setting_path& path,
                   problems& out) {
  const rate_point* before = nullptr;
  for (std::size_t i = 0; i < c.profile.size(); ++i) {
    const auto& p = c.profile[i];
    auto wrong = [&](std::string message) {
      out.push_back({problem_kind::relation, path / i / 0, std::move(message)});
    };
    if (p.at == rate_point::no_time)
      continue;
    if (i == 0 && p.at != duration::zero())
      wrong(to_text(p.at) + " begins the profile, allowed: 0s");
    else if (before && p.at <= before->at)
      wrong(fmt::format("{} does not come after the point before it, which is "
                        "at {}",
                        to_text(p.at), to_text(before->at)));
    before = &p;
  }
}

} // namespace

void describe(field_visitor& v, load_config& c) {
  describe_targets(v, c);
  v.on({.key = "zone",
        .help = "where the clients are; outside of all zones if empty",
        .allowed = "the name of a zone"},
       c.zone);
  v.choice({"kind", "constant: one request every 1/rate seconds; poisson: "
                    "exponential gaps; closed: users that wait for their "
                    "answer, then think"},
           c.kind);
  describe_rate(v, c);
  v.on({"start", "when the load begins"}, c.start,
       {duration::zero(), longest_time});
  v.on({"stop", "when the load ends; later than start"}, c.stop,
       {shortest_time, unlimited});
  describe_client(v, c);
}

void check(const load_config& c, const setting_path& path, problems& out) {
  if (c.stop <= c.start)
    out.push_back({problem_kind::relation, path / "stop",
                   fmt::format("{} is not after start, which is {}",
                               to_text(c.stop), to_text(c.start))});
  if (c.burst != 1 && c.recording)
    out.push_back(
      {problem_kind::relation, path / "burst",
       "has no effect on a load recording, allowed: rate or profile"});
  check_profile(c, path / "profile", out);
}

} // namespace caisson::sim
