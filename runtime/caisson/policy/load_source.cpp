#include <caisson/policy/load_source.hpp>

#include <caisson/base/scoped_objects.hpp>
#include <caisson/base/system_number.hpp>

#include <chrono>
#include <optional>
#include <utility>

namespace caisson {

namespace {

class load_of_process final : public load_source {
public:
  // The clocks of callers can differ, but not what there is to be read.
  load_reading read(time_point, duration max_age) override {
    std::lock_guard guard{mutex_};
    auto now = std::chrono::steady_clock::now();
    if (!read_at_ || now >= time_after(*read_at_, max_age)) {
      last_ = files_.read(now);
      read_at_ = now;
    }
    return last_;
  }

private:
  std::mutex mutex_;
  system_load files_;
  std::optional<time_point> read_at_;
  load_reading last_;
};

} // namespace

std::shared_ptr<load_source> process_load() {
  static const std::shared_ptr<load_source>
    one = std::make_shared<load_of_process>();
  return one;
}

std::shared_ptr<default_load_source>
default_load_source::of(caf::actor_system* sys) {
  static detail::scoped_objects<default_load_source> known;
  return known.take({.system = detail::number_of(*sys)}, {},
                    [] { return std::make_shared<default_load_source>(); });
}

void default_load_source::set(std::shared_ptr<load_source> x) {
  std::lock_guard guard{mutex_};
  source_ = std::move(x);
}

std::shared_ptr<load_source> default_load_source::source() const {
  std::lock_guard guard{mutex_};
  return source_;
}

} // namespace caisson
