#include <caisson/engine/transport_errc.hpp>

#include <caisson/caf/error.hpp>

#include <fmt/format.h>

#include <utility>

namespace caisson {

namespace {

#if CAISSON_CAF_LEGACY
constexpr auto transport_category = caf::atom("transport");
#endif

answer_info info_of(transport_errc x) {
  answer_info info{.kind = answer_class::retry, .unanswered = true};
  switch (x) {
    case transport_errc::not_connected:
    case transport_errc::stopped:
      info.may_have_executed = false;
      break;
    case transport_errc::busy:
      info.kind = answer_class::shed;
      info.may_have_executed = false;
      info.out_of_time = true;
      break;
    case transport_errc::garbled:
      info.max_attempts = 2;
      break;
    case transport_errc::too_large:
      info.kind = answer_class::fail;
      info.unanswered = false;
      break;
    case transport_errc::bad_request:
      info.kind = answer_class::fail;
      info.may_have_executed = false;
      info.unanswered = false;
      break;
    case transport_errc::timed_out:
      info.out_of_time = true;
      break;
    case transport_errc::lost:
      break;
  }
  return info;
}

// A gate that knows of earlier attempts has put the text into a `rejection`.
std::string text_in(const caf::message& context) {
  if (auto* text = portable::get_if<std::string>(context))
    return *text;
  auto* known = portable::get_if<rejection>(context);
  return known ? known->text : std::string{};
}

std::string text_for_people(transport_errc code, const caf::message& context) {
  auto text = text_in(context);
  return fmt::format("transport::{}{}{}", name_of(code),
                     text.empty() ? "" : ": ", text);
}

const detail::error_names transport_names{[](const caf::error& x) {
  auto code = transport_errc_of(x);
  return code ? text_for_people(*code, x.context()) : std::string{};
}};

} // namespace

std::string_view name_of(transport_errc x) noexcept {
  switch (x) {
    case transport_errc::not_connected:
      return "not_connected";
    case transport_errc::lost:
      return "lost";
    case transport_errc::timed_out:
      return "timed_out";
    case transport_errc::garbled:
      return "garbled";
    case transport_errc::too_large:
      return "too_large";
    case transport_errc::busy:
      return "busy";
    case transport_errc::stopped:
      return "stopped";
    case transport_errc::bad_request:
      return "bad_request";
  }
  return "unknown";
}

std::optional<transport_errc>
transport_errc_named(std::string_view name) noexcept {
  for (std::uint8_t i = 1; i <= last_transport_errc; ++i)
    if (name_of(static_cast<transport_errc>(i)) == name)
      return static_cast<transport_errc>(i);
  return std::nullopt;
}

std::string to_string(transport_errc x) {
  return std::string{name_of(x)};
}

#if CAISSON_CAF_LEGACY

caf::error make_error(transport_errc code, std::string text) {
  return {static_cast<std::uint8_t>(code), transport_category,
          text.empty() ? caf::message{} : caf::make_message(std::move(text))};
}

void register_transport_types(caf::actor_system_config& cfg) {
  cfg.add_error_category(
    transport_category,
    [](std::uint8_t code, caf::atom_value, const caf::message& context) {
      return text_for_people(static_cast<transport_errc>(code), context);
    });
}

#else

bool from_string(std::string_view text, transport_errc& x) {
  auto found = transport_errc_named(text);
  if (found)
    x = *found;
  return found.has_value();
}

bool from_integer(std::uint8_t value, transport_errc& x) {
  if (value < 1 || value > last_transport_errc)
    return false;
  x = static_cast<transport_errc>(value);
  return true;
}

caf::error make_error(transport_errc code, std::string text) {
  if (text.empty())
    return caf::error{code};
  return caf::error{code, caf::make_message(std::move(text))};
}

void register_transport_types(caf::actor_system_config&) {
  // The names are known to CAF.
}

#endif

void init_transport_types() {
  [[maybe_unused]] static const auto once = [] {
#if !CAISSON_CAF_LEGACY
    init_types();
    portable::init_types<caf::id_block::caisson_transport>();
#endif
    return true;
  }();
}

std::optional<transport_errc> transport_errc_of(const caf::error& x) {
  // No error has no category.
  if (!x)
    return std::nullopt;
#if CAISSON_CAF_LEGACY
  auto is_transport = x.category() == transport_category;
#else
  auto is_transport = x.category() == caf::type_id_v<transport_errc>;
#endif
  if (!is_transport || x.code() < 1 || x.code() > last_transport_errc)
    return std::nullopt;
  return static_cast<transport_errc>(x.code());
}

std::string transport_text_of(const caf::error& x) {
  return transport_errc_of(x) ? text_in(x.context()) : std::string{};
}

std::optional<answer_info> transport_answer(const caf::message& x) {
  auto* err = portable::get_if<caf::error>(x);
  auto code = err ? transport_errc_of(*err) : std::nullopt;
  if (!code)
    return std::nullopt;
  auto info = info_of(*code);
  auto* known = detail::gate_note_of(*err);
  info.may_have_executed |= known && known->may_have_executed;
  return info;
}

bool may_have_executed(const caf::error& err) {
  auto* known = detail::gate_note_of(err);
  if (!known)
    known = context_of(err);
  return !known || known->may_have_executed;
}

const rejection* detail::gate_note_of(const caf::error& err) {
  return transport_errc_of(err) ? portable::get_if<rejection>(err.context())
                                : nullptr;
}

} // namespace caisson
