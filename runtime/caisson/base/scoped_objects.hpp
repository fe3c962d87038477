// Objects that live as long as they have users, found by scope and name.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace caisson::detail {

/// What names belong to: an actor system, by its number, or any address.
struct object_scope {
  std::uint64_t system = 0;
  const void* address = nullptr;

  auto operator<=>(const object_scope&) const = default;
};

/// Finds the objects of type `T` by a scope and a name. Holds none of them. An
/// address is for a scope that outlives all users; an actor system may be gone
/// while an actor of it keeps the object, and another one may then have the
/// same address. Safe to use from any thread.
template <class T>
class scoped_objects {
public:
  /// The object called `name` in `scope`; made by `make` if there is none.
  template <class Make>
  std::shared_ptr<T> take(object_scope scope, std::string_view name,
                          Make make) {
    std::lock_guard guard{mutex_};
    // Twice what was left last time, so that each name is looked at a few times
    // only.
    if (known_.size() >= next_sweep_) {
      std::erase_if(known_, [](auto& x) { return x.second.expired(); });
      next_sweep_ = std::max(first_sweep, 2 * known_.size());
    }
    auto& entry = known_[{scope, std::string{name}}];
    auto out = entry.lock();
    if (!out)
      entry = out = make();
    return out;
  }

private:
  static constexpr std::size_t first_sweep = 64;

  std::mutex mutex_;
  std::map<std::pair<object_scope, std::string>, std::weak_ptr<T>> known_;
  std::size_t next_sweep_ = first_sweep;
};

} // namespace caisson::detail
