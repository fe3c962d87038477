#include <simulator/command/cli_faults.hpp>

#include <simulator/command/cli_parts.hpp>
#include <simulator/scenario/faults.hpp>

#include <caisson/settings.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace caisson::sim {

namespace {

constexpr std::array every_kind{
  fault_kind::slow,      fault_kind::errors,   fault_kind::stall,
  fault_kind::crash,     fault_kind::capacity, fault_kind::flush,
  fault_kind::partition, fault_kind::loss,     fault_kind::delay};

std::vector<std::string> names_in(const std::string& option,
                                  const std::vector<std::string>& texts) {
  std::vector<std::string> out;
  for (std::string_view rest : texts)
    for (;;) {
      auto comma = rest.find(',');
      auto name = detail::trimmed(rest.substr(0, comma));
      if (name.empty())
        throw CLI::ValidationError{option, "a name is empty"};
      out.emplace_back(name);
      if (comma == rest.npos)
        break;
      rest.remove_prefix(comma + 1);
    }
  return out;
}

std::vector<fault_kind> kinds_named(const std::vector<std::string>& texts) {
  std::vector<std::string_view> known;
  known.reserve(std::size(every_kind));
  for (auto kind : every_kind)
    known.push_back(fault_name(kind));
  std::vector<fault_kind> out;
  for (const auto& name : names_in("--kind", texts)) {
    auto found = std::ranges::find(known, name);
    if (found == known.end())
      throw CLI::ValidationError{
        "--kind", detail::not_one_of(detail::quoted(name), known)};
    out.push_back(every_kind[static_cast<std::size_t>(found - known.begin())]);
  }
  return out;
}

duration time_of_option(const std::string& option, const std::string& text,
                        duration lo) {
  auto out = parse_duration(text);
  if (!out || *out < lo || *out > std::chrono::hours(100))
    throw CLI::ValidationError{
      option, fmt::format("{} is not a time from {} to 100h, such as 10s",
                          detail::quoted(text), to_text(lo))};
  return *out;
}

// Whether a fault of the kind has such a size.
bool has_factor(fault_kind kind) {
  return kind == fault_kind::slow;
}

bool has_rate(fault_kind kind) {
  return kind == fault_kind::errors || kind == fault_kind::loss;
}

bool has_delay(fault_kind kind) {
  return kind == fault_kind::delay;
}

bool has_length(fault_kind kind) {
  return kind != fault_kind::flush;
}

// An option that says how large faults are needs a kind that has such a size.
void need_kind(const fault_texts& t, const std::string& option,
               const std::string& text, const std::vector<fault_kind>& kinds,
               bool (*has)(fault_kind)) {
  if (t.kinds.empty() || text.empty() || std::ranges::any_of(kinds, has))
    return;
  std::vector<std::string_view> allowed;
  for (auto kind : every_kind)
    if (has(kind))
      allowed.push_back(fault_name(kind));
  throw CLI::ValidationError{
    option, fmt::format("does not apply to these kinds, only to: {}",
                        detail::listed(allowed))};
}

} // namespace

bool fault_texts::any() const {
  const auto single = {&most, &from, &to, &longest, &factor, &rate, &delay};
  return !kinds.empty() || !targets.empty()
         || std::ranges::any_of(
           single, [](const std::string* text) { return !text->empty(); });
}

void add_fault_bounds(CLI::App& to, fault_texts& texts) {
  auto add = [&](const std::string& name, auto& into, const std::string& type,
                 const std::string& what) {
    return to.add_option(name, into, what)->type_name(type)->check(not_empty());
  };
  add("--faults", texts.most, "N",
      "Maximum faults per run (1 to 20; default: 3)");
  add("--kind", texts.kinds, "NAMES",
      "Only these kinds, such as crash,slow (default: all)")
    ->take_all()
    ->allow_extra_args(false);
  add("--target", texts.targets, "NAMES",
      "Only faults of these services, replicas and zones,\n"
      "and of messages from or to them or these loads")
    ->take_all()
    ->allow_extra_args(false);
  add("--from", texts.from, "TIME",
      "No fault before this\n"
      "(default: the warm-up, at least a tenth of the length)");
  add("--to", texts.to, "TIME",
      "No fault after this (default: three quarters of the\n"
      "length, or halfway from --from to its end if later)");
  add("--longest", texts.longest, "TIME",
      "No fault longer than this (default: half of the time\n"
      "from --from to --to)");
  add("--factor", texts.factor, "X",
      "slow: at most this factor (1.5 to 1000000; default: 20)");
  add("--rate", texts.rate, "X",
      "errors, loss: at most this share (0.01 to 1; default: 1)");
  add("--delay", texts.delay, "TIME",
      "delay: at most this (1ms to 100h; default: 1s)");
}

fault_bounds fault_bounds_of(const fault_texts& t) {
  using namespace std::chrono_literals;
  fault_bounds out;
  if (!t.most.empty())
    out.most = number_in<std::uint32_t>("--faults", t.most, 1, 20);
  out.kinds = kinds_named(t.kinds);
  out.targets = names_in("--target", t.targets);
  if (!t.from.empty())
    out.from = time_of_option("--from", t.from, 0s);
  if (!t.to.empty())
    out.to = time_of_option("--to", t.to, 1ms);
  if (!t.longest.empty())
    out.longest = time_of_option("--longest", t.longest, 1us);
  if (!t.factor.empty())
    out.factor = number_in<double>("--factor", t.factor, 1.5, 1e6);
  if (!t.rate.empty())
    out.rate = number_in<double>("--rate", t.rate, 0.01, 1);
  if (!t.delay.empty())
    out.delay = time_of_option("--delay", t.delay, 1ms);
  need_kind(t, "--factor", t.factor, out.kinds, &has_factor);
  need_kind(t, "--rate", t.rate, out.kinds, &has_rate);
  need_kind(t, "--delay", t.delay, out.kinds, &has_delay);
  need_kind(t, "--longest", t.longest, out.kinds, &has_length);
  return out;
}

} // namespace caisson::sim
