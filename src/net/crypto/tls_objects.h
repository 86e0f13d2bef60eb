// Owning pointers to OpenSSL objects.
#pragma once

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include <memory>
#include <string>

namespace h2server::net {

template <auto free_function>
struct FreeBy {
  template <class T>
  void operator()(T* object) const noexcept {
    free_function(object);
  }
};

inline void free_chain(STACK_OF(X509) * chain) noexcept { sk_X509_pop_free(chain, X509_free); }

using Key = std::unique_ptr<EVP_PKEY, FreeBy<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, FreeBy<X509_free>>;
using Chain = std::unique_ptr<STACK_OF(X509), FreeBy<free_chain>>;
using Bio = std::unique_ptr<BIO, FreeBy<BIO_free_all>>;

// Returns the reason of the last failure on this thread, and forgets it.
inline std::string last_error() {
  const unsigned long code = ERR_peek_last_error();
  ERR_clear_error();
  const char* const reason = ERR_reason_error_string(code);
  return reason != nullptr ? reason : "unknown error";
}

}  // namespace h2server::net
