#include "net/tls/tls_groups.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/objects.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <array>

namespace h2server::net {

namespace {
struct Group {
  int number;  // OpenSSL's of an object, or IANA's of a group that is none
  std::string_view name;
};

constexpr std::array<Group, 13> groups{{{NID_X9_62_prime256v1, "secp256r1"},
                                        {NID_secp384r1, "secp384r1"},
                                        {NID_secp521r1, "secp521r1"},
                                        {NID_X25519, "x25519"},
                                        {NID_X448, "x448"},
                                        {NID_ffdhe2048, "ffdhe2048"},
                                        {NID_ffdhe3072, "ffdhe3072"},
                                        {NID_ffdhe4096, "ffdhe4096"},
                                        {NID_ffdhe6144, "ffdhe6144"},
                                        {NID_ffdhe8192, "ffdhe8192"},
                                        {TLSEXT_nid_unknown | 0x11eb, "SecP256r1MLKEM768"},
                                        {TLSEXT_nid_unknown | 0x11ec, "X25519MLKEM768"},
                                        {TLSEXT_nid_unknown | 0x11ed, "SecP384r1MLKEM1024"}}};
}  // namespace

std::string_view group_of(ssl_st& ssl) noexcept {
  const auto number = static_cast<int>(SSL_get_negotiated_group(&ssl));
  const auto* const found = std::ranges::find(groups, number, &Group::number);
  return found != groups.end() ? found->name : std::string_view();
}

bool has_hybrid_group() noexcept {
  EVP_KEYMGMT* const found = EVP_KEYMGMT_fetch(nullptr, "X25519MLKEM768", nullptr);
  EVP_KEYMGMT_free(found);
  ERR_clear_error();
  return found != nullptr;
}

}  // namespace h2server::net
