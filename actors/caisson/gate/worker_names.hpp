// The workers of a program, by the names that files give them.
#pragma once

#include <caisson/caf/caf.hpp>
#include <caisson/engine/supervision.hpp>
#include <caisson/gate/worker.hpp>
#include <caisson/gate/worker_kind.hpp>

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace caisson {

/// Which workers a file of gates may name, besides the actors registered with
/// the system (`publish_name`), and which kinds of workers it may describe. A
/// value; add all names and kinds before you pass it on.
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

  /// Files may describe workers of this kind themselves:
  /// `worker = { kind = "http", … }`.
  ///
  /// Throws `config_error`, and adds nothing, if there is a kind of that name.
  worker_names& add_kind(worker_kind kind);

  /// The kind of that name; null if there is none.
  [[nodiscard]] const worker_kind* find_kind(std::string_view name) const;

  /// The names of the kinds, in alphabetical order.
  [[nodiscard]] std::vector<std::string> kinds() const;

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
  std::map<std::string, worker_kind, std::less<>> kinds_;
};

} // namespace caisson
