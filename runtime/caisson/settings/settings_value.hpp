// Config structs, and lists and tables of them, as fields of others.
#pragma once

#include <caisson/settings/field.hpp>
#include <caisson/settings/field_lister.hpp>
#include <caisson/settings/file_order.hpp>
#include <caisson/settings/range_checker.hpp>
#include <caisson/settings/section.hpp>
#include <caisson/settings/settings_reader.hpp>
#include <caisson/settings/settings_text.hpp>

#include <concepts>
#include <string>
#include <utility>
#include <vector>

namespace caisson {

/// A config struct, into which a table is read.
template <class T>
concept described = requires(field_visitor& v, T& x) {
  describe(v, x);
}
&&std::default_initializable<T>;

namespace detail {

/// Appends every field out of range and every violated relation.
template <described Config>
void check_fields(Config config, const setting_path& path, problems& out) {
  range_checker v{path, out};
  describe(v, config);
  if constexpr (requires { check(config, path, out); })
    check(config, path, out);
}

/// Appends every violated relation, including those within the fields.
template <described Config>
void check_relations(Config config, const setting_path& path, problems& out) {
  relation_checker v{path, out};
  describe(v, config);
  if constexpr (requires { check(config, path, out); })
    check(config, path, out);
}

} // namespace detail

/// A config struct is a table.
template <described Config>
struct field_value_for<Config> final : field_value {
  explicit field_value_for(Config& x) : x_(x) {}

  [[nodiscard]] std::string type() const override { return "table"; }
  [[nodiscard]] std::string allowed() const override { return "a table"; }

  /// `{ key = value, … }`, of the fields that apply.
  [[nodiscard]] std::string text() const override {
    auto copy = x_;
    field_lister v;
    describe(v, copy);
    std::string out;
    for (const auto& row : v.rows)
      if (row.applies)
        out += (out.empty() ? "{ " : ", ") + row.key + " = " + row.value;
    return out.empty() ? "{}" : out + " }";
  }

  void read(const setting& from, const setting_path& path,
            problems& out) override {
    auto table = detail::table_in(from, path, out);
    if (!table)
      return;
    settings_reader v{{*table, path, from.place}, out};
    describe(v, x_);
    v.finish();
  }

  void check(const setting_path& path, problems& out) const override {
    detail::check_fields(x_, path, out);
  }

  void relate(const setting_path& path, problems& out) const override {
    detail::check_relations(x_, path, out);
  }

private:
  Config& x_;
};

/// Vectors are lists of their elements. Reading a list replaces the elements.
template <class T>
  requires value_of_field<T> && std::default_initializable<T>
struct field_value_for<std::vector<T>> final : field_value {
  explicit field_value_for(std::vector<T>& x) : x_(x) {}

  [[nodiscard]] std::string type() const override { return "list"; }

  [[nodiscard]] std::string allowed() const override {
    T blank{};
    return "a list, each of which is " + field_value_for<T>{blank}.allowed();
  }

  [[nodiscard]] std::string text() const override {
    std::string out;
    for (auto copy : x_)
      out += (out.empty() ? "" : ", ") + field_value_for<T>{copy}.text();
    return "[" + out + "]";
  }

  void read(const setting& from, const setting_path& path,
            problems& out) override {
    auto list = detail::list_in(from, path, allowed_at(path), out);
    if (!list)
      return;
    x_.clear();
    x_.reserve(list->size());
    for (std::size_t i = 0; i < list->size(); ++i)
      field_value_for<T>{x_.emplace_back()}.read((*list)[i], path / i, out);
  }

  void check(const setting_path& path, problems& out) const override {
    for (std::size_t i = 0; i < x_.size(); ++i) {
      auto copy = x_[i];
      field_value_for<T>{copy}.check(path / i, out);
    }
  }

  void relate(const setting_path& path, problems& out) const override {
    for (std::size_t i = 0; i < x_.size(); ++i) {
      auto copy = x_[i];
      field_value_for<T>{copy}.relate(path / i, out);
    }
  }

private:
  [[nodiscard]] std::string allowed_at(const setting_path& path) const {
    if constexpr (described<T>)
      return detail::tables_at(path);
    else
      return allowed();
  }

  std::vector<T>& x_;
};

/// A table of tables: each becomes an element whose `name` is its key, in the
/// order of the file. For a `std::vector` of these:
///
///     tables_by_name services{c.services};
///     v.on({"service", "by their names"}, services);
template <value_of_field T>
class tables_by_name final : public field_value {
public:
  /// Reads into `x` and lists it; `x` must outlive this.
  explicit tables_by_name(std::vector<T>& x) : x_(x) {}

  [[nodiscard]] std::string type() const override { return "table"; }
  [[nodiscard]] std::string allowed() const override {
    return "a table of tables";
  }

  [[nodiscard]] std::string text() const override {
    std::string out;
    for (auto copy : x_)
      out += (out.empty() ? "{ " : ", ") + copy.name + " = "
             + field_value_for<T>{copy}.text();
    return out.empty() ? "{}" : out + " }";
  }

  void read(const setting& from, const setting_path& path,
            problems& out) override {
    auto all = detail::table_in(from, path, out);
    if (!all)
      return;
    x_.clear();
    for (const auto& [name, value] : detail::in_file_order(*all)) {
      auto& x = x_.emplace_back();
      x.name = std::string{name};
      detail::check_name(name, value->place, path / name, out);
      field_value_for<T>{x}.read(*value, path / name, out);
    }
  }

  void check(const setting_path& path, problems& out) const override {
    for (auto copy : x_)
      field_value_for<T>{copy}.check(path / copy.name, out);
  }

  void relate(const setting_path& path, problems& out) const override {
    for (auto copy : x_)
      field_value_for<T>{copy}.relate(path / copy.name, out);
  }

private:
  std::vector<T>& x_;
};

} // namespace caisson
