#include <caisson/stack/layers/cache_layer.hpp>

#include <caisson/engine/message_at.hpp>
#include <caisson/policy/callback.hpp>

#include <fmt/format.h>

#include <cstddef>
#include <exception>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string_view>

namespace caisson {

using detail::message_at;

namespace {

kept_message keep(const caf::message& x) {
  return std::make_shared<const caf::message>(x);
}

cache_content content_of(const cache_forms& forms) {
  cache_content out;
  out.keep = [](const void* x) { return keep(message_at(x)); };
  if (forms.ttl)
    out.ttl = [f = forms.ttl](const void* x) { return f(message_at(x)); };
  return out;
}

} // namespace

// -- forms --------------------------------------------------------------------

std::function<cache_forms::entries()> cache_forms::from_file(
  std::string path,
  std::function<std::optional<entries::value_type>(std::string_view)> parse) {
  return [path = std::move(path), parse = std::move(parse)] {
    std::ifstream in{path};
    entries out;
    std::string line;
    for (std::size_t number = 1; std::getline(in, line); ++number)
      try {
        if (auto x = parse(line))
          out.push_back(std::move(*x));
      } catch (const std::exception& e) {
        throw std::runtime_error{
          fmt::format("{}:{}: {}", path, number, e.what())};
      }
    // Of a directory, only reading fails.
    if (!in.eof())
      throw std::runtime_error{fmt::format("cannot read {}", path)};
    return out;
  };
}

// -- the layer ----------------------------------------------------------------

cache_layer::cache_layer(const cache_config& c, cache_forms forms)
  : policy_layer<cache>(c, content_of(forms)), forms_(std::move(forms)),
    cache_(machine()) {}

key_remedy cache_layer::remedy_of(std::string_view name) {
  return {"unsafe",
          fmt::format("must be true, or else {} needs a key of its own "
                      "from a function (cache_forms::key)",
                      name)};
}

void cache_layer::examine(const caf::message& content, env& e) {
  if (!std::exchange(preheated_, true) && forms_.preheat)
    preheat(e);
  auto x = lookup(content, e);
  x.content = &content;
  x.acts = active();
  machine().set_next(std::move(x));
}

bool cache_layer::acts_when_off() const {
  return forms_.write != nullptr;
}

void cache_layer::mode_changed() {
  machine().set_enforced(active() == mode::enforce);
}

cache_lookup cache_layer::lookup(const caf::message& content, env& e) {
  using use = cache_use;
  // Returns what the call is by this function, if that says anything.
  auto ask = [&](const auto& f, std::string_view name,
                 use meaning) -> std::optional<cache_lookup> {
    auto key = try_user(
      [&] { return f(content); },
      [&](std::string_view what) { machine().note_failure(name, what, e); });
    if (!key)
      return cache_lookup{.use = use::bypass};
    if (!*key)
      return std::nullopt;
    return cache_lookup{.use = meaning, .key = std::move(*key)};
  };
  if (forms_.write)
    if (auto x = lookup_of_write(content, e))
      return std::move(*x);
  if (forms_.invalidates)
    if (auto x = ask(forms_.invalidates, "invalidates", use::change))
      return std::move(*x);
  if (!forms_.key)
    return {};
  return ask(forms_.key, "key", use::read)
    .value_or(cache_lookup{.use = use::bypass});
}

std::optional<cache_lookup>
cache_layer::lookup_of_write(const caf::message& content, env& e) {
  auto x = try_user(
    [&] { return forms_.write(content); },
    [&](std::string_view what) { machine().note_failure("write", what, e); });
  if (!x)
    return cache_lookup{.use = cache_use::bypass};
  if (!*x)
    return std::nullopt;
  auto& write = **x;
  return cache_lookup{.use = cache_use::write,
                      .key = std::move(write.key),
                      .value = keep(write.value),
                      .answer = keep(write.answer)};
}

void cache_layer::preheat(env& e) {
  auto all = try_user(
    [&] { return forms_.preheat(); },
    [&](std::string_view what) { machine().note_failure("preheat", what, e); });
  if (!all)
    return;
  for (const auto& [key, value] : *all)
    machine().preheat(key, keep(value), e);
}

caf::message cache_layer::child_content(call_id child,
                                        std::vector<caf::message> parents,
                                        env&) {
  if (!parents.empty())
    return std::move(parents.front());
  auto content = machine().take_content(child);
  return content ? message_at(content.get()) : caf::message{};
}

caf::message cache_layer::value(std::uint64_t number) const {
  auto* x = cache_.value(number);
  return x ? message_at(x) : caf::message{};
}

} // namespace caisson
