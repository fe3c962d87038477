#include <caisson/adapters/redis/client.hpp>

#include <caisson/adapters/detail/tls_context.hpp>
#include <caisson/adapters/redis/detail/command_size.hpp>
#include <caisson/adapters/redis/detail/reply_size.hpp>
#include <caisson/adapters/redis/detail/stream.hpp>

#include <fmt/format.h>
#include <hiredis.h>

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace caisson {

namespace {

using steady = std::chrono::steady_clock;

struct redis_failure {
  transport_errc code;
  std::string text = {};
};

using redis_outcome = std::variant<redis_reply, redis_failure>;

struct free_context {
  void operator()(redisContext* x) const noexcept { redisFree(x); }
};

struct free_reply {
  void operator()(void* x) const noexcept { freeReplyObject(x); }
};

bool is_path(const std::string& host) {
  return host.starts_with('/');
}

redis_reply converted(const redisReply& x) {
  redis_reply result;
  switch (x.type) {
    case REDIS_REPLY_INTEGER:
      result.kind = redis_kind::integer;
      result.integer = x.integer;
      break;
    case REDIS_REPLY_STATUS:
      result.kind = redis_kind::status;
      break;
    case REDIS_REPLY_ERROR:
      result.kind = redis_kind::error;
      break;
    case REDIS_REPLY_STRING:
      result.kind = redis_kind::text;
      break;
    case REDIS_REPLY_ARRAY:
      result.kind = redis_kind::array;
      result.items.reserve(x.elements);
      for (std::size_t i = 0; i < x.elements; ++i)
        result.items.push_back(converted(*x.element[i]));
      break;
    default:
      break;
  }
  if (x.str)
    result.text.assign(x.str, static_cast<std::size_t>(x.len));
  return result;
}

// hiredis makes the connection, writes commands down and reads replies; what is
// sent and received goes through a stream of its own, so that deadlines hold, a
// server that goes away does not raise SIGPIPE, and there is TLS: hiredis 0.14
// has none, and later versions do not compare the name of the server.
class redis_session final : public blocking_session {
public:
  explicit redis_session(redis_client_config c) : config_(std::move(c)) {}

  void reset() noexcept override {
    stream_.close();
    context_.reset();
  }

  /// Throws if there is no server.
  void connect_first() {
    auto until = steady::now() + config_.connect_timeout;
    if (auto failure = connect(until))
      throw std::runtime_error{failure->text};
  }

  result run(const job& x) override {
    auto* command = portable::get_if<redis_command>(x.content);
    if (!command)
      return {caf::make_message(make_error(caf::sec::unexpected_message))};
    if (command->args.empty() || is_of_connection(*command))
      return failed({transport_errc::bad_request,
                     "no command, or one that concerns the connection"});
    if (steady::now() >= x.until)
      return failed({transport_errc::busy, "no time is left"});
    if (context_ && is_stale())
      reset();
    if (!context_)
      if (auto failure = connect(x.until))
        return {message_of(*failure), was_cut_short(x.until)};
    auto outcome = exchange(command->args, x.until);
    if (auto* failure = std::get_if<redis_failure>(&outcome)) {
      reset();
      return failed(*failure);
    }
    auto& reply = std::get<redis_reply>(outcome);
    if (reply.kind == redis_kind::error && reply.text.starts_with("READONLY"))
      reset();
    return {caf::make_message(std::move(reply))};
  }

private:
  // Whether the call had too little time, which says nothing about the server.
  [[nodiscard]] bool was_cut_short(time_point until) {
    return signal().interrupted() || steady::now() >= until;
  }

  static caf::message message_of(const redis_failure& x) {
    return caf::make_message(make_error(x.code, x.text));
  }

  static result failed(const redis_failure& x) { return {message_of(x)}; }

  // Nothing is expected now: what has come is the end, or nobody's.
  [[nodiscard]] bool is_stale() {
    const auto* x = context_->reader;
    return x->pos < x->len || !stream_.is_quiet();
  }

  // -- the connection ---------------------------------------------------------

  std::optional<redis_failure> connect(time_point until) {
    until = std::min<time_point>(until,
                                 steady::now() + config_.connect_timeout);
    auto path = is_path(config_.host);
    reset();
    context_.reset(
      path ? redisConnectUnixNonBlock(config_.host.c_str())
           : redisConnectNonBlock(config_.host.c_str(), config_.port));
    auto failure = opened(until);
    if (!failure && config_.tls)
      failure = secured(until);
    if (!failure)
      failure = set_up_session(until);
    if (failure)
      reset();
    return failure;
  }

  std::optional<redis_failure> opened(time_point until) {
    if (!context_)
      return not_connected("no memory");
    if (context_->err != 0)
      return not_connected(context_->errstr);
    auto came = signal().wait(context_->fd, POLLOUT, until);
    if (came != interruption::wake::ready)
      return not_connected("connect timed out");
    auto error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(context_->fd, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0)
      return not_connected(std::strerror(error));
    ::fcntl(context_->fd, F_SETFD, FD_CLOEXEC);
    auto on = 1;
    ::setsockopt(context_->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    stream_.open(context_->fd);
    return std::nullopt;
  }

  // The server is verified before anything else is sent, a password above all.
  std::optional<redis_failure> secured(time_point until) {
    auto problem = stream_.start_tls(detail::tls_settings_of(config_),
                                     config_.host);
    if (!problem.empty())
      return not_connected(std::move(problem));
    for (;;) {
      auto x = stream_.handshake();
      if (x.size > 0)
        return std::nullopt;
      if (x.events == 0)
        return not_connected(std::move(x.problem));
      if (wait(x.events, until))
        return not_connected("no TLS handshake in time");
    }
  }

  // Who, and which database.
  std::optional<redis_failure> set_up_session(time_point until) {
    std::vector<std::vector<std::string>> commands;
    if (!config_.password.empty()) {
      auto& auth = commands.emplace_back(std::vector<std::string>{"AUTH"});
      if (!config_.user.empty())
        auth.push_back(config_.user);
      auth.push_back(config_.password);
    }
    if (config_.database != 0)
      commands.push_back({"SELECT", std::to_string(config_.database)});
    for (const auto& args : commands) {
      auto outcome = exchange(args, until);
      if (auto* failure = std::get_if<redis_failure>(&outcome))
        return not_connected(failure->text);
      auto& reply = std::get<redis_reply>(outcome);
      if (reply.kind == redis_kind::error)
        return not_connected(args.front() == "AUTH" ? text_of_login(reply.text)
                                                    : reply.text);
    }
    return commands.empty() && config_.tls ? answers_ping(until) : std::nullopt;
  }

  // A server that does not know AUTH repeats what it was sent: the password.
  [[nodiscard]] std::string text_of_login(const std::string& text) const {
    for (std::string_view harmless :
         {"WRONGPASS ", "NOAUTH ", "DENIED ", "LOADING ", "MASTERDOWN ",
          "ERR max number of clients"})
      if (text.starts_with(harmless)
          && text.find(config_.password) == text.npos)
        return text;
    return refused_login(text);
  }

  static std::string refused_login(std::string_view text) {
    constexpr std::size_t longest_code = 16;
    constexpr auto letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    auto code = text.substr(0, text.find(' '));
    if (code.empty() || code.size() > longest_code
        || code.find_first_not_of(letters) != code.npos)
      code = "an error";
    return fmt::format("the server answers AUTH with {}: check user and "
                       "password, and that it requires one",
                       code);
  }

  // With TLS 1.3 a server that refuses the client's certificate says so only
  // after the handshake: by then no command must have been sent. The same goes
  // for one that has too many clients, or does not want this one. Commands can
  // have those errors, too, that say nothing of the connection.
  std::optional<redis_failure> answers_ping(time_point until) {
    auto outcome = exchange({"PING"}, until);
    if (auto* failure = std::get_if<redis_failure>(&outcome))
      return not_connected(failure->text);
    const auto& reply = std::get<redis_reply>(outcome);
    if (reply.kind != redis_kind::error)
      return std::nullopt;
    for (std::string_view code :
         {"NOAUTH", "NOPERM", "LOADING", "BUSY", "MASTERDOWN"})
      if (reply.text.starts_with(code))
        return std::nullopt;
    return not_connected(reply.text);
  }

  static redis_failure not_connected(std::string why) {
    return {transport_errc::not_connected,
            why.empty() ? "no answer in time" : std::move(why)};
  }

  // -- one command ------------------------------------------------------------

  redis_outcome exchange(const std::vector<std::string>& args,
                         time_point until) {
    if (auto failure = send(args, until))
      return *failure;
    return receive(until);
  }

  std::optional<redis_failure> send(const std::vector<std::string>& args,
                                    time_point until) {
    std::vector<const char*> words;
    std::vector<std::size_t> lengths;
    for (const auto& x : args) {
      words.push_back(x.data());
      lengths.push_back(x.size());
    }
    if (!detail::fits_in_redis_command(lengths))
      return redis_failure{transport_errc::bad_request, "it is too large"};
    char* text = nullptr;
    auto size = redisFormatCommandArgv(&text, static_cast<int>(args.size()),
                                       words.data(), lengths.data());
    if (size <= 0)
      return redis_failure{transport_errc::bad_request, "it is too large"};
    std::unique_ptr<char, void (*)(char*)> owner{text, redisFreeCommand};
    for (std::size_t done = 0; done < static_cast<std::size_t>(size);) {
      auto x = stream_.write(text + done,
                             static_cast<std::size_t>(size) - done);
      done += x.size;
      if (x.size > 0)
        continue;
      if (x.events == 0)
        return redis_failure{done == 0 ? transport_errc::not_connected
                                       : transport_errc::lost,
                             std::move(x.problem)};
      if (auto failure = wait(x.events, until))
        return failure;
    }
    return std::nullopt;
  }

  redis_outcome receive(time_point until) {
    // As large as a record of TLS.
    char part[16'384];
    short events = POLLIN;
    for (detail::redis_reply_size size;;) {
      void* reply = nullptr;
      if (redisReaderGetReply(context_->reader, &reply) != REDIS_OK)
        return redis_failure{transport_errc::garbled, context_->reader->errstr};
      if (reply) {
        std::unique_ptr<void, free_reply> owner{reply};
        return converted(*static_cast<redisReply*>(reply));
      }
      // It would be there for no poll.
      if (!stream_.has_buffered())
        if (auto failure = wait(events, until))
          return *failure;
      auto x = stream_.read(part, sizeof part);
      events = x.events == 0 ? short{POLLIN} : x.events;
      if (x.size == 0 && x.events == 0)
        return redis_failure{transport_errc::lost, std::move(x.problem)};
      if (x.size == 0)
        continue;
      size.add({part, x.size});
      if (!size.is_valid())
        return redis_failure{transport_errc::garbled,
                             "a length is not a number"};
      if (size.at_least() > config_.max_reply)
        return redis_failure{transport_errc::too_large};
      redisReaderFeed(context_->reader, part, x.size);
    }
  }

  std::optional<redis_failure> wait(short events, time_point until) {
    switch (signal().wait(context_->fd, events, until)) {
      case interruption::wake::timeout:
        return redis_failure{transport_errc::timed_out};
      case interruption::wake::interrupted:
        return redis_failure{transport_errc::lost, "cancelled"};
      case interruption::wake::ready:
        break;
    }
    return std::nullopt;
  }

  redis_client_config config_;
  std::unique_ptr<redisContext, free_context> context_;
  // Ends before its socket.
  detail::redis_stream stream_;
};

} // namespace

void describe(field_visitor& v, redis_client_config& c) {
  using namespace std::chrono_literals;
  v.on({"host", "the server: a name or an IP address, or the path of a socket"},
       c.host);
  v.integer({"port", "the server's port"}, c.port,
            {std::uint16_t{1}, std::uint16_t{65'535}});
  v.on({"user", "who to connect as; empty: the default user"}, c.user);
  v.on({"password", "empty: none"}, c.password);
  v.integer({"database", "the number of the database"}, c.database,
            {0, 65'535});
  describe_blocking_pool(v, c);
  v.on({"connect_timeout", "how long to try to connect at most"},
       c.connect_timeout, {1ms, 1h});
  v.integer({"max_reply", "how large a reply may be, in bytes"}, c.max_reply,
            {1'024, 1 << 30});
  detail::describe_tls(v, c);
}

void check(const redis_client_config& c, const setting_path& path,
           problems& out) {
  if (c.host.empty())
    out.push_back({problem_kind::range, path / "host", "it is empty"});
  if (!c.user.empty() && c.password.empty())
    out.push_back(
      {problem_kind::relation, path / "user", "requires a password"});
  if (c.tls && is_path(c.host))
    out.push_back(
      {problem_kind::relation, path / "tls",
       "is not supported over a Unix socket: leave out one of them"});
  detail::check_tls_files(detail::tls_settings_of(c), path, out);
}

worker redis_worker(const redis_client_config& c, supervision_config s) {
  require_valid(c);
  blocking_worker_kind kind{
    .name = "caisson.redis_worker",
    .make = [c] { return std::make_unique<redis_session>(c); },
    .first =
      [c] {
        auto x = std::make_unique<redis_session>(c);
        x->connect_first();
        return x;
      },
    .ends_if_unreachable = true,
    .adapter = redis_adapter()};
  return blocking_worker(kind, pool_config_of(c), std::move(s));
}

worker_kind redis_worker_kind() {
  return worker_kind::of<redis_client_config>(
    "redis", redis_worker,
    {.secrets = {"password"}, .supervision = patient_supervision()});
}

} // namespace caisson
