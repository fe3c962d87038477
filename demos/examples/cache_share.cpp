// A cache that answers for a failing worker, and its share of a call's time.
#include "story.hpp"

#include <caisson/base/random.hpp>
#include <caisson/gate.hpp>
#include <caisson/testing/scripted_worker.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using caisson::alternative;
using caisson::duration;
using caisson::scripted_worker;
using reply = scripted_worker::reply;

namespace {

constexpr int seeds = 20;
constexpr std::int32_t calls = 300;

/// A cache, and whether there is another alternative after it.
struct setting {
  std::string_view name;
  /// How long the cache takes for a call, by a uniform number.
  duration (*cache_takes)(double);
  bool has_replica;
};

const setting hangs{"it hangs, and a replica is next",
                    [](double u) -> duration { return u < 0.5 ? 5ms : 5s; },
                    true};
const setting slow{
  "it is slow, and the last one",
  [](double u) { return caisson::duration_times(duration{200ms}, 0.5 + u); },
  false};

/// Means over the calls of one run.
struct result {
  double asked = 0;
  double good = 0;
  double seconds = 0;
};

/// The same numbers for the call `x`, whatever was done with those before it.
double draw(std::uint64_t seed, std::int32_t x) {
  auto mixed = caisson::mix_seed(seed) ^ static_cast<std::uint64_t>(x);
  return caisson::random_source{caisson::mix_seed(mixed)}.uniform();
}

result play(const setting& s, double share, std::uint64_t seed) {
  caisson::virtual_time world;
  scripted_worker prices{world, scripted_worker::always_reply(reply::error(
                                  caf::make_error(caf::sec::runtime_error)))};
  scripted_worker cache{
    world, scripted_worker::on<std::int32_t>([&](std::int32_t x) {
      return reply::value(x).after(s.cache_takes(draw(seed, x)));
    })};
  scripted_worker replica{world, scripted_worker::always_reply(
                                   reply::value(std::int32_t{0}).after(200ms))};
  std::vector<alternative> chain{alternative::ask_cache(cache.handle())};
  if (s.has_replica)
    chain.push_back(alternative::ask(replica.handle()));
  auto gate = caisson::spawn_gate(
    world, prices.handle(),
    caisson::stack{"prices"}
      .deadline({.timeout = 1s})
      .fallback(std::move(chain), {.cache_share = share}));

  std::vector<std::pair<caisson::time_point, caisson::pending_answer>> sent;
  for (std::int32_t x = 0; x < calls; ++x) {
    sent.emplace_back(world.now(), world.request(gate, x));
    world.advance(33ms);
  }
  world.advance(5s);
  result out;
  for (auto& [at, answer] : sent) {
    out.good += answer.ok() ? 1.0 / calls : 0;
    out.seconds += caisson::to_seconds(answer.at() - at) / calls;
  }
  auto asked = prices.count() + cache.count() + replica.count();
  out.asked = static_cast<double>(asked) / calls;
  return out;
}

/// Mean, least and most over the seeds.
struct range {
  std::vector<double> all;

  [[nodiscard]] std::string text(int digits) const {
    auto [least, most] = std::minmax_element(all.begin(), all.end());
    auto sum = 0.0;
    for (auto x : all)
      sum += x;
    return fmt::format("{:.{}f} ({:.{}f} to {:.{}f})", sum / seeds, digits,
                       *least, digits, *most, digits);
  }
};

/// Simulates all seeds, prints them, and returns the mean share of good
/// answers.
double compare(demo::story& story, const setting& s, double share) {
  range asked;
  range good;
  range wait;
  auto sum = 0.0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    auto x = play(s, share, seed);
    asked.all.push_back(x.asked);
    good.all.push_back(100 * x.good);
    wait.all.push_back(1e3 * x.seconds);
    sum += x.good / seeds;
  }
  story.print("  {:<7}{:<21}{:<24}{}", share, asked.text(2), good.text(1),
              wait.text(0));
  return sum;
}

} // namespace

int main() {
  demo::story story;
  auto both = [&](const setting& s) {
    story.print("{}", s.name);
    story.print("  {:<7}{:<21}{:<24}{}", "share", "asked per call",
                "answered, %", "wait, ms");
    auto without = compare(story, s, 1);
    return compare(story, s, 0.15) - without;
  };
  story.check(both(hangs) > 0.4, "the time that it leaves helps the next one");
  story.check(both(slow) < -0.4, "it was left for nobody");
  return story.end();
}

/* It prints:

it hangs, and a replica is next
  share  asked per call       answered, %             wait, ms
  1      1.60 (1.56 to 1.67)  29.5 (24.7 to 36.7)     309 (302 to 315)
  0.15   2.51 (2.46 to 2.56)  99.9 (99.7 to 100.0)    180 (163 to 198)
it is slow, and the last one
  share  asked per call       answered, %             wait, ms
  1      2.00 (2.00 to 2.00)  100.0 (100.0 to 100.0)  201 (194 to 207)
  0.15   2.00 (2.00 to 2.00)  25.2 (20.3 to 31.7)     143 (142 to 144)
*/
