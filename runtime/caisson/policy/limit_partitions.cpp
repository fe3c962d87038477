#include <caisson/policy/limit_partitions.hpp>

#include <caisson/base/ensure.hpp>
#include <caisson/settings/file_order.hpp>
#include <caisson/settings/read_value.hpp>
#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

namespace caisson::detail {

namespace {

// What takes a partition away again.
constexpr std::string_view no_partition = "none";

constexpr range<double> share_range{0.0, 1.0};

// The table of shares. Reading changes those that it has, as a `reconfigure`
// changes the settings that it names; in a file there are none before.
class shares_value final : public field_value {
public:
  explicit shares_value(std::vector<limit_partition>& x) : x_(x) {}

  [[nodiscard]] std::string type() const override { return "table"; }
  [[nodiscard]] std::string allowed() const override {
    return "a table of names with shares from 0 to 1, together at most 1";
  }

  [[nodiscard]] std::string text() const override {
    std::string out;
    for (const auto& p : x_)
      out += fmt::format("{}{} = {}", out.empty() ? "{ " : ", ",
                         shortened(p.name, longest_quoted), to_text(p.share));
    return out.empty() ? "{}" : out + " }";
  }

  void read(const setting& from, const setting_path& path,
            problems& out) override {
    auto all = table_in(from, path, out);
    if (!all)
      return;
    for (const auto& [name, value] : in_file_order(*all))
      read_one(name, *value, path / name, out);
  }

  void check(const setting_path&, problems&) const override {}

private:
  void read_one(std::string_view name, const setting& value,
                const setting_path& path, problems& out) {
    auto i = std::find_if(x_.begin(), x_.end(),
                          [&](auto& p) { return p.name == name; });
    if (text_in(value) == no_partition) {
      if (i != x_.end())
        x_.erase(i);
      return;
    }
    double share = 0;
    if (!read_value(value, path, share, share_range, out))
      return;
    if (i != x_.end())
      i->share = share;
    else
      x_.push_back({std::string{name}, share});
  }

