// The calls that an engine holds: one record each, reused.
#pragma once

#include <caisson/base/ensure.hpp>
#include <caisson/base/free_set.hpp>
#include <caisson/engine/call_record.hpp>
#include <caisson/engine/layer_moves.hpp>
#include <caisson/policy/call_number.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace caisson::detail {

/// All records of an engine. A record's address and index stay the same while
/// it is in use; ids are never reused. Places are taken from the lowest one on,
/// and blocks of them that are empty are given back, so that memory follows the
/// number of calls held. Every operation takes constant time, but for the
/// amortised growth of the index.
class call_table {
public:
  static constexpr std::size_t capacity = std::size_t{1} << call_place_bits;

  /// The index of no record.
  static constexpr std::uint32_t no_record = 0xffffffff;

  /// `salt` keeps strangers from choosing numbers that meet in one bucket.
  call_table(std::size_t layers, std::uint64_t salt);

  call_table(const call_table&) = delete;
  call_table& operator=(const call_table&) = delete;

  [[nodiscard]] std::size_t live() const noexcept { return live_; }

  /// For how many records there is memory at present.
  [[nodiscard]] std::size_t places() const noexcept {
    return allocated_ * block_size;
  }

  // -- plans ------------------------------------------------------------------

  /// The plan of layers that calls get when they are taken.
  [[nodiscard]] std::uint32_t plan() const noexcept { return plan_; }

  /// From now on another one; calls keep theirs.
  void next_plan();

  /// Gives a call an earlier plan than the present one, or that.
  void assign_plan(call_record& r, std::uint32_t plan);

  /// Whether a call has a plan from `first` to before `last`, which is not
  /// beyond the present one.
  [[nodiscard]] bool has_plan(std::uint32_t first,
                              std::uint32_t last) const noexcept {
    auto i = older_.lower_bound(first);
    return i != older_.end() && i->first < last;
  }

  /// Layers have come or gone: what records say of them moves along. Takes time
  /// in proportion to the number of places.
  void rearrange(const layer_moves& moves);

  // -- records ----------------------------------------------------------------

  /// How many calls are in a phase.
  [[nodiscard]] std::size_t in(phase p) const noexcept {
    return counts_[static_cast<std::size_t>(p)];
  }

  /// A record in its initial state with a fresh id.
  call_record& take();

  /// Gives a record back that is on the move and not indexed. It leaves the
  /// lists it is in, and everything it refers to is let go.
  void put_back(call_record& r);

  /// Drops all records, as if they had been given back.
  void clear();

  /// Every change of the phase of a call that lives.
  void move_to(call_record& r, phase p) {
    auto& before = counts_[static_cast<std::size_t>(r.where)];
    CAISSON_ENSURE(before > 0, "call {} is counted as {}", call_number(r.id),
                   name_of(r.where));
    --before;
    ++counts_[static_cast<std::size_t>(p)];
    r.where = p;
  }

  /// Whether there is or was a call with that id, or it is that of no call.
  [[nodiscard]] bool has_known(call_id id) const noexcept {
    return id >> call_place_bits <= taken_;
  }

  /// Whether each call is in one of the places where one can rest.
  [[nodiscard]] bool none_moving() const noexcept {
    return in(phase::moving) == 0;
  }

  /// Ensures that each live call is counted in one phase.
  void check() const;

  /// The record of a call, or null if the call is over.
  call_record* find(call_id id) noexcept {
    auto* r = at(id & (capacity - 1));
    return r && r->id == id ? r : nullptr;
  }

  /// The record at an index taken from a key or a timer.
  call_record* at(std::size_t index) noexcept {
    if (index / block_size >= blocks_.size() || !blocks_[index / block_size])
      return nullptr;
    auto& r = record(index);
    return r.where != phase::free ? &r : nullptr;
  }

  // -- calls by caller and number ---------------------------------------------

  /// Lets `find_request` find the call by its `from`, which must say who it is
  /// and stay as it is until `unindex`.
  void index(call_record& r);

  /// Undoes `index`, if the call is in there.
  void unindex(call_record& r);

  /// A request of `caller` under `number`, or null. Of several, the newest.
  call_record* find_request(std::uint64_t caller,
                            std::uint64_t number) noexcept;

  /// All calls, in order of their places.
  template <class F>
  void for_each(F f) {
    for (std::size_t i = 0; i < blocks_.size() * block_size; ++i)
      if (auto* r = at(i))
        f(*r);
  }

private:
  static constexpr std::size_t block_size = 8;
  static constexpr std::size_t least_buckets = 16;

  struct block {
    std::array<call_record, block_size> records;
    std::unique_ptr<layer_notes[]> notes;
  };

  call_record& record(std::size_t index) noexcept {
    return blocks_[index / block_size]->records[index % block_size];
  }

  static void reset(call_record& r);
  void leave_plan(std::uint32_t plan);
  static void rearrange(call_record& r, const layer_notes* notes,
                        const layer_moves& moves);
  void make_block(std::size_t number);
  void drop_block(std::size_t number);
  [[nodiscard]] bool is_empty(std::size_t number) const noexcept;

  std::uint32_t& bucket_of(std::uint64_t caller, std::uint64_t number) noexcept;
  void put_first(call_record& r) noexcept;
  void rehash(std::size_t buckets);

  std::size_t layers_;
  std::uint32_t plan_ = 0;
  /// How many calls have an earlier plan. Those with the present one are the
  /// others, so that nothing is counted while no layer comes or goes.
  std::map<std::uint32_t, std::size_t> older_;
  std::uint64_t salt_;
  std::uint64_t taken_ = 0;
  std::size_t live_ = 0;
  std::size_t allocated_ = 0;
  std::array<std::size_t, phase_count> counts_{};
  std::vector<std::unique_ptr<block>> blocks_;
  free_set free_;
  // An empty block that is kept, so that calls that come and go at its border
  // do not allocate one each time.
  static constexpr std::size_t no_spare = ~std::size_t{0};
  std::size_t spare_ = no_spare;
  std::size_t indexed_ = 0;
  std::vector<std::uint32_t> buckets_;
};

} // namespace caisson::detail
