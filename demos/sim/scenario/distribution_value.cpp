#include <sim/scenario/distribution_value.hpp>

#include <sim/scenario/parse_helpers.hpp>

#include <caisson/settings_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

namespace caisson::sim {

namespace {

using kind = distribution::kind;

constexpr range<duration> any_length{duration::zero(), std::chrono::hours(100)};

constexpr std::span<const std::string_view>
  kind_names = enum_names<kind>::value;

std::string_view name_of(kind k) {
  return kind_names[static_cast<std::size_t>(k)];
}

class values_field final : public field_value {
public:
  explicit values_field(std::vector<duration>& x) : x_(x) {}

  std::string type() const override { return "list"; }

  std::string allowed() const override {
    return fmt::format("a list of at least one duration of {}",
                       detail::allowed(any_length));
  }

  std::string text() const override {
    std::vector<std::string> all;
    for (auto d : x_)
      all.push_back(to_text(d));
    return detail::listed(all);
  }

  void read(const setting& from, const std::string& path,
            problems& out) override {
    auto list = std::get_if<std::vector<setting>>(&from.value);
    if (!list)
      out.push_back({from.place, path,
                     fmt::format("{} is not a list, allowed: {}", to_text(from),
                                 allowed())});
    else if (list->empty())
      out.push_back({from.place, path, "has no value, allowed: " + allowed()});
    else
      read_items(*list, path, out);
  }

  void check(const std::string& path, problems& out) const override {
    if (x_.empty())
      out.push_back({{}, path, "has no value, allowed: " + allowed()});
    for (std::size_t i = 0; i < x_.size(); ++i)
      if (!detail::within(x_[i], any_length))
        out.push_back({{},
                       item(path, i),
                       detail::out_of_range(to_text(x_[i]), any_length)});
  }

private:
  void read_items(const std::vector<setting>& list, const std::string& path,
                  problems& out) {
    std::vector<duration> values(list.size());
    for (std::size_t i = 0; i < list.size(); ++i) {
      // Read as a field, so that it gets the messages of one.
      settings one;
      auto key = item(path, i);
      one.emplace(key, list[i]);
      settings_reader{one, {}, out}.on({key, {}}, values[i], any_length);
    }
    x_ = std::move(values);
  }

