// The layer of a cache: the content of calls and of answers.
#pragma once

#include <caisson/caf/caf.hpp>
#include <caisson/engine/layer.hpp>
#include <caisson/policies/cache/cache.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson {

/// A call that sets what reads of a key get.
struct cached_write {
  /// As a call's key: its reads get `value`.
  std::string key;
  /// What reads of the key get from now on.
  caf::message value;
  /// What the caller of this one gets at once.
  caf::message answer = {};
};

/// What a cache reads from content. Every function may be empty and may throw;
/// the cache counts that in `callbacks_failed`, and no call fails because of
/// it.
struct cache_forms {
  /// Keys with their answers.
  using entries = std::vector<std::pair<std::string, caf::message>>;

  /// The key of a call; nothing: it bypasses the cache. Calls with equal keys
  /// get the same answer, so a key must contain everything that the answer
  /// depends on. Empty: `call::key`, which callers choose. If it throws, the
  /// call bypasses the cache.
  std::function<std::optional<std::string>(const caf::message&)> key = {};

  /// The key whose answer a call changes; nothing: it is not a change. The kept
  /// answer for the key is dropped when the call arrives and when its outcome
  /// does. If it throws, the call bypasses the cache.
  std::function<std::optional<std::string>(const caf::message&)>
    invalidates = {};

  /// What a call sets that may be acknowledged before the worker has it;
  /// nothing: it is not such a call. It goes to the worker later, perhaps more
  /// than once, and not at all if another one replaces it first, or if the
  /// gate's process dies. If it throws, the call bypasses the cache.
  std::function<std::optional<cached_write>(const caf::message&)> write = {};

  /// How long a value answers calls; nothing: for `ttl`; zero or less: it is
  /// not kept. If it throws, the value is not kept.
  std::function<std::optional<duration>(const caf::message&)> ttl = {};

  /// Initial keys with their answers; those beyond `max_entries` are left out.
  /// Called before the first call of each gate.
  std::function<entries()> preheat = {};

  /// Caches calls that consist of a single `T`, by the key `f(const T&)`.
  template <class T, class F>
  static cache_forms keyed_by(F f);

  /// For `preheat`: reads a text file. `parse` makes a key and its answer of
  /// each line; nothing: the line is left out. Throws `std::runtime_error` if
  /// the file cannot be read, and whatever `parse` throws with the number of
  /// the line; the cache then begins empty, and counts it in
  /// `callbacks_failed`.
  static std::function<entries()> from_file(
    std::string path,
    std::function<std::optional<entries::value_type>(std::string_view)> parse);
};

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

// -- implementation -----------------------------------------------------------

template <class T, class F>
cache_forms cache_forms::keyed_by(F f) {
  cache_forms result;
  result.key =
    [f = std::move(f)](const caf::message& x) -> std::optional<std::string> {
    auto* content = portable::get_if<T>(x);
    if (!content)
      return std::nullopt;
    return f(*content);
  };
  return result;
}

} // namespace caisson
