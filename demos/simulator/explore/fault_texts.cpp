#include <simulator/explore/fault_texts.hpp>

#include <simulator/report/numbers.hpp>
#include <simulator/scenario/faults.hpp>

#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <string_view>
#include <utility>
#include <variant>

namespace caisson::sim {

namespace {

// Entries keep the order in which they are added.
class entry_list {
public:
  void add(std::string key, decltype(setting::value) value) {
    auto place = fmt::format("fault:1:{}", table_.size() + 1);
    table_.emplace(std::move(key), setting{std::move(value), place});
  }

  void names(std::string key, const std::vector<std::string>& all) {
    if (all.size() == 1)
      return add(std::move(key), all.front());
    std::vector<setting> list;
    list.reserve(all.size());
    for (const auto& name : all)
      list.push_back({name, {}});
    add(std::move(key), std::move(list));
  }

  [[nodiscard]] setting take() { return {std::move(table_), {}}; }

private:
  settings table_;
};

void add_length(entry_list& out, const fault_config& f) {
  if (f.for_requests)
    out.add("for_requests", *f.for_requests);
  else if (f.mean_requests_to_repair)
    out.add("mean_requests_to_repair", *f.mean_requests_to_repair);
  else if (f.mttr)
    out.add("mttr", to_text(*f.mttr));
  else
    out.add("for", to_text(f.lasts));
}

// `from 30s on`, `after 10 requests from 30s on`
std::string begin_text(const fault_config& f) {
  auto from = fmt::format("from {} on", to_text(f.at));
  if (f.after_requests)
    return fmt::format("after {} requests {}", *f.after_requests, from);
  if (f.mean_requests_between_failures)
    return fmt::format("again and again after {} requests on average {}",
                       to_text(*f.mean_requests_between_failures), from);
  if (f.mtbf)
    return fmt::format("again and again after {} on average {}",
                       to_text(*f.mtbf), from);
  return f.kind == fault_kind::flush ? "at " + to_text(f.at) : from;
}

std::string length_text(const fault_config& f) {
  if (f.for_requests)
    return fmt::format("{} requests", *f.for_requests);
  if (f.mean_requests_to_repair)
    return fmt::format("{} requests on average",
                       to_text(*f.mean_requests_to_repair));
  if (f.mttr)
    return fmt::format("{} on average", to_text(*f.mttr));
  return to_text(f.lasts);
}

std::string_view scope_text(const fault_config& f) {
  return f.in_progress ? " in all its work" : "";
}

std::string effect_text(const fault_config& f) {
  switch (f.kind) {
    case fault_kind::slow:
      return fmt::format("{} slow by a factor of {}{}", f.target,
                         to_text(f.factor), scope_text(f));
    case fault_kind::errors:
      return fmt::format("{} fails {} of its requests", f.target,
                         percent_text(f.rate));
    case fault_kind::stall:
      return fmt::format("{} stalls{}", f.target, scope_text(f));
    case fault_kind::crash:
      return fmt::format("{} crashes", f.target);
    case fault_kind::capacity:
      return fmt::format("{} has only {} servers", f.target, f.servers);
    case fault_kind::flush:
      return fmt::format("{} loses its caches", f.target);
    case fault_kind::partition:
      return fmt::format("all messages {} are lost", place_of(f));
    case fault_kind::loss:
      return fmt::format("{} of the messages {} are lost", percent_text(f.rate),
                         place_of(f));
    case fault_kind::delay:
      return fmt::format("messages {} take {} longer", place_of(f),
                         to_text(f.delay));
  }
  return {};
}

} // namespace

setting fault_setting(const fault_config& f) {
  entry_list out;
  out.add("kind", std::string{fault_name(f.kind)});
  if (hits_messages(f.kind)) {
    out.names("from", f.from);
    out.names("to", f.to);
    if (f.direction == fault_direction::one_way)
      out.add("direction", std::string{"one_way"});
  } else {
    out.add("target", f.target);
  }
  out.add("at", to_text(f.at));
  if (f.mtbf)
    out.add("mtbf", to_text(*f.mtbf));
  if (f.mean_requests_between_failures)
    out.add("mean_requests_between_failures",
            *f.mean_requests_between_failures);
  if (f.after_requests)
    out.add("after_requests", *f.after_requests);
  if (f.kind != fault_kind::flush)
    add_length(out, f);
  if (f.in_progress)
    out.add("in_progress", true);
  if (f.kind == fault_kind::slow)
    out.add("factor", f.factor);
  if (f.kind == fault_kind::errors || f.kind == fault_kind::loss)
    out.add("rate", f.rate);
  if (f.kind == fault_kind::capacity)
    out.add("workers", std::int64_t{f.servers});
  if (f.kind == fault_kind::delay)
    out.add("delay", to_text(f.delay));
  return out.take();
}

std::string to_sentence(const fault_config& f) {
  auto out = effect_text(f);
  if (f.kind == fault_kind::flush)
    return fmt::format("{} {}", out, begin_text(f));
  return fmt::format("{}, {} for {}", out, begin_text(f), length_text(f));
}

std::string added_faults_sentence(const std::vector<fault_config>& more,
                                  const std::vector<fault_config>& own) {
  constexpr std::size_t most = 3;
  if (own.empty())
    return "faults: " + to_sentence(more);
  if (!more.empty())
    return "further faults: " + to_sentence(more);
  std::vector<fault_config> first = own;
  if (first.size() > most)
    first.resize(most);
  auto out = "no further fault; those of the file: " + to_sentence(first);
  if (own.size() > most)
    out += fmt::format("; and {} more", own.size() - most);
  return out;
}

std::string to_sentence(const std::vector<fault_config>& faults) {
  std::string out;
  for (const auto& f : faults)
    out += (out.empty() ? "" : "; ") + to_sentence(f);
  return out.empty() ? "no fault" : out;
}

} // namespace caisson::sim
