// Problems with scenario files: each mistake is found, under its key, and
// nothing besides.
#include <simulator/scenario/scenario.hpp>

#include <support/sim_scenarios.hpp>

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

namespace caisson::sim {
namespace {

class scenario_mistake : public testing::TestWithParam<test::mistake> {};

TEST_P(scenario_mistake, is_found_under_its_key) {
  EXPECT_EQ(
    test::mistakes_in(std::string{test::smallest_world} + GetParam().text),
    GetParam().expected);
}

// -- services -----------------------------------------------------------------

const test::mistake services[] = {
  {"[service.db]\nworkers = 'many'", {"type service.db.workers"}},
  {"[service.db]\ncores = 0", {"range service.db.cores"}},
  {"[service.db]\ncores = 1.5", {"type service.db.cores"}},
  {"[service.db]\ncores = 1000001", {"range service.db.cores"}},
  {"[service.db]\ncores = 2\nautoscale = { target = 0.5 }",
   {"relation service.db.autoscale"}},
  {"[service.db]\ncores = 2\nautoscale = { by = 'queue' }", {}},
  {"[service.db]\nautoscale = { target = 0.5 }", {}},
  {"[service.db]\nslowdown_in_progress = true",
   {"relation service.db.slowdown_in_progress"}},
  {"[service.db]\nslowdown = 1\nslowdown_in_progress = 1",
   {"type service.db.slowdown_in_progress"}},
  {"[service.db]\nqueue = -1", {"range service.db.queue"}},
  {"[service.db]\norder = 'random'", {"range service.db.order"}},
  {"[service.db]\nqueue = 0\norder = 'lifo'", {"relation service.db.order"}},
  {"[service.db]\nqueue = 0\norder = 'fifo'", {}},
  {"[service.db]\nqueue = 1\norder = 'lifo'", {}},
  {"[service.db]\nlifo_above = 5", {"relation service.db.lifo_above"}},
  {"[service.db]\norder = 'adaptive_lifo'\nlifo_above = -1",
   {"range service.db.lifo_above"}},
  {"[service.db]\norder = 'lifo'\ncodel_target = '5ms'",
   {"relation service.db.codel_target"}},
  {"[service.db]\norder = 'codel'\ncodel_target = '0s'\ncodel_interval = 5",
   {"range service.db.codel_target", "type service.db.codel_interval"}},
  {"[service.db]\nabandoned = true", {"type service.db.abandoned"}},
  {"[service.db]\nasync = 1", {"type service.db.async"}},
  {"[service.db]\nerrors = 1.5", {"range service.db.errors"}},
  {"[service.db]\nslowdown_max = 0.5", {"range service.db.slowdown_max"}},
  {"[service.db]\nworkres = 5", {"unknown service.db.workres"}},
  {"[service.db]\nstack = 'none'", {"unknown service.db.stack"}},
  {"[service.db]\ntime = 5", {"type service.db.time"}},
  {"[service.db]\ntime = { kind = 'erlang', mean = '5ms' }",
   {"missing service.db.time.k"}},
  {"[service.'d b']", {"range service.d b"}},
  {"[service]\ndb = 5", {"type service.db"}},
  {"[service.db.op]\nget = 5", {"type service.db.op.get"}},
  {"[service.db.op.get]\nworkers = 5", {"unknown service.db.op.get.workers"}},
  {"[service.db.op.'g.t']", {"range service.db.op.g.t"}},
  {"[service.db]\nop = 5", {"type service.db.op"}},
};

INSTANTIATE_TEST_SUITE_P(services, scenario_mistake,
                         testing::ValuesIn(services));

// -- calls --------------------------------------------------------------------

const test::mistake calls[] = {
  {"[service.db]\ncalls = 'web'", {"type service.db.calls"}},
  {"[service.db]\ncalls = ['wbe']", {"unknown service.db.calls[0]"}},
  {"[service.db]\ncalls = [5]", {"type service.db.calls[0]"}},
  {"[service.db]\ncalls = [{ count = 3 }]", {"missing service.db.calls[0].to"}},
  {"[service.db]\ncalls = [{ ot = 'web' }]",
   {"unknown service.db.calls[0].ot"}},
  {"[service.db]\ncalls = [{ to = 'wbe', count = 0 }]",
   {"unknown service.db.calls[0].to", "range service.db.calls[0].count"}},
  {"[service.db]\ncalls = [{ to = 5 }]", {"type service.db.calls[0].to"}},
  {"[service.db]\ncalls = [{ to = 'web', timeout = '0s' }]",
   {"range service.db.calls[0].timeout"}},
  {"[service.db]\ncalls = [{ to = 'web', probability = 2 }]",
   {"range service.db.calls[0].probability"}},
  {"[service.db]\ncalls = [{ to = 'web', cache_ttl = '1s' }]",
   {"relation service.db.calls[0].cache_ttl"}},
  {"[service.db]\ncalls = [[]]", {"missing service.db.calls[0]"}},
  {"[service.db]\ncalls = [['web', { work = '1s' }]]",
   {"relation service.db.calls[0][1].work"}},
  {"[service.db]\ncalls = [['web', ['web']]]", {"type service.db.calls[0][1]"}},
  {"[service.db]\ncalls = ['web', ['web', 'wbe']]",
   {"unknown service.db.calls[1][1]"}},
  {"[service.db]\ncalls = [{ work = '1s', to = 'web' }]",
   {"unknown service.db.calls[0].to"}},
  {"[service.db.op.get]\n[service.app]\ncalls = ['db']",
   {"unknown service.app.calls[0]"}},
  {"[service.db.op.get]\ncalls = ['db.get']",
   {"relation service.db.op.get.calls[0]"}},
  {"[service.db]\ncalls = ['app.x']\n[service.app.op.x]\ncalls = ['db']",
   {"relation service.app.op.x.calls[0]"}},
  {"[service.a]\ncalls = [{ to = 'b', count = 10000 }]\n"
   "[service.b]\ncalls = [{ to = 'web', count = 100 }]\n"
   "[load.l]\ntarget = 'a'\nrate = 1",
   {"range load.l.target"}},
};

INSTANTIATE_TEST_SUITE_P(calls, scenario_mistake, testing::ValuesIn(calls));

// -- edges --------------------------------------------------------------------

const test::mistake edges[] = {
  {"[edge]\nto = 'web'", {"type edge"}},
  {"[[edge]]\nto = 'wbe'", {"unknown edge[0].to"}},
  {"[[edge]]\nto = ['web', 'web.get']", {"unknown edge[0].to[1]"}},
  {"[[edge]]\nfrom = 'user'", {"unknown edge[0].from"}},
  {"[[edge]]\nfrom = []", {"missing edge[0].from"}},
  {"[[edge]]\nfrom = ''", {"unknown edge[0].from"}},
  {"[[edge]]\nto = ['web', '']", {"unknown edge[0].to[1]"}},
  {"[[edge]]\nstack = ''", {}},
  {"[[edge]]\nfrom = 5", {"type edge[0].from"}},
  {"[[edge]]\nto = ['web', 5]", {"type edge[0].to[1]"}},
  {"[[edge]]\nstack = 'none'", {"unknown edge[0].stack"}},
  {"[[edge]]\nlatency = 'slow'", {"type edge[0].latency"}},
  {"[[edge]]\nlatencies = '1ms'", {"unknown edge[0].latencies"}},
  {"[service.db]\n[[edge]]\nfrom = 'users'\nto = 'db'", {"relation edge[0]"}},
};

INSTANTIATE_TEST_SUITE_P(edges, scenario_mistake, testing::ValuesIn(edges));

// -- stacks -------------------------------------------------------------------

const test::mistake stacks[] = {
  {"[[stack.s.layer]]\nkind = 'braker'", {"unknown stack.s.layer[0].kind"}},
  {"[[stack.s.layer]]\nkind = 'breaker'\nthreshold = 0\n"
   "[[edge]]\nstack = 's'",
   {"range stack.s.layer[0].threshold"}},
  {"[[stack.s.layer]]\nkind = 'fallback'\nalternatives = [{ actor = 'x' }]",
   {"unknown stack.s.layer[0].alternatives[0].actor"}},
  {"[stack.s]\n[[edge]]\nstack = 'S'", {"unknown edge[0].stack"}},
  {"[stack.'s s']", {"range stack.s s"}},
};

INSTANTIATE_TEST_SUITE_P(stacks, scenario_mistake, testing::ValuesIn(stacks));

// -- faults -------------------------------------------------------------------

const test::mistake faults[] = {
  {"[fault]\nkind = 'slow'", {"type fault"}},
  {"[[fault]]", {"missing fault[0].kind"}},
  {"[[fault]]\nkind = 'stall'\nfor = '1s'", {"missing fault[0].target"}},
  {"[[fault]]\nkind = 'fire'\ntarget = 'web'\nfor = '1s'",
   {"range fault[0].kind"}},
  {"[[fault]]\nkind = 'slow'\ntarget = 'web'", {"missing fault[0].for"}},
  {"[[fault]]\nkind = 'crash'\ntarget = ''\nfor = '1s'",
   {"missing fault[0].target"}},
  {"[[fault]]\nkind = 'crash'\ntarget = '#1'\nfor = '1s'",
   {"unknown fault[0].target"}},
  {"[[fault]]\nkind = 'crash'\ntarget = '#'\nfor = '1s'",
   {"unknown fault[0].target"}},
  {"[[fault]]\nkind = 'loss'\nfrom = ''\nto = ['#1', 'web', '']\n"
   "for = '1s'",
   {"unknown fault[0].from", "unknown fault[0].to[0]",
    "unknown fault[0].to[2]"}},
  {"[group]\ng = ['', 'web']", {"unknown group.g[0]"}},
  {"[[fault]]\nkind = 'stall'\ntarget = 'wbe'\nfor = '0s'",
   {"unknown fault[0].target", "range fault[0].for"}},
  {"[[fault]]\nkind = 'stall'\ntarget = 'web'\nfor = '1s'\nfactor = 2",
   {"relation fault[0].factor"}},
  {"[[fault]]\nkind = 'slow'\ntarget = 'web'\nfor = '1s'\nrate = 1",
   {"relation fault[0].rate"}},
  {"[[fault]]\nkind = 'crash'\ntarget = 'web'\nfor = '1s'\n"
   "in_progress = true",
   {"relation fault[0].in_progress"}},
  {"[[fault]]\nkind = 'stall'\ntarget = 'web'\nfor = '1s'\nin_progress = 1",
   {"type fault[0].in_progress"}},
  {"[[fault]]\nkind = 'capacity'\ntarget = 'web'\nfor = '1s'",
   {"missing fault[0].workers"}},
  {"[[fault]]\nkind = 'flush'\ntarget = 'web'\nfor = '1s'",
   {"relation fault[0].for"}},
  {"[[fault]]\nkind = 'stall'\ntarget = 'web'\nfor = '1s'\nat = '60s'",
   {"relation fault[0].at"}},
};

INSTANTIATE_TEST_SUITE_P(faults, scenario_mistake, testing::ValuesIn(faults));

// -- expectations -------------------------------------------------------------

const test::mistake expectations[] = {
  {"[expect]\nverdict = 'fine'", {"range expect.verdict"}},
  {"[expect]\nsuccess_at_least = 99", {"range expect.success_at_least"}},
  {"[expect]\np99_at_most = 0.25", {"type expect.p99_at_most"}},
  {"[expect]\nsuccess = 1", {"unknown expect.success"}},
  {"[expect]\ncheck = { metric = 'success' }", {"type expect.check"}},
  {"[expect]\ncheck = [{ metric = 'success' }]",
   {"missing expect.check[0].min"}},
  {"[expect]\ncheck = [{ min = 1 }]", {"missing expect.check[0].metric"}},
  {"[expect]\ncheck = [{ metric = '', min = 1 }]",
   {"unknown expect.check[0].metric"}},
  {"[expect]\ncheck = [{ metric = 'success', min = 1, max = 0.5 }]",
   {"relation expect.check[0].max"}},
  {"[expect]\n"
   "check = [{ metric = 'success', min = 1, from = '5s', to = '5s' }]",
   {"relation expect.check[0].to"}},
};

INSTANTIATE_TEST_SUITE_P(expectations, scenario_mistake,
                         testing::ValuesIn(expectations));

} // namespace
} // namespace caisson::sim
