// The receiver of a call's answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace caisson::detail {

/// The receiver of an answer, in the host's own form; the engine only keeps it,
/// and hands it back with the answer. Move-only: a moved-from slot wants no
/// answer, so that no request is answered twice.
class reply_slot {
public:
  static constexpr std::size_t capacity = 48;

  /// No receiver: no answer is wanted.
  reply_slot() noexcept = default;

  /// `caller` identifies one while one of its calls is known here, 0 if that
  /// does not matter; `number` identifies a request of that caller.
  template <class T>
  reply_slot(T x, bool reply_expected, bool urgent, std::uint64_t caller,
             std::uint64_t number) noexcept
    : manage_(&manage<T>), caller_(caller), number_(number),
      expects_reply_(reply_expected), urgent_(urgent) {
    static_assert(sizeof(T) <= capacity && alignof(T) <= 8);
    static_assert(std::is_nothrow_move_constructible_v<T>);
    new (bytes_) T(std::move(x));
  }

  reply_slot(reply_slot&& other) noexcept { take(other); }

  reply_slot& operator=(reply_slot&& other) noexcept {
    if (this != &other) {
      drop();
      take(other);
    }
    return *this;
  }

  ~reply_slot() { drop(); }

  /// As if it were a new one.
  void reset() noexcept {
    drop();
    caller_ = number_ = 0;
    expects_reply_ = urgent_ = remote_ = false;
  }

  /// Whether an answer is wanted.
  [[nodiscard]] bool expects_reply() const noexcept { return expects_reply_; }
  [[nodiscard]] bool urgent() const noexcept { return urgent_; }
  [[nodiscard]] std::uint64_t caller() const noexcept { return caller_; }
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }

  /// Says that the caller runs under another clock: its instants mean nothing
  /// here.
  void mark_remote() noexcept { remote_ = true; }
  [[nodiscard]] bool remote() const noexcept { return remote_; }

  /// What the host put in. @pre it is a T, and has not been moved out
  template <class T>
  [[nodiscard]] T& as() noexcept {
    return *std::launder(reinterpret_cast<T*>(bytes_));
  }
  template <class T>
  [[nodiscard]] const T& as() const noexcept {
    return *std::launder(reinterpret_cast<const T*>(bytes_));
  }

private:
  using manager = void (*)(std::byte* from, std::byte* to) noexcept;

  // Moves a T on, or destroys it if there is nowhere to go.
  template <class T>
  static void manage(std::byte* from, std::byte* to) noexcept {
    auto* x = std::launder(reinterpret_cast<T*>(from));
    if (to)
      new (to) T(std::move(*x));
    std::destroy_at(x);
  }

  void take(reply_slot& other) noexcept {
    manage_ = std::exchange(other.manage_, nullptr);
    if (manage_)
      manage_(other.bytes_, bytes_);
    caller_ = std::exchange(other.caller_, 0);
    number_ = std::exchange(other.number_, 0);
    expects_reply_ = std::exchange(other.expects_reply_, false);
    urgent_ = other.urgent_;
    remote_ = other.remote_;
  }

  void drop() noexcept {
    if (auto m = std::exchange(manage_, nullptr))
      m(bytes_, nullptr);
  }

  alignas(8) std::byte bytes_[capacity];
  manager manage_ = nullptr;
  std::uint64_t caller_ = 0;
  std::uint64_t number_ = 0;
  bool expects_reply_ = false;
  bool urgent_ = false;
  bool remote_ = false;
};

} // namespace caisson::detail
