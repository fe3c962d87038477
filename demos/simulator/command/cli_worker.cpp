#include <simulator/command/cli_worker.hpp>

#include <simulator/command/cli_parts.hpp>
#include <simulator/command/cli_remote.hpp>

#include <cstdint>

namespace caisson::sim {

namespace {

constexpr auto worker_footer = R"(Examples:
  caisson worker --listen 127.0.0.1:4001
  caisson worker --listen 10.0.0.7:4001 --certificate worker.pem \
    --key worker.key --ca authority.pem

and elsewhere, with the same program:
  caisson sweep shop.toml --worker 10.0.0.7:4001 --certificate sweep.pem \
    --key sweep.key --ca authority.pem

Executes runs for sweeps until it is ended by Ctrl-C or SIGTERM. The first line
of output says where it listens. It reads and writes no files but certificates.
Anyone who can reach the port can make it work, and without certificates can end
it with a single message: by default that is every user of this machine. With
certificates it is anyone who has one of the same authority; use them also on
127.0.0.1 if you do not trust all users. docs/simulator-commands.md has more.

Exit status: 0 ended by a signal, 2 bad usage or it cannot listen there.)";

} // namespace

void add_worker(CLI::App& app, worker_texts& texts) {
  auto worker = app.add_subcommand("worker",
                                   "Execute runs for sweeps on other machines");
  worker
    ->add_option("--listen", texts.listen,
                 "Listen here; port 0 is any free one (default: 127.0.0.1:0)")
    ->type_name("HOST:PORT")
    ->check(not_empty());
  worker
    ->add_option("--jobs", texts.jobs,
                 "Execute up to N runs at a time, each on a core (1 to 256;\n"
                 "default: the number of cores)")
    ->type_name("N")
    ->check(not_empty());
  add_certificate_options(*worker, texts.args.certificates);
  worker->add_flag("--insecure", texts.args.insecure,
                   "Listen for other machines without certificates: whoever\n"
                   "reaches the port can make this machine work");
  worker->footer(worker_footer);
}

worker_arguments worker_arguments_of(const worker_texts& texts) {
  auto out = texts.args;
  out.listen = address_in("--listen", texts.listen, 0);
  if (!texts.jobs.empty())
    out.jobs = number_in<std::uint32_t>("--jobs", texts.jobs, 1, 256);
  return out;
}

} // namespace caisson::sim
