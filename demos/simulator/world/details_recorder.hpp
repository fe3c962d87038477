// Records calls by route, and chosen requests.
#pragma once

#include <simulator/world/ending.hpp>
#include <simulator/world/run_details.hpp>
#include <simulator/world/sample_recorder.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace caisson::sim {

struct work;

/// Only there if somebody asked for it. It draws nothing and sends nothing, so
/// that a run is the same with and without it. Memory is bounded by the
/// settings, but for the rows of edges.
class details_recorder {
public:
  using caller = sample_caller;

  /// Records samples, or a trace, or both.
  details_recorder(std::size_t routes,
                   const std::optional<sample_settings>& samples,
                   const std::optional<trace_settings>& trace);

  // -- requests ---------------------------------------------------------------

  void request_begun(std::uint64_t number, std::size_t load, duration at);
  void request_over(std::uint64_t number, ending how, duration at);

  // -- calls, by the caller's number of them ----------------------------------

  /// A client has made a call.
  void called(caller from, std::uint64_t call, std::uint32_t route,
              const work& what, duration at);
  /// The job `order` of a service has made a call.
  void called_for(std::size_t service, std::uint64_t order, std::uint64_t call,
                  std::uint32_t route, const work& what, duration at);
  void call_over(caller from, std::uint64_t call, std::uint32_t route,
                 ending how, duration at);
  /// Its caller does not wait for it any more.
  void call_given_up(caller from, std::uint64_t call, duration at);

  // -- the network, by the link's number of calls -----------------------------

  /// The gate of the route has let an attempt go.
  void sent(std::uint64_t link, std::uint64_t call, const work& what,
            duration at);
  /// Its answer is back at that gate.
  void answered(std::uint64_t link, std::uint64_t call, duration at);

  // -- attempts, by service and the order of the job --------------------------

  void entered(std::size_t service, std::uint64_t order, const work& what,
               duration at);
  /// Found the queue full or the service down.
  void rejected(std::string_view how, const work& what, duration at);
  void begun(std::size_t service, std::uint64_t order, duration at);
  void left(std::size_t service, std::uint64_t order, std::string_view how,
            duration at);

  // -- gates ------------------------------------------------------------------

  /// By index of the breaker.
  void breaker_changed(std::size_t breaker, const std::string& state,
                       duration at);

  // -- results ----------------------------------------------------------------

  void end_second();
  void end_row();
  /// What was recorded, which is not here any more then.
  [[nodiscard]] run_details take(duration end);

private:
  /// Calls `f` with each recorder of requests.
  template <class F>
  void for_each(F f);

  std::vector<edge_row> now_;
  std::vector<std::vector<edge_row>> edges_;
  std::optional<sample_recorder> samples_;
  std::optional<sample_recorder> trace_;
  trace_settings trace_settings_;
  std::vector<breaker_change> breakers_;
};

} // namespace caisson::sim
