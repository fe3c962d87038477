#include <simulator/report/json_layout.hpp>

#include <algorithm>
#include <ostream>
#include <string>

namespace caisson::sim {

namespace {

constexpr std::size_t deepest = 6;

bool holds_others(const json_layout::json& x) {
  return x.is_structured() && std::ranges::any_of(x, [](const auto& child) {
           return child.is_structured() && !child.empty();
         });
}

} // namespace

void json_layout::line(const json& x) {
  out_ << x.dump(-1, ' ', false, json::error_handler_t::replace);
}

// Each part of a list or table is on a line of its own.
void json_layout::begin_part() {
  if (after_key_ || open_.empty()) {
    after_key_ = false;
    return;
  }
  out_ << (first_ ? "\n" : ",\n") << std::string(open_.size(), ' ');
  first_ = false;
}

void json_layout::open(char bracket) {
  begin_part();
  out_ << bracket;
  open_.push_back(bracket == '{' ? '}' : ']');
  first_ = true;
}

void json_layout::close() {
  auto bracket = open_.back();
  open_.pop_back();
  out_ << '\n' << std::string(open_.size(), ' ') << bracket;
  if (open_.empty())
    out_ << '\n';
}

void json_layout::key(std::string_view name) {
  begin_part();
  line(name);
  out_ << ": ";
  after_key_ = true;
}

void json_layout::value(const json& x) {
  if (open_.size() >= deepest || !holds_others(x)) {
    begin_part();
    line(x);
  } else if (x.is_object()) {
    open_table();
    members(x);
    close();
  } else {
    open_list();
    for (const auto& part : x)
      value(part);
    close();
  }
}

void json_layout::members(const json& table) {
  for (const auto& [name, x] : table.items()) {
    key(name);
    value(x);
  }
}

} // namespace caisson::sim
