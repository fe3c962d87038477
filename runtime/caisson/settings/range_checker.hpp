// Checks the values of config structs.
#pragma once

#include <caisson/settings/detail/field_rules.hpp>
#include <caisson/settings/field.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson {

/// Checks values set in code: whether each is within its range, and other
/// requirements of its type. Skips fields that do not apply with the values of
/// the choices before them.
class range_checker final : public field_visitor {
public:
  /// `path` begins the keys of what is appended to `out`.
  range_checker(setting_path path, problems& out)
    : path_(std::move(path)), out_(out) {}

  using field_visitor::on;
  void on(const field& f, bool& x) override;
  void on(const field& f, std::int64_t& x, range<std::int64_t> r) override;
  void on(const field& f, double& x, range<double> r) override;
  void on(const field& f, duration& x, range<duration> r) override;
  void on(const field&, std::string&) override {}
  void on(const field&, std::vector<std::string>&) override {}
  void on(const field& f, field_value& x) override;
  void on(const field& f, std::size_t& x,
          std::span<const std::string_view> names) override;

protected:
  bool visits(const field&, bool has_value) override { return has_value; }

private:
  void wrong(const field& f, std::string message);

  setting_path path_;
  problems& out_;
  detail::field_choices choices_;
};

/// Checks what reading a table does not: relations within its parts.
class relation_checker final : public field_visitor {
public:
  /// `path` begins the keys of what is appended to `out`.
  relation_checker(setting_path path, problems& out)
    : path_(std::move(path)), out_(out) {}

  using field_visitor::on;
  void on(const field&, bool&) override {}
  void on(const field&, std::int64_t&, range<std::int64_t>) override {}
  void on(const field&, double&, range<double>) override {}
  void on(const field&, duration&, range<duration>) override {}
  void on(const field&, std::string&) override {}
  void on(const field&, std::vector<std::string>&) override {}
  void on(const field& f, field_value& x) override {
    x.relate(path_ / f.key, out_);
  }
  void on(const field&, std::size_t&,
          std::span<const std::string_view>) override {}

protected:
  bool visits(const field&, bool has_value) override { return has_value; }

private:
  setting_path path_;
  problems& out_;
};

} // namespace caisson
