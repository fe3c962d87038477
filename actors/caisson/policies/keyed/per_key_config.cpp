#include <caisson/policies/keyed/per_key_config.hpp>

#include <caisson/settings/file_order.hpp>
#include <caisson/settings/read_value.hpp>
#include <caisson/settings/setting_tables.hpp>
#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <utility>
#include <variant>

namespace caisson {

namespace {

// What takes an override away again.
constexpr std::string_view no_override = "none";

// How many overrides, items and values are printed.
constexpr std::size_t most_printed = 20;

std::string text_of(const settings& table);

std::string text_of(const setting& x) {
  if (auto table = std::get_if<settings>(&x.value))
    return text_of(*table);
  if (auto raw = std::get_if<setting::raw>(&x.value))
    return detail::shortened(raw->text, detail::longest_quoted);
  return to_text(x);
}

// `{ a = 1, b = 2 }`
std::string text_of(const settings& table) {
  std::string out;
  std::size_t n = 0;
  for (const auto& [key, value] : table) {
    if (n++ == most_printed)
      break;
    out += fmt::format("{}{} = {}", out.empty() ? "{ " : ", ", key,
                       text_of(value));
  }
  if (n > most_printed)
    out += fmt::format(" and {} more", table.size() - most_printed);
  return out.empty() ? "{}" : out + " }";
}

// The table of overrides. Reading changes those that it has, as a `reconfigure`
// changes the settings that it names; in a file there are none before.
class overrides_value final : public field_value {
public:
  explicit overrides_value(key_overrides& x) : x_(x) {}

  [[nodiscard]] std::string type() const override { return "table"; }
  [[nodiscard]] std::string allowed() const override {
    return "a table of tables with settings of the layer";
  }

  [[nodiscard]] std::string text() const override {
    std::string out;
    std::size_t n = 0;
    for (const auto& [key, x] : x_) {
      if (n++ == most_printed)
        break;
      out += fmt::format("{}{} = {}", out.empty() ? "{ " : ", ",
                         detail::shortened(key, detail::longest_quoted),
                         text_of(x.values()));
    }
    if (n > most_printed)
      out += fmt::format(" and {} more", x_.size() - most_printed);
    return out.empty() ? "{}" : out + " }";
  }

  void read(const setting& from, const setting_path& path,
            problems& out) override {
    auto all = detail::table_in(from, path, out);
    if (!all)
      return;
    for (const auto& [key, value] : detail::in_file_order(*all)) {
      std::string name{key};
      if (detail::text_in(*value) == no_override)
        x_.erase(name);
      else if (auto table = detail::table_in(*value, path / name, out))
        x_[name].change(*table);
    }
  }

  void check(const setting_path&, problems&) const override {}

private:
  key_overrides& x_;
};

} // namespace

void key_settings::change(const settings& more) {
  detail::merge_tables(values_, more);
}

void describe(field_visitor& v, per_key_config& c) {
  using std::chrono::seconds;
  v.integer({"max_keys", "how many keys there may be, not counting that of "
                         "calls without a key; beyond it, a key without calls "
                         "is dropped for a new one, or the call is refused"},
            c.max_keys, {1, 1'000'000});
  v.on({"idle", "a key without calls for this long is dropped, if its policy "
                "is idle"},
       c.idle, {seconds(1), unlimited});
  v.choice({"keyless", "calls without a key: pass: no policy sees them; share: "
                       "one policy for all of them; reject: they are refused"},
           c.keyless);
  overrides_value overrides{c.overrides};
  v.on({"overrides", "keys with settings of their own, in place of those of "
                     "the layer; none removes an override"},
       overrides);
}

void check(const per_key_config& c, const setting_path& path, problems& out) {
  auto at = path / "overrides";
  if (c.overrides.size() > per_key_config::most_overrides)
    out.push_back(
      {problem_kind::range, at,
       fmt::format("{} overrides are too many, allowed: 0 to {}",
                   c.overrides.size(), per_key_config::most_overrides)});
  for (const auto& [key, x] : c.overrides)
    if (key.empty() || key.size() > per_key_config::longest_key)
      out.push_back({problem_kind::range, at / key,
                     fmt::format("a key of {} bytes, allowed: 1 to {}",
                                 key.size(), per_key_config::longest_key)});
}

namespace detail {

setting_path path_of_override(const setting_path& path, std::string_view key) {
  return path / "per_key" / "overrides" / key;
}

void check_override(const key_settings& x, const setting_path& at,
                    problems& out) {
  for (std::string_view key : {"name", "mode"})
    if (x.values().contains(key))
      out.push_back({problem_kind::relation, at / key,
                     fmt::format("the {} is that of the whole layer and "
                                 "cannot differ from key to key",
                                 key)});
}

} // namespace detail
} // namespace caisson
