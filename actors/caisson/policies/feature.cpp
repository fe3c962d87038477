#include <caisson/policies/feature.hpp>

#include <chrono>
#include <utility>

namespace caisson {

// -- configuration ------------------------------------------------------------

void describe(field_visitor& v, feature_config& c) {
  using namespace std::chrono_literals;
  describe_common(v, c);
  v.on({"feature", "the feature that the calls belong to"}, c.feature);
  v.on({"retry_after", "when a rejected caller may come back; 0s: unknown"},
       c.retry_after, {0s, 24h});
}

void check(const feature_config& c, const setting_path& path, problems& out) {
  if (c.feature.empty())
    out.push_back({problem_kind::missing, path / "feature",
                   "is empty, allowed: the name of a feature"});
}

// -- construction -------------------------------------------------------------

feature::feature(feature_config c) : policy_base(std::move(c)) {}

void feature::watch(std::shared_ptr<feature_flags> flags) {
  flags_ = std::move(flags);
  switch_ = flags_ ? flags_->find(config_.feature) : feature_flags::feature{};
}

// -- calls --------------------------------------------------------------------

decision feature::admit(call_info& call, slot&, env& e) {
  if (!switch_.is_on())
    return refuse(counter::rejected, errc::feature_off, call.id, e,
                  config_.retry_after, config_.feature);
  count(counter::admitted);
  return decision::pass();
}

decision feature::complete(call_info&, slot&, outcome&, env&) {
  return decision::pass();
}

void feature::abandon(call_info&, slot&, const outcome&, bool, env&) {}

// -- operation ----------------------------------------------------------------

std::string_view feature::state() const {
  return switch_.is_on() ? "on" : "off";
}

void feature::adapt(env&) {
  watch(flags_);
}

void feature::list_gauges(std::vector<metric>& out) const {
  out.push_back({"on", switch_.is_on() ? 1 : 0, true});
}

} // namespace caisson
