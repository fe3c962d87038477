// The calls that a gate holds: one record each, reused.
#pragma once

#include <caisson/caf.hpp>
#include <caisson/policy.hpp>
#include <caisson/timer_queue.hpp>
#include <caisson/wait_list.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

namespace caisson::detail {

using call_timers = timer_queue<std::uint32_t>;

/// Where a call is.
enum class phase : std::uint8_t {
  free,    // the record is not in use
  moving,  // between two layers, within one handler
  held,    // by the layer `at`
  waiting, // for a worker
  flying,  // with the worker or an alternative
  leased,  // its permit is with a holder
  batched, // part of the batch that is the call `parent`
};

/// A layer's notes on one call.
struct layer_notes {
  static constexpr std::int8_t none = -2;

  slot notes;
  /// If the layer put a deadline on the call: whose deadline it replaced.
  std::int8_t outer_owner = none;
};

/// One call. The part that policies see comes first.
struct call_record : flight {
  rt::reply_to from;
  /// What the caller sent; kept for further attempts only if some layer may
  /// want them.
  caf::message payload;
  /// What goes up; means something while an outcome refers to it.
  caf::message reply;
  time_point hold_until = never;
  time_point timer_at = never;
  call_timers::handle timer;
  /// Names the attempt under way: an answer with another key is late.
  std::uint64_t attempt_key = 0;
  /// Bit k: layer k has the call.
  std::uint64_t inside = 0;
  wait_list<call_id>::handle wait = wait_list<call_id>::none;
  std::uint32_t index = 0;
  std::uint32_t generation = 0;
  /// The worker it was sent to, if it was not an alternative.
  std::uint32_t incarnation = 0;
  /// The alternative it was sent to: which layer's, which one.
  std::uint32_t alternative = 0;
  std::int8_t alternative_of = -1;
  phase where = phase::free;
  /// The layer that holds it.
  std::int8_t at = -1;
  /// How many layers are above the place to which it was sent.
  std::int8_t depth = 0;
  /// The layer whose deadline is in force, -1: the caller's or the gate's.
  std::int8_t owner = -1;
  /// The layer whose error goes up, -1: the gate itself.
  std::int8_t decider = -1;
  /// An attempt may have reached a worker.
  bool touched = false;
  /// It asks for a permit.
  bool lease = false;
  /// It has got it.
  bool granted = false;
  /// Its caller, if that is watched on its behalf.
  caf::actor_addr watched;

  /// The batch whose item this is.
  call_id parent = 0;

  /// If this call is a batch: its items, its number, the layer that made it.
  std::vector<call_id> items;
  std::uint64_t batch = 0;
  std::int8_t origin = -1;

  std::unique_ptr<layer_notes[]> layers;
};

/// All records of a gate. A record's address and index stay the same while it
/// is in use; ids are never reused.
class call_table {
public:
  static constexpr std::size_t index_bits = 24;
  static constexpr std::size_t capacity = std::size_t{1} << index_bits;

  explicit call_table(std::size_t layers) : layers_(layers) {}

  [[nodiscard]] std::size_t live() const noexcept { return live_; }

  /// A record in its initial state with a fresh id.
  call_record& take() {
    if (free_.empty()) {
      auto& fresh = records_.emplace_back();
      fresh.index = static_cast<std::uint32_t>(records_.size() - 1);
      fresh.layers = std::make_unique<layer_notes[]>(layers_);
      free_.push_back(fresh.index);
    }
    auto& r = records_[free_.back()];
    free_.pop_back();
    ++live_;
    ++r.generation;
    r.id = (std::uint64_t{r.generation} << index_bits) | r.index;
    r.where = phase::moving;
    return r;
  }

  /// Gives a record back. Everything it refers to is let go.
  void put_back(call_record& r) {
    auto index = r.index;
    auto generation = r.generation;
    auto layers = std::move(r.layers);
    r = call_record{};
    r.index = index;
    r.generation = generation;
    r.layers = std::move(layers);
    free_.push_back(index);
    --live_;
  }

  /// The record of a call, or null if the call is over.
  call_record* find(call_id id) {
    auto index = id & (capacity - 1);
    if (index >= records_.size())
      return nullptr;
    auto& r = records_[index];
    return r.where != phase::free && r.id == id ? &r : nullptr;
  }

  /// The record at an index taken from a key or a timer.
  call_record* at(std::size_t index) {
    return index < records_.size() && records_[index].where != phase::free
             ? &records_[index]
             : nullptr;
  }

  /// The ids of all calls for which `f` is true, in order of record.
  template <class F>
  std::vector<call_id> ids(F f) const {
    std::vector<call_id> out;
    for (const auto& r : records_)
      if (r.where != phase::free && f(r))
        out.push_back(r.id);
    return out;
  }

private:
  std::size_t layers_;
  std::size_t live_ = 0;
  std::deque<call_record> records_;
  std::vector<std::uint32_t> free_;
};

} // namespace caisson::detail
