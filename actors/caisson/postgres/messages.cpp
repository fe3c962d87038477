#include <caisson/postgres/messages.hpp>

namespace caisson {

std::string_view name_of(sql_isolation x) noexcept {
  switch (x) {
    case sql_isolation::standard:
      return "standard";
    case sql_isolation::read_committed:
      return "read committed";
    case sql_isolation::repeatable_read:
      return "repeatable read";
    case sql_isolation::serializable:
      return "serializable";
  }
  return "unknown";
}

call as_call(sql_query x) {
  auto repeatable = x.read_only;
  return wrap(std::move(x)).idempotent(repeatable);
}

answer_adapter sql_adapter() {
  return classify_sqlstate<sql_result>(
    [](const sql_result& x) { return x.sqlstate; });
}

void init_sql_types() {
  [[maybe_unused]] static const auto once = [] {
#if !CAISSON_CAF_LEGACY
    init_transport_types();
    portable::init_types<caf::id_block::caisson_sql>();
#endif
    return true;
  }();
}

void register_sql_types(caf::actor_system_config& cfg) {
  portable::add_types<caf::id_block::caisson_sql>(cfg);
  register_transport_types(cfg);
}

} // namespace caisson
