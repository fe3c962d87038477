// The workers of a program, by the names that files give them.
#pragma once

#include <caisson/caf/caf.hpp>
#include <caisson/engine/supervision.hpp>
#include <caisson/gate/worker.hpp>

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace caisson {

/// Which workers a file of gates may name, besides the actors registered with
/// the system (`publish_name`). A value; add all names before you pass it on.
class worker_names {
public:
  /// Makes the worker of one gate, supervised with the settings that the file
  /// gives. May throw: the gate then cannot be made.
  using maker = std::function<worker(const supervision_config&)>;

  /// Each gate spawns and supervises its own worker by `make`.
  worker_names& add_factory(std::string name, worker_factory make);

  /// All gates of that name share `behind`, such as an existing actor declared
  /// with `takes_calls()`. The settings of supervision are those that it has.
  worker_names& add(std::string name, worker behind);

  /// For workers that are more than a factory:
  ///
  ///     names.add_maker("ledger", [](const supervision_config& s) {
  ///       return worker::supervised(connect, s).on_own_thread().takes_calls();
  ///     });
  ///
  /// `base`: the settings of supervision that hold where the file says nothing,
  /// such as `patient_supervision()` for a server that may be away for long.
  ///
  /// All three throw `config_error`, and add nothing, if the name is empty,
  /// `none`, or taken, or `base` is not valid.
  worker_names& add_maker(std::string name, maker make,
                          const supervision_config& base = {});

  /// What makes the workers of that name; null if there is none.
  [[nodiscard]] const maker* find(std::string_view name) const;

  /// What holds for these workers where a file says nothing.
  [[nodiscard]] supervision_config supervision_of(std::string_view name) const;

  /// In alphabetical order.
  [[nodiscard]] std::vector<std::string> names() const;

private:
  struct entry {
    maker make;
    supervision_config base;
  };

  std::map<std::string, entry, std::less<>> makers_;
};

} // namespace caisson
