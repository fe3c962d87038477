// Names the callee of a client span, by its attributes.
#pragma once

#include <limits>
#include <string>
#include <string_view>

namespace caisson::sim {

/// Collects the best name of a peer that the attributes of a span have.
class peer_name {
public:
  /// Looks at an attribute. Its key is as in semantic conventions, old or new.
  void add(std::string_view key, std::string_view value);

  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  void clear() {
    text_.clear();
    rank_ = std::numeric_limits<int>::max();
  }

private:
  std::string text_;
  int rank_ = std::numeric_limits<int>::max();
};

} // namespace caisson::sim
