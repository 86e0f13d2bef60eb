// An HTTP/2 client for server tests.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/client.h"

namespace h2server::tests {

// A minimal HTTP/2 client: sends GETs and counts the ends of streams (RFC 9113, 4.1 and 6; RFC
// 7541, 6).
class Http2Client {
 public:
  // Sends the first requests with its preface.
  explicit Http2Client(std::uint16_t port, unsigned host = 1,
                       const std::vector<std::string>& targets = {})
      : client_(port, Client::Family::ipv4, host) {
    std::string opening = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    opening += frame(settings, 0, 0, "");
    opening += frame(settings, acknowledged, 0, "");
    opening += frame(window_update, 0, 0, std::string("\x3f\x00\x00\x00", 4));
    client_.send(opening + requests(targets));
  }

  // Sends all requests in one write.
  void ask(const std::vector<std::string>& targets) { client_.send(requests(targets)); }

  // Waits until every stream has ended. Returns the DATA payloads in order of arrival.
  std::string receive() {
    std::string bodies;
    while (open_ > 0) {
      const std::string head = client_.take(9);
      if (head.size() < 9) break;
      const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(head[at]); };
      const std::string payload = client_.take((byte(0) * 256UL + byte(1)) * 256 + byte(2));
      if (byte(3) == data) bodies += payload;
      EXPECT_NE(byte(3), rst_stream);
      if (byte(3) == rst_stream) break;
      if (byte(3) <= headers && (byte(4) & end_stream) != 0) --open_;
    }
    EXPECT_EQ(open_, 0);
    return bodies;
  }

  std::string get(const std::string& target) {
    ask({target});
    return receive();
  }

  // Returns true if the server sends GOAWAY before it closes the connection.
  bool is_sent_away() {
    bool told = false;
    for (;;) {
      const std::string head = client_.take(9);
      if (head.size() < 9) return told;
      const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(head[at]); };
      const std::string payload = client_.take((byte(0) * 256UL + byte(1)) * 256 + byte(2));
      told |= byte(3) == goaway;
      if (byte(3) == ping) client_.send(frame(ping, acknowledged, 0, payload));
    }
  }

 private:
  std::string requests(const std::vector<std::string>& targets) {
    std::string frames;
    for (const std::string& target : targets) {
      std::string fields = "\x82\x86\x01\x01h";  // :method GET, :scheme http, :authority h
      fields += '\x04';                          // :path, not indexed
      fields += static_cast<char>(target.size());
      fields += target;
      frames += frame(headers, end_stream | end_headers, next_stream_, fields);
      next_stream_ += 2;
      ++open_;
    }
    return frames;
  }

  enum Type : unsigned char {
    data = 0,
    headers = 1,
    rst_stream = 3,
    settings = 4,
    ping = 6,
    goaway = 7,
    window_update = 8
  };
  enum Flag : unsigned char { end_stream = 1, acknowledged = 1, end_headers = 4 };

  static std::string frame(Type type, int flags, unsigned stream, const std::string& payload) {
    std::string bytes;
    for (const int shift : {16, 8, 0}) bytes += static_cast<char>(payload.size() >> shift & 0xff);
    bytes += static_cast<char>(type);
    bytes += static_cast<char>(flags);
    for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(stream >> shift & 0xff);
    return bytes + payload;
  }

  Client client_;
  unsigned next_stream_ = 1;
  int open_ = 0;
};

}  // namespace h2server::tests
