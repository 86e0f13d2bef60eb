#include "observe/connection_members.h"

#include <array>

#include "observe/line_text.h"

namespace h2server::observe {

namespace {
constexpr std::size_t address_bytes_max = 108;  // of a Unix socket; an IPv6 address has 45
constexpr std::size_t version_bytes_max = 16;

template <Escape escape>
std::string escaped(std::string_view text, std::size_t size_max) {
  std::array<char, escaped_bytes_max(address_bytes_max, address_bytes_max)> room;
  const char* const end = put_escaped<escape>(room.data(), text, size_max);
  return {room.data(), static_cast<std::size_t>(end - room.data())};
}

void append_address(std::string& to, std::string_view kind, std::string_view address,
                    std::uint16_t port) {
  if (!address.empty()) {
    to.append("\"").append(kind).append(".address\":\"").append(address).append("\",");
  }
  if (port != 0) {
    to.append("\"").append(kind).append(".port\":").append(std::to_string(port)).append(",");
  }
}
}  // namespace

ConnectionMembers ConnectionMembers::make(LineFormat format, const ConnectionFacts& connection) {
  const auto& [address, port, tls_version, tls_group] = connection;
  ConnectionMembers members;
  std::string& to = members.storage_;
  if (format == LineFormat::text) {
    to = escaped<Escape::token>(address, address_bytes_max);
    members.client_bytes_ = static_cast<std::uint16_t>(to.size());
    return members;
  }
  const std::string client = escaped<Escape::json>(address, address_bytes_max);
  append_address(to, "network.peer", client, port);
  members.peer_bytes_ = static_cast<std::uint16_t>(to.size());
  if (!tls_version.empty()) {
    to.append("\"tls.protocol.version\":\"")
        .append(escaped<Escape::json>(tls_version, version_bytes_max))
        .append("\",");
  }
  if (!tls_group.empty()) to.append("\"tls.curve\":\"").append(tls_group).append("\",");
  members.peer_and_tls_bytes_ = static_cast<std::uint16_t>(to.size());
  append_address(to, "client", client, port);
  if (!client.empty()) {
    constexpr std::string_view before = "\"client.address\":\"";
    members.client_at_ = static_cast<std::uint16_t>(members.peer_and_tls_bytes_ + before.size());
    members.client_bytes_ = static_cast<std::uint16_t>(client.size());
  }
  to.shrink_to_fit();
  return members;
}

ConnectionText ConnectionMembers::text() const noexcept {
  const std::string_view all = storage_;
  ConnectionText text;
  text.client = all.substr(client_at_, client_bytes_);
  if (peer_and_tls_bytes_ == 0 && client_at_ == 0) return text;
  text.members = all.substr(peer_bytes_);
  text.peer_members = all.substr(0, peer_and_tls_bytes_);
  return text;
}

}  // namespace h2server::observe
