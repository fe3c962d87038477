// The gates of a program as they were seen last, with rates.
#pragma once

#include <ctl/top/history.hpp>

#include <caisson/base/time.hpp>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson::ctl {

/// From normal to what needs attention most.
enum class grade : std::uint8_t { good, strained, bad };

/// Rejections by one counter, such as `rejected_open` of `breaker`.
struct rejections {
  /// The layer; empty: the gate itself.
  std::string layer;
  std::string counter;
  std::int64_t count = 0;
};

/// All counters of an answer about a gate that count calls which were turned
/// away.
[[nodiscard]] std::vector<rejections>
rejections_in(const nlohmann::ordered_json& gate);

/// What was seen of one gate. Texts are as they were received.
struct gate_facts {
  std::string name;
  /// Its name in events.
  std::string stack;
  /// Why the program knows nothing of it; empty: it does.
  std::string error;
  std::string state;
  std::string worker;
  grade how = grade::good;
  /// The worst that there is to say, such as `breaker open`.
  std::string condition;
  std::int64_t in_flight = 0;
  /// For a layer, or for a worker.
  std::int64_t waiting = 0;
  call_history history;

  // From the gate's own answer, which comes less often.
  std::optional<duration> p50;
  std::optional<duration> p99;
  /// Per second.
  std::optional<double> rejected;
  /// Of most of these, such as `breaker rejected open`.
  std::string main_reason;
  std::vector<rejections> counted;
  std::optional<time_point> asked;
};

/// The answers about the gate that is looked at, and when they came.
struct opened_gate {
  std::string name;
  nlohmann::ordered_json now;
  nlohmann::ordered_json before;
  time_point now_at{};
  time_point before_at{};
  /// Why there is no newer answer; empty: there is.
  std::string error;
};

/// An event, for a reader.
struct event_line {
  /// Of the last one that is the same but for its call.
  std::string time;
  std::string text;
  /// How many there were.
  std::uint64_t count = 0;
  /// What such events have in common.
  std::string common;
};

/// Everything that was received. Its `take_...` functions throw `ctl_error` or
/// JSON's exceptions if an answer is none of a program with gates; what they
/// have not reached is as before.
class top_model {
public:
  explicit top_model(duration interval) : interval_(interval) {}

  /// Of `/v1/gates`.
  void take_list(const nlohmann::ordered_json& answer, time_point now);
  /// Of `/v1/gates/NAME`. `name`: which one was asked for.
  void take_gate(const std::string& name, const nlohmann::ordered_json& answer,
                 time_point now);
  /// In place of that.
  void take_gate_error(const std::string& name, const std::string& why);
  /// Of `/v1/events`.
  void take_events(const nlohmann::ordered_json& answer);

  /// There was no answer, because of this.
  void lose(const std::string& why);

  /// Which gate is looked at; empty: none.
  void open(const std::string& name);

  [[nodiscard]] const std::vector<gate_facts>& gates() const { return gates_; }
  [[nodiscard]] const gate_facts* find(const std::string& name) const;
  [[nodiscard]] const opened_gate& opened() const { return opened_; }
  /// Those of a gate with that name in events, the oldest first; at most
  /// `most_events`.
  [[nodiscard]] const std::deque<event_line>&
  events_of(const std::string& stack) const;
  [[nodiscard]] std::uint64_t missed_events() const { return missed_; }

  /// Why the last question got no answer; empty: it did.
  [[nodiscard]] const std::string& error() const { return error_; }
  /// When the gates were seen last.
  [[nodiscard]] std::optional<time_point> seen() const { return seen_; }

  static constexpr std::size_t most_events = 100;
  /// Besides the gates there are: so many names in events.
  static constexpr std::size_t most_other_names = 1'000;

private:
  [[nodiscard]] duration longest_gap() const;
  void take_row(gate_facts& to, const nlohmann::ordered_json& row,
                time_point now) const;
  void take_rejections(gate_facts& to, const nlohmann::ordered_json& gate,
                       time_point now) const;
  void take_event(const nlohmann::ordered_json& x);
  void forget_other_events();

  duration interval_;
  std::vector<gate_facts> gates_;
  std::map<std::string, std::size_t> places_;
  opened_gate opened_;
  std::map<std::string, std::deque<event_line>> events_;
  std::uint64_t missed_ = 0;
  std::string error_;
  std::optional<time_point> seen_;
};

/// The grade of a state of a layer or a worker that needs attention.
[[nodiscard]] grade grade_of_state(std::string_view state);

/// With blanks in place of underscores.
[[nodiscard]] std::string in_words(std::string text);

} // namespace caisson::ctl