  std::vector<limit_partition>& x_;
};

// It becomes part of the names of gauges.
bool is_partition_name(std::string_view x) {
  return !x.empty() && x.size() <= partition_settings::longest_name
         && std::all_of(x.begin(), x.end(), [](unsigned char c) {
              return c == '_' || c == '-' || (c >= '0' && c <= '9')
                     || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
            });
}

void check_partition(const limit_partition& p, std::set<std::string_view>& seen,
                     const setting_path& all, problems& out) {
  auto wrong = [&](problem_kind kind, std::string message) {
    out.push_back({kind, all / p.name, std::move(message)});
  };
  if (p.name.empty())
    wrong(problem_kind::missing, "a partition needs a name");
  else if (!is_partition_name(p.name))
    wrong(problem_kind::range,
          fmt::format("{} is not a name of a partition, allowed: at most {} "
                      "letters, digits, _ and -",
                      quoted(p.name), partition_settings::longest_name));
  else if (p.name == partition_settings::rest_name)
    wrong(problem_kind::range, "is reserved for calls without a partition; "
                               "their share is what the others leave");
  else if (!seen.insert(p.name).second)
    wrong(problem_kind::relation,
          fmt::format("another partition is already called {}", p.name));
  if (!std::isfinite(p.share))
    wrong(problem_kind::range, not_finite(to_text(p.share), share_range));
  else if (p.share < share_range.lo || p.share > share_range.hi)
    wrong(problem_kind::range, out_of_range(to_text(p.share), share_range));
}

void check_sum(const std::vector<limit_partition>& list,
               const setting_path& all, problems& out) {
  std::int64_t sum = 0;
  for (const auto& p : list)
    sum += billionths_of(p.share);
  // Each may have been rounded up by half of one.
  if (sum > whole_share + static_cast<std::int64_t>(list.size()) / 2)
    out.push_back({problem_kind::relation, all,
                   fmt::format("the shares are {} together, allowed: at most 1",
                               to_text(static_cast<double>(sum)
                                       / static_cast<double>(whole_share)))});
}

// A partition without a permit of its own would wait as long as others have
// calls.
void check_least(std::string_view limit, std::uint32_t least,
                 const std::vector<limit_partition>& list,
                 const setting_path& path, problems& out) {
  std::int64_t sum = 0;
  std::uint32_t needed = 0;
  for (const auto& p : list) {
    sum += billionths_of(p.share);
    needed += billionths_of(p.share) > 0 ? 1 : 0;
  }
  if (sum < whole_share)
    ++needed;
  if (least >= 1 && least < needed)
    out.push_back({problem_kind::relation, path / limit,
                   fmt::format("{} is less than one for each partition with a "
                               "share, the rest included, allowed: {} or more",
                               least, needed)});
}

} // namespace

void describe_partitions(field_visitor& v, partition_settings& p) {
  using namespace std::chrono_literals;
  shares_value shares{p.list};
  v.on({"partitions",
        "names of up to 32 partitions, and which share of the limit is "
        "guaranteed to each; a call belongs to the one that its key names, up "
        "to the first /, and otherwise to the rest; none removes one"},
       shares);
  v.on({"borrow", "whether a partition may use, beyond its guaranteed part, "
                  "what others do not use"},
       p.borrow);
  v.on({"reject_delay", "how long the rejection of a call is delayed that "
                        "finds the queue full while its partition uses all "
                        "that is guaranteed to it"},
       p.reject_delay, {0s, 1min});
  v.integer({.key = "max_delayed",
             .help = "how many rejections may be delayed at the same time; "
                     "further ones are not",
             .needs = {"reject_delay"}},
            p.max_delayed, {1, 100'000});
}

void check_partitions(std::string_view limit, std::uint32_t least,
                      std::uint32_t max_waiters, const partition_settings& p,
                      const setting_path& path, problems& out) {
  auto all = path / "partitions";
  auto useless = [&](std::string_view key, std::string message) {
    out.push_back({problem_kind::relation, path / key, std::move(message)});
  };
  if (p.list.empty()) {
    if (!p.borrow)
      useless("borrow", "false has no effect without partitions, allowed: "
                        "true, or at least one partition");
    if (p.reject_delay > duration::zero()
        && p.reject_delay <= std::chrono::minutes(1))
      useless("reject_delay",
              fmt::format("{} has no effect without partitions, allowed: 0s, "
                          "or at least one partition",
                          to_text(p.reject_delay)));
    if (p.by_call)
      useless("partitions", "the function that names the partition of a call "
                            "has no effect without partitions, allowed: at "
                            "least one partition");
    return;
  }
  if (p.list.size() > partition_settings::most)
    out.push_back({problem_kind::range, all,
                   fmt::format("{} partitions, allowed: at most {}",
                               p.list.size(), partition_settings::most)});
  auto before = out.size();
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < p.list.size() && i < partition_settings::most;
       ++i)
    check_partition(p.list[i], seen, all, out);
  if (out.size() == before) {
    check_sum(p.list, all, out);
    check_least(limit, least, p.list, path, out);
  }
  // What is lent comes back to a call that waits for it, or to nobody.
  if (max_waiters == 0 && p.borrow && p.reject_delay == duration::zero())
    useless("partitions",
            "have no effect: max_waiters is 0, so that no call waits for what "
            "others have borrowed, allowed: max_waiters of at least 1, borrow "
            "= false, or a reject_delay");
}

void check_partitions_per_key(const partition_settings& p,
                              const setting_path& path, problems& out) {
  if (!p.list.empty() && !p.by_call)
    out.push_back({problem_kind::relation, path / "partitions",
                   "are named by keys, but with per_key all calls at one "
                   "policy have the same key, allowed: no partitions, no "
                   "per_key, or in code a function that names the partition"});
}

// -- shares -------------------------------------------------------------------

std::int64_t billionths_of(double share) noexcept {
  return std::llround(std::clamp(share, 0.0, 1.0)
                      * static_cast<double>(whole_share));
}

std::string_view partition_in(std::string_view key) noexcept {
  return key.substr(0, key.find('/'));
}

std::vector<std::int64_t> split_limit(std::int64_t limit,
                                      std::span<const std::int64_t> shares) {
  std::vector<std::int64_t> out;
  std::vector<std::pair<std::int64_t, std::size_t>> fractions;
  auto left = limit;
  for (auto share : shares) {
    auto exact = limit * share;
    fractions.emplace_back(-(exact % whole_share), out.size());
    out.push_back(exact / whole_share);
    left -= out.back();
  }
  std::sort(fractions.begin(), fractions.end());
  for (std::size_t i = 0; left > 0 && i < fractions.size(); ++i, --left)
    ++out[fractions[i].second];
  CAISSON_ENSURE(left == 0, "{} of {} belong to no part", left, limit);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i] > 0 || shares[i] == 0)
      continue;
    auto most = std::max_element(out.begin(), out.end());
    if (*most <= 1)
      break;
    --*most;
    ++out[i];
  }
  return out;
}

} // namespace caisson::detail
