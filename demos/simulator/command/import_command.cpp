#include <simulator/command/import_command.hpp>

#include <simulator/import/importer.hpp>
#include <simulator/play/command_texts.hpp>
#include <simulator/play/interruption.hpp>
#include <simulator/play/output_file.hpp>
#include <simulator/play/progress.hpp>

#include <caisson/settings/problem.hpp>
#include <caisson/settings/settings_text.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <optional>
#include <ostream>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace caisson::sim {

namespace fs = std::filesystem;

namespace {

// How much of the time reading takes, about.
constexpr double share_of_reading = 0.7;

[[noreturn]] void refuse_input(const std::string& file, std::string message) {
  throw config_error{{{problem_kind::syntax, {}, std::move(message), file}}};
}

std::ifstream opened(const std::string& file) {
  std::error_code ignored;
  if (fs::is_directory(file, ignored))
    refuse_input(file, "is a directory");
  errno = 0;
  std::ifstream in{file, std::ios::binary};
  if (!in)
    refuse_input(file,
                 "cannot be read: " + std::generic_category().message(errno));
  return in;
}

// 0 if that is not known.
std::uint64_t size_of(const std::string& file) {
  std::error_code failed;
  auto size = fs::file_size(file, failed);
  return failed ? 0 : size;
}

class import_run {
public:
  import_run(const import_arguments& args, std::ostream& err,
             const command_parts& parts)
    : args_(args), parts_(parts),
      bar_(err, parts.terminal && !args.no_progress, parts.columns) {
    for (const auto& file : args.files) {
      // A pipe can be opened only once.
      std::error_code ignored;
      if (!fs::exists(file, ignored) || fs::is_regular_file(file, ignored)
          || fs::is_directory(file, ignored))
        static_cast<void>(opened(file));
      whole_ += size_of(file);
    }
  }

  /// Nothing if it was interrupted.
  std::optional<import_result> make() {
    span_set spans;
    if (!args_.arm.empty())
      spans.only_arm = args_.arm;
    for (; file_ < args_.files.size(); ++file_)
      if (!read(spans))
        return std::nullopt;
    file_ = args_.files.size() - 1;
    check_arms(spans);
    if (spans.spans.empty())
      refuse_input(detail::listed_names(args_.files), nothing_in(spans));
    // Nothing is written yet.
    ends_at_once now;
    if (stopped())
      return std::nullopt;
    auto out = scenario_from_spans(
      std::move(spans), {args_.files, args_.times, args_.sampling},
      [&](double share) {
        show(share_of_reading + (1 - share_of_reading) * share);
      });
    bar_.clear();
    return stopped() ? std::nullopt : std::optional{std::move(out)};
  }

private:
  bool read(span_set& into) {
    const auto& file = args_.files[file_];
    std::error_code ignored;
    ends_at_once now{!fs::is_regular_file(file, ignored)};
    auto in = opened(file);
    auto before = read_;
    return read_spans(in, file, args_.format, into, [&](std::uint64_t bytes) {
      read_ = before + bytes;
      if (whole_ > 0)
        show(share_of_reading * static_cast<double>(read_)
             / static_cast<double>(whole_));
      return !stopped();
    });
  }

  // Arms are the same world run several times: their loads must not be added
  // up.
  void check_arms(const span_set& spans) const {
    std::vector<std::string_view> names;
    for (const auto& [name, n] : spans.arms)
      names.push_back(name);
    if (!spans.only_arm) {
      if (names.size() > 1)
        refuse_input(detail::listed_names(args_.files),
                     fmt::format("there are {} arms, each of which is a run of "
                                 "its own: choose one with --arm, of: {}",
                                 names.size(), detail::listed(names)));
      return;
    }
    if (names.empty())
      refuse_option(
        problem_kind::unknown, "--arm",
        "the spans belong to no arm: caisson run --spans did not write them");
    if (!spans.arms.contains(*spans.only_arm))
      refuse_option(problem_kind::unknown, "--arm",
                    detail::not_one_of(detail::quoted(*spans.only_arm), names));
  }

  static std::string nothing_in(const span_set& spans) {
    if (spans.without_ids + spans.without_times == 0)
      return "no spans were found";
    return fmt::format("no usable spans were found: {} without ids, "
                       "{} without times",
                       spans.without_ids, spans.without_times);
  }

  [[nodiscard]] bool stopped() const { return parts_.stop && *parts_.stop; }

  void show(double share) {
    bar_.show({args_.files[file_], file_, args_.files.size(), std::nullopt},
              share);
  }

  const import_arguments& args_;
  const command_parts& parts_;
  progress_bar bar_;
  std::size_t file_ = 0;
  std::uint64_t whole_ = 0;
  std::uint64_t read_ = 0;
};

} // namespace

status import_command(const import_arguments& args, std::ostream& out,
                      std::ostream& err, const command_parts& parts) {
  std::optional<signal_watch> watch;
  if (parts.catch_signals)
    watch.emplace();
  import_run run{args, err, parts};
  output_file target{args.out, out};
  auto imported = run.make();
  if (!imported) {
    err << "caisson: interrupted: nothing was written\n";
    return status::interrupted;
  }
  ends_at_once now{target.is_direct()};
  target.stream() << imported->toml;
  target.commit();
  for (const auto& note : imported->notes)
    err << "caisson: " << detail::printable(note) << '\n';
  auto& where = args.out == "-" ? err : out;
  where << detail::printable(args.out == "-" ? "caisson" : args.out) << ": "
        << imported->summary << '\n';
  return status::good;
}

} // namespace caisson::sim
