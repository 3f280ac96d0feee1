// TLS: verification, what is offered, truncation.
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <signal.h>
#include <unistd.h>

#include "hotel/defaults.h"

#include "tests/net/client.h"
#include "tests/net/scripted_server.h"
#include "tests/support/catch.h"

namespace hotel::net_test {
namespace {

using Outcome = ExchangeResult::Outcome;
using std::chrono::milliseconds;

// A fresh self-signed certificate for 127.0.0.1 (or another address), and a server context with it.
class SelfSigned {
 public:
  explicit SelfSigned(const char* subject_alt_name = "IP:127.0.0.1")
      : key_(::EVP_EC_gen("P-256"), &::EVP_PKEY_free),
        certificate_(::X509_new(), &::X509_free),
        context_(::SSL_CTX_new(::TLS_server_method()), &::SSL_CTX_free) {
    X509* const x509 = certificate_.get();
    ::X509_set_version(x509, 2);
    ::ASN1_INTEGER_set(::X509_get_serialNumber(x509), 1);
    ::X509_gmtime_adj(::X509_getm_notBefore(x509), -3600);
    ::X509_gmtime_adj(::X509_getm_notAfter(x509), 3600);
    ::X509_set_pubkey(x509, key_.get());
    X509_NAME* const name = ::X509_get_subject_name(x509);
    ::X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                                 reinterpret_cast<const unsigned char*>("test"), -1, -1, 0);
    ::X509_set_issuer_name(x509, name);
    AddExtension(NID_subject_alt_name, subject_alt_name);
    AddExtension(NID_basic_constraints, "critical,CA:TRUE");
    ::X509_sign(x509, key_.get(), ::EVP_sha256());

    ::SSL_CTX_use_certificate(context_.get(), x509);
    ::SSL_CTX_use_PrivateKey(context_.get(), key_.get());
    ::SSL_CTX_set_alpn_select_cb(context_.get(), &SelfSigned::OnAlpn, this);

    char path[] = "/tmp/hotel-net-test-XXXXXX";
    std::FILE* const file = ::fdopen(::mkstemp(path), "w");
    ::PEM_write_X509(file, x509);
    std::fclose(file);
    path_ = path;
  }
  ~SelfSigned() { ::unlink(path_.c_str()); }

  SSL_CTX* context() const { return context_.get(); }
  const std::string& path() const { return path_; }
  /// The ALPN list of the last handshake, in wire form.
  std::string offered() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return offered_;
  }

 private:
  void AddExtension(int nid, const char* value) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    ::X509V3_set_ctx(&context, certificate_.get(), certificate_.get(), nullptr, nullptr, 0);
    X509_EXTENSION* const extension = ::X509V3_EXT_conf_nid(nullptr, &context, nid, value);
    ::X509_add_ext(certificate_.get(), extension, -1);
    ::X509_EXTENSION_free(extension);
  }
  static int OnAlpn(SSL*, const unsigned char**, unsigned char*, const unsigned char* in,
                    unsigned int size, void* self) {
    auto* const made = static_cast<SelfSigned*>(self);
    const std::lock_guard<std::mutex> lock(made->mutex_);
    made->offered_.assign(reinterpret_cast<const char*>(in), size);
    return SSL_TLSEXT_ERR_NOACK;
  }

  std::unique_ptr<EVP_PKEY, decltype(&::EVP_PKEY_free)> key_;
  std::unique_ptr<X509, decltype(&::X509_free)> certificate_;
  std::unique_ptr<SSL_CTX, decltype(&::SSL_CTX_free)> context_;
  std::string path_;
  mutable std::mutex mutex_;
  std::string offered_;
};

CurlOptions Trusting(const SelfSigned& certificate) {
  CurlOptions options = Client::LoopbackOptions();
  options.addresses.allow_http = false;
  options.ca_file = certificate.path();
  return options;
}

void AnswerAll(Peer& peer) {
  while (peer.ReadRequest()) peer.Send(Reply(200, "secret talk"));
}

TEST_CASE("a certificate nobody vouches for is kTls, nothing sent") {
  const SelfSigned certificate;
  ScriptedServer server(AnswerAll, {.tls = certificate.context()});
  Client client;
  const Call& call = client.Run(Client::Post(server.Url(), "prompt"));
  REQUIRE(call.recorder.done());
  const ExchangeResult result = call.recorder.result();
  CHECK(result.outcome == Outcome::kFailed);
  CHECK(result.error == TransportError::kTls);
  CHECK(result.phase == TransportPhase::kNotSent);
  CHECK(result.detail.find("certificate") != std::string::npos);
  CHECK(server.received(0).empty());
}

