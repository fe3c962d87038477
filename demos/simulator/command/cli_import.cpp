#include <simulator/command/cli_import.hpp>

#include <simulator/command/cli_parts.hpp>

#include <algorithm>
#include <array>
#include <string_view>

namespace caisson::sim {

namespace {

constexpr auto import_footer = R"(Examples:
  caisson import traces.json --out shop.toml
  caisson import --sampling 0.01 day1.jsonl day2.jsonl > shop.toml
  caisson import --arm bare spans.json > bare.toml
  zcat traces.json.gz | caisson import /dev/stdin > shop.toml

Reads spans in OTLP's JSON form (one document, or one on each line, as
OpenTelemetry's collector writes them) and in Jaeger's. The scenario has their
services, operations, calls, times and load. What traces do not contain, such as
the number of servers, is listed at its top; read it before you use the
scenario. docs/simulator-commands.md has more.

Exit status: 0 success, 2 the input is wrong or output cannot be written,
3 an internal error, 130 interrupted.)";

// The number of a text among others.
template <std::size_t N>
std::size_t choice_in(const std::string& option, const std::string& text,
                      const std::array<std::string_view, N>& known) {
  auto found = std::ranges::find(known, text);
  if (found == known.end())
    throw CLI::ValidationError{option,
                               detail::not_one_of(detail::quoted(text), known)};
  return static_cast<std::size_t>(found - known.begin());
}

} // namespace

void add_import(CLI::App& app, import_texts& texts) {
  auto to = app.add_subcommand("import", "Make a scenario from real traces");
  to->add_option("FILE", texts.args.files, "Files with traces (JSON)")
    ->required()
    ->check(not_empty());
  auto add = [&](const std::string& name, std::string& into,
                 const std::string& type, const std::string& what) {
    to->add_option(name, into, what)->type_name(type)->check(not_empty());
  };
  add("--out", texts.args.out, "FILE",
      "Write the scenario here (default: -, which is stdout)");
  add("--format", texts.format, "NAME", "auto, otlp or jaeger (default: auto)");
  add("--times", texts.times, "NAME",
      "How times are described: fitted, by a formula;\n"
      "empirical, by values; best, by values where no formula\n"
      "fits (default: best)");
  add("--sampling", texts.sampling, "SHARE",
      "The share of the requests that have traces (0.000001\n"
      "to 1; default: 1); rates are divided by it");
  add("--arm", texts.args.arm, "NAME",
      "Use the spans of this arm, if caisson run --spans wrote\n"
      "the file with several");
  to->add_flag("--no-progress", texts.args.no_progress, "Draw no progress bar");
  to->footer(import_footer);
}

import_arguments import_arguments_of(const import_texts& t) {
  auto out = t.args;
  if (!t.format.empty())
    out.format = std::array{span_format::any, span_format::otlp,
                            span_format::jaeger}[choice_in(
      "--format", t.format,
      std::array<std::string_view, 3>{"auto", "otlp", "jaeger"})];
  if (!t.times.empty())
    out.times = std::array{times_kind::best, times_kind::fitted,
                           times_kind::empirical}[choice_in(
      "--times", t.times,
      std::array<std::string_view, 3>{"best", "fitted", "empirical"})];
  if (!t.sampling.empty())
    out.sampling = number_in<double>("--sampling", t.sampling, 1e-6, 1.0);
  return out;
}

} // namespace caisson::sim
