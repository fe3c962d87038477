// Scenarios drawn at random, with settings mostly from the edges of their
// ranges.
#pragma once

#include <simulator/scenario/random.hpp>

#include <support/random_layer.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace caisson::test {

/// Draws the text of a scenario from a seed: two to six services that call each
/// other, with policies of all kinds on every edge, clients of both kinds, and
/// faults that end before the load does. Many worlds end with a storm. Every
/// request has a deadline.
class random_world {
public:
  explicit random_world(std::uint64_t seed)
    : random_(sim::draw_key{seed}.with("random world")) {}

  std::string text() {
    services_ = 2 + number(5);
    text_ = "length = \"10s\"\n";
    for (std::uint64_t i = 0; i < services_; ++i)
      add_service(i);
    for (const auto* name : {"a", "b", "c"})
      add_stack(name);
    add_edges();
    add_loads();
    for (auto n = number(5); n > 0; --n)
      add_fault();
    if (chance(60))
      add_storm();
    if (chance(40))
      add_zones();
    return text_;
  }

private:
  std::uint64_t number(std::uint64_t n) { return random_.below(n); }
  bool chance(unsigned percent) { return number(100) < percent; }

  std::string_view one_of(std::initializer_list<std::string_view> all) {
    return *(all.begin() + static_cast<std::ptrdiff_t>(number(all.size())));
  }

  // Appends a line. What stands in braces is drawn in the order of the text,
  // while a function's arguments are drawn in the compiler's.
  struct line {
    template <class... Ts>
    line(std::string& text, fmt::format_string<Ts...> form, Ts&&... xs) {
      text += fmt::format(form, std::forward<Ts>(xs)...) + "\n";
    }
  };

  std::string_view time() {
    return one_of({"\"0s\"", "\"1ms\"", "\"20ms\"",
                   "{ kind = \"exponential\", mean = \"10ms\" }",
                   "{ kind = \"lognormal\", mean = \"5ms\", cv = 3 }",
                   "{ kind = \"normal\", mean = \"5ms\", cv = 0.5 }",
                   "{ kind = \"weibull\", mean = \"5ms\", shape = 0.3 }",
                   "{ kind = \"hyperexponential\", mean = \"5ms\", cv = 4 }",
                   "{ kind = \"pareto\", mean = \"5ms\", shape = 1.2 }",
                   "{ kind = \"bimodal\", fast = \"1ms\", slow = \"2s\", share "
                   "= 0.02 }"});
  }

  // Only services with a higher number are called: there is no circle.
  void add_service(std::uint64_t i) {
    line{text_, "[service.s{}]", i};
    line{text_, "replicas = {}", one_of({"1", "1", "2", "5"})};
    auto queue = one_of({"0", "1", "20", "\"unlimited\""});
    line{text_, "queue = {}", queue};
    auto cores = chance(30);
    if (cores)
      line{text_, "cores = {}", one_of({"1", "2", "8"})};
    if (chance(15))
      line{text_,
           "workers = {0}\nautoscale = {{ by = \"{1}\", target = {2}, max = "
           "20, every = \"200ms\", delay = {3}, cooldown = \"1s\" }}",
           1 + number(3),
           cores ? "queue" : one_of({"utilization", "queue"}),
           one_of({"0.5", "1.0"}),
           one_of({"\"0s\"", "\"700ms\""})};
    else
      line{text_, "workers = {}",
           one_of({"1", "2", "8", "50", "\"unlimited\""})};
    if (queue != "0")
      line{text_, "order = \"{}\"",
           one_of({"fifo", "lifo", "adaptive_lifo", "codel", "deadline_first",
                   "priority", "fair"})};
    line{text_, "abandoned = \"{}\"", one_of({"finish", "skip", "cancel"})};
    line{text_, "async = {}", one_of({"true", "false"})};
    line{text_, "errors = {}", one_of({"0.0", "0.0", "0.1", "1.0"})};
    if (chance(30))
      line{text_, "stack = \"{}\"", one_of({"a", "b", "c"})};
    if (chance(20))
      line{text_, "slowdown = 0.05\nslowdown_in_progress = {}",
           one_of({"true", "false"})};
    line{text_, "time = {}", time()};
    if (chance(20))
      line{text_, "item_time = \"1ms\""};
    line{text_, "calls = ["};
    for (auto n = i + 1 < services_ ? number(4) : 0; n > 0; --n)
      add_call(i);
    line{text_, "]"};
  }

