// The numbers of the policies of all keys, taken together.
#pragma once

#include <caisson/policies/keyed/key_ranking.hpp>
#include <caisson/policies/keyed/key_table.hpp>
#include <caisson/policy/policy.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace caisson::detail {

/// Adds up what the policies of all keys list, and knows the busiest keys and
/// the worst circuit. Counters of keys that are gone stay. Of gauges that are
/// levels, such as a state, a share or the longest wait, it takes the largest.
///
/// Reading takes the same time for any number of keys: what a policy lists is
/// in the sums, except for the few keys that were used last (the *fresh* ones),
/// which are asked. So a policy is asked before it changes (`touch`), and once
/// more when so many others have been used since. What it lists must change in
/// no other way.
class key_sums {
public:
  /// How many keys are fresh at most.
  static constexpr std::size_t most_fresh = 64;

  key_sums() = default;

  /// Zeros, under the names that `pattern` lists.
  explicit key_sums(const policy& pattern);

  /// From here on the policies list what `pattern` lists. Gauges that neither
  /// it nor any key lists are left out.
  void follow(const policy& pattern);

  /// A key that is new here, and about to change.
  void add(key_entry& x);

  /// To be called before anything of the key changes.
  void touch(key_entry& x) {
    if (x.fresh == key_entry::nowhere)
      freshen(x);
  }

  /// The key goes. Its counters stay.
  void remove(key_entry& x);

  /// Frees memory of these sums, which nobody needs any more: at most `most`
  /// pieces. Returns how many.
  std::size_t shed(std::size_t most);

  /// Appends the sums. Levels are those of `blank` if there are no keys.
  void list(std::vector<metric>& out, const policy& blank) const;

  /// The key with the worst circuit that was made first; null if all circuits
  /// are closed.
  [[nodiscard]] const key_entry* worst() const;

  /// The keys that have admitted the most, at most `n`, in descending order,
  /// and equal ones by name.
  [[nodiscard]] std::vector<const key_entry*> busiest(std::size_t n) const;

private:
  enum class kind : std::uint8_t { counter, amount, level };
  /// How many keys have which value.
  using level_counts = std::map<std::int64_t, std::size_t>;

  /// One number of all keys.
  struct sum {
    metric total;
    kind what;
    level_counts levels = {};
    /// New policies list it.
    bool listed = false;
    /// How many keys that are not fresh list it, if it is a gauge.
    std::size_t holders = 0;
  };

  static constexpr unsigned counters = 1;
  static constexpr unsigned gauges = 2;
  static constexpr unsigned all = counters | gauges;

  using by_calls = key_ranking<&key_entry::rank>;
  using by_circuit = key_ranking<&key_entry::worse>;

  void freshen(key_entry& x);
  void enter(key_entry& x);
  void rank(key_entry& x);
  [[nodiscard]] const std::vector<metric>& ask(const policy& x) const;
  void add_place(const metric& m);
  static void add_unplaced(const metric& m, std::vector<metric>& out,
                           std::size_t from);
  [[nodiscard]] std::size_t place_of(std::string_view name,
                                     std::size_t likely) const;
  void count(const key_entry& x, int sign, unsigned parts);
  static void count_level(level_counts& levels, std::int64_t value, int sign);
  static std::int64_t badness(const key_entry& x);
  template <class Ranking, class F>
  std::vector<const key_entry*> first(const Ranking& ranked, std::size_t n,
                                      F weight) const;

  std::vector<sum> sums_;
  // Of the sums: policies may name numbers after settings, which change.
  std::deque<std::string> names_;
  // Of the keys that are not fresh, as they were when they were last fresh.
  by_calls ranking_;
  by_circuit circuits_;
  // A ring; `next_` has been fresh the longest.
  std::array<key_entry*, most_fresh> fresh_{};
  std::uint32_t next_ = 0;
  // What a policy lists; kept to reuse its memory.
  mutable std::vector<metric> asked_;
};

} // namespace caisson::detail
