// A libnghttp2 client for tests: turns requests into bytes and parses the bytes of responses. Does
// no I/O.
#pragma once

#include <nghttp2/nghttp2.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace h2server::http::h2 {

using Headers = std::vector<std::pair<std::string, std::string>>;

class Nghttp2Client {
 public:
  struct Answer {
    std::string fields;    // "name=value;" of the final response
    std::string trailers;  // the same format
    std::string body;
    std::string interim;  // the same format, of all interim responses but 100 (Continue)
    bool has_head = false;
    bool has_interim = false;  // its fields are arriving
    bool continued = false;
    bool ended = false;
    std::optional<std::uint32_t> reset;  // error code of RST_STREAM

    [[nodiscard]] std::string status() const;
  };

  Nghttp2Client();
  Nghttp2Client(const Nghttp2Client&) = delete;
  Nghttp2Client& operator=(const Nghttp2Client&) = delete;
  ~Nghttp2Client();

  // Returns the stream identifier. A body with `ends` false goes on with send().
  std::int32_t request(const std::string& method, const std::string& path, const Headers& more = {},
                       std::optional<std::string> body = {}, bool ends = true,
                       const Headers& trailers = {});
  void send(std::int32_t id, const std::string& bytes, bool ends);
  void reset(std::int32_t id);
  // Returns how many bytes of the body have not been sent.
  [[nodiscard]] std::size_t left(std::int32_t id) { return bodies_[id].left(); }

  // Returns the bytes to send.
  std::string bytes();
  // Parses `bytes`; fails the test if libnghttp2 refuses any.
  void receive(std::string_view bytes);
  nghttp2_session* get() { return session_; }

  std::map<std::int32_t, Answer> answers;
  std::vector<std::pair<std::int32_t, std::uint32_t>> goaways;  // last stream, error code
  int settings_acknowledged = 0;

 private:
  struct Body {
    std::string bytes;
    bool ends = true;
    Headers trailers = {};
    std::size_t sent = 0;

    [[nodiscard]] std::size_t left() const noexcept { return bytes.size() - sent; }
  };
  struct Callbacks;

  nghttp2_session* session_ = nullptr;
  std::map<std::int32_t, Body> bodies_;
};

}  // namespace h2server::http::h2
