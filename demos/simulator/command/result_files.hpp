// The files that results of many runs go to.
#pragma once

#include <simulator/play/interruption.hpp>
#include <simulator/play/output_file.hpp>

#include <optional>
#include <ostream>
#include <string>

namespace caisson::sim {

/// Paths, `-` for standard output, empty for none.
struct result_paths {
  std::string json;
  std::string csv;
  std::string html;
};

/// Opened before anything is run, so that one that cannot be written costs
/// no time.
class result_files {
public:
  /// Throws `config_error` if one cannot be written.
  result_files(const result_paths& paths, std::ostream& out);

  [[nodiscard]] bool takes_stdout() const noexcept { return takes_stdout_; }

  /// Each gets its stream, if its file is wanted.
  template <class Json, class Csv, class Html>
  void write(const Json& json, const Csv& csv, const Html& html) {
    auto direct = [](const auto& file) { return file && file->is_direct(); };
    ends_at_once now{direct(json_) || direct(csv_) || direct(html_)};
    if (json_)
      json(json_->stream());
    if (csv_)
      csv(csv_->stream());
    if (html_)
      html(html_->stream());
    commit();
  }

private:
  void commit();

  bool takes_stdout_;
  std::optional<output_file> json_;
  std::optional<output_file> csv_;
  std::optional<output_file> html_;
};

/// Where results of single runs are kept: `chosen`, or else beside the first
/// regular file; empty if nothing is kept.
[[nodiscard]] std::string state_directory(const std::string& chosen,
                                          const result_paths& paths);

} // namespace caisson::sim
