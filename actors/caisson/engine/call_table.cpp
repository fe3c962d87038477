#include <caisson/engine/call_table.hpp>

#include <caisson/base/random.hpp>
#include <caisson/policy/call_number.hpp>

#include <algorithm>
#include <bit>
#include <memory>
#include <numeric>
#include <utility>

namespace caisson::detail {

call_table::call_table(std::size_t layers, std::uint64_t salt)
  : layers_(layers), salt_(salt) {}

// -- records ------------------------------------------------------------------

// As if it were a new one, at a tenth of the cost: most calls have left nothing
// that owns memory.
void call_table::reset(call_record& r) {
  caisson::reset(r);
  static_cast<call_notes&>(r) = {};
  r.from.reset();
  if (portable::refers(r.payload))
    r.payload = {};
  if (portable::refers(r.reply))
    r.reply = {};
  // `= {}` would keep their memory.
  if (r.path.capacity() > 0)
    r.path = std::vector<std::uint64_t>{};
  if (r.children.capacity() > 0)
    r.children = std::vector<call_id>{};
  r.child = nullptr;
  r.trace = nullptr;
}

call_record& call_table::take() {
  if (free_.empty()) {
    auto next = blocks_.size();
    blocks_.emplace_back();
    free_.resize(blocks_.size() * block_size);
    for (auto i = next * block_size; i < free_.size(); ++i)
      free_.insert(i);
  }
  auto index = free_.front();
  CAISSON_ENSURE(index < capacity, "there are {} calls", live_);
  auto number = index / block_size;
  if (!blocks_[number])
    make_block(number);
  if (spare_ == number)
    spare_ = no_spare;
  free_.erase(index);
  auto& r = record(index);
  CAISSON_ENSURE(r.where == phase::free, "call {} has this place",
                 call_number(r.id));
  ++live_;
  ++counts_[static_cast<std::size_t>(phase::moving)];
  r.where = phase::moving;
  r.id = (++taken_ << call_place_bits) | index;
  r.plan = plan_;
  return r;
}

void call_table::put_back(call_record& r) {
  CAISSON_ENSURE(!r.indexed && r.where == phase::moving,
                 "call {} is {} as it ends", call_number(r.id),
                 name_of(r.where));
  CAISSON_ENSURE(r.inside == 0 && r.children.empty(),
                 "call {} ends in layers {:#x}", call_number(r.id), r.inside);
  CAISSON_ENSURE(!r.watched && live_ > 0,
                 "call {} ends, and its caller is watched", call_number(r.id));
  if (r.plan != plan_)
    leave_plan(r.plan);
  r.link<by_target>::unlink();
  r.link<by_caller>::unlink();
  --counts_[static_cast<std::size_t>(phase::moving)];
  r.where = phase::free;
  auto index = r.index;
  reset(r);
  free_.insert(index);
  --live_;
  auto number = index / block_size;
  if (!is_empty(number))
    return;
  if (spare_ == no_spare) {
    spare_ = number;
    return;
  }
  auto higher = std::max(spare_, number);
  spare_ = std::min(spare_, number);
  drop_block(higher);
}

void call_table::check() const {
  auto counted = std::accumulate(counts_.begin(), counts_.end(),
                                 std::size_t{0});
  CAISSON_ENSURE(counted == live_ && in(phase::free) == 0,
                 "{} calls are in a phase, {} live", counted, live_);
  CAISSON_ENSURE(indexed_ <= live_, "{} calls of {} are indexed", indexed_,
                 live_);
}

void call_table::clear() {
  blocks_.clear();
  free_ = {};
  spare_ = no_spare;
  older_.clear();
  buckets_.clear();
  indexed_ = live_ = allocated_ = 0;
  counts_ = {};
}

bool call_table::is_empty(std::size_t number) const noexcept {
  constexpr auto all = (std::uint64_t{1} << block_size) - 1;
  return free_.bits(number * block_size, block_size) == all;
}

void call_table::make_block(std::size_t number) {
  CAISSON_ENSURE(!blocks_[number] && is_empty(number),
                 "block {} is made, and has calls", number);
  auto fresh = std::make_unique<block>();
  fresh->notes = std::make_unique<layer_notes[]>(layers_ * block_size);
  for (std::size_t i = 0; i < block_size; ++i) {
    fresh->records[i].index = static_cast<std::uint32_t>(number * block_size
                                                         + i);
    fresh->records[i].layers = fresh->notes.get() + i * layers_;
  }
  blocks_[number] = std::move(fresh);
  ++allocated_;
}

void call_table::drop_block(std::size_t number) {
  CAISSON_ENSURE(blocks_[number] && is_empty(number),
                 "block {} is dropped with calls", number);
  blocks_[number] = nullptr;
  --allocated_;
  auto size = blocks_.size();
  while (size > 0 && !blocks_[size - 1])
    --size;
  for (auto i = size * block_size; i < free_.size(); ++i)
    free_.erase(i);
  blocks_.resize(size);
  free_.resize(size * block_size);
  if (blocks_.capacity() > 4 * size + block_size)
    blocks_.shrink_to_fit();
}

// -- plans --------------------------------------------------------------------

void call_table::next_plan() {
  auto present = live_;
  for (const auto& [plan, calls] : older_) {
    CAISSON_ENSURE(plan < plan_ && calls > 0 && calls <= present,
                   "{} calls have plan {}, and there are {}", calls, plan,
                   live_);
    present -= calls;
  }
  if (present > 0)
    older_.emplace(plan_, present);
  ++plan_;
}

void call_table::assign_plan(call_record& r, std::uint32_t plan) {
  CAISSON_ENSURE(plan <= plan_ && r.inside == 0,
                 "call {} gets plan {} of {} in layers {:#x}",
                 call_number(r.id), plan, plan_, r.inside);
  if (r.plan == plan)
    return;
  if (r.plan != plan_)
    leave_plan(r.plan);
  r.plan = plan;
  if (plan != plan_)
    ++older_[plan];
}

void call_table::leave_plan(std::uint32_t plan) {
  auto i = older_.find(plan);
  CAISSON_ENSURE(i != older_.end(), "no call has plan {}", plan);
  if (--i->second == 0)
    older_.erase(i);
}

void call_table::rearrange(const layer_moves& moves) {
  CAISSON_ENSURE(moves.before() == layers_, "{} of {} layers move",
                 moves.before(), layers_);
  CAISSON_ENSURE(moves.size() <= most_layers, "there are {} layers",
                 moves.size());
  layers_ = moves.size();
  for (auto& b : blocks_) {
    if (!b)
      continue;
    auto fresh = std::make_unique<layer_notes[]>(layers_ * block_size);
    for (std::size_t i = 0; i < block_size; ++i) {
      auto& r = b->records[i];
      auto* notes = std::exchange(r.layers, fresh.get() + i * layers_);
      if (r.where != phase::free)
        rearrange(r, notes, moves);
    }
    b->notes = std::move(fresh);
  }
}

void call_table::rearrange(call_record& r, const layer_notes* notes,
                           const layer_moves& moves) {
  for (std::size_t k = 0; k < moves.before(); ++k)
    if (auto to = moves.of(k); to != layer_moves::gone) {
      auto& x = r.layers[to] = notes[k];
      x.outer_owner = moves.of(x.outer_owner);
      x.held_as = moves.of(x.held_as);
    }
  CAISSON_ENSURE(std::popcount(moves.bits(r.inside)) == std::popcount(r.inside),
                 "call {} is in layers {:#x}, and one of them goes",
                 call_number(r.id), r.inside);
  r.inside = moves.bits(r.inside);
  r.may_have_executed = moves.bits(r.may_have_executed);
  r.at = moves.of(r.at);
  r.owner = moves.of(r.owner);
  r.rejected_by = moves.of(r.rejected_by);
  r.depth = moves.depth(r.depth);
  if (!r.child)
    return;
  auto origin = moves.of(r.child->origin);
  CAISSON_ENSURE(origin != layer_moves::gone,
                 "the layer that started call {} goes", call_number(r.id));
  r.child->origin = static_cast<std::size_t>(origin);
}

// -- calls by caller and number -----------------------------------------------

std::uint32_t& call_table::bucket_of(std::uint64_t caller,
                                     std::uint64_t number) noexcept {
  auto h = mix_seed(salt_ ^ mix_seed(caller ^ salt_) ^ number);
  return buckets_[h & (buckets_.size() - 1)];
}

void call_table::index(call_record& r) {
  CAISSON_ENSURE(!r.indexed && r.from.caller() != 0,
                 "call {} is indexed, and has no caller", call_number(r.id));
  if (indexed_ >= buckets_.size())
    rehash(std::max(least_buckets, 2 * buckets_.size()));
  put_first(r);
  r.indexed = true;
  ++indexed_;
}

void call_table::unindex(call_record& r) {
  if (!r.indexed)
    return;
  auto& place = r.previous_indexed == no_record
                  ? bucket_of(r.from.caller(), r.from.number())
                  : record(r.previous_indexed).next_indexed;
  CAISSON_ENSURE(place == r.index && indexed_ > 0,
                 "call {} is not where it was indexed", call_number(r.id));
  place = r.next_indexed;
  if (r.next_indexed != no_record)
    record(r.next_indexed).previous_indexed = r.previous_indexed;
  r.indexed = false;
  --indexed_;
  if (buckets_.size() > least_buckets && indexed_ < buckets_.size() / 8)
    rehash(buckets_.size() / 2);
}

void call_table::put_first(call_record& r) noexcept {
  auto& first = bucket_of(r.from.caller(), r.from.number());
  if (first != no_record)
    record(first).previous_indexed = r.index;
  r.previous_indexed = no_record;
  r.next_indexed = std::exchange(first, r.index);
}

call_record* call_table::find_request(std::uint64_t caller,
                                      std::uint64_t number) noexcept {
  if (caller == 0 || buckets_.empty())
    return nullptr;
  for (auto i = bucket_of(caller, number); i != no_record;
       i = record(i).next_indexed)
    if (auto& r = record(i);
        r.from.caller() == caller && r.from.number() == number)
      return &r;
  return nullptr;
}

void call_table::rehash(std::size_t buckets) {
  auto old = std::exchange(buckets_,
                           std::vector<std::uint32_t>(buckets, no_record));
  for (auto first : old)
    for (auto i = first; i != no_record;) {
      auto& r = record(i);
      i = r.next_indexed;
      put_first(r);
    }
}

} // namespace caisson::detail
