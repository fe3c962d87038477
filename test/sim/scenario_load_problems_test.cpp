// What is wrong with loads and with the tables of traces.
#include <sim/scenario/scenario.hpp>

#include <support/sim_scenarios.hpp>

#include <gtest/gtest.h>

#include <ostream>
#include <string>

namespace caisson::sim {
namespace {

using test::complaint_about;

struct mistake {
  std::string text;
  std::string expected;
};

void PrintTo(const mistake& x, std::ostream* out) {
  *out << x.text;
}

// -- loads --------------------------------------------------------------------

class load_mistake : public testing::TestWithParam<mistake> {};

TEST_P(load_mistake, is_reported_with_its_place_and_key) {
  EXPECT_EQ(complaint_about("length = '60s'\n[service.web]\n"
                            "[load.l]\n"
                            + GetParam().text),
            GetParam().expected);
}

const mistake targets[] = {
  {"rate = 1",
   "f:3:1: load.l.target: is missing, allowed: the name of an operation, "
   "or else a table mix"},
  {"tagret = 'web'\nrate = 1",
   "f:4:10: load.l.tagret: unknown key, did you mean \"target\"? known "
   "keys: target, mix, kind, rate, ramps, scale, users, think, start, "
   "stop, timeout, attempts, pause, retry, priority, profile, trace"},
  {"target = 'wbe'\nrate = 1",
   "f:4:10: load.l.target: \"wbe\" is no operation, did you mean \"web\"? "
   "known operations: web"},
  {"target = 5\nrate = 1",
   "f:4:10: load.l.target: 5 is not a target, allowed: the name of an "
   "operation"},
  {"target = 'web'\nmix = { web = 1 }\nrate = 1",
   "f:5:7: load.l.mix: cannot be given beside target"},
  {"mix = 'web'\nrate = 1", "f:4:7: load.l.mix: \"web\" is not a table"},
  {"mix = {}\nrate = 1",
   "f:4:7: load.l.mix: has no operation, allowed: at least one, such as "
   "\"web.home\" = 1"},
  {"mix = { web = 0, wbe = 1 }\nrate = 1",
   "f:4:15: load.l.mix.web: 0 is out of range, allowed: 1e-09 to "
   "1000000000\n"
   "f:4:24: load.l.mix.wbe: \"wbe\" is no operation, did you mean "
   "\"web\"? known operations: web"},
  {"mix = { web = 'often' }\nrate = 1",
   "f:4:15: load.l.mix.web: \"often\" is not a number, allowed: 1e-09 to "
   "1000000000"},
};

INSTANTIATE_TEST_SUITE_P(targets, load_mistake, testing::ValuesIn(targets));

const mistake sources[] = {
  {"target = 'web'",
   "f:3:1: load.l.rate: is missing, allowed: a number of requests per "
   "second, or else profile or trace"},
  {"target = 'web'\nrate = 0",
   "f:5:8: load.l.rate: 0 is out of range, allowed: 1e-06 to 10000000"},
  {"target = 'web'\nrate = 1e8",
   "f:5:8: load.l.rate: 100000000.0 is out of range, allowed: 1e-06 to "
   "10000000"},
  {"target = 'web'\nrtae = 1",
   "f:5:8: load.l.rtae: unknown key, did you mean \"rate\"? known keys: "
   "target, mix, kind, rate, ramps, scale, users, think, start, stop, "
   "timeout, attempts, pause, retry, priority, profile, trace"},
  {"target = 'web'\nrate = 1\nprofile = [['0s', 1]]",
   "f:6:11: load.l.profile: cannot be given beside rate"},
  {"target = 'web'\nrate = 1\nscale = 2",
   "f:6:9: load.l.scale: scale applies to profile and trace only"},
  {"target = 'web'\nrate = 1\nramps = true",
   "f:6:9: load.l.ramps: ramps applies to profile only"},
  {"target = 'web'\nprofile = 5",
   "f:5:11: load.l.profile: 5 is not a list, allowed: a list of points "
   "such as [\"60s\", 100]"},
  {"target = 'web'\nprofile = []",
   "f:5:11: load.l.profile: has no point, allowed: at least [\"0s\", RATE]"},
  {"target = 'web'\nprofile = [['1s', 1]]",
   "f:5:13: load.l.profile[0][0]: 1s begins the profile, allowed: 0s"},
  {"target = 'web'\nprofile = [['0s', 1], ['5s', 2], ['5s', 3]]",
   "f:5:35: load.l.profile[2][0]: 5s does not come after the point before "
   "it, which is at 5s"},
  {"target = 'web'\nprofile = [['0s', -1], [5, 1], ['6s'], '7s']",
   "f:5:19: load.l.profile[0][1]: -1 is out of range, allowed: 0 to "
   "10000000\n"
   "f:5:25: load.l.profile[1][0]: 5 is not a duration, allowed: a number "
   "with ns, us, ms, s, min, h or d, such as \"250ms\", or \"unlimited\"\n"
   "f:5:32: load.l.profile[2]: a list of 1 is not a point, allowed: a "
   "list of a duration and a rate, such as [\"60s\", 100]\n"
   "f:5:40: load.l.profile[3]: \"7s\" is not a point, allowed: a list of "
   "a duration and a rate, such as [\"60s\", 100]"},
  {"target = 'web'\nkind = 'closed'",
   "f:3:1: load.l.users: is missing, allowed: 1 to 1000000"},
  {"target = 'web'\nkind = 'closed'\nusers = 0",
   "f:6:9: load.l.users: 0 is out of range, allowed: 1 to 1000000"},
  {"target = 'web'\nkind = 'closed'\nusers = 1\nrate = 1\nscale = 1",
   "f:7:8: load.l.rate: rate applies to open loops only, this is closed\n"
   "f:8:9: load.l.scale: scale applies to profile and trace only"},
  {"target = 'web'\nrate = 1\nusers = 1\nthink = '1s'",
   "f:6:9: load.l.users: users applies to closed loops only, this is "
   "open\n"
   "f:7:9: load.l.think: think applies to closed loops only, this is open"},
  {"target = 'web'\nrate = 1\nkind = 'open'",
   "f:6:8: load.l.kind: \"open\" is not one of: constant, poisson, closed"},
};

INSTANTIATE_TEST_SUITE_P(sources, load_mistake, testing::ValuesIn(sources));

const mistake clients[] = {
  {"target = 'web'\nrate = 1\nattempts = 0",
   "f:6:12: load.l.attempts: 0 is out of range, allowed: 1 to 100"},
  {"target = 'web'\nrate = 1\ntimeout = '0s'",
   "f:6:11: load.l.timeout: \"0s\" is out of range, allowed: 1ns to "
   "unlimited"},
  {"target = 'web'\nrate = 1\nretry = 'always'",
   "f:6:9: load.l.retry: \"always\" is not one of: failure, timeout"},
  {"target = 'web'\nrate = 1\npause = { kind = 'exponential' }",
   "f:6:9: load.l.pause.base: 0s never grows, allowed for exponential: "
   "1ns to unlimited"},
  {"target = 'web'\nrate = 1\npriority = 3000000000",
   "f:6:12: load.l.priority: 3000000000 is out of range, allowed: "
   "-2147483648 to 2147483647"},
  {"target = 'web'\nrate = 1\nstart = '60s'",
   "f:6:9: load.l.start: 1min is not before length, which is 1min"},
  {"target = 'web'\nrate = 1\nstart = '5s'\nstop = '5s'",
   "f:7:8: load.l.stop: 5s is not after start, which is 5s"},
};

INSTANTIATE_TEST_SUITE_P(clients, load_mistake, testing::ValuesIn(clients));

const mistake traces[] = {
  {"target = 'web'\ntrace = 'x.csv'",
   "f:5:9: load.l.trace: \"x.csv\" is not a table"},
  {"target = 'web'\ntrace = {}",
   "f:5:9: load.l.trace.file: is missing, allowed: the path of a CSV "
   "file\n"
   "f:5:9: load.l.trace.format: is missing, allowed: timestamps, counts"},
  {"target = 'web'\ntrace = { flie = 'x.csv', format = 'rows' }",
   "f:5:18: load.l.trace.flie: unknown key, did you mean \"file\"? known "
   "keys: file, format, column, period, speed, from, to\n"
   "f:5:36: load.l.trace.format: \"rows\" is not one of: timestamps, "
   "counts"},
  {"target = 'web'\ntrace = { file = 'x.csv', format = 'counts', "
   "column = -1 }",
   "f:5:55: load.l.trace.column: -1 is not a column, allowed: an index "
   "from 0 on, or a name in the file's first line"},
  {"target = 'web'\ntrace = { file = 'x.csv', format = 'timestamps', "
   "period = '1s', speed = 0 }",
   "f:5:59: load.l.trace.period: period applies to counts only, this is "
   "timestamps\n"
   "f:5:73: load.l.trace.speed: 0 is out of range, allowed: 1e-06 to "
   "1000000"},
  {"target = 'web'\ntrace = { file = 'x.csv', format = 'timestamps', "
   "from = '5s', to = '4s' }",
   "f:5:68: load.l.trace.to: 4s is not after from, which is 5s"},
  {"target = 'web'\ntrace = { file = 'none.csv', format = 'timestamps' }",
   "f:5:18: load.l.trace.file: \"none.csv\" cannot be read: No such file "
   "or directory"},
};

INSTANTIATE_TEST_SUITE_P(traces, load_mistake, testing::ValuesIn(traces));

} // namespace
} // namespace caisson::sim
