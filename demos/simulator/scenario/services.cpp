#include <simulator/scenario/services.hpp>

#include <simulator/scenario/distribution_value.hpp>
#include <simulator/scenario/fields.hpp>

#include <caisson/settings/read_value.hpp>

#include <utility>

namespace caisson {

// -- calls --------------------------------------------------------------------

using value_of_call = field_value_for<sim::call_config>;

std::string value_of_call::text() const {
  return detail::quoted(x_.to);
}

void value_of_call::read(const setting& from, const setting_path& path,
                         problems& out) {
  if (auto name = detail::text_in(from)) {
    x_.to = *name;
    return;
  }
  auto table = std::get_if<settings>(&from.value);
  if (!table)
    out.push_back({problem_kind::type, path,
                   to_text(from) + " is not a call, allowed: " + allowed(),
                   from.place});
  else if (auto work = table->find("work"); work != table->end())
    out.push_back({problem_kind::relation, path / "work",
                   "is not done at the same time as calls, allowed: a step of "
                   "its own",
                   work->second.place});
  else
    read_fields({*table, path, from.place}, x_, out);
}

void value_of_call::check(const setting_path& path, problems& out) const {
  detail::check_fields(x_, path, out);
}

// -- steps --------------------------------------------------------------------

using value_of_step = field_value_for<sim::step>;

std::string value_of_step::text() const {
  auto copy = x_;
  return x_.calls.empty()
           ? field_value_for<sim::distribution>{copy.work}.text()
           : field_value_for<decltype(copy.calls)>{copy.calls}.text();
}

void value_of_step::read(const setting& from, const setting_path& path,
                         problems& out) {
  auto table = std::get_if<settings>(&from.value);
  auto list = std::get_if<std::vector<setting>>(&from.value);
  if (table && table->contains("work")) {
    settings_reader fields{{*table, path, from.place}, out};
    fields.on({"work", "how long it works"}, x_.work);
    fields.finish();
  } else if (list) {
    if (list->empty())
      out.push_back({problem_kind::missing, path,
                     "has no call, allowed: a list of at least one call",
                     from.place});
    field_value_for<decltype(x_.calls)>{x_.calls}.read(from, path, out);
  } else if (table || detail::text_in(from)) {
    value_of_call{x_.calls.emplace_back()}.read(from, path, out);
  } else {
    out.push_back({problem_kind::type, path,
                   to_text(from) + " is not a call, allowed: " + allowed(),
                   from.place});
  }
}

void value_of_step::check(const setting_path& path, problems& out) const {
  for (std::size_t i = 0; i < x_.calls.size(); ++i)
    detail::check_fields(x_.calls[i], path / i, out);
}

// -- services -----------------------------------------------------------------

using value_of_service = field_value_for<sim::service_config>;

namespace {

// Whether the service itself can be called, besides its named operations.
bool has_unnamed(const settings& table) {
  auto op = table.find("op");
  if (op == table.end())
    return true;
  auto named = std::get_if<settings>(&op->second.value);
  return (named && named->empty()) || table.contains("time")
         || table.contains("item_time") || table.contains("calls");
}

} // namespace

std::string value_of_service::text() const {
  return x_.name;
}

void value_of_service::read(const setting& from, const setting_path& path,
                            problems& out) {
  auto table = detail::table_in(from, path, out);
  if (!table)
    return;
  settings_reader fields{{*table, path, from.place}, out};
  describe(fields, x_);
  sim::operation_config own;
  describe(fields, own);
  std::vector<sim::operation_config> named;
  tables_by_name operations{named};
  fields.on({"op", "operations by their names"}, operations);
  fields.finish();
  if (has_unnamed(*table)) {
    own.name = x_.name;
    x_.operations.push_back(std::move(own));
  }
  for (auto& op : named) {
    op.name = x_.name + "." + op.name;
    x_.operations.push_back(std::move(op));
  }
}

void value_of_service::check(const setting_path& path, problems& out) const {
  detail::check_fields(x_, path, out);
}

void value_of_service::relate(const setting_path& path, problems& out) const {
  detail::check_relations(x_, path, out);
}

} // namespace caisson
