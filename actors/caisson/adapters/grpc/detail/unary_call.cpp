#include <caisson/adapters/detail/queued_worker.hpp>
#include <caisson/adapters/grpc/detail/context.hpp>
#include <caisson/adapters/grpc/detail/unary_call.hpp>

#include <fmt/format.h>
#include <grpcpp/support/slice.h>

#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace caisson::detail {

namespace {

constexpr int grpc_internal = 13;

// A gate whose deadline is over cancels the call. So that its callers get the
// gate's error and not, by chance, the status of gRPC, whose clock is coarser,
// the call ends later.
constexpr auto grpc_after_deadline = std::chrono::milliseconds(5);

grpc_metadata
copy_of(const std::multimap<::grpc::string_ref, ::grpc::string_ref>& x) {
  grpc_metadata out;
  out.reserve(x.size());
  for (const auto& [name, value] : x)
    out.emplace_back(std::string{name.data(), name.size()},
                     std::string{value.data(), value.size()});
  return out;
}

} // namespace

grpc_unary_call::grpc_unary_call(const grpc_client_config& c,
                                 const grpc_request& x,
                                 const call_options& options, std::size_t room)
  : config_(c), tags_{{this, step::start},
                      {this, step::write},
                      {this, step::read},
                      {this, step::finish}} {
  set_deadline(context_, time_after(time_point{duration{options.deadline_ns}},
                                    grpc_after_deadline));
  context_.set_wait_for_ready(c.wait_for_ready);
  add_metadata(context_, x.metadata, options,
               {c.priority_metadata, c.key_metadata}, room);
}

// -- steps --------------------------------------------------------------------

void grpc_unary_call::start(::grpc::GenericStub& stub,
                            ::grpc::CompletionQueue& results,
                            const grpc_request& x, portable::reply_to& from) {
  ::grpc::Slice bytes{x.bytes.data(), x.bytes.size()};
  sent_ = ::grpc::ByteBuffer{&bytes, 1};
  stream_ = stub.PrepareCall(&context_, x.method, &results);
  from_ = std::move(from);
  pending_ = 1;
  stream_->StartCall(&tags_[static_cast<int>(step::start)]);
}

bool grpc_unary_call::advance(step what, bool ok) {
  --pending_;
  switch (what) {
    case step::start:
      // "Going to the wire": without, the server has not got anything.
      was_sent_ = ok;
      begin_rest();
      break;
    case step::read:
      take_message(ok);
      break;
    case step::write:
    case step::finish:
      break;
  }
  return pending_ == 0;
}

void grpc_unary_call::begin_rest() {
  if (was_sent_) {
    stream_->WriteLast(sent_, {}, &tags_[static_cast<int>(step::write)]);
    stream_->Read(&read_, &tags_[static_cast<int>(step::read)]);
    pending_ += 2;
  }
  stream_->Finish(&status_, &tags_[static_cast<int>(step::finish)]);
  ++pending_;
}

// Reads until nothing comes, as the status does not come before; a server that
// sends more than one message is stopped.
void grpc_unary_call::take_message(bool ok) {
  if (!ok)
    return;
  if (++messages_ == 1)
    message_.Swap(&read_);
  else
    context_.TryCancel();
  read_.Clear();
  stream_->Read(&read_, &tags_[static_cast<int>(step::read)]);
  ++pending_;
}

// -- the answer ---------------------------------------------------------------

// gRPC has no other sign of it. A server says the same of a request, with its
// own limit; that remains its answer.
bool grpc_unary_call::is_too_large() const {
  const auto text = status_.error_message();
  return status_.error_code() == ::grpc::StatusCode::RESOURCE_EXHAUSTED
         && text.starts_with("Received message larger than max (")
         && text.ends_with(fmt::format(" vs. {})", config_.max_response));
}

caf::message grpc_unary_call::answer() {
  if (!was_sent_)
    return failed_with(transport_errc::not_connected, status_.error_message());
  if (is_too_large())
    return failed_with(transport_errc::too_large, status_.error_message());
  if (messages_ > 1)
    return failed_with(transport_errc::garbled,
                       "the server has sent more than one message");
  return caf::make_message(response());
}

grpc_response grpc_unary_call::response() {
  grpc_response out{
    static_cast<std::int32_t>(status_.error_code()),
    status_.error_message(),
    status_.error_details(),
    copy_of(context_.GetServerInitialMetadata()),
    copy_of(context_.GetServerTrailingMetadata()),
    {},
  };
  if (!status_.ok())
    return out;
  std::vector<::grpc::Slice> slices;
  if (messages_ == 0 || !message_.Dump(&slices).ok()) {
    out.code = grpc_internal;
    out.message = "the server has sent no message that can be read";
    return out;
  }
  out.bytes.reserve(message_.Length());
  for (const auto& x : slices)
    out.bytes.append(reinterpret_cast<const char*>(x.begin()), x.size());
  return out;
}

} // namespace caisson::detail
