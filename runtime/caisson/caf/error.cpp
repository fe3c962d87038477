#include <caisson/caf/error.hpp>
#include <caisson/caf/error_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>

namespace caisson {

namespace {

// What follows the name of an error, with what separates it from that.
std::string rejection_details(const rejection& x) {
  std::string out;
  if (!x.policy.empty())
    out += fmt::format(" by {}", x.policy);
  if (x.retry_after > duration::zero())
    out += fmt::format(", retry after {}", rounded_text(x.retry_after));
  if (!x.text.empty())
    out += fmt::format(": {}", x.text);
  return out;
}

std::string own_text(std::uint8_t code, const caf::message& context) {
  auto* x = portable::get_if<rejection>(context);
  return std::string{name_of(static_cast<errc>(code))}
         + (x ? rejection_details(*x) : std::string{});
}

// An error that is not Caisson's.
std::string text_of_other(const caf::error& err) {
#if CAISSON_CAF_LEGACY
  auto category = portable::category_of(err);
  std::string out;
  if (category == "system_error")
    out = to_string(static_cast<caf::sec>(err.code()));
  else if (category == "exit")
    out = to_string(static_cast<caf::exit_reason>(err.code()));
  else if (category == "parser")
    out = to_string(static_cast<caf::pec>(err.code()));
  else
    out = fmt::format("{} {}", category, err.code());
  if (auto* text = portable::get_if<std::string>(err.context()))
    out += ": " + *text;
  else if (!err.context().empty())
    out += " " + to_string(err.context());
  return out;
#else
  return to_string(err);
#endif
}

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
      return own_text(code, context);
    });
}

namespace detail {

void warn_if_not_registered(caf::actor_system& sys) {
  if (sys.config().error_renderers.count(caf::atom("caisson")) > 0)
    return;
  static std::atomic_flag warned = ATOMIC_FLAG_INIT;
  if (warned.test_and_set())
    return;
  std::fputs("caisson: this actor system was made without "
             "caisson::system_config (or caisson::register_types): errors have "
             "numbers in place of names, and calls cannot reach other nodes\n",
             stderr);
}

} // namespace detail

#else

namespace detail {

void warn_if_not_registered(caf::actor_system&) {
  // Types are registered for all systems.
}

} // namespace detail

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

std::string to_string(const rejection& x) {
  auto out = rejection_details(x);
  out.erase(0, out.find_first_not_of(" ,:"));
  return out;
}

std::string to_text(const caf::error& err) {
  if (!err)
    return "no error";
  if (is_own(err))
    return own_text(err.code(), err.context());
  auto known = detail::error_names::find(err);
  return known.empty() ? text_of_other(err) : known;
}

namespace portable {

std::string to_text([[maybe_unused]] const caf::actor_system& sys,
                    const caf::error& err) {
#if CAISSON_CAF_LEGACY
  // CAF registers these itself, with longer texts.
  constexpr std::array of_caf{"system_error", "exit", "parser"};
  auto category = err ? category_of(err) : std::string{};
  if (err && !is_own(err) && caisson::detail::error_names::find(err).empty()
      && std::ranges::find(of_caf, category) == of_caf.end()
      && sys.config().error_renderers.count(err.category()) > 0)
    return sys.render(err);
#endif
  return caisson::to_text(err);
}

} // namespace portable

namespace detail {

namespace {

// Written before `main` only.
constinit error_names* known_names = nullptr;

} // namespace

error_names::error_names(function f) noexcept : name_(f), next_(known_names) {
  known_names = this;
}

std::string error_names::find(const caf::error& err) {
  for (auto* x = known_names; x; x = x->next_)
    if (auto out = x->name_(err); !out.empty())
      return out;
  return {};
}

} // namespace detail

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
    o.category = caisson_category;
    auto* context = context_of(*err);
    // A gate says what it knows, so another context is the worker's.
    o.from_worker = context ? context->from_worker : err->context().size() > 0;
    if (context) {
      o.may_have_executed = context->may_have_executed;
      o.retry_after = context->retry_after;
    }
  } else {
    o.category = category_hash(portable::category_of(*err));
  }
  return o;
}

} // namespace caisson