  void add_call(std::uint64_t i) {
    if (chance(20)) {
      line{text_, "  {{ work = {} }},", time()};
      return;
    }
    auto to = i + 1 + number(services_ - i - 1);
    std::string entry;
    line{entry,
         "{{ to = \"s{}\", count = {}, parallel = {}, optional = {}, "
         "probability = {}, timeout = {}{} }}",
         to,
         1 + number(3),
         one_of({"true", "false"}),
         one_of({"true", "false"}),
         one_of({"1.0", "0.5"}),
         one_of({"\"5ms\"", "\"1s\"", "\"unlimited\""}),
         chance(20) ? ", cache_keys = 3, cache_ttl = \"1s\"" : ""};
    if (chance(30))
      line{text_, "  [{}, \"s{}\"],", entry, to};
    else
      line{text_, "  {},", entry};
  }

  // The first replica of each service is in the first zone.
  void add_zones() {
    line{text_, "[zones]\nnames = [\"east\", \"west\", \"far\"]\nbetween = {}",
         time()};
    line{text_, "[[edge]]\nzone_routing = \"{}\"",
         one_of({"any", "local", "proportional"})};
    if (chance(50))
      line{text_,
           "[[fault]]\nkind = \"{}\"\ntarget = \"east\"\nat = \"3s\"\nfor = "
           "\"2s\"",
           one_of({"crash", "stall", "slow"})};
  }

  void add_stack(std::string_view name) {
    line{text_, "[stack.{}]\ndefault_deadline = \"5s\"", name};
    for (auto n = number(5); n > 0; --n) {
      line{text_, "[[stack.{}.layer]]", name};
      text_ += random_layer{random_}.text();
    }
  }

  void add_edges() {
    line{text_, "[[edge]]\nlatency = {}\nstack = \"{}\"\nbalancer = \"{}\"",
         one_of(
           {"\"0s\"", "\"1ms\"", "{ kind = \"exponential\", mean = \"5ms\" }"}),
         one_of({"", "a"}),
         one_of({"round_robin", "random", "power_of_two", "least_pending"})};
    if (chance(30))
      line{text_,
           "loss = {}\nduplication = {}\njitter = {}\nbandwidth = {}",
           one_of({"0.0", "0.1", "1.0"}),
           one_of({"0.0", "0.5", "1.0"}),
           one_of({"\"0s\"", "\"2ms\""}),
           one_of({"0", "100_000"})};
    if (chance(30))
      line{text_,
           "connections = {}\npending = {}\nwait = {}\nconnect = {}\nidle = {}"
           "\ngiven_up = \"{}\"",
           one_of({"1", "3", "1000000"}),
           one_of({"0", "2", "\"unlimited\""}),
           one_of({"\"1ns\"", "\"20ms\"", "\"unlimited\""}),
           one_of({"\"0s\"", "\"3ms\""}),
           one_of({"\"10ms\"", "\"unlimited\""}),
           one_of({"close", "keep"})};
    for (std::uint64_t i = 1; i < services_; ++i)
      line{text_,
           "[[edge]]\nfrom = \"*\"\nto = \"s{}\"\nstack = \"{}\"\nidempotent = "
           "{}",
           i, one_of({"", "a", "b", "c"}), one_of({"true", "false"})};
  }

  // Some requests everywhere have what the orders of queues go by.
  void add_marked_load() {
    line{text_,
         "[load.marked]\nrate = 5\ntimeout = \"1s\"\nkeys = 5\npriority = 2\n"
         "[load.marked.mix]"};
    for (std::uint64_t i = 0; i < services_; ++i)
      line{text_, "s{} = 1", i};
  }

