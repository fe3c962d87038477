#include <caisson/error.hpp>

#include <fmt/format.h>

namespace caisson {

namespace {

#if CAISSON_CAF_LEGACY
std::string rendered(std::uint8_t code, const caf::message& context) {
  auto text = fmt::format("caisson::{}", name_of(static_cast<errc>(code)));
  auto* r = portable::get_if<rejection>(context);
  if (!r)
    return text;
  if (!r->policy.empty())
    text += fmt::format(" by {}", r->policy);
  if (r->retry_after > duration::zero())
    text += fmt::format(", retry after {}", to_text(r->retry_after));
  if (!r->text.empty())
    text += fmt::format(": {}", r->text);
  return text;
}
#endif

bool is_own(const caf::error& err) {
#if CAISSON_CAF_LEGACY
  return err.category() == caf::atom("caisson");
#else
  return err.category() == caf::type_id_v<errc>;
#endif
}

} // namespace

#if CAISSON_CAF_LEGACY

caf::error make_error(errc code) {
  return {static_cast<std::uint8_t>(code), caf::atom("caisson")};
}

caf::error make_error(errc code, rejection context) {
  return {static_cast<std::uint8_t>(code), caf::atom("caisson"),
          caf::make_message(std::move(context))};
}

void register_types(caf::actor_system_config& cfg) {
  portable::add_types<caf::id_block::caisson_messages>(cfg);
  cfg.add_error_category(
    caf::atom("caisson"),
    [](std::uint8_t code, caf::atom_value, const caf::message& context) {
      return rendered(code, context);
    });
}

#else

bool from_string(std::string_view text, errc& x) {
  auto found = errc_named(text);
  if (found)
    x = *found;
  return found.has_value();
}

bool from_integer(std::uint8_t value, errc& x) {
  if (value < 1 || value > last_errc)
    return false;
  x = static_cast<errc>(value);
  return true;
}

caf::error make_error(errc code) {
  return caf::error{code};
}

caf::error make_error(errc code, rejection context) {
  return caf::error{code, detail::make_early(std::move(context))};
}

void register_types(caf::actor_system_config&) {
  // Types are registered globally, before any config exists.
}

#endif

const rejection* context_of(const caf::error& err) {
  return err && is_own(err) ? portable::get_if<rejection>(err.context())
                            : nullptr;
}

duration retry_after(const caf::error& err) {
  auto* context = context_of(err);
  return context ? context->retry_after : duration::zero();
}

outcome outcome_of(const caf::message& answer) {
  outcome o;
  o.reply = &answer;
  o.from_worker = true;
  auto* err = portable::get_if<caf::error>(answer);
  if (!err)
    return o;
  o.ok = false;
  o.code = err->code();
  if (is_own(*err)) {
    o.own_error = true;
    o.from_worker = false;
    o.category = caisson_category;
    if (auto* context = context_of(*err)) {
      o.reached = context->reached;
      o.from_worker = context->from_worker;
      o.retry_after = context->retry_after;
    }
  } else {
    o.category = category_hash(portable::category_of(*err));
  }
  return o;
}

} // namespace caisson
