#include <caisson/settings/detail/field_rules.hpp>

#include <caisson/base/names.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace caisson::detail {

namespace {

// `a`, `a or b`, `a, b or c`
template <class Texts>
std::string either(const Texts& texts) {
  std::string out;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (i > 0)
      out += i + 1 < texts.size() ? ", " : " or ";
    out += texts[i];
  }
  return out;
}

} // namespace

// -- choices ------------------------------------------------------------------

std::optional<std::string_view>
field_choices::value_of(std::string_view key) const {
  auto found = values_.find(key);
  if (found == values_.end())
    return std::nullopt;
  return found->second;
}

std::optional<bool> field_choices::applies(const field& f) const {
  if (f.when.key.empty())
    return true;
  auto present = value_of(f.when.key);
  if (!present)
    return std::nullopt;
  return std::find(f.when.values.begin(), f.when.values.end(), *present)
         != f.when.values.end();
}

// -- rules --------------------------------------------------------------------

namespace {

std::optional<bool> applies(const field_rule& r, const field_choices& choices) {
  if (r.when.empty())
    return true;
  auto present = choices.value_of(r.when);
  if (!present)
    return std::nullopt;
  return contains(r.values, *present);
}

// Holds the rules against what one table gives.
class rule_check {
public:
  rule_check(const std::vector<field_rule>& rules, const field_choices& choices,
             const section& at, const std::vector<std::string>& misspelled,
             bool whole, problems& out)
    : rules_(rules), choices_(choices), at_(at), misspelled_(misspelled),
      whole_(whole), out_(out) {}

  void run() {
    for (const auto& r : rules_)
      check(r);
  }

private:
  // The fields of a group that apply.
  struct group {
    const field_rule* first = nullptr;
    const field_rule* present = nullptr;
    bool missing = false;
    std::vector<std::string_view> alternatives;
  };

  void check(const field_rule& r) {
    auto applying = applies(r);
    if (applying == false && gives(r.key))
      relation(r, why_not(r));
    if (applying != true)
      return;
    if (whole_ && gives(r.key) && !r.needs.empty() && !any_given(r.needs))
      relation(r,
               fmt::format("{} applies with {} only", r.key, either(r.needs)));
    if (!r.one_of.empty())
      check_group(r);
    else if (whole_ && r.required && !is_given(r.key)
             && (r.unless.empty() || !is_given(r.unless)))
      missing(r, r.unless.empty()
                   ? r.allowed
                   : fmt::format("{}, or else {}", r.allowed, r.unless));
  }

  void check_group(const field_rule& r) {
    auto all = group_of(r);
    if (gives(r.key) && all.present != &r)
      relation(r, fmt::format("cannot be given beside {}", all.present->key));
    else if (whole_ && all.missing && all.first == &r)
      missing(
        r, fmt::format("{}, or else {}", r.allowed, either(all.alternatives)));
  }

  group group_of(const field_rule& r) const {
    group out;
    auto given = false;
    for (const auto& x : rules_) {
      if (x.one_of != r.one_of || applies(x) != true)
        continue;
      if (!out.first)
        out.first = &x;
      else
        out.alternatives.push_back(x.key);
      if (gives(x.key) && !out.present)
        out.present = &x;
      out.missing |= x.required;
      given |= is_given(x.key);
    }
    out.missing &= !given;
    return out;
  }

  std::optional<bool> applies(const field_rule& r) const {
    return detail::applies(r, choices_);
  }

  std::string why_not(const field_rule& r) const {
    std::vector<std::string> values;
    for (const auto& x : r.values)
      values.push_back(fmt::format("\"{}\"", x));
    return fmt::format("{} applies to {} {} only, this is \"{}\"", r.key,
                       r.when, either(values),
                       choices_.value_of(r.when).value_or(""));
  }

  bool gives(std::string_view key) const { return at_.table.contains(key); }

  // Given, if only under a name that is misspelled.
  bool is_given(std::string_view key) const {
    return gives(key) || contains(misspelled_, key);
  }

  bool any_given(const std::vector<std::string>& keys) const {
    return std::any_of(keys.begin(), keys.end(),
                       [&](const auto& key) { return is_given(key); });
  }

  void relation(const field_rule& r, std::string message) {
    out_.push_back({problem_kind::relation, at_.path / r.key,
                    std::move(message), std::string{place_in(at_, r.key)}});
  }

  void missing(const field_rule& r, std::string_view allowed) {
    out_.push_back({problem_kind::missing, at_.path / r.key,
                    fmt::format("is missing, allowed: {}", allowed),
                    std::string{at_.place}});
  }

  const std::vector<field_rule>& rules_;
  const field_choices& choices_;
  const section& at_;
  const std::vector<std::string>& misspelled_;
  bool whole_;
  problems& out_;
};

} // namespace

void field_rules::add(const field& f, std::string_view allowed) {
  auto known = std::any_of(rules_.begin(), rules_.end(),
                           [&](const auto& r) { return r.key == f.key; });
  auto none = !f.required && f.needs.size() == 0 && f.when.key.empty()
              && f.one_of.empty();
  if (known || none)
    return;
  rules_.push_back({std::string{f.key},
                    std::string{allowed},
                    f.required,
                    std::string{f.unless},
                    {f.needs.begin(), f.needs.end()},
                    std::string{f.when.key},
                    {f.when.values.begin(), f.when.values.end()},
                    std::string{f.one_of}});
}

bool field_rules::may_apply(std::string_view key) const {
  auto r = std::find_if(rules_.begin(), rules_.end(),
                        [&](const auto& x) { return x.key == key; });
  return r == rules_.end() || applies(*r, choices) != false;
}

void field_rules::check(const section& at,
                        const std::vector<std::string>& misspelled, bool whole,
                        problems& out) const {
  rule_check{rules_, choices, at, misspelled, whole, out}.run();
}

} // namespace caisson::detail
