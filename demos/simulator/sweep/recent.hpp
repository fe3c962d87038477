// Cache of the values that were made last.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace caisson::sim {

/// Keeps the last few things that take a while to make, by number. May be used
/// from several threads.
template <class T>
class recent {
public:
  using pointer = std::shared_ptr<const T>;

  [[nodiscard]] pointer get(std::size_t number,
                            const std::function<T()>& make) {
    {
      std::lock_guard guard{mutex_};
      for (const auto& [which, what] : kept_)
        if (which == number)
          return what;
    }
    auto out = std::make_shared<const T>(make());
    std::lock_guard guard{mutex_};
    if (kept_.size() >= most)
      kept_.erase(kept_.begin());
    kept_.emplace_back(number, out);
    return out;
  }

private:
  static constexpr std::size_t most = 16;
  std::mutex mutex_;
  std::vector<std::pair<std::size_t, pointer>> kept_;
};

} // namespace caisson::sim
