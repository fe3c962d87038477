// The targets of an engine, by number.
#pragma once

#include <caisson/engine/call_record.hpp>
#include <caisson/engine/engine_host.hpp>

#include <vector>

namespace caisson::detail {

/// Something that calls are sent to, and those that are there.
struct target_entry {
  target_info info;
  target_calls calls;
};

/// What calls are sent to: the worker, and the targets of layers.
class target_table {
public:
  target_table();

  target_table(const target_table&) = delete;
  target_table& operator=(const target_table&) = delete;

  /// The number that the next target gets.
  [[nodiscard]] target_id next() const;

  target_id add(const target_info& x);

  /// The target has no calls; its number may be given again.
  void drop(target_id x);

  [[nodiscard]] target_entry& operator[](target_id x) { return entries_[x]; }

  /// The calls that are there, which are there no more.
  [[nodiscard]] target_calls take_calls(target_id x);

private:
  std::vector<target_entry> entries_;
  /// The numbers of those that were dropped.
  std::vector<target_id> free_;
};

} // namespace caisson::detail
