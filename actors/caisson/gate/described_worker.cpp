#include <caisson/gate/described_worker.hpp>

#include <caisson/engine/supervision.hpp>
#include <caisson/settings/setting_tables.hpp>
#include <caisson/settings/settings_reader.hpp>
#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string_view>
#include <utility>

namespace caisson {

namespace {

// -- values -------------------------------------------------------------------

// The values of all fields in full: rows of settings are cut, so that they fit
// into a message.
class value_lister final : public field_visitor {
public:
  std::vector<std::string> values;

  using field_visitor::on;
  void on(const field&, bool& x) override { add(x ? "true" : "false"); }
  void on(const field&, std::int64_t& x, range<std::int64_t>) override {
    add(std::to_string(x));
  }
  void on(const field&, double& x, range<double>) override { add(to_text(x)); }
  void on(const field&, duration& x, range<duration>) override {
    add(std::to_string(x.count()));
  }
  void on(const field&, std::string& x) override { add(x); }
  void on(const field&, std::vector<std::string>& x) override {
    std::string all;
    for (const auto& item : x)
      all += fmt::format("{}:{}", item.size(), item);
    add(all);
  }
  void on(const field&, field_value& x) override { add(x.text()); }
  void on(const field&, std::size_t& x,
          std::span<const std::string_view>) override {
    add(std::to_string(x));
  }

protected:
  bool visits(const field&, bool has_value) override {
    absent_ = !has_value;
    return true;
  }

private:
  void add(const std::string& x) {
    values.push_back(absent_ ? std::string{} : '=' + x);
    absent_ = false;
  }

