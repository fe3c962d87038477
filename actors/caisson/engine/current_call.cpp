#include <caisson/engine/current_call.hpp>

#include <caisson/engine/layer_table.hpp>
#include <caisson/policy/call_number.hpp>

#include <fmt/format.h>

namespace caisson::detail {

// Checks nothing, as what it describes may be wrong.
std::string current_call::describe() const {
  auto* r = core_.calls.at(core_.current_call);
  if (!r)
    return {};
  std::string inside;
  for (std::size_t k = 0; k < core_.layers.size(); ++k)
    // One that is being moved to another place has no owner here.
    if (const auto& x = core_.layers[k]; is_inside(*r, k) && x.owner)
      inside += (inside.empty() ? "" : ", ") + x.owner->name();
  return fmt::format("call {}: {}, attempts: {}, time left: {}, layers: {}",
                     call_number(r->id), name_of(r->where), r->sends,
                     rounded_text(time_until(r->deadline, core_.now())),
                     inside.empty() ? "none" : inside);
}

} // namespace caisson::detail
