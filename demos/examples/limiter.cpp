// Paces calls: three at once, then ten a second; the others learn when to
// retry.
#include "story.hpp"

#include <caisson/gate.hpp>

#include <cstdint>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace {

caf::behavior worker() {
  return {
    [](std::int32_t) { return std::string{"passes"}; },
  };
}

struct row {
  caisson::time_point came;
  caisson::pending_answer answer;
};

} // namespace

int main() {
  caisson::virtual_time world;
  demo::story story{world};
  auto start = world.now();

  auto gate = caisson::spawn_limiter(
    world, world.system().spawn(worker),
    {.rate = 10, .per = 1s, .burst = 3, .max_wait = 250ms});

  std::vector<row> rows;
  auto calls = [&](int n) {
    for (int i = 0; i < n; ++i)
      rows.push_back({world.now(), world.request(gate, std::int32_t{i})});
  };
  calls(7);
  world.advance(250ms);
  calls(2);
  world.advance(2s - 250ms);
  calls(4);
  world.advance(1s);

  auto passed = 0;
  fmt::print("call   came   answered  result\n");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    auto& [came, answer] = rows[i];
    passed += answer.ok();
    fmt::print(
      "{:>4} {:>6} {:>10}  {}\n", i + 1, caisson::rounded_text(came - start),
      caisson::rounded_text(answer.at() - start), demo::text_of(answer));
  }
  story.check(passed == 11, "eleven of them pass");
  story.check(rows[3].answer.at() - start == 100ms
                && rows[4].answer.at() - start == 200ms,
              "those who wait go when their token comes");
  story.check(caisson::retry_after(rows[5].answer.error()) == 300ms,
              "those who would wait too long hear when to come back");
  return story.end();
}

/* It prints:

call   came   answered  result
   1    0 s        0 s  passes
   2    0 s        0 s  passes
   3    0 s        0 s  passes
   4    0 s     100 ms  passes
   5    0 s     200 ms  passes
   6    0 s        0 s  rate_limited by limiter, retry after 300 ms
   7    0 s        0 s  rate_limited by limiter, retry after 300 ms
   8 250 ms     300 ms  passes
   9 250 ms     400 ms  passes
  10    2 s        2 s  passes
  11    2 s        2 s  passes
  12    2 s        2 s  passes
  13    2 s      2.1 s  passes
*/