  void add_loads() {
    add_marked_load();
    auto kind = one_of({"poisson", "constant"});
    line{text_,
         "[load.open]\nkind = \"{}\"\nrate = {}\ntarget = \"s0\"\ntimeout = "
         "{}\nattempts = {}\nkeys = {}",
         kind,
         one_of({"1", "100", "400"}),
         one_of({"\"10ms\"", "\"300ms\"", "\"3s\""}),
         one_of({"1", "3"}),
         one_of({"0", "5"})};
    if (kind == "poisson" && chance(30))
      line{text_, "burst = {}\nburst_every = \"2s\"\nburst_for = \"300ms\"",
           one_of({"0", "5"})};
    // Users who think for no time would ask a million times per second where
    // a layer answers within a microsecond.
    if (chance(50))
      line{text_,
           "[load.closed]\nkind = \"closed\"\nusers = {}\nthink = {}\ntarget = "
           "\"s{}\"\ntimeout = \"500ms\"\nattempts = 2\npause = \"20ms\"",
           one_of({"1", "30"}), one_of({"\"1ms\"", "\"100ms\""}),
           number(services_)};
  }

  // Between the client and its service, or among all.
  void add_message_fault() {
    line{text_,
         "[[fault]]\nkind = \"{}\"\nat = \"{}ms\"\nfor = \"{}ms\"\n"
         "direction = \"{}\"\nfrom = {}\nto = \"*\"",
         one_of({"partition", "loss", "delay"}),
         number(6000),
         1 + number(3000),
         one_of({"both", "one_way"}),
         one_of({"\"open\"", "\"s0\"", "\"s0#1\"", "[\"s0\", \"s1\"]"})};
  }

  void add_length(std::string_view kind, bool random) {
    auto mean = random && chance(50);
    // What stands still until requests come would never go on.
    if (kind != "stall" && kind != "capacity" && chance(30))
      line{text_, "{} = {}", mean ? "mean_requests_to_repair" : "for_requests",
           one_of({"1", "20", "500"})};
    else
      line{text_, "{} = \"{}ms\"", mean ? "mttr" : "for",
           1 + number(random ? 300 : 3000)};
  }

  void add_fault() {
    if (chance(25))
      return add_message_fault();
    auto kind = one_of(
      {"slow", "errors", "stall", "crash", "capacity", "flush"});
    line{text_, "[[fault]]\nkind = \"{}\"\ntarget = \"s{}\"\nat = \"{}ms\"",
         kind, number(services_), number(6000)};
    auto random = chance(25);
    auto by_count = chance(30);
    if (random && by_count)
      line{text_, "mean_requests_between_failures = {}",
           one_of({"1", "3.5", "200"})};
    else if (random)
      line{text_, "mtbf = \"{}ms\"", 100 + number(5000)};
    else if (by_count)
      line{text_, "after_requests = {}", one_of({"1", "50", "1000"})};
    if (kind != "flush")
      add_length(kind, random);
    if (kind == "capacity")
      line{text_, "workers = {}", one_of({"0", "1"})};
    if ((kind == "slow" || kind == "stall") && chance(40))
      line{text_, "in_progress = true"};
  }

  // A crowd of users, each with a request that gets stuck when everything
  // stands still. Then they all give up, or what holds their requests crashes,
  // or all of it does.
  void add_storm() {
    line{text_,
         "[load.crowd]\nkind = \"closed\"\nusers = {}\nthink = \"3s\"\ntarget "
         "= \"s{}\"\ntimeout = {}\nattempts = {}",
         one_of({"50", "300"}),
         number(services_),
         one_of({"\"200ms\"", "\"2s\""}),
         one_of({"1", "2"})};
    auto crashing = number(3) == 0 ? services_ : number(services_ + 1);
    for (std::uint64_t i = 0; i < services_; ++i) {
      line{text_,
           "[[fault]]\nkind = \"stall\"\ntarget = \"s{}\"\nat = \"6s\"\nfor = "
           "\"{}\"",
           i, one_of({"3900ms", "60s"})};
      if (chance(30))
        line{text_, "in_progress = true"};
      if (crashing == services_ || crashing == i)
        line{text_,
             "[[fault]]\nkind = \"crash\"\ntarget = \"s{}\"\nat = "
             "\"9900ms\"\nfor = \"{}\"",
             i, one_of({"1ms", "20s"})};
    }
  }

  sim::keyed_random random_;
  std::uint64_t services_ = 0;
  std::string text_;
};

} // namespace caisson::test
