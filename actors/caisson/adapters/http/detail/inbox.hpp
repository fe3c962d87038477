// An address by which a thread that is no actor asks, and waits for the answer.
#pragma once

#include <caisson/base/time.hpp>
#include <caisson/caf/caf.hpp>
#include <caisson/caf/hooks.hpp>

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>

namespace caisson::detail {

/// Takes the answer to one request at a time; those that come later than the
/// thread has waited are dropped.
class inbox_address final : public portable::relay {
public:
  explicit inbox_address(caf::actor_config& cfg) : portable::relay(cfg) {}

  void expect(std::uint64_t number) {
    std::lock_guard guard{mutex_};
    number_ = number;
    content_.reset();
  }

  std::optional<caf::message> wait(time_point until) {
    std::unique_lock guard{mutex_};
    arrived_.wait_until(guard, until, [this] { return content_.has_value(); });
    number_ = 0;
    return std::exchange(content_, std::nullopt);
  }

protected:
  bool receive(caf::mailbox_element_ptr what, portable::run_context*) override {
    if (!what->mid.is_response())
      return drop(*what);
    {
      std::lock_guard guard{mutex_};
      if (what->mid.request_id().integer_value() != number_ || content_)
        return false;
      content_ = content_of(*what);
    }
    arrived_.notify_one();
    return true;
  }

private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::uint64_t number_ = 0;
  std::optional<caf::message> content_;
};

/// Used by one thread.
class inbox {
public:
  explicit inbox(caf::actor_system& sys)
    : address_(portable::make_relay<inbox_address>(sys, sys.next_actor_id())) {}

  ~inbox() { address().close(); }

  inbox(const inbox&) = delete;
  inbox& operator=(const inbox&) = delete;

  /// The answer of `whom` to `content`, which is a single `caf::error` if it
  /// failed; nothing if none comes until `until`.
  std::optional<caf::message> ask(const caf::actor& target,
                                  caf::message content, time_point until) {
    address().expect(++last_);
    portable::relay::send_on(target, address_,
                             caf::message_id{last_}.with_normal_priority(),
                             std::move(content), nullptr);
    return address().wait(until);
  }

private:
  inbox_address& address() {
    return *static_cast<inbox_address*>(address_->get());
  }

  caf::strong_actor_ptr address_;
  std::uint64_t last_ = 0;
};

} // namespace caisson::detail
