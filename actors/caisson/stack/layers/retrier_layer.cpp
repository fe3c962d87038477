#include <caisson/stack/layers/retrier_layer.hpp>

#include <caisson/caf/error.hpp>
#include <caisson/stack/verifier_actor.hpp>

namespace caisson {

// -- kept replies -------------------------------------------------------------

void retrier_layer::kept_replies::keep(call_id call, const outcome& o) {
  if (auto* reply = static_cast<const caf::message*>(o.reply))
    replies_[call] = *reply;
}

effect retrier_layer::kept_replies::read(call_id call, const outcome& answer) {
  auto* found = value_of<verification>(answer);
  if (!found)
    return effect::unknown;
  switch (found->what) {
    case effect::done:
      replies_[call] = found->result;
      return effect::done;
    case effect::not_done:
      return effect::not_done;
    case effect::unknown:
      break;
  }
  // Another node may send any number.
  return effect::unknown;
}

bool retrier_layer::kept_replies::has(call_id call) const {
  return replies_.contains(call);
}

caf::message retrier_layer::kept_replies::of(call_id call) const {
  auto i = replies_.find(call);
  return i != replies_.end() ? i->second : caf::message{};
}

// -- the layer ----------------------------------------------------------------

retrier_layer::retrier_layer(const retrier_config& c, verifier how)
  : policy_layer<retrier>(c), how_(std::move(how)) {
  if (how_.asks)
    machine().verify_with(kept_);
}

void retrier_layer::check_extras(const verifier& how, const setting_path& path,
                                 problems& out) {
  if (how.asks && !how.target && !how.verify)
    out.push_back({problem_kind::missing, path / "verify",
                   "the handle of the verifier is null, or the "
                   "function empty"});
}

problems retrier_layer::change(const settings& set, env& e) {
  auto before = machine().config().budget_name;
  auto found = policy_layer<retrier>::change(set, e);
  if (machine().config().budget_name != before)
    take_budget();
  return found;
}

void retrier_layer::adopt(layer& next, env& e) {
  auto before = machine().config().budget_name;
  policy_layer<retrier>::adopt(next, e);
  if (machine().config().budget_name != before)
    take_budget();
}

void retrier_layer::start_in(caf::actor_system& sys) {
  home_ = &sys;
  take_budget();
  if (how_.verify)
    how_.target = sys.spawn<detail::verifier_actor>(how_.verify);
}

void retrier_layer::take_budget() {
  const auto& c = machine().config();
  // Retries that are never made must not cost others theirs.
  if (c.budget_name.empty() || !home_ || active() != mode::enforce)
    machine().share(nullptr);
  else
    machine().share(shared_retry_budget::named(
      home_, c.budget_name, {c.budget_ttl, c.budget_reserve, c.budget_ratio}));
}

std::vector<caf::actor> retrier_layer::targets() const {
  return how_.asks ? std::vector{how_.target} : std::vector<caf::actor>{};
}

caf::message retrier_layer::value(std::uint64_t index) const {
  return kept_.of(index);
}

} // namespace caisson
