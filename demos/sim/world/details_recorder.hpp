// Records calls by route, and sample requests.
#pragma once

#include <sim/world/ending.hpp>
#include <sim/world/run_details.hpp>

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson::sim {

struct work;

/// Only there if somebody asked for it. It draws nothing and sends nothing, so
/// that a run is the same with and without it. Memory is bounded by the
/// settings, but for the rows of edges.
class details_recorder {
public:
  /// Who has made a call: a load or a service, by its index.
  struct caller {
    bool client = false;
    std::size_t index = 0;

    friend auto operator<=>(const caller&, const caller&) = default;
  };

  details_recorder(std::size_t routes, const sample_settings& settings)
    : settings_(settings), now_(routes) {}

  // -- requests ---------------------------------------------------------------

  void request_begun(std::uint64_t number, std::size_t load, duration at);
  void request_over(std::uint64_t number, ending how, duration at);

  // -- calls, by the caller's number of them ----------------------------------

  /// A client has made a call.
  void called(caller who, std::uint64_t call, std::uint32_t route,
              const work& what, duration at);
  /// The job `order` of a service has made a call.
  void called_for(std::size_t service, std::uint64_t order, std::uint64_t call,
                  std::uint32_t route, const work& what, duration at);
  void call_over(caller who, std::uint64_t call, std::uint32_t route,
                 ending how, duration at);
  /// Its caller does not wait for it any more.
  void call_given_up(caller who, std::uint64_t call, duration at);

  // -- attempts, by service and the order of the job --------------------------

  void entered(std::size_t service, std::uint64_t order, const work& what,
               duration at);
  /// Found the queue full or the service down.
  void turned_away(std::string_view how, const work& what, duration at);
  void begun(std::size_t service, std::uint64_t order, duration at);
  void left(std::size_t service, std::uint64_t order, std::string_view how,
            duration at);

  // -- results ----------------------------------------------------------------

  void end_second();
  [[nodiscard]] const run_details& details() const noexcept { return all_; }

private:
  using job_id = std::pair<std::size_t, std::uint64_t>;

  // A call of a sample.
  struct place {
    std::size_t sample = 0;
    std::size_t call = 0;
  };
  struct work_place {
    place at;
    std::size_t work = 0;
  };

  void add_call(std::size_t sample, std::size_t parent, caller who,
                std::uint64_t call, const work& what, duration at);
  void end_call(caller who, std::uint64_t call, std::string_view how,
                duration at);
  sample_work* add_work(const work& what, duration at, work_place& into);
  [[nodiscard]] sample_call& call_at(const place& p) {
    return all_.samples[p.sample].calls[p.call];
  }

  sample_settings settings_;
  std::vector<edge_second> now_;
  run_details all_;
  std::uint32_t taken_ = 0;
  /// By number of the request.
  std::map<std::uint64_t, std::size_t> samples_;
  std::map<std::pair<caller, std::uint64_t>, place> calls_;
  /// The latest call of a sample with this key.
  std::map<std::pair<std::size_t, std::uint64_t>, std::size_t> by_key_;
  std::map<job_id, work_place> works_;
};

} // namespace caisson::sim
