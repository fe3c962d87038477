#include <ctl/top/model.hpp>

#include <ctl/answers.hpp>
#include <ctl/top/cells.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

namespace caisson::ctl {

namespace {

using json = nlohmann::ordered_json;

// -- states -------------------------------------------------------------------

struct finding {
  grade how = grade::good;
  std::string text;
};

finding finding_of(const json& layer) {
  if (is_usual(layer))
    return {};
  auto state = text_in(layer, "state");
  auto mode = text_in(layer, "mode");
  auto how = grade_of_state(state);
  auto text = text_in(layer, "name");
  if (!state.empty())
    text += ' ' + in_words(state);
  if (mode != "enforce") {
    text += fmt::format(" ({})", mode);
    // It changes nothing.
    how = grade::strained;
  }
  return {how, text};
}

// The worst that there is to say; of what is equally bad the first.
finding finding_of_gate(const json& gate) {
  finding worst;
  std::size_t further = 0;
  auto consider = [&](finding x) {
    if (x.how == grade::good)
      return;
    if (worst.how != grade::good)
      ++further;
    if (x.how > worst.how)
      worst = std::move(x);
  };
  auto worker = text_in(gate, "worker");
  if (!worker.empty() && worker != "up" && worker != "none")
    consider({grade_of_state(worker), "worker " + in_words(worker)});
  auto state = text_in(gate, "state");
  if (!state.empty() && state != "accepting")
    consider({grade::strained, in_words(state)});
  for (const auto& layer : list_in(gate, "layers"))
    consider(finding_of(layer));
  if (further > 0)
    worst.text += fmt::format(" +{}", further);
  return worst;
}

// -- rejections ---------------------------------------------------------------

// Some policies have counters of these names that count something else.
bool counts_rejections(const std::string& kind) {
  constexpr std::string_view further[] = {"cache", "fallback", "retrier",
                                          "canary"};
  return std::ranges::find(further, kind) == std::end(further);
}

bool is_rejection(std::string_view counter) {
  constexpr std::string_view whole[] = {
    "queue_full", "evicted",      "too_heavy",     "outgrown",
    "timed_out",  "hopeless",     "out_of_time",   "expired_on_arrival",
    "shed",       "rate_limited", "past_deadline", "too_little_left"};
  return counter.starts_with("rejected") || counter.starts_with("refused_")
         || counter.starts_with("shed_")
         || std::ranges::find(whole, counter) != std::end(whole);
}

void add_rejections(std::vector<rejections>& to, const std::string& layer,
                    const json& metrics) {
  for (const auto& [key, value] : metrics.items())
    if (value.is_number() && is_rejection(key))
      to.push_back({layer, key, number_in(metrics, key.c_str())});
}

// -- events -------------------------------------------------------------------

// The same event of another call is no other line, if it is among the last.
constexpr std::ptrdiff_t most_compared = 8;

// No more than can be shown.
std::string shown_part(const json& x, const char* key) {
  return text_in(x, key).substr(0, most_text_bytes);
}

// `a: rejected` of `a: rejected, delay 5 s, call 7`.
std::string without_call(const std::string& text) {
  auto end = text.rfind(", call ");
  if (end == text.npos)
    return text;
  auto delay = text.rfind(", delay ", end);
  return text.substr(0, delay == text.npos ? end : delay);
}

std::optional<duration> quantile_of(const json& gate, const char* key) {
  for (const auto& x : list_in(gate, "durations"))
    if (text_in(x, "what") == "calls" && x.value("ok", true)
        && number_in(x, "count") > 0)
      return duration{number_in(x, key)};
  return std::nullopt;
}

} // namespace

std::vector<rejections> rejections_in(const json& gate) {
  std::vector<rejections> out;
  add_rejections(out, {}, object_in(gate, "metrics"));
  for (const auto& layer : list_in(gate, "layers"))
    if (counts_rejections(text_in(layer, "kind")))
      add_rejections(out, text_in(layer, "name"), object_in(layer, "metrics"));
  return out;
}

grade grade_of_state(std::string_view state) {
  constexpr std::string_view bad[] = {"open", "forced_open", "rolled_back",
                                      "down", "given_up"};
  return std::ranges::find(bad, state) != std::end(bad) ? grade::bad
                                                        : grade::strained;
}

std::string in_words(std::string text) {
  std::ranges::replace(text, '_', ' ');
  return text;
}

// -- gates --------------------------------------------------------------------

duration top_model::longest_gap() const {
  return std::max<duration>(std::chrono::seconds(15), 3 * interval_);
}

void top_model::take_list(const json& answer, time_point now) {
  std::vector<gate_facts> next;
  std::map<std::string, std::size_t> places;
  for (const auto& row : needed_list(answer, "gates")) {
    auto name = text_in(row, "name");
    if (!places.emplace(name, next.size()).second)
      continue;
    // A copy, as the present ones stay if there is no sense in the answer.
    auto* known = find(name);
    auto& to = next.emplace_back(known ? *known : gate_facts{});
    to.name = std::move(name);
    take_row(to, row, now);
  }
  gates_ = std::move(next);
  places_ = std::move(places);
  error_.clear();
  seen_ = now;
}

void top_model::take_row(gate_facts& to, const json& row,
                         time_point now) const {
  to.error = text_in(row, "error");
  if (!to.error.empty()) {
    to.how = grade::bad;
    to.condition = "no answer";
    to.history.interrupt();
    return;
  }
  to.stack = text_in(row, "stack");
  to.state = text_in(row, "state");
  to.worker = text_in(row, "worker");
  auto found = finding_of_gate(row);
  to.how = found.how;
  to.condition = std::move(found.text);
  const auto& metrics = object_in(row, "metrics");
  to.in_flight = number_in(metrics, "in_flight");
  // Of what is no count, the sum could overflow.
  auto waiting = added(number_in(metrics, "held"), 0)
                 + added(number_in(metrics, "waiting_for_worker"), 0);
  to.waiting = static_cast<std::int64_t>(std::clamp(waiting, 0.0, 1e15));
  to.history.take({number_in(metrics, "calls"), number_in(metrics, "succeeded"),
                   number_in(metrics, "failed")},
                  now, longest_gap());
  if (to.how == grade::good) {
    auto rejecting = to.rejected.value_or(0) > 0;
    to.how = rejecting ? grade::strained : grade::good;
    auto sheds = to.main_reason.find(" shed") != std::string::npos;
    to.condition = !rejecting ? in_words(to.state)
                   : sheds    ? "shedding"
                              : "rejecting";
  }
}

void top_model::take_gate(const std::string& name, const json& answer,
                          time_point now) {
  if (auto i = places_.find(name); i != places_.end()) {
    auto& to = gates_[i->second];
    to.p50 = quantile_of(answer, "p50_ns");
    to.p99 = quantile_of(answer, "p99_ns");
    take_rejections(to, answer, now);
  }
  if (name != opened_.name || name.empty())
    return;
  if (!opened_.now.is_null() && now > opened_.now_at) {
    opened_.before = std::move(opened_.now);
    opened_.before_at = opened_.now_at;
  }
  opened_.now = answer;
  opened_.now_at = now;
  opened_.error.clear();
}

void top_model::take_gate_error(const std::string& name,
                                const std::string& why) {
  if (name == opened_.name)
    opened_.error = why;
}

void top_model::take_rejections(gate_facts& to, const json& gate,
                                time_point now) const {
  auto next = rejections_in(gate);
  auto before = std::exchange(to.counted, std::move(next));
  auto before_at = std::exchange(to.asked, now);
  to.rejected.reset();
  to.main_reason.clear();
  // Gates that are not on the screen are asked less often.
  if (!before_at || now <= *before_at || now - *before_at > 4 * longest_gap())
    return;
  auto sum = 0.0;
  auto most = 0.0;
  for (const auto& x : to.counted) {
    auto was = std::ranges::find_if(before, [&](const rejections& y) {
      return y.layer == x.layer && y.counter == x.counter;
    });
    if (was == before.end() || x.count <= was->count)
      continue;
    auto more = added(x.count, was->count);
    sum += more;
    if (more <= most)
      continue;
    most = more;
    to.main_reason = x.layer.empty() ? in_words(x.counter)
                                     : x.layer + ' ' + in_words(x.counter);
  }
  to.rejected = sum / seconds_between(*before_at, now);
}

void top_model::open(const std::string& name) {
  if (name != opened_.name) {
    opened_ = {};
    opened_.name = name;
  }
}

const gate_facts* top_model::find(const std::string& name) const {
  auto i = places_.find(name);
  return i == places_.end() ? nullptr : &gates_[i->second];
}

void top_model::lose(const std::string& why) {
  error_ = why.empty() ? "no answer" : why;
  for (auto& x : gates_) {
    x.history.interrupt();
    x.asked.reset();
  }
}

// -- events -------------------------------------------------------------------

void top_model::take_events(const json& answer) {
  for (const auto& x : list_in(answer, "events"))
    take_event(x);
  // Null: nobody knows.
  if (answer.contains("missed") && !answer["missed"].is_null())
    missed_ += static_cast<std::uint64_t>(
      std::max<std::int64_t>(0, number_in(answer, "missed")));
}

void top_model::take_event(const json& x) {
  const auto& event = object_in(x, "event");
  auto stack = text_in(event, "gate");
  if (!events_.contains(stack)
      && events_.size() >= gates_.size() + most_other_names)
    forget_other_events();
  auto& all = events_[stack];
  event_line next{shown_part(event, "time"), shown_part(x, "text"), 1, {}};
  for (const auto* key : {"kind", "layer", "from", "to", "detail"})
    next.common += shown_part(event, key) + '\n';
  auto last = all.rbegin();
  auto end = last + std::min<std::ptrdiff_t>(most_compared, std::ssize(all));
  auto same = std::find_if(
    last, end, [&](const event_line& y) { return y.common == next.common; });
  if (same != end) {
    next.count += same->count;
    next.text = without_call(next.text);
    all.erase(std::next(same).base());
  }
  all.push_back(std::move(next));
  if (all.size() > most_events)
    all.pop_front();
}

// Of gates that have gone.
void top_model::forget_other_events() {
  std::set<std::string_view> known;
  for (const auto& x : gates_)
    known.insert(x.stack);
  std::erase_if(events_,
                [&](const auto& x) { return !known.contains(x.first); });
}

const std::deque<event_line>&
top_model::events_of(const std::string& stack) const {
  static const std::deque<event_line> empty;
  auto i = events_.find(stack);
  return i == events_.end() ? empty : i->second;
}

} // namespace caisson::ctl