  std::vector<duration>& x_;
};

} // namespace

void distribution_value::describe_parameters(field_visitor& v,
                                             distribution& x) {
  switch (x.kind_) {
    case kind::constant:
    case kind::exponential:
      return v.on({"mean", "the mean"}, x.mean_, any_length);
    case kind::uniform:
      v.on({"min", "the shortest"}, x.low_, any_length);
      return v.on({"max", "the longest"}, x.high_, any_length);
    case kind::erlang:
      v.on({"mean", "the mean of the sum"}, x.mean_, any_length);
      return v.integer<std::uint32_t>({"k", "how many phases"}, x.k_,
                                      {1, 1000});
    case kind::lognormal:
      v.on({"mean", "the mean"}, x.mean_, any_length);
      return v.on({"cv", "the standard deviation divided by the mean"},
                  x.ratio_, {0.0, 100.0});
    case kind::bimodal:
      v.on({"fast", "the usual one"}, x.low_, any_length);
      v.on({"slow", "the other one"}, x.high_, any_length);
      return v.on({"share", "the probability of the other one"}, x.ratio_,
                  {0.0, 1.0});
    case kind::empirical: {
      values_field values{x.values_};
      return v.on({"values", "each as likely as any other"}, values);
    }
  }
}

std::string distribution_value::type() const {
  return "distribution";
}

std::string distribution_value::allowed() const {
  return fmt::format("a duration of {}, or a table with kind: {}",
                     detail::allowed(any_length), detail::listed(kind_names));
}

std::string distribution_value::text() const {
  if (x_.kind_ == kind::constant)
    return to_text(x_.mean_);
  auto copy = x_;
  field_lister fields;
  describe_parameters(fields, copy);
  auto out = fmt::format("{{ kind = \"{}\"", name_of(x_.kind_));
  for (const auto& row : fields.rows)
    out += fmt::format(
      fmt::runtime(row.type == "duration" ? ", {} = \"{}\"" : ", {} = {}"),
      row.key, row.value);
  return out + " }";
}

void distribution_value::read(const setting& from, const std::string& path,
                              problems& out) {
  if (auto table = std::get_if<settings>(&from.value))
    return read_table(*table, path, from.place, out);
  auto text = text_in(from);
  auto value = text ? parse_duration(*text) : std::nullopt;
  if (!value)
    out.push_back({from.place, path,
                   fmt::format("{} is not a distribution, allowed: {}",
                               to_text(from), allowed())});
  else if (!detail::within(*value, any_length))
    out.push_back(
      {from.place, path, detail::out_of_range(to_text(from), any_length)});
  else
    x_ = distribution{*value};
}

// The keys of the parameters of a kind.
std::vector<std::string> distribution_value::parameters_of(kind k) {
  distribution x;
  x.kind_ = k;
  field_lister fields;
  describe_parameters(fields, x);
  std::vector<std::string> out;
  for (auto& row : fields.rows)
    out.push_back(std::move(row.key));
  return out;
}

// Takes the parameters of other kinds out of the table and reports them.
settings distribution_value::own_parameters(const settings& from, kind k,
                                            const std::string& path,
                                            problems& out) {
  std::map<std::string, std::vector<std::string_view>> owners;
  for (std::size_t i = 0; i < kind_names.size(); ++i)
    for (const auto& key : parameters_of(static_cast<kind>(i)))
      owners[key].push_back(kind_names[i]);
  auto own = from;
  for (const auto& [key, value] : from) {
    auto i = owners.find(key);
    if (i == owners.end()
        || std::find(i->second.begin(), i->second.end(), name_of(k))
             != i->second.end())
      continue;
    out.push_back({value.place, joined(path, key),
                   fmt::format("{} applies to {} only, this is {}", key,
                               detail::listed(i->second), name_of(k))});
    own.erase(key);
  }
  return own;
}

void distribution_value::read_table(const settings& from,
                                    const std::string& path,
                                    const std::string& place, problems& out) {
  problems found;
  auto index = kind_names.size();
  settings_reader{from, path, found}.on({"kind", {}}, index, kind_names);
  if (index == kind_names.size()) {
    settings_reader any{from, path, found};
    any.take("kind");
    for (std::size_t i = 0; i < kind_names.size(); ++i)
      for (const auto& key : parameters_of(static_cast<kind>(i)))
        any.take(key);
    any.finish();
    require({from, path, place}, "kind", detail::listed(kind_names), found);
  } else {
    distribution next;
    next.kind_ = static_cast<kind>(index);
    auto own = own_parameters(from, next.kind_, path, found);
    settings_reader fields{own, path, found};
    fields.take("kind");
    describe_parameters(fields, next);
    fields.finish();
    field_lister wanted;
    describe_parameters(wanted, next);
    for (const auto& row : wanted.rows)
      require({from, path, place}, row.key, row.allowed, found);
    problems more;
    distribution_value{next}.check(path, more);
    add_problems(std::move(more), from, path, place, found);
    if (found.empty())
      x_ = std::move(next);
  }
  out.insert(out.end(), found.begin(), found.end());
}

void distribution_value::check(const std::string& path, problems& out) const {
  auto copy = x_;
  range_checker fields{path, out};
  describe_parameters(fields, copy);
  if (x_.kind_ == kind::uniform && x_.high_ < x_.low_)
    out.push_back({{},
                   joined(path, "max"),
                   fmt::format("{} is less than min, which is {}",
                               to_text(x_.high_), to_text(x_.low_))});
}

} // namespace caisson::sim
