// The layer of a cache: the content of calls and of answers.
#pragma once

#include <caisson/caf/caf.hpp>
#include <caisson/engine/layer.hpp>
#include <caisson/policies/cache/cache.hpp>
#include <caisson/stack/content.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson {

/// Classifies calls for a `cache`, and keeps messages for it.
class cache_layer final : public policy_layer<cache> {
public:
  /// Throws `config_error` if `c` is not valid. `forms` says what the content
  /// of calls means; without any, the key of a call says what it asks for.
  explicit cache_layer(const cache_config& c, cache_forms forms = {});

  /// What `c` and `forms` take the key of calls for: for what calls ask for,
  /// unless `forms.key` makes keys of its own, or `c.unsafe` is set.
  [[nodiscard]] static key_meaning
  meaning_of_key(const cache_config& c, const cache_forms& forms = {}) {
    return forms.key || c.unsafe ? key_meaning::none : key_meaning::content;
  }
  [[nodiscard]] key_meaning key_use(const settings& set) const override {
    auto c = config_with(set);
    return c ? meaning_of_key(*c, forms_) : key_meaning::none;
  }
  /// To set `unsafe`, or to give it `forms.key`.
  [[nodiscard]] static key_remedy remedy_of(std::string_view name);
  [[nodiscard]] key_remedy remedy_for_keys() const override {
    return remedy_of(name());
  }

  [[nodiscard]] bool handles_content() const override { return true; }
  void examine(const caf::message& content, env& e) override;
  caf::message child_content(call_id child, std::vector<caf::message> parents,
                             env& e) override;
  [[nodiscard]] caf::message value(std::uint64_t number) const override;

  /// If there are writes that may be acknowledged: their order is kept.
  [[nodiscard]] bool acts_when_off() const override;
  void mode_changed() override;

private:
  void preheat(env& e);
  cache_lookup lookup(const caf::message& content, env& e);
  std::optional<cache_lookup> lookup_of_write(const caf::message& content,
                                              env& e);

  cache_forms forms_;
  const cache& cache_;
  bool preheated_ = false;
};

template <>
struct layer_of<cache> {
  using type = cache_layer;
};

} // namespace caisson
