#include <caisson/caf/caf.hpp>
#include <caisson/caf/hooks.hpp>

#if CAISSON_CAF_LEGACY

#include <array>
#include <unordered_map>

namespace caisson::portable {

namespace {

// Finds the `watched_actor` of an actor. In parts, so that threads seldom wait
// for each other.
struct watched_table {
  std::mutex mutex;
  std::unordered_map<const void*, std::weak_ptr<watched_actor>> all;
};

// Never destroyed: actors with static storage may end after it.
watched_table& table_of(const void* x) {
  static auto& parts = *new std::array<watched_table, 16>;
  return parts[reinterpret_cast<std::uintptr_t>(x) / 64 % parts.size()];
}

constexpr std::size_t token_of_ended_watches = 0x63616973;

// What hangs in the list of the watched actor.
class watch_entry final : public caf::attachable {
public:
  watch_entry(std::shared_ptr<down_watch> x, caf::actor_addr watched)
    : watch_(std::move(x)), watched_(std::move(watched)) {}

  ~watch_entry() override { watch_->leave_list(); }

  void actor_exited(const caf::error& why, caf::execution_unit* on) override {
    watch_->notify(watched_, why, on);
  }

  using caf::attachable::matches;
  bool matches(const token& what) override {
    return what.subtype == token_of_ended_watches && watch_->over();
  }

private:
  const std::shared_ptr<down_watch> watch_;
  const caf::actor_addr watched_;
};

} // namespace

struct watched_actor {
  explicit watched_actor(const void* x) : key(x) {}

  ~watched_actor() {
    auto& table = table_of(key);
    std::lock_guard lock{table.mutex};
    // Another thread may have created one since.
    if (auto i = table.all.find(key);
        i != table.all.end() && i->second.expired())
      table.all.erase(i);
  }

  watched_actor(const watched_actor&) = delete;
  watched_actor& operator=(const watched_actor&) = delete;

  static std::shared_ptr<watched_actor> of(const void* key) {
    auto& table = table_of(key);
    std::lock_guard lock{table.mutex};
    auto& known = table.all[key];
    auto x = known.lock();
    if (!x)
      known = x = std::make_shared<watched_actor>(key);
    return x;
  }

  const void* const key;
  std::atomic<std::int64_t> entries = 0;
  std::atomic<std::int64_t> over = 0;
};

std::shared_ptr<down_watch> down_watch::begin(const caf::strong_actor_ptr& x,
                                              caf::actor_addr actor) {
  auto watch = std::make_shared<down_watch>(
    watched_actor::of(portable::identity_of(x)), std::move(actor));
  ++watch->among_->entries;
  x->get()->attach(
    caf::attachable_ptr{new watch_entry(watch, x->get()->address())});
  return watch;
}

down_watch::down_watch(std::shared_ptr<watched_actor> among,
                       caf::actor_addr actor)
  : among_(std::move(among)), actor_(std::move(actor)) {}

down_watch::~down_watch() = default;

void down_watch::end(const caf::strong_actor_ptr& x) {
  // How many are worth a search through the list.
  constexpr std::int64_t fewest = 64;
  caf::actor_addr address;
  {
    std::lock_guard lock{mutex_};
    if (over_.exchange(true))
      return;
    address.swap(actor_);
  }
  auto over = ++among_->over;
  if (x && over >= fewest && over >= among_->entries / 2)
    x->get()->detach(caf::attachable::token{token_of_ended_watches, nullptr});
}

void down_watch::leave_list() {
  --among_->entries;
  std::lock_guard lock{mutex_};
  if (over_)
    --among_->over;
}

void down_watch::notify(caf::actor_addr x, const caf::error& why,
                        caf::execution_unit* on) {
  caf::strong_actor_ptr to;
  {
    std::lock_guard lock{mutex_};
    to = caf::actor_cast<caf::strong_actor_ptr>(actor_);
  }
  if (to)
    to->enqueue(caf::actor_cast<caf::strong_actor_ptr>(x),
                caf::make_message_id(),
                caf::make_message(caf::down_msg{x, why}), on);
}

} // namespace caisson::portable

#endif
