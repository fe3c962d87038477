// Asks a program for its gates, again and again.
#pragma once

#include <ctl/connection.hpp>

#include <caisson/base/time.hpp>

#include <nlohmann/json.hpp>

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace caisson::ctl {

class top_model;

/// What is worth asking.
struct gate_selection {
  /// Those whose own answers matter most, the most important one first. Others
  /// follow in turn.
  std::vector<std::string> names;
  bool paused = false;
  /// How many gates are asked, at most.
  std::size_t most = 40;

  friend bool operator==(const gate_selection&, const gate_selection&)
    = default;
};

/// What a program has answered at a time.
struct gate_update {
  struct gate_answer {
    std::string name;
    nlohmann::ordered_json answer;
    /// Why there is none; empty: there is.
    std::string error;
  };

  time_point at{};
  /// Null after an error.
  nlohmann::ordered_json list;
  std::vector<gate_answer> gates;
  /// One answer for each request; none if events cannot be had.
  std::vector<nlohmann::ordered_json> events;
  /// Why the program has not answered; empty: it has.
  std::string error;
};

/// Throws nothing for answers that make no sense: they are errors.
void take(top_model& to, const gate_update& update);

/// Connects when it has to, also to the next run of the program, which writes
/// the control file anew.
class gate_reader {
public:
  explicit gate_reader(std::string file) : file_(std::move(file)) {}

  /// Throws nothing; may take as long as the program does, but asks
  /// for single gates no longer than about `time`.
  gate_update ask(const gate_selection& selection, duration time);

  /// Ends what goes on, now and later. For any thread.
  void interrupt() noexcept;

private:
  void connect();
  void disconnect();
  void ask_gates(gate_update& to, const gate_selection& selection,
                 time_point until);
  [[nodiscard]] std::vector<std::string>
  choose(const nlohmann::ordered_json& list, const gate_selection& selection);
  void ask_events(gate_update& to);

  std::string file_;
  std::mutex mutex_;
  std::unique_ptr<connection> to_;
  bool interrupted_ = false;
  std::string cursor_;
  std::size_t turn_ = 0;
};

/// Lets a thread ask every `interval`.
class background_reader {
public:
  background_reader(gate_reader& reader, duration interval);
  ~background_reader();

  background_reader(const background_reader&) = delete;
  background_reader& operator=(const background_reader&) = delete;

  /// From now on. Asks at once if the first name is another one, or if it was
  /// paused.
  void want(const gate_selection& selection);

  /// Readable while there are updates.
  [[nodiscard]] int descriptor() const noexcept { return pipe_[0]; }
  [[nodiscard]] std::deque<gate_update> take_updates();

private:
  void run();

  gate_reader& reader_;
  duration interval_;
  int pipe_[2];
  std::mutex mutex_;
  std::condition_variable changed_;
  gate_selection selection_;
  bool soon_ = false;
  bool ended_ = false;
  std::deque<gate_update> updates_;
  std::thread thread_;
};

} // namespace caisson::ctl
