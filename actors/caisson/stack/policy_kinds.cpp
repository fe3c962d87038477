#include <caisson/stack/policy_kinds.hpp>

#include <caisson/settings/settings_text.hpp>
#include <caisson/stack/built_in_kinds.hpp>

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

auto has_name(std::string_view name) {
  return [name](const policy_kind& x) { return x.name == name; };
}

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
    if (find_unlocked(has_name(x.name)))
      throw config_error{
        {{problem_kind::relation, "kind",
          detail::quoted(x.name) + " is a kind of policy already"}}};
    kinds_.push_back(std::move(x));
  }

  const policy_kind* find_if(const std::function<bool(const policy_kind&)>& f) {
    std::lock_guard guard{mutex_};
    return find_unlocked(f);
  }

  std::vector<policy_kind> all() {
    std::lock_guard guard{mutex_};
    return {kinds_.begin(), kinds_.end()};
  }

private:
  template <class F>
  const policy_kind* find_unlocked(const F& f) const {
    auto i = std::find_if(kinds_.begin(), kinds_.end(), f);
    return i == kinds_.end() ? nullptr : &*i;
  }

  std::mutex mutex_;
  // Kinds stay where they are when others are added.
  std::deque<policy_kind> kinds_ = detail::built_in_kinds();
};

} // namespace

void add_policy_kind(policy_kind x) {
  kind_table::instance().add(std::move(x));
}

const policy_kind* find_policy_kind(std::string_view name) {
  return kind_table::instance().find_if(has_name(name));
}

const policy_kind*
detail::find_kind_if(const std::function<bool(const policy_kind&)>& f) {
  return kind_table::instance().find_if(f);
}

std::vector<policy_kind> policy_kinds() {
  return kind_table::instance().all();
}

} // namespace caisson
