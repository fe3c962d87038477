// A kind of worker whose settings a file of gates gives.
#pragma once

#include <caisson/engine/supervision.hpp>
#include <caisson/gate/worker.hpp>
#include <caisson/settings/settings.hpp>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace caisson {

namespace detail {

/// The settings of one worker of a kind, behind which is a config struct.
class worker_settings {
public:
  virtual ~worker_settings() = default;
  virtual void visit(field_visitor& v) = 0;
  virtual void check(const setting_path& path, problems& out) const = 0;
  [[nodiscard]] virtual std::vector<field_row> rows() const = 0;
  [[nodiscard]] virtual worker make(const supervision_config& s) const = 0;
};

template <class Config>
class typed_worker_settings final : public worker_settings {
public:
  using maker = std::function<worker(const Config&, const supervision_config&)>;

  explicit typed_worker_settings(maker make) : make_(std::move(make)) {}

  void visit(field_visitor& v) override { describe(v, config_); }
  void check(const setting_path& path, problems& out) const override {
    check_relations(config_, path, out);
  }
  [[nodiscard]] std::vector<field_row> rows() const override {
    return rows_of(config_);
  }
  [[nodiscard]] worker make(const supervision_config& s) const override {
    return make_(config_, s);
  }

private:
  Config config_;
  maker make_;
};

} // namespace detail

/// What a file may say of a kind of worker besides its settings.
struct worker_kind_traits {
  /// The fields, which have to be texts, that no report and no event shows. A
  /// file may leave each of them to an environment variable or to another file:
  /// `password_env` and `password_file` in place of `password`.
  std::vector<std::string> secrets = {};

  /// The settings of supervision that hold where the file says nothing.
  supervision_config supervision = {};
};

/// Workers that a file of gates describes itself:
///
///     worker = { kind = "http", url = "https://catalog", max_waiting = 8 }
///
/// A program adds the kinds whose libraries it links, each in a line, such as
/// `workers.add_kind(http_worker_kind())`. A value.
class worker_kind {
public:
  /// A kind whose settings are those of `Config`, which has a `describe`, and
  /// perhaps a `check`. `make` is called with valid settings when a gate is
  /// spawned, and when a reload brings other ones; it may throw: the file is
  /// refused then. The gate must be the one that makes the worker
  /// (`worker::supervised`).
  ///
  ///     worker_kind::of<ledger_config>("ledger", ledger_worker,
  ///                                    {.secrets = {"token"}});
  ///
  /// Throws `config_error` if the name is not made of letters, digits, `_` and
  /// `-`, if there is no `make`, if `Config` has a field whose name a file uses
  /// for something else (`kind`, `group`, `rank`, `supervision`), if a secret
  /// is no text of `Config`, or if the supervision is not valid.
  template <class Config>
  [[nodiscard]] static worker_kind
  of(std::string name,
     typename detail::typed_worker_settings<Config>::maker make,
     worker_kind_traits traits = {}) {
    auto is_empty = !make;
    return {std::move(name),
            [make = std::move(make)]() -> std::shared_ptr<settings_type> {
              return std::make_shared<detail::typed_worker_settings<Config>>(
                make);
            },
            std::move(traits), is_empty};
  }

  /// What files call it.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

  /// What is special about its settings.
  [[nodiscard]] const worker_kind_traits& traits() const noexcept {
    return traits_;
  }

  /// Its settings, with their defaults.
  [[nodiscard]] std::vector<field_row> rows() const { return fresh_()->rows(); }

  /// The settings of one worker, as yet the defaults. For readers of files.
  [[nodiscard]] std::shared_ptr<detail::worker_settings> fresh() const {
    return fresh_();
  }

private:
  using settings_type = detail::worker_settings;
  using source = std::function<std::shared_ptr<settings_type>()>;

  worker_kind(std::string name, source fresh, worker_kind_traits traits,
              bool is_empty);

  std::string name_;
  source fresh_;
  worker_kind_traits traits_;
};

} // namespace caisson
