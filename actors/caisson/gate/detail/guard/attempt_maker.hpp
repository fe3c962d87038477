// Makes the attempts of a guard's call.
#pragma once

#include <caisson/caf/messages.hpp>
#include <caisson/gate/result.hpp>

#include <atomic>
#include <exception>
#include <optional>
#include <string>

namespace caisson::detail {

/// How an attempt ended.
struct attempt_result {
  /// What the function threw; null if it has returned.
  std::exception_ptr thrown = {};
  /// The same for people.
  std::string text = {};
  /// What that means; nothing if nobody has an opinion.
  std::optional<answer_info> meaning = {};
};

/// Makes the attempts of one call, in the thread that made the call.
class attempt_maker {
public:
  explicit attempt_maker(bool takes_options) : takes_options_(takes_options) {}
  virtual ~attempt_maker() = default;

  attempt_maker(const attempt_maker&) = delete;
  attempt_maker& operator=(const attempt_maker&) = delete;

  /// Whether `make` looks at the options.
  [[nodiscard]] bool takes_options() const noexcept { return takes_options_; }

  /// Throws nothing. `abandoned` becomes true when nobody waits for the result
  /// any more.
  virtual attempt_result make(const call_options& options,
                              const std::atomic<bool>& abandoned)
    = 0;

private:
  bool takes_options_;
};

} // namespace caisson::detail
