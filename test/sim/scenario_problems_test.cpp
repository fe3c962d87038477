// What is wrong with scenario files: each problem with its place, its key, what
// was found and what is allowed, and all problems at once.
#include <sim/scenario/scenario.hpp>

#include <support/kinds.hpp>
#include <support/sim_scenarios.hpp>

#include <gtest/gtest.h>

#include <ostream>
#include <string>

namespace caisson::sim {
namespace {

struct mistake {
  // Appended to a world that is right and has 7 lines.
  std::string text;
  std::string expected;
};

void PrintTo(const mistake& x, std::ostream* out) {
  *out << x.text;
}

class scenario_mistake : public testing::TestWithParam<mistake> {};

TEST_P(scenario_mistake, is_reported_with_its_place_and_key) {
  EXPECT_EQ(
    test::complaint_about(std::string{test::smallest_world} + GetParam().text),
    GetParam().expected);
}

// -- services -----------------------------------------------------------------

const mistake services[] = {
  {"[service.db]\nworkers = 'many'",
   "f:8:11: service.db.workers: \"many\" is not a count, allowed: 1 to "
   "1000000, or \"unlimited\""},
  {"[service.db]\nqueue = -1",
   "f:8:9: service.db.queue: -1 is out of range, allowed: 0 to "
   "1000000000, or \"unlimited\""},
  {"[service.db]\norder = 'random'",
   "f:8:9: service.db.order: \"random\" is not one of: fifo, lifo"},
  {"[service.db]\nabandoned = true",
   "f:8:13: service.db.abandoned: true is not one of: finish, skip, cancel"},
  {"[service.db]\nasync = 1",
   "f:8:9: service.db.async: 1 is not a boolean, allowed: true, false"},
  {"[service.db]\nerrors = 1.5",
   "f:8:10: service.db.errors: 1.5 is out of range, allowed: 0 to 1"},
  {"[service.db]\nslowdown_max = 0.5",
   "f:8:16: service.db.slowdown_max: 0.5 is out of range, allowed: 1 to "
   "1000000"},
  {"[service.db]\nworkres = 5",
   "f:8:11: service.db.workres: unknown key, did you mean \"workers\"? "
   "known keys: workers, queue, order, abandoned, async, "
   "propagate_deadline, errors, slowdown, slowdown_from, slowdown_max, "
   "stack, time, item_time, calls, op"},
  {"[service.db]\nstack = 'none'",
   "f:8:9: service.db.stack: \"none\" is no stack, there are none"},
  {"[service.db]\ntime = 5",
   "f:8:8: service.db.time: 5 is not a distribution, allowed: a duration "
   "of 0s to 100h, or a table with kind: constant, uniform, exponential, "
   "erlang, lognormal, bimodal, empirical"},
  {"[service.db]\ntime = { kind = 'erlang', mean = '5ms' }",
   "f:8:8: service.db.time.k: is missing, allowed: 1 to 1000"},
  {"[service.'d b']",
   "f:7:1: service.d b: \"d b\" is not a name, allowed: letters, digits, "
   "\"_\" and \"-\""},
  {"[service]\ndb = 5", "f:8:6: service.db: 5 is not a table"},
  {"[service.db.op]\nget = 5", "f:8:7: service.db.op.get: 5 is not a table"},
  {"[service.db.op.get]\nworkers = 5",
   "f:8:11: service.db.op.get.workers: unknown key, known keys: time, "
   "item_time, calls"},
  {"[service.db.op.'g.t']",
   "f:7:1: service.db.op.g.t: \"g.t\" is not a name, allowed: letters, "
   "digits, \"_\" and \"-\""},
  {"[service.db]\nop = 5", "f:8:6: service.db.op: 5 is not a table"},
};

INSTANTIATE_TEST_SUITE_P(services, scenario_mistake,
                         testing::ValuesIn(services));

// -- calls --------------------------------------------------------------------

const mistake calls[] = {
  {"[service.db]\ncalls = 'web'",
   "f:8:9: service.db.calls: \"web\" is not a list, allowed: a list of "
   "calls"},
  {"[service.db]\ncalls = ['wbe']",
   "f:8:10: service.db.calls[0]: \"wbe\" is no operation, did you mean "
   "\"web\"? known operations: web, db"},
  {"[service.db]\ncalls = [5]",
   "f:8:10: service.db.calls[0]: 5 is not a call, allowed: the name of an "
   "operation, a table with to or work, or a list of calls made at the "
   "same time"},
  {"[service.db]\ncalls = [{ count = 3 }]",
   "f:8:10: service.db.calls[0].to: is missing, allowed: the name of an "
   "operation"},
  {"[service.db]\ncalls = [{ ot = 'web' }]",
   "f:8:17: service.db.calls[0].ot: unknown key, did you mean \"to\"? "
   "known keys: to, count, parallel, probability, optional, timeout, "
   "cache_keys, cache_ttl"},
  {"[service.db]\ncalls = [{ to = 'wbe', count = 0 }]",
   "f:8:17: service.db.calls[0].to: \"wbe\" is no operation, did you mean "
   "\"web\"? known operations: web, db\n"
   "f:8:32: service.db.calls[0].count: 0 is out of range, allowed: 1 to "
   "10000"},
  {"[service.db]\ncalls = [{ to = 5 }]",
   "f:8:17: service.db.calls[0].to: 5 is not a string, allowed: a text in "
   "quotes"},
  {"[service.db]\ncalls = [{ to = 'web', timeout = '0s' }]",
   "f:8:34: service.db.calls[0].timeout: \"0s\" is out of range, allowed: "
   "1ns to unlimited"},
  {"[service.db]\ncalls = [{ to = 'web', probability = 2 }]",
   "f:8:38: service.db.calls[0].probability: 2 is out of range, allowed: "
   "0 to 1"},
  {"[service.db]\ncalls = [{ to = 'web', cache_ttl = '1s' }]",
   "f:8:36: service.db.calls[0].cache_ttl: cache_ttl applies with "
   "cache_keys only"},
  {"[service.db]\ncalls = [[]]",
   "f:8:10: service.db.calls[0]: has no call, allowed: a list of at least "
   "one call"},
  {"[service.db]\ncalls = [['web', { work = '1s' }]]",
   "f:8:27: service.db.calls[0][1].work: is not done at the same time as "
   "calls, allowed: a step of its own"},
  {"[service.db]\ncalls = [['web', ['web']]]",
   "f:8:18: service.db.calls[0][1]: a list is not a call, allowed: the "
   "name of an operation, or a table with to"},
  {"[service.db]\ncalls = ['web', ['web', 'wbe']]",
   "f:8:25: service.db.calls[1][1]: \"wbe\" is no operation, did you mean "
   "\"web\"? known operations: web, db"},
  {"[service.db]\ncalls = [{ work = '1s', to = 'web' }]",
   "f:8:30: service.db.calls[0].to: unknown key, known keys: work"},
  {"[service.db.op.get]\n[service.app]\ncalls = ['db']",
   "f:9:10: service.app.calls[0]: \"db\" has named operations only, "
   "allowed: db.get"},
  {"[service.db.op.get]\ncalls = ['db.get']",
   "f:8:10: service.db.op.get.calls[0]: the calls go in a circle: db.get "
   "-> db.get"},
  {"[service.db]\ncalls = ['app.x']\n[service.app.op.x]\ncalls = ['db']",
   "f:10:10: service.app.op.x.calls[0]: the calls go in a circle: db -> "
   "app.x -> db"},
  {"[service.a]\ncalls = [{ to = 'b', count = 10000 }]\n"
   "[service.b]\ncalls = [{ to = 'web', count = 100 }]\n"
   "[load.l]\ntarget = 'a'\nrate = 1",
   "f:12:10: load.l.target: one request to \"a\" can lead to more calls "
   "than allowed: 1000000; multiply the counts along the way"},
};

INSTANTIATE_TEST_SUITE_P(calls, scenario_mistake, testing::ValuesIn(calls));

// -- edges --------------------------------------------------------------------

const mistake edges[] = {
  {"[edge]\nto = 'web'",
   "f:7:1: edge: a table is not a list, allowed: a list of tables, each "
   "of which may begin with [[edge]]"},
  {"[[edge]]\nto = 'wbe'",
   "f:8:6: edge[0].to: \"wbe\" is no target, did you mean \"web\"? known "
   "targets: web"},
  {"[[edge]]\nto = ['web', 'web.get']",
   "f:8:14: edge[0].to[1]: \"web.get\" is no target, known targets: web"},
  {"[[edge]]\nfrom = 'user'",
   "f:8:8: edge[0].from: \"user\" is no caller, did you mean \"users\"? "
   "known callers: web, users"},
  {"[[edge]]\nfrom = []",
   "f:8:8: edge[0].from: has no name, allowed: at least one, or \"*\" for "
   "all"},
  {"[[edge]]\nfrom = 5",
   "f:8:8: edge[0].from: 5 is not a name, allowed: a name, a list of "
   "names, or \"*\" for all"},
  {"[[edge]]\nto = ['web', 5]", "f:8:14: edge[0].to[1]: 5 is not a string"},
  {"[[edge]]\nstack = 'none'",
   "f:8:9: edge[0].stack: \"none\" is no stack, there are none"},
  {"[[edge]]\nlatency = 'slow'",
   "f:8:11: edge[0].latency: \"slow\" is not a distribution, allowed: a "
   "duration of 0s to 100h, or a table with kind: constant, uniform, "
   "exponential, erlang, lognormal, bimodal, empirical"},
  {"[[edge]]\nlatencies = '1ms'",
   "f:8:13: edge[0].latencies: unknown key, did you mean \"latency\"? "
   "known keys: from, to, latency, stack, idempotent"},
  {"[service.db]\n[[edge]]\nfrom = 'users'\nto = 'db'",
   "f:8:1: edge[0]: matches no call and no load: nothing calls from "
   "[\"users\"] to [\"db\"]"},
};

INSTANTIATE_TEST_SUITE_P(edges, scenario_mistake, testing::ValuesIn(edges));

// -- stacks -------------------------------------------------------------------

const mistake stacks[] = {
  {"[[stack.s.layer]]\nkind = 'braker'",
   "f:8:8: stack.s.layer[0].kind: \"braker\" is no kind of layer, "
   "did you mean \"breaker\"? allowed: "
     + test::listed_kinds()},
  {"[[stack.s.layer]]\nkind = 'breaker'\nthreshold = 0\n"
   "[[edge]]\nstack = 's'",
   "f:9:13: stack.s.layer[0].threshold: 0 is out of range, allowed: 1 to "
   "1000000"},
  {"[[stack.s.layer]]\nkind = 'fallback'\nalternatives = [{ actor = 'x' }]",
   "f:9:27: stack.s.layer[0].alternatives[0].actor: \"x\" cannot be "
   "looked up, there is no actor system here"},
  {"[stack.s]\n[[edge]]\nstack = 'S'",
   "f:9:9: edge[0].stack: \"S\" is no stack, did you mean \"s\"? known "
   "stacks: s"},
  {"[stack.'s s']",
   "f:7:1: stack.s s: \"s s\" is not a name, allowed: letters, digits, "
   "\"_\" and \"-\""},
};

INSTANTIATE_TEST_SUITE_P(stacks, scenario_mistake, testing::ValuesIn(stacks));

// -- faults -------------------------------------------------------------------

const mistake faults[] = {
  {"[fault]\nkind = 'slow'",
   "f:7:1: fault: a table is not a list, allowed: a list of tables, each "
   "of which may begin with [[fault]]"},
  {"[[fault]]",
   "f:7:1: fault[0].kind: is missing, allowed: slow, errors, stall, "
   "crash, capacity, flush\n"
   "f:7:1: fault[0].target: is missing, allowed: the name of a service"},
  {"[[fault]]\nkind = 'fire'\ntarget = 'web'\nfor = '1s'",
   "f:8:8: fault[0].kind: \"fire\" is not one of: slow, errors, stall, "
   "crash, capacity, flush"},
  {"[[fault]]\nkind = 'slow'\ntarget = 'web'",
   "f:7:1: fault[0].for: is missing, allowed: 1ns to 100h"},
  {"[[fault]]\nkind = 'stall'\ntarget = 'wbe'\nfor = '0s'",
   "f:9:10: fault[0].target: \"wbe\" is no service, did you mean \"web\"? "
   "known services: web\n"
   "f:10:7: fault[0].for: \"0s\" is out of range, allowed: 1ns to 100h"},
  {"[[fault]]\nkind = 'stall'\ntarget = 'web'\nfor = '1s'\nfactor = 2",
   "f:11:10: fault[0].factor: factor applies to slow only, this is stall"},
  {"[[fault]]\nkind = 'slow'\ntarget = 'web'\nfor = '1s'\nrate = 1",
   "f:11:8: fault[0].rate: rate applies to errors only, this is slow"},
  {"[[fault]]\nkind = 'capacity'\ntarget = 'web'\nfor = '1s'",
   "f:7:1: fault[0].workers: is missing, allowed: 0 to 1000000"},
  {"[[fault]]\nkind = 'flush'\ntarget = 'web'\nfor = '1s'",
   "f:10:7: fault[0].for: for does not apply to flush, which takes no time"},
  {"[[fault]]\nkind = 'stall'\ntarget = 'web'\nfor = '1s'\nat = '60s'",
   "f:11:6: fault[0].at: 1min is not before length, which is 1min"},
};

INSTANTIATE_TEST_SUITE_P(faults, scenario_mistake, testing::ValuesIn(faults));

// -- expectations -------------------------------------------------------------

const mistake expectations[] = {
  {"[expect]\nverdict = 'fine'",
   "f:8:11: expect.verdict: \"fine\" is not one of: recovered, degraded, "
   "stuck, no fault"},
  {"[expect]\nsuccess_at_least = 99",
   "f:8:20: expect.success_at_least: 99 is out of range, allowed: 0 to 1"},
  {"[expect]\np99_at_most = 0.25",
   "f:8:15: expect.p99_at_most: 0.25 is not a duration, allowed: a number "
   "with ns, us, ms, s, min, h or d, such as \"250ms\", from 0s to 100h"},
  {"[expect]\nsuccess = 1",
   "f:8:11: expect.success: unknown key, known keys: verdict, "
   "success_at_least, success_at_most, p99_at_most, recovers_within, check"},
  {"[expect]\ncheck = { metric = 'success' }",
   "f:8:9: expect.check: a table is not a list, allowed: a list of tables"},
  {"[expect]\ncheck = [{ metric = 'success' }]",
   "f:8:10: expect.check[0].min: is missing, allowed: min, max or both"},
  {"[expect]\ncheck = [{ min = 1 }]",
   "f:8:10: expect.check[0].metric: is missing, allowed: the name of a "
   "number of the result"},
  {"[expect]\ncheck = [{ metric = 'success', min = 1, max = 0.5 }]",
   "f:8:47: expect.check[0].max: 0.5 is less than min, which is 1"},
  {"[expect]\n"
   "check = [{ metric = 'success', min = 1, from = '5s', to = '5s' }]",
   "f:8:59: expect.check[0].to: 5s is not after from, which is 5s"},
};

INSTANTIATE_TEST_SUITE_P(expectations, scenario_mistake,
                         testing::ValuesIn(expectations));

} // namespace
} // namespace caisson::sim
