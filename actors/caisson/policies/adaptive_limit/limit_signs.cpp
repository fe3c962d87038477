#include <caisson/policies/adaptive_limit/limit_signs.hpp>

namespace caisson::detail {

limit_sign sign_by_lists(const adaptive_limit_config& c, const outcome& o,
                         duration took, env& e) {
  // Whatever the lists say: it has no outcome.
  if (o.neutral || o.is(errc::cancelled))
    return limit_sign::none;
  switch (c.classify.judge(o, count_lists, e)) {
    case verdict::success:
      return sign_of_success(c, took);
    case verdict::failure:
    case verdict::transient:
      return limit_sign::drop;
    case verdict::refused:
      // By the worker itself, as it says, and not by a layer on the way.
      if (o.kind == answer_class::shed && !c.classify.by_value)
        return limit_sign::drop;
      break;
    case verdict::neutral:
      break;
  }
  return limit_sign::none;
}

} // namespace caisson::detail
