#include <caisson/adapters/grpc/channel.hpp>
#include <caisson/adapters/grpc/detail/target.hpp>

#include <grpc/grpc.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_certificate_verifier.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <grpcpp/support/channel_arguments.h>

#include <chrono>
#include <string>
#include <utility>

namespace caisson {

namespace {

namespace tls = ::grpc::experimental;

int milliseconds(duration x) {
  return static_cast<int>(
    std::chrono::ceil<std::chrono::milliseconds>(x).count());
}

// Files are read again so that certificates can be replaced while the program
// runs, as often as a connection may be made anew by chance.
constexpr unsigned refresh_seconds = 10;

std::shared_ptr<::grpc::ChannelCredentials>
credentials_for(const grpc_client_config& c) {
  if (!c.tls)
    return ::grpc::InsecureChannelCredentials();
  tls::TlsChannelCredentialsOptions options;
  if (!c.ca_file.empty() || !c.client_certificate.empty())
    options.set_certificate_provider(
      std::make_shared<tls::FileWatcherCertificateProvider>(
        c.client_key, c.client_certificate, c.ca_file, refresh_seconds));
  if (!c.ca_file.empty())
    options.watch_root_certs();
  if (!c.client_certificate.empty())
    options.watch_identity_key_cert_pairs();
  if (!c.verify_server) {
    options.set_verify_server_certs(false);
    options.set_check_call_host(false);
    options.set_certificate_verifier(
      std::make_shared<tls::NoOpCertificateVerifier>());
  }
  return tls::TlsCredentials(options);
}

::grpc::ChannelArguments arguments_for(const grpc_client_config& c) {
  ::grpc::ChannelArguments x;
  // Retries are left to one side: `grpc_client_config::channel_retries`.
  x.SetInt(GRPC_ARG_ENABLE_RETRIES, c.channel_retries ? 1 : 0);
  // What comes from the name server could bring a retry policy.
  x.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  if (!c.service_config.empty())
    x.SetServiceConfigJSON(c.service_config);
  x.SetMaxSendMessageSize(static_cast<int>(c.max_request));
  x.SetMaxReceiveMessageSize(static_cast<int>(c.max_response));
  // Its connection is its own: the breakers of others, and how it is doing for
  // them, concern nobody here.
  x.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // What the environment says is for programs of people.
  x.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  x.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, milliseconds(c.connect_timeout));
  x.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  x.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS,
           milliseconds(c.max_reconnect_delay));
  x.SetInt(GRPC_ARG_DNS_MIN_TIME_BETWEEN_RESOLUTIONS_MS, 1'000);
  x.SetInt(GRPC_ARG_CLIENT_IDLE_TIMEOUT_MS, milliseconds(c.idle_timeout));
  if (c.keepalive != duration::zero()) {
    x.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, milliseconds(c.keepalive));
    x.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
    x.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  }
  return x;
}

} // namespace

std::shared_ptr<::grpc::Channel>
grpc_channel(const grpc_client_config& c,
             grpc_client_interceptors interceptors) {
  require_valid(c);
  auto target = detail::grpc_target_of(c.target).value_or(std::string{});
  return ::grpc::experimental::CreateCustomChannelWithInterceptors(
    target, credentials_for(c), arguments_for(c), std::move(interceptors));
}

} // namespace caisson
