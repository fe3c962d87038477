// Records chosen requests with all that is done for them.
#pragma once

#include <simulator/world/ending.hpp>
#include <simulator/world/run_details.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson::sim {

struct work;

/// Who has made a call: a load or a service, by its index.
struct sample_caller {
  bool client = false;
  std::size_t index = 0;

  friend auto operator<=>(const sample_caller&, const sample_caller&) = default;
};

/// Keeps some requests of a run. What is not about one of them costs a look-up.
/// Memory is bounded by the settings.
class sample_recorder {
public:
  /// Keeps the first requests of some seconds.
  explicit sample_recorder(const sample_settings& settings);
  /// Keeps all requests of a time, with their trips through the network.
  explicit sample_recorder(const trace_settings& settings);

  // -- requests ---------------------------------------------------------------

  void request_begun(std::uint64_t number, std::size_t load, duration at);
  void request_over(std::uint64_t number, ending how, duration at);

  // -- calls, by the caller's number of them ----------------------------------

  void called(sample_caller from, std::uint64_t call, std::uint32_t route,
              const work& what, duration at);
  void called_for(std::size_t service, std::uint64_t order, std::uint64_t call,
                  std::uint32_t route, const work& what, duration at);
  void call_over(sample_caller from, std::uint64_t call, std::string_view how,
                 duration at);

  // -- trips, by link and its number of them ----------------------------------

  void sent(std::uint64_t link, std::uint64_t call, const work& what,
            duration at);
  void answered(std::uint64_t link, std::uint64_t call, duration at);

  // -- attempts, by service and the order of the job --------------------------

  void entered(std::size_t service, std::uint64_t order, const work& what,
               duration at);
  void rejected(std::string_view how, const work& what, duration at);
  void begun(std::size_t service, std::uint64_t order, duration at);
  void left(std::size_t service, std::uint64_t order, std::string_view how,
            duration at);

  // -- results ----------------------------------------------------------------

  void end_second();
  /// What was kept. Nothing is recorded any more then.
  [[nodiscard]] std::vector<sample_request> take_samples();
  [[nodiscard]] std::uint64_t left_out() const noexcept { return left_out_; }

private:
  using job_id = std::pair<std::size_t, std::uint64_t>;
  using trip_id = std::pair<std::uint64_t, std::uint64_t>;

  struct call_place {
    std::size_t sample = 0;
    std::size_t call = 0;
  };
  // One of a call's attempts or trips.
  struct part_place {
    call_place at;
    std::size_t part = 0;
  };

  [[nodiscard]] bool chosen(duration at);
  [[nodiscard]] bool in_time(duration at);
  bool room_in(sample_request& s, std::size_t used, std::size_t most);
  void add_call(std::size_t sample, std::size_t parent, sample_caller from,
                std::uint64_t call, std::uint32_t route, const work& what,
                duration at);
  [[nodiscard]] std::optional<call_place> call_of(const work& what) const;
  sample_work* add_work(const work& what, duration at, part_place& into);
  [[nodiscard]] sample_call& call_at(const call_place& p) {
    return all_[p.sample].calls[p.call];
  }

  sample_settings settings_;
  std::optional<trace_settings> trace_;
  std::size_t most_ = std::numeric_limits<std::size_t>::max();

  std::vector<sample_request> all_;
  std::uint64_t left_out_ = 0;
  /// Of all kinds together.
  std::size_t kept_ = 0;
  std::uint32_t second_ = 0;
  std::uint32_t taken_ = 0;
  /// By number of the request.
  std::map<std::uint64_t, std::size_t> by_number_;
  std::map<std::pair<sample_caller, std::uint64_t>, call_place> calls_;
  /// The latest call of a sample with this key.
  std::map<std::pair<std::size_t, std::uint64_t>, std::size_t> by_key_;
  std::map<job_id, part_place> works_;
  std::map<trip_id, part_place> trips_;
};

} // namespace caisson::sim