  bool absent_ = false;
};

std::vector<std::string> values_of(detail::worker_settings& x) {
  value_lister v;
  x.visit(v);
  return std::move(v.values);
}

// -- secrets ------------------------------------------------------------------

constexpr std::size_t longest_secret = 64 << 10;

// The content of a file without the line break at its end; nothing, and why, if
// it cannot be one. What it says goes into no message.
std::optional<std::string> secret_in_file(const std::string& path,
                                          std::string& why) {
  std::ifstream in{path, std::ios::binary};
  std::string text(longest_secret + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (!in.is_open() || in.bad())
    why = "cannot be read";
  else if (text.size() > longest_secret)
    why = fmt::format("has more than {} bytes", longest_secret);
  if (!why.empty())
    return std::nullopt;
  if (text.ends_with('\n'))
    text.pop_back();
  if (text.ends_with('\r'))
    text.pop_back();
  if (text.empty())
    why = "is empty";
  return why.empty() ? std::optional{std::move(text)} : std::nullopt;
}

std::optional<std::string> secret_in_environment(const std::string& name,
                                                 std::string& why) {
  const char* value = name.empty() ? nullptr : std::getenv(name.c_str());
  if (!value)
    why = "is not an environment variable of this process";
  else if (*value == '\0')
    why = "is an environment variable that is empty";
  return why.empty() ? std::optional<std::string>{value} : std::nullopt;
}

/// Puts the secrets themselves in the place of what says where they are.
class secret_reader {
public:
  secret_reader(settings& table, const setting_path& path, problems& out)
    : table_(table), path_(path), out_(out) {}

  void resolve(const std::string& key) {
    const std::array<std::string, 3> keys{key, key + "_env", key + "_file"};
    auto is_given = [&](auto& x) { return table_.contains(x); };
    for (const auto& x : keys)
      if (auto i = table_.find(x);
          i != table_.end() && !detail::text_in(&i->second)) {
        add(problem_kind::type, x, "is not a string: put it in quotes",
            i->second.place);
        table_.erase(i);
      }
    if (std::count_if(keys.begin(), keys.end(), is_given) > 1) {
      auto last = std::find_if(keys.rbegin(), keys.rend(), is_given);
      add(
        problem_kind::relation, *last,
        fmt::format(
          "cannot be combined with another of {}, {} and {}: leave one of them",
          keys[0], keys[1], keys[2]),
        table_.find(*last)->second.place);
      for (const auto& x : keys)
        table_.erase(x);
      return;
    }
    replace(keys[1], key, secret_in_environment);
    replace(keys[2], key, secret_in_file);
  }

private:
  template <class Source>
  void replace(const std::string& stated, const std::string& key,
               Source source) {
    auto where = detail::take_from(table_, stated);
    if (!where)
      return;
    std::string why;
    const auto& name = std::get<std::string>(where->value);
    if (auto text = source(name, why)) {
      where->value = std::move(*text);
      table_.emplace(key, std::move(*where));
    } else {
      add(problem_kind::unknown, stated, detail::quoted(name) + ' ' + why,
          where->place);
    }
  }

  void add(problem_kind kind, const std::string& key, std::string text,
           const std::string& place) {
    out_.push_back({kind, path_ / key, std::move(text), place});
  }

  settings& table_;
  const setting_path& path_;
  problems& out_;
};

// -- kinds --------------------------------------------------------------------

/// The kinds that come with Caisson, and how a program adds them.
struct known_kind {
  std::string_view name;
  std::string_view header;
};

constexpr known_kind known_kinds[] = {
  {"http", "caisson/adapters/http_client/client.hpp"},
  {"redis", "caisson/adapters/redis/client.hpp"},
  {"postgres", "caisson/adapters/postgres/client.hpp"},
};

std::string problem_with_kind(const std::string& name,
                              const std::vector<std::string>& kinds) {
  for (const auto& x : known_kinds)
    if (x.name == name)
      return fmt::format("{} needs `workers.add_kind({}_worker_kind())` in the "
                         "program, with <{}>",
                         detail::quoted(name), name, x.header);
  auto all = kinds;
  for (const auto& x : known_kinds)
    all.emplace_back(x.name);
  return fmt::format("{} is not a kind of worker{} the program knows: {}",
                     detail::quoted(name),
                     detail::hint(detail::nearest(name, all)),
                     kinds.empty() ? "none" : detail::listed_names(kinds));
}

const worker_kind* kind_in_table(const section& at, const worker_names& known,
                                 problems& out) {
  auto key = at.path / "kind";
  const auto* stated = detail::find_in(at.table, "kind");
  const auto* name = detail::text_in(stated);
  if (!name) {
    out.push_back({problem_kind::type, key,
                   to_text(*stated) + " is not the name of a kind of worker",
                   stated->place});
    return nullptr;
  }
  const auto* kind = known.find_kind(*name);
  if (!kind)
    out.push_back({problem_kind::unknown, key,
                   problem_with_kind(*name, known.kinds()), stated->place});
  return kind;
}

// Settings of supervision that stand among those of the worker.
void report_misplaced(const settings& table, const worker_kind& kind,
                      const setting_path& path, settings_reader& fields,
                      problems& out) {
  auto first = [](const std::string& key) {
    return key.substr(0, key.find('.'));
  };
  auto has = [&](const std::vector<field_row>& rows, const std::string& key) {
    return std::any_of(rows.begin(), rows.end(),
                       [&](auto& row) { return first(row.key) == key; });
  };
  auto own = kind.rows();
  auto supervised = rows_of(supervision_config{});
  for (const auto& [key, value] : table) {
    if (has(own, key) || !has(supervised, key))
      continue;
    fields.take(key);
    out.push_back({problem_kind::unknown, path / key,
                   fmt::format("is a setting of supervision: write "
                               "supervision = {{ {} = … }}",
                               key),
                   value.place});
  }
}

} // namespace

// -- described_worker ---------------------------------------------------------

described_worker::described_worker(
  const worker_kind& kind, std::shared_ptr<detail::worker_settings> settings)
  : kind_(kind.name()), settings_(settings), secrets_(kind.traits().secrets),
    values_(values_of(*settings)) {}

std::string
described_worker::changes_from(const described_worker& before) const {
  std::string out;
  auto add = [&](const std::string& what) {
    out += (out.empty() ? "" : ", ") + what;
  };
  auto now = settings_->rows();
  auto then = before.settings_->rows();
  auto same_keys = std::equal(now.begin(), now.end(), then.begin(), then.end(),
                              [](auto& a, auto& b) { return a.key == b.key; })
                   && now.size() == values_.size()
                   && then.size() == before.values_.size();
  if (!same_keys)
    return "other settings";
  for (std::size_t i = 0; i < now.size() && i < then.size(); ++i) {
    const auto& key = now[i].key;
    if (std::find(secrets_.begin(), secrets_.end(), key) != secrets_.end()) {
      if (values_[i] != before.values_[i])
        add(key + " = another one");
    } else if (now[i].value != then[i].value) {
      add(fmt::format("{} = {} (was {})", key, now[i].value, then[i].value));
    }
  }
  // Long texts differ beyond what is shown of them.
  return out.empty() && !equals(before) ? "other settings" : out;
}

// -- reading ------------------------------------------------------------------

namespace detail {

std::shared_ptr<const described_worker>
read_described_worker(const section& at, const worker_names& known,
                      problems& out) {
  problems found;
  std::shared_ptr<const described_worker> result;
  if (const auto* kind = kind_in_table(at, known, found)) {
    auto table = at.table;
    secret_reader secrets{table, at.path, found};
    for (const auto& key : kind->traits().secrets)
      secrets.resolve(key);
    const auto has_secrets = found.empty();
    section resolved{table, at.path, at.place};
    settings_reader fields{resolved, found};
    for (auto key : {"kind", "group", "rank", "supervision"})
      fields.take(key);
    auto settings = kind->fresh();
    settings->visit(fields);
    for (const auto& key : kind->traits().secrets) {
      fields.take(key + "_env");
      fields.take(key + "_file");
    }
    report_misplaced(table, *kind, at.path, fields, found);
    fields.finish();
    // Otherwise something else would seem to lack the secret.
    problems relations;
    if (has_secrets)
      settings->check(at.path, relations);
    add_problems(std::move(relations), resolved, found);
    if (found.empty())
      result = std::make_shared<described_worker>(*kind, std::move(settings));
  }
  out.insert(out.end(), found.begin(), found.end());
  return result;
}

} // namespace detail

} // namespace caisson
