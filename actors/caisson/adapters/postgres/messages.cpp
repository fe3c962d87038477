#include <caisson/adapters/postgres/messages.hpp>

#include <algorithm>
#include <array>

namespace caisson {

namespace {

// Nested comments are one. One that does not end takes all.
std::string_view without_comment(std::string_view x) {
  if (x.starts_with("--")) {
    x.remove_prefix(std::min(x.find_first_of("\r\n"), x.size()));
    return x;
  }
  auto depth = 0;
  do {
    auto opens = x.starts_with("/*");
    auto closes = x.starts_with("*/");
    depth += opens ? 1 : closes ? -1 : 0;
    x.remove_prefix(opens || closes ? 2 : 1);
  } while (depth > 0 && !x.empty());
  return x;
}

// From where the server begins to read: it skips empty statements, too.
std::string_view from_first_word(std::string_view x) {
  for (;;) {
    x.remove_prefix(std::min(x.find_first_not_of(" \t\n\r\f\v;"), x.size()));
    if (!x.starts_with("--") && !x.starts_with("/*"))
      return x;
    x = without_comment(x);
  }
}

// Takes it off, and returns it in capitals.
std::string take_word(std::string_view& x) {
  x = from_first_word(x);
  std::string word;
  for (auto c : x) {
    if (c >= 'a' && c <= 'z')
      c = static_cast<char>(c - 'a' + 'A');
    if (c < 'A' || c > 'Z')
      break;
    word += c;
  }
  x.remove_prefix(word.size());
  return word;
}

// Sorted.
constexpr std::array<std::string_view, 17> of_sessions{
  "ABORT",    "BEGIN",     "COMMIT", "COPY",    "DEALLOCATE", "DISCARD",
  "END",      "LISTEN",    "LOAD",   "PREPARE", "RELEASE",    "RESET",
  "ROLLBACK", "SAVEPOINT", "SET",    "START",   "UNLISTEN"};

static_assert(std::is_sorted(of_sessions.begin(), of_sessions.end()));

} // namespace

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

bool is_empty(const sql_statement& x) noexcept {
  return from_first_word(x.text).empty();
}

bool is_of_session(const sql_statement& x) {
  std::string_view text = x.text;
  auto word = take_word(text);
  if (!std::binary_search(of_sessions.begin(), of_sessions.end(), word))
    return false;
  if (word != "SET")
    return true;
  // These end with the transaction.
  auto what = take_word(text);
  return what != "LOCAL" && what != "CONSTRAINTS";
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
