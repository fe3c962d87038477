// The text that a scrape gets, made once for all that ask at the same time.
#pragma once

#include <caisson/base/time.hpp>

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace caisson::detail {

/// Whether this library was built with zlib.
[[nodiscard]] bool can_pack() noexcept;

/// As `Content-Encoding: gzip` wants it; empty if it cannot be packed.
[[nodiscard]] std::string packed(const std::string& text);

/// May be used by several threads at once.
class metrics_page {
public:
  using text = std::shared_ptr<const std::string>;

  /// `render` is called by one thread at a time. What it has returned is used
  /// for at most `lasts`. It is kept while somebody has it; if it was needed
  /// less than twice that time after the one before, until the next is needed.
  metrics_page(std::function<std::string()> render, duration lasts)
    : render_(std::move(render)), lasts_(lasts) {}

  /// The text; waits while another thread makes it. What `render` throws is
  /// thrown to whom it was called for; another one tries again.
  [[nodiscard]] text plain() { return get(plain_); }
  [[nodiscard]] text zipped() { return get(zipped_); }

private:
  struct form {
    bool packs;
    bool in_work = false;
    /// Those who wait for it, and what they get: the one who has made it may
    /// be done with it before they wake.
    std::size_t waiting = 0;
    text page_for_waiters = {};
    std::weak_ptr<const std::string> last = {};
    /// The last one, if they are asked for in quick succession.
    text kept = {};
    std::optional<time_point> built_at = {};
  };

  text get(form& x);
  text make(const form& x);

  const std::function<std::string()> render_;
  const duration lasts_;
  std::mutex mutex_;
  std::condition_variable done_;
  form plain_{false};
  form zipped_{true};
};

} // namespace caisson::detail
