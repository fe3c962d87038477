#include <caisson/stack.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace caisson {

void describe(field_visitor& v, gate_config& c) {
  using namespace std::chrono_literals;
  v.on({"name", "what the gate is called in errors, events and status"},
       c.name);
  v.on({"default_deadline", "the deadline of a call without one"},
       c.default_deadline, {1ms, unlimited});
  v.integer({"max_calls", "how many calls the gate holds at once; beyond that "
                          "they are refused with shed"},
            c.max_calls, {1, 16'000'000});
  v.integer({"seed", "seeds the gate's random source; 0: a seed of its own"},
            c.seed,
            {std::int64_t{0}, std::numeric_limits<std::int64_t>::max()});
  v.on({"max_lease", "how long a permit may be held, with all its renewals, "
                     "counted from its grant"},
       c.max_lease, {1ms, unlimited});
}

// -- layers -------------------------------------------------------------------

stack& stack::deadline(deadline_config c) {
  return add<caisson::deadline>(std::move(c));
}

stack& stack::semaphore(semaphore_config c) {
  return add<caisson::semaphore>(std::move(c));
}

stack& stack::limiter(limiter_config c) {
  return add<caisson::limiter>(std::move(c));
}

stack& stack::breaker(breaker_config c) {
  return add<caisson::breaker>(std::move(c));
}

stack& stack::retrier(retrier_config c, verifying how) {
  return add<caisson::retrier>(std::move(c), std::move(how));
}

stack& stack::batcher(batcher_config c, batching forms) {
  return add<caisson::batcher>(std::move(c), std::move(forms));
}

stack& stack::fallback(std::vector<alternative> chain, fallback_config c) {
  return add<caisson::fallback>(std::move(c), std::move(chain));
}

stack& stack::cache(cache_config c, cache_forms forms) {
  return add<caisson::cache>(std::move(c), std::move(forms));
}

void stack::settle_name(std::string& name, std::string_view kind) {
  if (!name.empty()) {
    if (has(name))
      own_problems_.push_back({problem_kind::relation,
                               setting_path{} / name / "name",
                               "another layer has the same name"});
    return;
  }
  name = kind;
  for (int i = 2; has(name); ++i)
    name = fmt::format("{}-{}", kind, i);
}

bool stack::has(std::string_view name) const noexcept {
  return std::any_of(layers_.begin(), layers_.end(),
                     [&](const entry& x) { return x.name == name; });
}

std::vector<std::string> stack::names() const {
  std::vector<std::string> out;
  out.reserve(layers_.size());
  for (const auto& x : layers_)
    out.push_back(x.name);
  return out;
}

// -- as a whole ---------------------------------------------------------------

problems stack::check() const {
  auto out = problems_of(config_, config_.name);
  out.insert(out.end(), own_problems_.begin(), own_problems_.end());
  if (layers_.size() > max_layers)
    out.push_back({problem_kind::range, config_.name,
                   fmt::format("{} layers are too many, allowed: 0 to {}",
                               layers_.size(), max_layers)});
  for (const auto& x : layers_)
    for (auto& p : x.check())
      out.push_back(std::move(p));
  return out;
}

std::vector<std::unique_ptr<layer>> stack::build() const {
  std::vector<std::unique_ptr<layer>> out;
  out.reserve(layers_.size());
  for (const auto& x : layers_)
    out.push_back(x.make());
  return out;
}

} // namespace caisson
