#include <simulator/scenario/toml_text.hpp>

#include <simulator/scenario/sweep_values.hpp>

#include <caisson/settings/file_order.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <variant>
#include <vector>

namespace caisson::sim {

namespace {

using setting_list = std::vector<setting>;

// In quotes, with control characters as escapes.
std::string string_text(std::string_view text) {
  std::string out = "\"";
  for (auto c : text)
    if (c == '"' || c == '\\')
      out += {'\\', c};
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    else
      out += c;
  return out + '"';
}

std::string number_text(double x) {
  auto out = to_text(x);
  // Otherwise it would be an integer.
  return out.find_first_of(".e") == out.npos ? out + ".0" : out;
}

std::string key_text(std::string_view key) {
  constexpr std::string_view plain
    = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  if (!key.empty() && key.find_first_not_of(plain) == key.npos)
    return std::string{key};
  return string_text(key);
}

// On one line.
std::string inline_text(const setting& s) {
  std::string out;
  auto add = [&](const std::string& text) {
    out += (out.empty() ? "" : ", ") + text;
  };
  if (auto table = std::get_if<settings>(&s.value)) {
    for (const auto& [key, value] : detail::in_file_order(*table))
      add(key_text(key) + " = " + inline_text(*value));
    return out.empty() ? "{}" : "{ " + out + " }";
  }
  if (auto list = std::get_if<setting_list>(&s.value)) {
    for (const auto& item : *list)
      add(inline_text(item));
    return "[" + out + "]";
  }
  if (auto text = std::get_if<std::string>(&s.value))
    return string_text(*text);
  if (auto number = std::get_if<double>(&s.value))
    return number_text(*number);
  return canonical_text(s);
}

bool has_only_tables(const setting& s) {
  auto list = std::get_if<setting_list>(&s.value);
  return list && !list->empty()
         && std::ranges::all_of(*list, [](const setting& x) {
              return std::holds_alternative<settings>(x.value);
            });
}

bool is_table_of_tables(const setting& s) {
  auto table = std::get_if<settings>(&s.value);
  return table && !table->empty()
         && std::ranges::all_of(*table, [](const auto& x) {
              return std::holds_alternative<settings>(x.second.value);
            });
}

class toml_writer {
public:
  std::string take() { return std::move(out_); }

  void root(const settings& all) {
    lines(all, &toml_writer::is_root_section);
    for (const auto& [key, value] : detail::in_file_order(all))
      if (is_root_section(key, *value))
        section(key_text(key), *value);
  }

private:
  using test = bool (*)(std::string_view key, const setting& s);

  static bool is_root_section(std::string_view, const setting& s) {
    return std::holds_alternative<settings>(s.value) || has_only_tables(s);
  }

  static bool is_inner_section(std::string_view key, const setting& s) {
    return (key == "op" && is_table_of_tables(s))
           || (key == "layer" && has_only_tables(s));
  }

  static bool is_none(std::string_view, const setting&) { return false; }

  void lines(const settings& table, test left_out) {
    for (const auto& [key, value] : detail::in_file_order(table))
      if (!left_out(key, *value))
        entry(key_text(key), *value);
  }

  // On one line if it is not too long: TOML allows none within braces, so a
  // table is taken apart.
  void entry(const std::string& path, const setting& s) {
    constexpr std::size_t longest = 80;
    auto line = path + " = " + inline_text(s);
    auto table = std::get_if<settings>(&s.value);
    auto list = std::get_if<setting_list>(&s.value);
    if (line.size() <= longest || !(table || list)) {
      out_ += line + "\n";
    } else if (table) {
      for (const auto& [key, value] : detail::in_file_order(*table))
        entry(path + "." + key_text(key), *value);
    } else {
      out_ += path + " = [\n";
      for (const auto& item : *list)
        out_ += "  " + inline_text(item) + ",\n";
      out_ += "]\n";
    }
  }

  // What is at the top of the file.
  void section(const std::string& path, const setting& s) {
    if (auto list = std::get_if<setting_list>(&s.value))
      return items(path, *list);
    const auto& table = std::get<settings>(s.value);
    if (!is_table_of_tables(s)) {
      out_ += "\n[" + path + "]\n";
      return lines(table, &toml_writer::is_none);
    }
    for (const auto& [key, value] : detail::in_file_order(table))
      named(path + "." + key_text(key), std::get<settings>(value->value));
  }

  // Such as a service or a stack.
  void named(const std::string& path, const settings& table) {
    out_ += "\n[" + path + "]\n";
    lines(table, &toml_writer::is_inner_section);
    for (const auto& [key, value] : detail::in_file_order(table)) {
      if (!is_inner_section(key, *value))
        continue;
      auto inner = path + "." + key_text(key);
      if (auto list = std::get_if<setting_list>(&value->value))
        items(inner, *list);
      else
        for (const auto& [name, op] :
             detail::in_file_order(std::get<settings>(value->value))) {
          out_ += "\n[" + inner + "." + key_text(name) + "]\n";
          lines(std::get<settings>(op->value), &toml_writer::is_none);
        }
    }
  }

  void items(const std::string& path, const setting_list& list) {
    for (const auto& item : list) {
      out_ += "\n[[" + path + "]]\n";
      lines(std::get<settings>(item.value), &toml_writer::is_none);
    }
  }

  std::string out_;
};

} // namespace

std::string toml_text(const settings& root) {
  toml_writer w;
  w.root(root);
  return w.take();
}

} // namespace caisson::sim
