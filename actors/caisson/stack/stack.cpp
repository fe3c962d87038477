#include <caisson/stack/stack.hpp>

#include <caisson/policies/breaker/breaker.hpp>
#include <caisson/policies/deadline/deadline.hpp>
#include <caisson/policies/semaphore.hpp>
#include <caisson/stack/add.hpp>
#include <caisson/stack/layers/batcher_layer.hpp>
#include <caisson/stack/layers/cache_layer.hpp>
#include <caisson/stack/layers/fallback_layer.hpp>
#include <caisson/stack/layers/limiter_layer.hpp>
#include <caisson/stack/layers/retrier_layer.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace caisson {

// -- layers -------------------------------------------------------------------

stack& stack::deadline(deadline_config c) {
  return add<caisson::deadline>(std::move(c));
}

stack& stack::semaphore(semaphore_config c) {
  return add<caisson::semaphore>(std::move(c));
}

stack& stack::limiter(limiter_config c, weight_function weigh) {
  return add<caisson::limiter>(std::move(c), std::move(weigh));
}

stack& stack::breaker(breaker_config c) {
  return add<caisson::breaker>(std::move(c));
}

stack& stack::retrier(retrier_config c, verifier how) {
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

void stack::choose_name(std::string& name, std::string_view kind) {
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
  for (auto& x : key_conflicts())
    out.push_back({problem_kind::relation,
                   detail::key_conflict_path(
                     setting_path{} / layers_[x.layer].name, x.setting),
                   std::move(x.what)});
  return out;
}

std::vector<stack::key_conflict> stack::key_conflicts() const {
  auto owner = std::find_if(layers_.begin(), layers_.end(), [](auto& x) {
    return x.keys == key_meaning::owner;
  });
  std::vector<key_conflict> out;
  for (std::size_t i = 0; owner != layers_.end() && i < layers_.size(); ++i)
    if (layers_[i].keys == key_meaning::content)
      out.push_back({i,
                     detail::key_conflict_text(layers_[i].remedy, owner->name),
                     layers_[i].remedy.setting});
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
