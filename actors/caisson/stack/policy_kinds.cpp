#include <caisson/stack/policy_kinds.hpp>

#include <caisson/policies/chaos.hpp>
#include <caisson/settings/settings_text.hpp>
#include <caisson/stack/alternatives.hpp>
#include <caisson/stack/layers/cache_layer.hpp>
#include <caisson/stack/layers/canary_layer.hpp>
#include <caisson/stack/layers/degradation_layer.hpp>
#include <caisson/stack/layers/feature_layer.hpp>

#include <algorithm>
#include <deque>
#include <mutex>

namespace caisson {

layer_reader::layer_reader(section at, problems& out, caf::actor_system* sys)
  : at_(std::move(at)), out_(out), sys_(sys), fields_(at_, out) {}

bool detail::wants_keys(layer_reader& from,
                        const std::vector<field_row>& rows) {
  constexpr std::string_view key = "per_key";
  for (const auto& row : rows)
    if (row.key == key)
      return false;
  return from.fields().take(key) != nullptr;
}

namespace {

// -- built-in kinds -----------------------------------------------------------

void add_fallback(layer_reader& from, stack& to) {
  auto chain = detail::read_alternatives(from);
  to.fallback(std::move(chain), from.config<fallback_config>());
}

// The actor that the key names; null if there is no such key, or no such actor,
// which has then been reported.
caf::actor read_actor(layer_reader& from, std::string_view key,
                      std::string_view help) {
  auto known = from.out().size();
  std::string name;
  from.fields().on({.key = key, .help = help}, name);
  if (!from.at().table.contains(key) || from.out().size() != known)
    return {};
  return detail::find_actor(name, from.system(), from.at().path / key,
                            place_in(from.at(), key), from.out());
}

void add_keyed_retrier(layer_reader& from, stack& to) {
  constexpr std::string_view key = "verify";
  std::string ignored;
  from.fields().on({.key = key, .help = "not for policies per key"}, ignored);
  if (from.at().table.contains(key))
    from.out().push_back({problem_kind::relation, from.at().path / key,
                          "cannot be given beside per_key",
                          std::string{place_in(from.at(), key)}});
  to.add<keyed<retrier>>(from.config<keyed_config<retrier>>());
}

void add_retrier(layer_reader& from, stack& to) {
  if (detail::wants_keys(from, {}))
    return add_keyed_retrier(from, to);
  auto how = verifying{};
  how.target = read_actor(from, "verify",
                          "the registered name of the actor that knows what "
                          "became of a call");
  // One that was not found has been reported.
  how.asks = how.target != nullptr;
  to.retrier(from.config<retrier_config>(), std::move(how));
}

void add_canary(layer_reader& from, stack& to) {
  auto target = read_actor(from, "canary",
                           "the registered name of the new version");
  auto config = from.config<canary_config>();
  if (target)
    to.add<canary>(std::move(config), std::move(target));
  else
    to.add<canary>(std::move(config));
}

std::deque<policy_kind> built_in() {
  return {
    kind_of<deadline>(),
    kind_of<semaphore>(),
    kind_of<limiter>(),
    kind_of<breaker>(),
    kind_of<retrier>(add_retrier),
    kind_of<batcher>(),
    kind_of<cache>(),
    kind_of<canary>(add_canary),
    kind_of<chaos>(),
    kind_of<degradation>(),
    kind_of<feature>(),
    kind_of<fallback>(add_fallback,
                      "alternatives = [{ value = -1, type = 'int32' }]\n"),
  };
}

// -- the table ----------------------------------------------------------------

class kind_table {
public:
  static kind_table& instance() {
    static kind_table table;
    return table;
  }

  void add(policy_kind x) {
    std::lock_guard guard{mutex_};
    if (x.name.empty())
      throw config_error{
        {{problem_kind::missing, "kind", "a kind of policy needs a name"}}};
    if (find_unlocked(x.name))
      throw config_error{
        {{problem_kind::relation, "kind",
          detail::quoted(x.name) + " is a kind of policy already"}}};
    kinds_.push_back(std::move(x));
  }

  const policy_kind* find(std::string_view name) {
    std::lock_guard guard{mutex_};
    return find_unlocked(name);
  }

  std::vector<policy_kind> all() {
    std::lock_guard guard{mutex_};
    return {kinds_.begin(), kinds_.end()};
  }

private:
  const policy_kind* find_unlocked(std::string_view name) const {
    auto i = std::find_if(kinds_.begin(), kinds_.end(),
                          [&](const policy_kind& x) { return x.name == name; });
    return i == kinds_.end() ? nullptr : &*i;
  }

  std::mutex mutex_;
  // Kinds stay where they are when others are added.
  std::deque<policy_kind> kinds_ = built_in();
};

} // namespace

void add_policy_kind(policy_kind x) {
  kind_table::instance().add(std::move(x));
}

const policy_kind* find_policy_kind(std::string_view name) {
  return kind_table::instance().find(name);
}

std::vector<policy_kind> policy_kinds() {
  return kind_table::instance().all();
}

} // namespace caisson
