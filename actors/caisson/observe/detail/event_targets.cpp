#include <caisson/observe/detail/event_targets.hpp>

#include <caisson/caf/caf_log.hpp>

#include <fmt/format.h>

#include <fstream>
#include <ostream>
#include <stdexcept>
#include <utility>

namespace caisson::detail {

namespace {

class stream_target : public event_target {
public:
  explicit stream_target(std::ostream& out) : out_(out) {}

  void write(const event& x, utc_time at) override { put(to_json(x, at)); }

  void note_dropped(std::uint64_t count, utc_time at) override {
    put(dropped_to_json(count, at));
  }

private:
  // Each line by itself, so that who follows the file sees it, and what the
  // stream does not take is counted.
  void put(const std::string& line) {
    if (!out_) {
      // A full disk may have room again. What is there of the last line must
      // not spoil this one.
      out_.clear();
      out_ << '\n';
    }
    out_ << line << '\n' << std::flush;
    if (!out_)
      throw std::runtime_error{"the line could not be written"};
  }

  std::ostream& out_;
};

// The file is there before the target that writes to it.
struct opened_file {
  std::ofstream file;
};

class file_target final : private opened_file, public stream_target {
public:
  explicit file_target(std::ofstream&& x)
    : opened_file{std::move(x)}, stream_target(file) {}
};

portable::log_level level_of(const event& x) {
  switch (x.kind) {
    case event_kind::gate_failed:
      return portable::log_level::error;
    case event_kind::callback_failed:
    case event_kind::write_lost:
      return portable::log_level::warning;
    case event_kind::worker_changed:
      return x.to == "up" ? portable::log_level::info
                          : portable::log_level::warning;
    case event_kind::state_changed:
      return x.to == "open" ? portable::log_level::warning
                            : portable::log_level::info;
    case event_kind::attempt_ended:
    case event_kind::call_ended:
    case event_kind::waiting:
      return portable::log_level::debug;
    default:
      return portable::log_level::info;
  }
}

class caf_target final : public event_target {
public:
  explicit caf_target(caf::actor_system& sys) : sys_(sys) {}

  void write(const event& x, utc_time) override {
    portable::write_to_caf_log(sys_, level_of(x), to_text(x));
  }

  void note_dropped(std::uint64_t count, utc_time) override {
    portable::write_to_caf_log(sys_, portable::log_level::warning,
                               fmt::format("{} events dropped", count));
  }

private:
  caf::actor_system& sys_;
};

} // namespace

std::unique_ptr<event_target> make_stream_target(std::ostream& out) {
  return std::make_unique<stream_target>(out);
}

std::unique_ptr<event_target> make_file_target(const std::string& path) {
  std::ofstream file{path, std::ios::app | std::ios::binary};
  if (!file)
    return nullptr;
  return std::make_unique<file_target>(std::move(file));
}

std::unique_ptr<event_target> make_caf_target(caf::actor_system& sys) {
  return std::make_unique<caf_target>(sys);
}

} // namespace caisson::detail
