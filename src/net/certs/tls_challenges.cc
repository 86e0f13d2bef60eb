#include "net/certs/tls_challenges.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/c_callback.h"
#include "base/out_of_memory.h"
#include "base/text/text.h"

namespace h2server::net {

namespace {

std::string key_of(std::string_view host) {
  if (host.ends_with('.')) host.remove_suffix(1);
  std::string key(host);
  std::ranges::transform(key, key.begin(), base::to_lower);
  return key;
}

// Of the mark that a handshake is answered from a table.
int mark_index() noexcept {
  static const int index = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  if (index < 0) base::out_of_memory();
  return index;
}

std::string_view extension_of(SSL* ssl, unsigned type) {
  const unsigned char* bytes = nullptr;
  std::size_t size = 0;
  if (SSL_client_hello_get0_ext(ssl, type, &bytes, &size) != 1) return {};
  return {reinterpret_cast<const char*>(bytes), size};
}

// RFC 7301, 3.1: a list with its length, of names with theirs. The list has this name only.
bool offers_challenge_only(SSL* ssl) {
  constexpr std::string_view wanted("\x00\x0b\x0a"
                                    "acme-tls/1",
                                    13);
  return extension_of(ssl, TLSEXT_TYPE_application_layer_protocol_negotiation) == wanted;
}

// RFC 6066, 3: a list of one name of type 0. Returns an empty text for anything else.
std::string_view server_name_of(SSL* ssl) {
  const std::string_view list = extension_of(ssl, TLSEXT_TYPE_server_name);
  constexpr std::size_t before_name = 5;  // the list's length, the type, the name's length
  if (list.size() < before_name || list[2] != TLSEXT_NAMETYPE_host_name) return {};
  const auto size = static_cast<std::size_t>(static_cast<unsigned char>(list[3]) * 256 +
                                             static_cast<unsigned char>(list[4]));
  return size == list.size() - before_name ? list.substr(before_name) : std::string_view();
}

}  // namespace

bool answers_challenge(const SSL* ssl) noexcept {
  return SSL_get_ex_data(ssl, mark_index()) != nullptr;
}

struct TlsChallenges::Callback {
  // Called with each ClientHello, before anything is chosen.
  static int look(SSL* ssl, int* alert, void* challenges) {
    if (!offers_challenge_only(ssl)) return SSL_CLIENT_HELLO_SUCCESS;
    const auto* const self = static_cast<const TlsChallenges*>(challenges);
    const std::shared_ptr<const Pair> pair = self->find(server_name_of(ssl));
    if (pair == nullptr) {
      *alert = SSL_AD_UNRECOGNIZED_NAME;
      return SSL_CLIENT_HELLO_ERROR;
    }
    SSL_certs_clear(ssl);
    if (SSL_use_cert_and_key(ssl, pair->certificate.get(), pair->key.get(), nullptr, 1) != 1) {
      return SSL_CLIENT_HELLO_ERROR;
    }
    SSL_set_ex_data(ssl, mark_index(), const_cast<TlsChallenges*>(self));
    SSL_set_verify(ssl, SSL_VERIFY_NONE, nullptr);  // the ACME server has no certificate
    // A session that is resumed would show no certificate, and none of these is worth resuming.
    SSL_set_options(ssl, SSL_OP_NO_TICKET);
    SSL_set_num_tickets(ssl, 0);
    return SSL_CLIENT_HELLO_SUCCESS;
  }
};

void TlsChallenges::install(SSL_CTX* context) const {
  SSL_CTX_set_client_hello_cb(context, base::c_callback<Callback::look>,
                              const_cast<TlsChallenges*>(this));
}

void TlsChallenges::set(std::string_view host, Pair pair) {
  ASSERT(pair.certificate != nullptr && pair.key != nullptr);
  auto shared = std::make_shared<const Pair>(std::move(pair));
  const std::lock_guard lock(mutex_);
  pairs_.insert_or_assign(key_of(host), std::move(shared));
}

void TlsChallenges::remove(std::string_view host) {
  const std::lock_guard lock(mutex_);
  pairs_.erase(key_of(host));
}

std::shared_ptr<const TlsChallenges::Pair> TlsChallenges::find(std::string_view host) const {
  const std::string key = key_of(host);
  const std::lock_guard lock(mutex_);
  const auto found = pairs_.find(key);
  return found != pairs_.end() ? found->second : nullptr;
}

}  // namespace h2server::net
