#include <caisson/policies/cache/cache_flushes.hpp>

#include <fmt/format.h>

#include <string>

namespace caisson::detail {

namespace {

void emit_lost(const std::string& key, const outcome& o, env& e) {
  auto why = o.own_error ? std::string{name_of(static_cast<errc>(o.code))}
                         : fmt::format("the worker's error {}", o.code);
  e.emit({.kind = event_kind::write_lost, .detail = why, .key = key});
}

} // namespace

void send_writes(cache_writes& writes, const cache_config& c, env& e) {
  while (writes.due(c) <= e.now) {
    auto child = e.start_child(
      {.deadline = time_after(e.now, c.flush_timeout),
       .key = writes.next_key(),
       .priority = writes.next_write().priority,
       // It may be sent again, so it may also be carried out twice.
       .idempotent = idempotence::yes,
       .written_back = true});
    writes.sent(child);
  }
}

flush_end end_flush(cache_writes& writes, const cache_config& c, call_id child,
                    const outcome& result, env& e) {
  auto refusals = is_refusal(result) ? writes.refused(child) : 0;
  flush_end out{judge_flush(c, result, refusals, e), {}};
  switch (out.what) {
    case verdict::success:
      out.rest = writes.written(child, c, e.now);
      break;
    case verdict::failure:
      out.rest = writes.lost(child, c, e.now);
      emit_lost(out.rest.key, result, e);
      break;
    default:
      writes.failed(child, c, e.now);
  }
  return out;
}

} // namespace caisson::detail
