#include <caisson/policies/batcher/sent_batch.hpp>

#include <caisson/base/ensure.hpp>
#include <caisson/policy/call_number.hpp>

#include <algorithm>
#include <iterator>
#include <numeric>

namespace caisson::detail {

namespace {

// Numbers the items from 0 on without gaps, or not at all if none are equal.
void renumber(std::vector<std::uint32_t>& numbers) {
  std::uint32_t next = 0;
  for (std::size_t i = 0; i < numbers.size();) {
    auto old = numbers[i];
    for (; i < numbers.size() && numbers[i] == old; ++i)
      numbers[i] = next;
    ++next;
  }
  if (next == numbers.size())
    numbers.clear();
}

} // namespace

// Each call has the number of its item, or none has.
void sent_batch::ensure_numbers() const {
  CAISSON_ENSURE(numbers.empty()
                   || (numbers.size() == calls.size() && numbers.front() == 0
                       && numbers.back() < calls.size()),
                 "{} calls have {} numbers", calls.size(), numbers.size());
}

void sent_batch::add_equal(call_id call) {
  CAISSON_ENSURE(!calls.empty(), "call {} is equal to none", call_number(call));
  if (numbers.empty()) {
    numbers.resize(calls.size());
    std::iota(numbers.begin(), numbers.end(), std::uint32_t{0});
  }
  numbers.push_back(numbers.back());
  calls.push_back(call);
  ensure_numbers();
}

void sent_batch::keep_present(const launched_calls& all) {
  auto is_present = [&](call_id id) {
    auto i = all.find(id);
    return i != all.end() && i->second == launch;
  };
  if (numbers.empty()) {
    std::erase_if(calls, [&](call_id id) { return !is_present(id); });
    return;
  }
  std::size_t n = 0;
  for (std::size_t i = 0; i < calls.size(); ++i)
    if (is_present(calls[i])) {
      calls[n] = calls[i];
      numbers[n++] = numbers[i];
    }
  calls.resize(n);
  numbers.resize(n);
  renumber(numbers);
  ensure_numbers();
}

sent_batch sent_batch::split_off() {
  auto all = calls.size();
  sent_batch out;
  out.levels = levels;
  out.launch = launch;
  auto middle = (items() + 1) / 2;
  if (!numbers.empty()) {
    auto at = std::lower_bound(numbers.begin(), numbers.end(), middle);
    middle = static_cast<std::size_t>(at - numbers.begin());
    out.numbers.assign(at, numbers.end());
    numbers.erase(at, numbers.end());
    renumber(numbers);
    renumber(out.numbers);
  }
  auto at = calls.begin() + static_cast<std::ptrdiff_t>(middle);
  out.calls.assign(at, calls.end());
  calls.erase(at, calls.end());
  CAISSON_ENSURE(calls.size() + out.calls.size() == all
                   && calls.size() >= std::min<std::size_t>(all, 1),
                 "{} calls become {} and {}", all, calls.size(),
                 out.calls.size());
  ensure_numbers();
  out.ensure_numbers();
  return out;
}

} // namespace caisson::detail
