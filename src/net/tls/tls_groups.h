// Named groups of TLS (RFC 8446, 4.2.7): how a client and the server agree on the keys of a
// connection.
#pragma once

#include <string_view>

struct ssl_st;

namespace h2server::net {

// Returns IANA's name of the group that the handshake agreed on, such as "x25519" or
// "X25519MLKEM768". Empty if it took none, or one whose name we do not know.
std::string_view group_of(ssl_st& ssl) noexcept;

// Returns true if this OpenSSL (3.5 or later) has X25519MLKEM768, which it then offers by default:
// X25519 and ML-KEM-768 (FIPS 203) together.
bool has_hybrid_group() noexcept;

}  // namespace h2server::net
