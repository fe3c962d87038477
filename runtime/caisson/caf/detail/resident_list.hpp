// The part of hooks.hpp that knows what lives in the actors of a system in
// virtual time. Included by resident.hpp only.
#pragma once

#include <caisson/base/scoped_objects.hpp>
#include <caisson/base/system_number.hpp>

#include <memory>
#include <utility>
#include <vector>

namespace caisson::portable {

class resident;

/// The residents in a system in virtual time, as long as somebody holds the
/// list.
class resident_list {
public:
  static std::shared_ptr<resident_list> of(caf::actor_system& sys) {
    static caisson::detail::scoped_objects<resident_list> all;
    return all.take({caisson::detail::number_of(sys)}, {},
                    [] { return std::make_shared<resident_list>(); });
  }

  void add(std::weak_ptr<resident> x) {
    if (known_.size() == known_.capacity())
      std::erase_if(known_, [](const auto& y) { return y.expired(); });
    known_.push_back(std::move(x));
  }

  void end_all();

private:
  std::vector<std::weak_ptr<resident>> known_;
};

} // namespace caisson::portable
