// Helpers for tests of sweeps on several machines.
#pragma once

#include <simulator/remote/messages.hpp>
#include <simulator/remote/run_source.hpp>

#include <caisson/base/hash.hpp>
#include <caisson/caf/error.hpp>

#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace caisson::sim {

namespace internal {

struct remote_test_types {
  remote_test_types() { init_remote_types(); }
};

} // namespace internal

/// The config of a system without a network whose actors talk of runs.
class remote_test_config : private internal::remote_test_types,
                           public system_config {
public:
  remote_test_config() { add_remote_types(*this); }
};

inline const build_identity test_build{"1.2.3", "p", "a"};

/// Cells of a sweep, and what becomes of them.
class scripted_source : public run_source {
public:
  explicit scripted_source(std::size_t runs) {
    for (std::size_t i = 0; i < runs; ++i)
      open.insert(i);
  }

  std::optional<std::size_t> take() override {
    if (open.empty())
      return std::nullopt;
    auto out = *open.begin();
    open.erase(open.begin());
    return out;
  }

  run_job job_of(std::size_t run) override {
    if (bad_run == run)
      throw std::runtime_error{"no such job"};
    run_job out;
    out.text = "run " + std::to_string(run);
    if (!recording.empty())
      out.recordings = {{"t.csv", detail::fnv1a(recording), recording.size()}};
    return out;
  }

  std::shared_ptr<const std::string> recording_of(std::uint64_t hash) override {
    if (hash != detail::fnv1a(recording))
      return nullptr;
    return std::make_shared<const std::string>(recording);
  }

  void progress(std::size_t run, double share) override {
    shares[run].push_back(share);
  }

  bool done(std::size_t run, const job_state& end) override {
    if (end.text.empty())
      return false;
    results[run].push_back(end.text);
    if (on_result)
      on_result();
    return true;
  }

  void give_back(std::size_t run, bool lost) override {
    open.insert(run);
    back.push_back(std::to_string(run) + (lost ? " lost" : " not begun"));
  }

  void fail(std::exception_ptr why) override {
    try {
      std::rethrow_exception(why);
    } catch (const std::exception& e) {
      failure = e.what();
    }
  }

  std::set<std::size_t> open;
  std::string recording;
  std::optional<std::size_t> bad_run;
  std::map<std::size_t, std::vector<double>> shares;
  std::map<std::size_t, std::vector<std::string>> results;
  std::vector<std::string> back;
  std::string failure;
  std::function<void()> on_result;
};

} // namespace caisson::sim
