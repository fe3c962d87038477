// Problems with loads and with the tables of load recordings.
#include <simulator/scenario/scenario.hpp>

#include <support/sim_scenarios.hpp>

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

namespace caisson::sim {
namespace {

// -- loads --------------------------------------------------------------------

class load_mistake : public testing::TestWithParam<test::mistake> {};

TEST_P(load_mistake, is_found_under_its_key) {
  EXPECT_EQ(test::mistakes_in("length = '60s'\n[service.web]\n[load.l]\n"
                              + GetParam().text),
            GetParam().expected);
}

const test::mistake targets[] = {
  {"rate = 1", {"missing load.l.target"}},
  {"tagret = 'web'\nrate = 1", {"unknown load.l.tagret"}},
  {"target = 'wbe'\nrate = 1", {"unknown load.l.target"}},
  {"target = 5\nrate = 1", {"type load.l.target"}},
  {"target = ''\nrate = 1", {"missing load.l.target"}},
  {"target = ''\nkind = 'closed'\nusers = 1", {"missing load.l.target"}},
  {"target = 'web'\nmix = { web = 1 }\nrate = 1", {"relation load.l.mix"}},
  {"mix = 'web'\nrate = 1", {"type load.l.mix"}},
  {"mix = {}\nrate = 1", {"missing load.l.mix"}},
  {"mix = { web = 0, wbe = 1 }\nrate = 1",
   {"range load.l.mix.web", "unknown load.l.mix.wbe"}},
  {"mix = { web = 'often' }\nrate = 1", {"type load.l.mix.web"}},
};

INSTANTIATE_TEST_SUITE_P(targets, load_mistake, testing::ValuesIn(targets));

const test::mistake sources[] = {
  {"target = 'web'", {"missing load.l.rate"}},
  {"target = 'web'\nrate = 0", {"range load.l.rate"}},
  {"target = 'web'\nrate = 1e8", {"range load.l.rate"}},
  {"target = 'web'\nrtae = 1", {"unknown load.l.rtae"}},
  {"target = 'web'\nrate = 1\nprofile = [['0s', 1]]",
   {"relation load.l.profile"}},
  {"target = 'web'\nrate = 1\nscale = 2", {"relation load.l.scale"}},
  {"target = 'web'\nrate = 1\nramps = true", {"relation load.l.ramps"}},
  {"target = 'web'\nprofile = 5", {"type load.l.profile"}},
  {"target = 'web'\nprofile = []", {"missing load.l.profile"}},
  {"target = 'web'\nprofile = [['1s', 1]]", {"relation load.l.profile[0][0]"}},
  {"target = 'web'\nprofile = [['0s', 1], ['5s', 2], ['5s', 3]]",
   {"relation load.l.profile[2][0]"}},
  {"target = 'web'\nprofile = [['0s', -1], [5, 1], ['6s'], '7s']",
   {"range load.l.profile[0][1]", "type load.l.profile[1][0]",
    "type load.l.profile[2]", "type load.l.profile[3]"}},
  {"target = 'web'\nkind = 'closed'", {"missing load.l.users"}},
  {"target = 'web'\nkind = 'closed'\nusers = 0", {"range load.l.users"}},
  {"target = 'web'\nkind = 'closed'\nusers = 1\nrate = 1\nscale = 1",
   {"relation load.l.rate", "relation load.l.scale"}},
  {"target = 'web'\nrate = 1\nusers = 1\nthink = '1s'",
   {"relation load.l.users", "relation load.l.think"}},
  {"target = 'web'\nrate = 1\nkind = 'open'", {"range load.l.kind"}},
};

INSTANTIATE_TEST_SUITE_P(sources, load_mistake, testing::ValuesIn(sources));

const test::mistake clients[] = {
  {"target = 'web'\nrate = 1\nattempts = 0", {"range load.l.attempts"}},
  {"target = 'web'\nrate = 1\ntimeout = '0s'", {"range load.l.timeout"}},
  {"target = 'web'\nrate = 1\nretry = 'always'", {"range load.l.retry"}},
  {"target = 'web'\nrate = 1\npause = { kind = 'exponential' }",
   {"relation load.l.pause.base"}},
  {"target = 'web'\nrate = 1\npriority = 3000000000",
   {"range load.l.priority"}},
  {"target = 'web'\nrate = 1\nstart = '60s'", {"relation load.l.start"}},
  {"target = 'web'\nrate = 1\nstart = '5s'\nstop = '5s'",
   {"relation load.l.stop"}},
};

INSTANTIATE_TEST_SUITE_P(clients, load_mistake, testing::ValuesIn(clients));

const test::mistake recordings[] = {
  {"target = 'web'\ntrace = 'x.csv'", {"type load.l.trace"}},
  {"target = 'web'\ntrace = {}",
   {"missing load.l.trace.file", "missing load.l.trace.format"}},
  {"target = 'web'\ntrace = { flie = 'x.csv', format = 'rows' }",
   {"unknown load.l.trace.flie", "range load.l.trace.format"}},
  {"target = 'web'\ntrace = { file = 'x.csv', format = 'counts', "
   "column = -1 }",
   {"type load.l.trace.column"}},
  {"target = 'web'\ntrace = { file = 'x.csv', format = 'timestamps', "
   "period = '1s', speed = 0 }",
   {"relation load.l.trace.period", "range load.l.trace.speed"}},
  {"target = 'web'\ntrace = { file = 'x.csv', format = 'timestamps', "
   "from = '5s', to = '4s' }",
   {"relation load.l.trace.to"}},
  {"target = 'web'\ntrace = { file = 'none.csv', format = 'timestamps' }",
   {"syntax load.l.trace.file"}},
};

INSTANTIATE_TEST_SUITE_P(traces, load_mistake, testing::ValuesIn(recordings));

} // namespace
} // namespace caisson::sim
