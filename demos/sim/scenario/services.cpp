#include <sim/scenario/services.hpp>

#include <sim/scenario/distribution_value.hpp>
#include <sim/scenario/fields.hpp>
#include <sim/scenario/parse_context.hpp>

#include <utility>

namespace caisson::sim {

namespace {

// Where an operation is read: its name and that of its service.
struct operation_context {
  parse_context& world;
  std::string service;
  std::string operation;
};

// -- calls --------------------------------------------------------------------

void add_call(call_config c, const std::string& key, std::string_view place,
              const operation_context& r, step& into) {
  if (!c.to.empty())
    r.world.calls.push_back(
      {r.service, r.operation, c.to, c.count, key, std::string{place}});
  into.calls.push_back(std::move(c));
}

void read_call_table(const section& at, const operation_context& r,
                     step& into) {
  auto& out = r.world.out;
  call_config c;
  settings_reader fields{at.table, at.path, out};
  describe(fields, c);
  fields.finish();
  require(at, "to", "the name of an operation", out);
  auto ttl = at.table.find("cache_ttl");
  if (ttl != at.table.end() && !at.table.contains("cache_keys"))
    out.push_back({ttl->second.place, joined(at.path, "cache_ttl"),
                   "cache_ttl applies with cache_keys only"});
  auto to = at.table.find("to");
  if (to != at.table.end())
    add_call(std::move(c), joined(at.path, "to"), to->second.place, r, into);
}

void read_call(const setting& from, const std::string& path,
               std::string_view allowed, const operation_context& r,
               step& into) {
  if (auto text = text_in(from)) {
    call_config c;
    c.to = *text;
    add_call(std::move(c), path, from.place, r, into);
  } else if (auto table = std::get_if<settings>(&from.value);
             table && table->contains("work")) {
    r.world.out.push_back(
      {table->at("work").place, joined(path, "work"),
       "is not done at the same time as calls, allowed: a step of its own"});
  } else if (table) {
    read_call_table({*table, path, from.place}, r, into);
  } else {
    r.world.out.push_back(
      {from.place, path,
       to_text(from) + " is not a call, allowed: " + std::string{allowed}});
  }
}

// -- steps --------------------------------------------------------------------

void read_work(const section& at, problems& out, step& into) {
  settings_reader fields{at.table, at.path, out};
  distribution_value work{into.work};
  fields.on({"work", "how long it works"}, work);
  fields.finish();
}

void read_step(const setting& from, const std::string& path,
               const operation_context& r, step& into) {
  auto table = std::get_if<settings>(&from.value);
  if (table && table->contains("work"))
    return read_work({*table, path, from.place}, r.world.out, into);
  auto list = std::get_if<std::vector<setting>>(&from.value);
  if (!list)
    return read_call(from, path,
                     "the name of an operation, a table with to or work, or a "
                     "list of calls made at the same time",
                     r, into);
  if (list->empty())
    r.world.out.push_back(
      {from.place, path, "has no call, allowed: a list of at least one call"});
  for (std::size_t i = 0; i < list->size(); ++i)
    read_call((*list)[i], item(path, i),
              "the name of an operation, or a table with to", r, into);
}

void read_steps(const setting& from, const std::string& path,
                const operation_context& r, operation_config& into) {
  auto list = list_in(from, path, "calls", r.world.out);
  for (std::size_t i = 0; list && i < list->size(); ++i)
    read_step((*list)[i], item(path, i), r, into.steps.emplace_back());
}

// -- operations ---------------------------------------------------------------

// Reads the fields of an operation; other keys are left to `fields`.
void read_operation(const section& at, const std::string& service,
                    std::string name, settings_reader& fields, parse_context& w,
                    service_config& into) {
  operation_config op;
  op.name = std::move(name);
  describe(fields, op);
  if (auto calls = fields.take("calls"))
    read_steps(*calls, joined(at.path, "calls"), {w, service, op.name}, op);
  into.operations.push_back(std::move(op));
}

void read_operations(const setting& from, const std::string& path,
                     parse_context& w, service_config& into) {
  auto all = table_in(from, path, w.out);
  if (!all)
    return;
  for (const auto& [name, value] : in_file_order(*all)) {
    auto where = joined(path, name);
    check_name(name, value->place, where, w.out);
    auto table = table_in(*value, where, w.out);
    if (!table)
      continue;
    section at{*table, where, value->place};
    settings_reader fields{*table, where, w.out};
    read_operation(at, into.name, joined(into.name, name), fields, w, into);
    fields.finish();
  }
}

// Whether the service itself can be called, besides its named operations.
bool has_unnamed(const settings& table) {
  auto op = table.find("op");
  if (op == table.end())
    return true;
  auto named = std::get_if<settings>(&op->second.value);
  return (named && named->empty()) || table.contains("time")
         || table.contains("item_time") || table.contains("calls");
}

void read_service(const section& at, std::string_view name, parse_context& w) {
  service_config c;
  c.name = name;
  settings_reader fields{at.table, at.path, w.out};
  describe(fields, c);
  w.use_stack(at, c.stack);
  if (has_unnamed(at.table))
    read_operation(at, c.name, c.name, fields, w, c);
  for (auto key : {"time", "item_time", "calls"})
    fields.take(key);
  if (auto op = fields.take("op"))
    read_operations(*op, joined(at.path, "op"), w, c);
  fields.finish();
  w.arm.services.push_back(std::move(c));
}

} // namespace

void read_services(parse_context& w) {
  auto all = w.table("service");
  if (!w.root.contains("service") || (all && all->empty()))
    w.out.push_back({std::string{w.source}, "service",
                     "is missing, allowed: at least one table [service.NAME]"});
  if (!all)
    return;
  for (const auto& [name, value] : in_file_order(*all)) {
    auto path = joined("service", name);
    check_name(name, value->place, path, w.out);
    if (auto table = table_in(*value, path, w.out))
      read_service({*table, path, value->place}, name, w);
  }
}

} // namespace caisson::sim
