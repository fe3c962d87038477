#include <sim/scenario/faults.hpp>

#include <sim/scenario/fields.hpp>
#include <sim/scenario/parse_context.hpp>

#include <caisson/settings_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace caisson::sim {

namespace {

constexpr std::span<const std::string_view>
  kind_names = enum_names<fault_kind>::value;

bool kind_is_known(const section& at) {
  auto kind = at.table.find("kind");
  auto text = kind != at.table.end() ? text_in(kind->second) : std::nullopt;
  return text
         && std::find(kind_names.begin(), kind_names.end(), *text)
              != kind_names.end();
}

// Fields that belong to certain kinds of faults only.
void check_applicable(const section& at, const fault_config& c, problems& out) {
  auto only = [&](std::string_view key, fault_kind kind) {
    auto found = at.table.find(key);
    if (c.kind != kind && found != at.table.end())
      out.push_back(
        {found->second.place, joined(at.path, key),
         fmt::format("{} applies to {} only, this is {}", key,
                     kind_names[static_cast<std::size_t>(kind)],
                     kind_names[static_cast<std::size_t>(c.kind)])});
  };
  only("factor", fault_kind::slow);
  only("rate", fault_kind::errors);
  only("workers", fault_kind::capacity);
  if (c.kind == fault_kind::capacity)
    require(at, "workers", "0 to 1000000", out);
  auto lasts = at.table.find("for");
  if (c.kind != fault_kind::flush)
    require(at, "for", "1ns to 100h", out);
  else if (lasts != at.table.end())
    out.push_back({lasts->second.place, joined(at.path, "for"),
                   "for does not apply to flush, which takes no time"});
}

void read_fault(const section& at, parse_context& w) {
  fault_config c;
  settings_reader fields{at.table, at.path, w.out};
  describe(fields, c);
  fields.finish();
  require(at, "kind", detail::listed(kind_names), w.out);
  require(at, "target", "the name of a service", w.out);
  if (kind_is_known(at))
    check_applicable(at, c, w.out);
  if (!c.target.empty())
    w.services.push_back(
      {c.target, joined(at.path, "target"), at.table.at("target").place});
  if (w.arm.length > duration::zero() && c.at >= w.arm.length)
    w.out.push_back({at.table.at("at").place, joined(at.path, "at"),
                     fmt::format("{} is not before length, which is {}",
                                 to_text(c.at), to_text(w.arm.length))});
  w.arm.faults.push_back(std::move(c));
}

} // namespace

void read_faults(parse_context& w) {
  auto list = w.list("fault");
  for (std::size_t i = 0; list && i < list->size(); ++i) {
    auto path = item("fault", i);
    if (auto table = table_in((*list)[i], path, w.out))
      read_fault({*table, path, (*list)[i].place}, w);
  }
}

std::optional<duration> recovery_start(const arm_config& arm) {
  if (arm.recovery_from || arm.faults.empty())
    return arm.recovery_from;
  auto last = duration::zero();
  for (const auto& f : arm.faults)
    last = std::max(last, plus(f.at, f.lasts));
  return last;
}

} // namespace caisson::sim
