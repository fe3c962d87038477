#include <caisson/base/system_load.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <system_error>
#include <utility>

namespace caisson {

namespace {

// More is never read of a file, whatever the kernel or a test says. A machine
// with 10,000 CPUs has a long list of them.
constexpr std::size_t most_bytes = 2'000'000;
constexpr std::size_t bytes_at_once = 16'384;
constexpr int most_levels = 32;

std::optional<std::string> content_of(const std::string& path) {
  std::ifstream in{path, std::ios::binary};
  if (!in)
    return std::nullopt;
  std::string out;
  while (in && out.size() < most_bytes) {
    auto before = out.size();
    out.resize(before + bytes_at_once);
    in.read(out.data() + before, bytes_at_once);
    out.resize(before + static_cast<std::size_t>(in.gcount()));
  }
  return out;
}

// Takes the text up to `at`, or all of it, off the front of `text`.
std::string_view take_until(std::string_view& text, char at) {
  auto n = text.find(at);
  auto out = text.substr(0, n);
  text.remove_prefix(n == text.npos ? text.size() : n + 1);
  return out;
}

// A word between blanks; empty at the end.
std::string_view take_word(std::string_view& text) {
  auto from = text.find_first_not_of(" \t\n");
  if (from == text.npos) {
    text = {};
    return {};
  }
  text.remove_prefix(from);
  auto n = std::min(text.find_first_of(" \t\n"), text.size());
  auto out = text.substr(0, n);
  text.remove_prefix(n);
  return out;
}

// Not negative.
std::optional<double> number_in(std::string_view word) {
  std::uint64_t x = 0;
  auto [end, error] = std::from_chars(word.data(), word.data() + word.size(),
                                      x);
  if (error != std::errc{} || end != word.data() + word.size())
    return std::nullopt;
  return static_cast<double>(x);
}

// A file with one number.
std::optional<double> number_at(const std::string& path) {
  auto text = content_of(path);
  if (!text)
    return std::nullopt;
  std::string_view rest = *text;
  return number_in(take_word(rest));
}

// The number behind `name` in a file with a line for each.
std::optional<double> entry_of(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    auto line = take_until(text, '\n');
    if (take_word(line) == name)
      return number_in(take_word(line));
  }
  return std::nullopt;
}

std::optional<double> entry_at(const std::string& path, std::string_view name) {
  auto text = content_of(path);
  return text ? entry_of(*text, name) : std::nullopt;
}

bool lists(std::string_view names, std::string_view name) {
  while (!names.empty())
    if (take_until(names, ',') == name)
      return true;
  return false;
}

} // namespace

load_reading system_load::read(time_point now) {
  load_reading out;
  auto cpu = cpu_of_cgroup();
  if (!cpu)
    cpu = cpu_of_machine();
  if (!cpu) {
    cpu_.clear();
  } else {
    if (cpu->where != where_ || cpu->capacity != capacity_)
      cpu_.clear();
    where_ = std::move(cpu->where);
    capacity_ = cpu->capacity;
    cpu_.add(now, cpu->used, capacity_);
    out.cpu = cpu_.value();
  }
  out.memory = memory_of_cgroup();
  if (!out.memory)
    out.memory = memory_of_machine();
  return out;
}

// In a container the path can be one of the machine outside, which is not
// there: the folder that it sees as the first one is its own then.
system_load::folders
system_load::folders_of(std::string_view controller) const {
  folders out;
  auto text = content_of(root_ + "/proc/self/cgroup");
  if (!text)
    return out;
  std::string_view path;
  std::string_view second_path;
  bool first_version = false;
  for (std::string_view rest = *text; !rest.empty();) {
    auto line = take_until(rest, '\n');
    take_until(line, ':');
    auto names = take_until(line, ':');
    if (lists(names, controller)) {
      first_version = true;
      path = line;
    } else if (names.empty()) {
      second_path = line;
      out.second_version = true;
    }
  }
  if (first_version)
    out.second_version = false;
  else if (out.second_version)
    path = second_path;
  else
    return out;
  auto top = root_ + "/sys/fs/cgroup";
  if (first_version)
    top += "/" + std::string{controller};
  if (path.find("..") != path.npos)
    path = {};
  while (path.ends_with('/'))
    path.remove_suffix(1);
  for (int i = 0; i < most_levels && path.starts_with('/'); ++i) {
    out.paths.push_back(top + std::string{path});
    path = path.substr(0, path.rfind('/'));
  }
  out.paths.push_back(std::move(top));
  return out;
}

