#include <simulator/explore/exploration.hpp>

#include <simulator/explore/fault_texts.hpp>
#include <simulator/play/command_texts.hpp>
#include <simulator/report/numbers.hpp>
#include <simulator/report/violations.hpp>

#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <ostream>
#include <string_view>

namespace caisson::sim {

namespace {

using explore_json = nlohmann::ordered_json;

std::string number_of(std::uint64_t n, std::string_view what) {
  return fmt::format("{} {}{}", grouped(n), what, n == 1 ? "" : "s");
}

std::string replay_text(const finding& f) {
  return "caisson run --verify "
         + quoted_for_shell(f.file.empty() ? "FILE" : f.file);
}

// What is not as it should be with the finding itself.
std::vector<std::string> remarks(const finding& f) {
  std::vector<std::string> out;
  if (!f.shrunk.complete)
    out.push_back(fmt::format("not as small as possible: {} were not enough",
                              number_of(f.shrunk.runs, "run")));
  if (!f.repeats)
    out.emplace_back("it is not confirmed that the file repeats it");
  return out;
}

// Which rules were checked in each run and not found broken.
std::string checked_rules_text(const explore_plan& p) {
  auto expects = std::ranges::any_of(p.arms, [](const arm_config& arm) {
    return !arm.expect.bounds.empty() || arm.expect.verdict.has_value();
  });
  return fmt::format("in each nothing was held at the end, counts added up{}{}",
                     expects ? ", what the file expects held" : "",
                     p.recovery ? ", and it recovered" : "");
}

} // namespace

std::vector<violation> broken_rules(const arm_config& arm, const arm_result& r,
                                    bool recovery) {
  auto out = violations_of(r);
  auto more = expectation_violations(arm, r);
  out.insert(out.end(), more.begin(), more.end());
  if (recovery && r.verdict != verdict_kind::recovered
      && r.verdict != verdict_kind::no_fault)
    out.push_back(
      {std::string{recovery_rule},
       fmt::format("it does not recover: it is {}", verdict_name(r.verdict))});
  return out;
}

void write_exploration(std::ostream& out, const explore_plan& p,
                       const exploration& x, std::size_t width) {
  auto line = [&](const std::string& text) { write_wrapped(out, text, width); };
  if (!p.title.empty())
    line(detail::printable(p.title));
  line(fmt::format("{}: {}, {} with random faults from seed {} on, {} at most "
                   "in each",
                   detail::printable(p.file), number_of(p.arms.size(), "arm"),
                   number_of(p.runs, "run"), p.seed,
                   number_of(p.bounds.most, "fault")));
  std::size_t number = 0;
  for (const auto& f : x.findings) {
    out << '\n';
    line(fmt::format("{}. arm {}, seed {}: {}", ++number, p.arms[f.arm].name,
                     f.seed, detail::printable(f.broken.text)));
    line("   " + added_faults_sentence(f.shrunk.least, p.arms[f.arm].faults));
    for (const auto& also : f.also)
      line("   also: " + detail::printable(also.text));
    for (const auto& text : remarks(f))
      line("   " + text);
    line(fmt::format("   in {}, made smaller in {}", number_of(f.times, "run"),
                     number_of(f.shrunk.runs, "run")));
    out << fmt::format("   {}\n", detail::printable(replay_text(f)));
  }
  out << '\n';
  if (x.findings.empty())
    line(fmt::format("nothing found in {}: {}", number_of(x.played, "run"),
                     checked_rules_text(p)));
  else
    line(fmt::format("{} in {}, {} of which broke a rule",
                     number_of(x.findings.size(), "finding"),
                     number_of(x.played, "run"), grouped(x.broken)));
}

std::string found_file(const explore_plan& p, const finding& f) {
  std::string out;
  auto comment = [&](const std::string& text) {
    out += "# " + detail::printable(text) + "\n";
  };
  comment(fmt::format("caisson explore {}, run {}, arm {}:", p.file, f.run,
                      p.arms[f.arm].name));
  comment(added_faults_sentence(f.shrunk.least, p.arms[f.arm].faults) + ":");
  comment(f.broken.text + ".");
  comment(fmt::format("caisson run --verify FILE repeats it, with the digest "
                      "{:016x}.",
                      f.digest));
  return out + f.scenario;
}

void write_exploration_json(std::ostream& out, const explore_plan& p,
                            const exploration& x) {
  explore_json all;
  all["format"] = "caisson explore 1";
  all["title"] = p.title;
  all["file"] = p.file;
  all["seed"] = p.seed;
  all["runs"] = p.runs;
  all["interrupted"] = x.interrupted;
  all["played"] = x.played;
  all["broken"] = x.broken;
  all["findings"] = explore_json::array();
  for (const auto& f : x.findings) {
    explore_json one;
    one["arm"] = p.arms[f.arm].name;
    one["run"] = f.run;
    one["seed"] = f.seed;
    one["rule"] = f.broken.rule;
    one["text"] = f.broken.text;
    one["also"] = explore_json::array();
    for (const auto& also : f.also)
      one["also"].push_back(also.text);
    one["found"] = to_sentence(f.found);
    one["faults"] = explore_json::array();
    for (const auto& fault : f.shrunk.least)
      one["faults"].push_back(to_sentence(fault));
    one["shrink_runs"] = f.shrunk.runs;
    one["shrunk"] = f.shrunk.complete;
    one["times"] = f.times;
    one["digest"] = fmt::format("{:016x}", f.digest);
    one["repeats"] = f.repeats;
    one["scenario"] = f.file;
    all["findings"].push_back(std::move(one));
  }
  out << all.dump(2, ' ', false, explore_json::error_handler_t::replace)
      << '\n';
}

} // namespace caisson::sim
