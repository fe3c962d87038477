// Helpers for tests of sweeps on several machines.
#pragma once

#include <simulator/remote/cell_source.hpp>
#include <simulator/remote/messages.hpp>

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

struct farm_test_types {
  farm_test_types() { init_remote_types(); }
};

} // namespace internal

/// The config of a system without a network whose actors talk of cells.
class farm_test_config : private internal::farm_test_types,
                         public system_config {
public:
  farm_test_config() { add_remote_types(*this); }
};

inline const build_identity test_build{"1.2.3", "p", "a"};

/// Cells of a sweep, and what becomes of them.
class scripted_source : public cell_source {
public:
  explicit scripted_source(std::size_t cells) {
    for (std::size_t i = 0; i < cells; ++i)
      open.insert(i);
  }

  std::optional<std::size_t> take() override {
    if (open.empty())
      return std::nullopt;
    auto out = *open.begin();
    open.erase(open.begin());
    return out;
  }

  cell_job job_of(std::size_t cell) override {
    if (bad_cell == cell)
      throw std::runtime_error{"no such job"};
    cell_job out;
    out.text = "cell " + std::to_string(cell);
    if (!trace.empty())
      out.traces = {{"t.csv", detail::fnv1a(trace), trace.size()}};
    return out;
  }

  std::shared_ptr<const std::string> trace_of(std::uint64_t hash) override {
    if (hash != detail::fnv1a(trace))
      return nullptr;
    return std::make_shared<const std::string>(trace);
  }

  void progress(std::size_t cell, double share) override {
    shares[cell].push_back(share);
  }

  bool done(std::size_t cell, const job_state& end) override {
    if (end.text.empty())
      return false;
    results[cell].push_back(end.text);
    if (on_result)
      on_result();
    return true;
  }

  void give_back(std::size_t cell, bool lost) override {
    open.insert(cell);
    back.push_back(std::to_string(cell) + (lost ? " lost" : " not begun"));
  }

  void fail(std::exception_ptr why) override {
    try {
      std::rethrow_exception(why);
    } catch (const std::exception& e) {
      failure = e.what();
    }
  }

  std::set<std::size_t> open;
  std::string trace;
  std::optional<std::size_t> bad_cell;
  std::map<std::size_t, std::vector<double>> shares;
  std::map<std::size_t, std::vector<std::string>> results;
  std::vector<std::string> back;
  std::string failure;
  std::function<void()> on_result;
};

} // namespace caisson::sim