std::optional<system_load::cpu_usage> system_load::cpu_of_cgroup() const {
  std::optional<cpu_usage> least;
  auto in = folders_of("cpu");
  auto counted = in.second_version ? in : folders_of("cpuacct");
  for (std::size_t i = 0; i < in.paths.size(); ++i) {
    const auto& at = in.paths[i];
    std::optional<double> quota;
    std::optional<double> period;
    std::optional<double> used;
    if (in.second_version) {
      auto text = content_of(at + "/cpu.max").value_or("");
      std::string_view rest = text;
      quota = number_in(take_word(rest));
      period = number_in(take_word(rest));
      used = entry_at(at + "/cpu.stat", "usage_usec");
    } else {
      quota = number_at(at + "/cpu.cfs_quota_us");
      period = number_at(at + "/cpu.cfs_period_us");
      if (i < counted.paths.size())
        used = number_at(counted.paths[i] + "/cpuacct.usage");
    }
    if (!quota || !period || !used || *quota == 0 || *period == 0)
      continue;
    auto capacity = *quota / *period;
    auto seconds = *used * (in.second_version ? 1e-6 : 1e-9);
    if (!least || capacity < least->capacity)
      least = cpu_usage{at, seconds, capacity};
  }
  return least;
}

// Of the first line of /proc/stat: user, nice, system, idle, iowait, irq,
// softirq and steal; what follows is part of the first two. Time that another
// guest of the host got was not idle.
std::optional<system_load::cpu_usage> system_load::cpu_of_machine() const {
  auto text = content_of(root_ + "/proc/stat");
  if (!text)
    return std::nullopt;
  std::string_view rest = *text;
  auto line = take_until(rest, '\n');
  if (take_word(line) != "cpu")
    return std::nullopt;
  double all = 0;
  double idle = 0;
  for (int i = 0; i < 8; ++i) {
    auto word = take_word(line);
    // Older kernels have fewer.
    if (word.empty() && i > 3)
      break;
    auto ticks = number_in(word);
    if (!ticks)
      return std::nullopt;
    all += *ticks;
    idle += i == 3 || i == 4 ? *ticks : 0;
  }
  double cpus = 0;
  while (take_until(rest, '\n').starts_with("cpu"))
    ++cpus;
  // USER_HZ, which is 100 on the platforms of today.
  return cpu_usage{"machine", (all - idle) / 100, std::max(cpus, 1.0)};
}

std::optional<double> system_load::memory_of_cgroup() const {
  std::optional<double> fullest;
  auto in = folders_of("memory");
  auto all = entry_at(root_ + "/proc/meminfo", "MemTotal:");
  for (const auto& at : in.paths) {
    auto limit = number_at(
      at + (in.second_version ? "/memory.max" : "/memory.limit_in_bytes"));
    auto used = number_at(
      at + (in.second_version ? "/memory.current" : "/memory.usage_in_bytes"));
    // Version 1 writes a limit above all memory for none.
    if (!limit || !used || *limit == 0 || (all && *limit > *all * 1024))
      continue;
    auto stat = content_of(at + "/memory.stat").value_or("");
    std::string_view before = in.second_version ? "" : "total_";
    for (auto name : {"inactive_file", "active_file"})
      *used -= entry_of(stat, std::string{before} + name).value_or(0);
    auto share = std::clamp(*used / *limit, 0.0, 1.0);
    fullest = std::max(fullest.value_or(0), share);
  }
  return fullest;
}

std::optional<double> system_load::memory_of_machine() const {
  auto text = content_of(root_ + "/proc/meminfo");
  if (!text)
    return std::nullopt;
  auto all = entry_of(*text, "MemTotal:");
  auto left = entry_of(*text, "MemAvailable:");
  if (!all || !left || *all == 0)
    return std::nullopt;
  return std::clamp(1 - *left / *all, 0.0, 1.0);
}

} // namespace caisson
