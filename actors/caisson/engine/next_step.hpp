// The next step of a call, as the parts of an engine say it.
#pragma once

#include <caisson/engine/engine_host.hpp>
#include <caisson/policy/outcome.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace caisson::detail {

struct call_record;

/// What a part of the engine wants done with a call. The parts only say it; the
/// router does it.
struct [[nodiscard]] next_step {
  enum class kind : std::uint8_t {
    none,     // it rests where it is, or is over
    descend,  // it goes on down at `layer`
    dispatch, // it is past all layers
    send,     // to `target`, as an attempt of its own
    ascend,   // `result` goes up from `layer` on; -1: past all layers
    cut_off,  // all below `layer` lose it, and `layer` ends it with `result`;
              // -1: the gate does
    finish,   // it ends with `result`
  };

  kind what = kind::none;
  int layer = -1;
  target_id target = worker_target;
  std::optional<outcome> result = {};

  /// Whether there is something to do.
  explicit operator bool() const noexcept { return what != kind::none; }

  static next_step descend(std::size_t first) {
    return {kind::descend, static_cast<int>(first)};
  }

  static next_step send(target_id to) { return {kind::send, -1, to}; }

  static next_step ascend(int last, const outcome& o) {
    return {kind::ascend, last, worker_target, o};
  }

  /// Becomes the same.
  void set_ascend(int last, const outcome& o) {
    what = kind::ascend;
    layer = last;
    result.emplace(o);
  }

  static next_step cut_off(int layer, const outcome& o) {
    return {kind::cut_off, layer, worker_target, o};
  }

  static next_step finish(const outcome& o) {
    return {kind::finish, -1, worker_target, o};
  }
};

/// A call with what is to happen to it; none if nothing is.
struct [[nodiscard]] moved_call {
  call_record* call = nullptr;
  next_step step = {};
};

} // namespace caisson::detail
