#include <caisson/adapters/redis/messages.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <system_error>
#include <utility>

namespace caisson {

namespace {

using enum answer_class;

// In brief: class, whether it may have been done, how often to attempt it.
constexpr answer_info means(answer_class kind, bool may_have_executed,
                            std::uint32_t most = 0) {
  answer_info x;
  x.kind = kind;
  x.may_have_executed = may_have_executed;
  x.max_attempts = most;
  // It is about the state of the server, not about the command.
  x.unanswered = kind == retry;
  return x;
}

constexpr std::string_view too_many_clients
  = "ERR max number of clients reached";

constexpr redis_error_row error_rows[] = {
  {"LOADING", means(retry, false), "it starts, and loads its data"},
  {"READONLY", means(retry, false, 2), "a replica, as after a failover"},
  {"BUSY", means(retry, false), "a script runs and lets nothing else happen"},
  {"MASTERDOWN", means(retry, false), "a replica without its primary"},
  {"CLUSTERDOWN", means(retry, false), "the cluster has lost its quorum"},
  {"TRYAGAIN", means(retry, false), "keys are being migrated"},
  {"NOREPLICAS", means(retry, false), "too few replicas for a write"},
  {"MISCONF", means(retry, false, 2), "it cannot save, and takes no writes"},
  {"UNBLOCKED", means(retry, false), "it became a replica meanwhile"},
  {too_many_clients, means(shed, false), "too many connections"},
  {"OOM", means(shed, false), "its memory is full"},
  {"BUSYKEY", means(conflict, true),
   "the key exists, perhaps from an earlier "
   "attempt"},
  {"BUSYGROUP", means(conflict, true), "the same, of a consumer group"},
  {"*", means(fail, true), "the request is at fault"},
};

std::string upper(std::string_view x) {
  std::string result{x};
  for (auto& c : result)
    if (c >= 'a' && c <= 'z')
      c = static_cast<char>(c - 'a' + 'A');
  return result;
}

template <std::size_t N>
bool is_among(const std::array<std::string_view, N>& sorted,
              std::string_view x) {
  return std::binary_search(sorted.begin(), sorted.end(), x);
}

// Sorted. Without those that take something away, or wait.
constexpr std::array<std::string_view, 51> reading{
  "BITCOUNT",  "BITPOS",   "DBSIZE",     "DUMP",      "ECHO",   "EXISTS",
  "GEODIST",   "GEOHASH",  "GEOPOS",     "GEOSEARCH", "GET",    "GETBIT",
  "GETRANGE",  "HEXISTS",  "HGET",       "HGETALL",   "HKEYS",  "HLEN",
  "HMGET",     "HSCAN",    "HSTRLEN",    "HVALS",     "INFO",   "KEYS",
  "LINDEX",    "LLEN",     "LPOS",       "LRANGE",    "MGET",   "PFCOUNT",
  "PING",      "PTTL",     "SCAN",       "SCARD",     "SDIFF",  "SINTER",
  "SISMEMBER", "SMEMBERS", "SMISMEMBER", "SSCAN",     "STRLEN", "SUNION",
  "TIME",      "TTL",      "TYPE",       "ZCARD",     "ZCOUNT", "ZRANGE",
  "ZRANK",     "ZSCAN",    "ZSCORE"};

constexpr std::array<std::string_view, 6> assigning{
  "HMSET", "MSET", "PFMERGE", "PSETEX", "SETEX", "SETRANGE"};

constexpr std::array<std::string_view, 27> connecting{
  "ASKING",       "AUTH",    "CLIENT",      "DISCARD",    "EXEC",
  "HELLO",        "MONITOR", "MULTI",       "PSUBSCRIBE", "PSYNC",
  "PUNSUBSCRIBE", "QUIT",    "READONLY",    "READWRITE",  "REPLCONF",
  "RESET",        "SELECT",  "SSUBSCRIBE",  "SUBSCRIBE",  "SUNSUBSCRIBE",
  "SWAPDB",       "SYNC",    "UNSUBSCRIBE", "UNWATCH",    "WAIT",
  "WAITAOF",      "WATCH"};

static_assert(std::is_sorted(reading.begin(), reading.end()));
static_assert(std::is_sorted(assigning.begin(), assigning.end()));
static_assert(std::is_sorted(connecting.begin(), connecting.end()));

// SET with a time to live only: conditions and GET make the second time differ.
bool sets_only(const std::vector<std::string>& args) {
  for (std::size_t i = 3; i < args.size(); ++i) {
    auto option = upper(args[i]);
    if (option == "KEEPTTL")
      continue;
    if (option != "EX" && option != "PX" && option != "EXAT"
        && option != "PXAT")
      return false;
    ++i;
  }
  return true;
}

// As strict as Redis, which takes neither blanks nor a plus.
std::optional<std::int64_t> number(std::string_view x) {
  std::int64_t result = 0;
  auto [end, error] = std::from_chars(x.data(), x.data() + x.size(), result);
  if (error != std::errc{} || end != x.data() + x.size())
    return std::nullopt;
  return result;
}

// LTRIM that keeps the first elements, or the last. All others take something
// away each time: `LTRIM key 100 -1` drops a hundred more.
bool keeps_an_end(const std::vector<std::string>& args) {
  if (args.size() != 4)
    return false;
  auto first = number(args[2]);
  auto last = number(args[3]);
  return first && last
         && ((*first == 0 && *last >= 0) || (*first <= 0 && *last == -1));
}

} // namespace

std::string_view name_of(redis_kind x) noexcept {
  switch (x) {
    case redis_kind::nil:
      return "nil";
    case redis_kind::status:
      return "status";
    case redis_kind::error:
      return "error";
    case redis_kind::integer:
      return "integer";
    case redis_kind::text:
      return "text";
    case redis_kind::array:
      return "array";
  }
  return "unknown";
}

bool is_idempotent(const redis_command& x) noexcept {
  if (x.args.empty())
    return false;
  auto name = upper(x.args.front());
  return is_among(reading, name) || is_among(assigning, name)
         || (name == "SET" && sets_only(x.args))
         || (name == "LTRIM" && keeps_an_end(x.args));
}

call as_call(redis_command x) {
  auto repeatable = is_idempotent(x);
  return wrap(std::move(x)).idempotent(repeatable);
}

bool is_of_connection(const redis_command& x) noexcept {
  return !x.args.empty() && is_among(connecting, upper(x.args.front()));
}

std::span<const redis_error_row> redis_error_rows() noexcept {
  return error_rows;
}

answer_info redis_error_answer(std::string_view text) noexcept {
  auto word = text.substr(0, text.find(' '));
  if (text.starts_with(too_many_clients))
    word = too_many_clients;
  for (const auto& row : error_rows)
    if (row.word == word)
      return row.info;
  return std::end(error_rows)[-1].info;
}

answer_adapter redis_adapter() {
  return [](const caf::message& content) -> std::optional<answer_info> {
    auto* x = portable::get_if<redis_reply>(content);
    if (!x)
      return std::nullopt;
    if (x->kind == redis_kind::error)
      return redis_error_answer(x->text);
    return answer_info{.kind = answer_class::ok};
  };
}

void init_redis_types() {
  [[maybe_unused]] static const auto once = [] {
#if !CAISSON_CAF_LEGACY
    init_transport_types();
    portable::init_types<caf::id_block::caisson_redis>();
#endif
    return true;
  }();
}

void register_redis_types(caf::actor_system_config& cfg) {
  portable::add_types<caf::id_block::caisson_redis>(cfg);
  register_transport_types(cfg);
}

} // namespace caisson
