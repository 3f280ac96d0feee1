// A certificate made for one test.
#ifndef HOTEL_TESTS_NET_SELF_SIGNED_H_
#define HOTEL_TESTS_NET_SELF_SIGNED_H_

#include <cstdio>
#include <memory>
#include <mutex>
#include <string>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <unistd.h>

namespace hotel::net_test {

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

}  // namespace hotel::net_test

#endif  // HOTEL_TESTS_NET_SELF_SIGNED_H_