TEST_CASE("the roots of ca_file are trusted, and connections under TLS are reused") {
  const SelfSigned certificate;
  ScriptedServer server(AnswerAll, {.tls = certificate.context()});
  Client client(Trusting(certificate));
  for (int i = 0; i < 3; ++i) {
    const Call& call = client.Run(Client::Post(server.Url(), std::string(100000, 'x')));
    REQUIRE(call.recorder.done());
    CHECK(call.recorder.result().outcome == Outcome::kComplete);
    CHECK(call.recorder.body() == "secret talk");
    CHECK(call.recorder.result().reused_connection == (i > 0));
  }
  CHECK(server.connections() == 1);
}

TEST_CASE("another certificate than the trusted one is refused") {
  const SelfSigned trusted;
  const SelfSigned other;
  ScriptedServer server(AnswerAll, {.tls = other.context()});
  Client client(Trusting(trusted));
  CHECK(client.Run(Client::Post(server.Url())).recorder.result().error == TransportError::kTls);
}

TEST_CASE("a trusted certificate of another host is refused") {
  const SelfSigned certificate("IP:127.0.0.2,DNS:example.com");
  ScriptedServer server(AnswerAll, {.tls = certificate.context()});
  Client client(Trusting(certificate));
  const Call& call = client.Run(Client::Post(server.Url()));
  CHECK(call.recorder.result().error == TransportError::kTls);
  CHECK(server.received(0).empty());
}

TEST_CASE("F135 only http/1.1 is offered") {
  const SelfSigned certificate;
  ScriptedServer server(AnswerAll, {.tls = certificate.context()});
  Client client(Trusting(certificate));
  REQUIRE(client.Run(Client::Post(server.Url())).recorder.result().outcome == Outcome::kComplete);
  CHECK(certificate.offered().find("h2") == std::string::npos);
  CHECK(certificate.offered().find("http/1.1") != std::string::npos);
}

TEST_CASE("an upstream that speaks no TLS is kTls, nothing sent") {
  ScriptedServer server([](Peer& peer) {
    peer.Send("HTTP/1.1 400 Bad Request\r\n\r\n");
    peer.WaitClosed();
  });
  Client client;
  const ExchangeResult result =
      client.Run(Client::Post("https://127.0.0.1:" + std::to_string(server.port()) + "/"))
          .recorder.result();
  CHECK(result.error == TransportError::kTls);
  CHECK(result.phase == TransportPhase::kNotSent);
}

TEST_CASE("under TLS a framed answer that is cut is not complete") {
  const SelfSigned certificate;
  const std::string answer =
      GENERATE("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\npart",
               "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n");
  ScriptedServer server(
      [&](Peer& peer) {
        if (!peer.ReadRequest()) return;
        peer.Send(answer);
        peer.Pause(milliseconds(20));
      },
      {.tls = certificate.context()});
  Client client(Trusting(certificate));
  const Call& call = client.Run(Client::Post(server.Url()));
  REQUIRE(call.recorder.done());
  CHECK(call.recorder.result().outcome == Outcome::kFailed);
  CHECK(call.recorder.result().error == TransportError::kInterrupted);
  CHECK(call.recorder.result().phase == TransportPhase::kBody);
  CHECK(call.recorder.body() == "part");
}

TEST_CASE("under TLS a write into a reset connection raises no signal") {
  // The default disposition of SIGPIPE would end this process.
  struct sigaction action {};
  REQUIRE(::sigaction(SIGPIPE, nullptr, &action) == 0);
  REQUIRE(action.sa_handler == SIG_DFL);
  const SelfSigned certificate;
  ScriptedServer server(
      [](Peer& peer) {
        peer.ReadHead();
        peer.Reset();
      },
      {.tls = certificate.context()});
  Client client(Trusting(certificate));
  const Call& call = client.Run(Client::Post(server.Url(), std::string(8 << 20, 'x')));
  REQUIRE(call.recorder.done());
  CHECK(call.recorder.result().error == TransportError::kInterrupted);
  CHECK(call.recorder.result().phase == TransportPhase::kSent);
}

TEST_CASE("under TLS Cancel closes the connection at once") {
  const SelfSigned certificate;
  ScriptedServer server(
      [](Peer& peer) {
        if (!peer.ReadRequest()) return;
        peer.Send(std::string(kStreamHead) + Chunk("data: 1\n\n"));
        peer.WaitClosed();
      },
      {.tls = certificate.context()});
  Client client(Trusting(certificate));
  Call& call = client.Start(Client::Post(server.Url()));
  REQUIRE(call.recorder.WaitBody(9));
  const SteadyTime start = std::chrono::steady_clock::now();
  client.Cancel(call);
  const SteadyTime closed = server.WaitClosedAt(0, kLong);
  REQUIRE(closed != SteadyTime());
  CHECK(closed - start < milliseconds(250));
}

}  // namespace
}  // namespace hotel::net_test
