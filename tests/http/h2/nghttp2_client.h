// libnghttp2's client for tests: makes requests' bytes and understands those of the answers.
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
    std::string trailers;  // likewise
    std::string body;
    bool has_head = false;
    bool continued = false;
    bool ended = false;
    std::optional<std::uint32_t> reset;  // its error code

    [[nodiscard]] std::string status() const;
  };

  Nghttp2Client();
  Nghttp2Client(const Nghttp2Client&) = delete;
  Nghttp2Client& operator=(const Nghttp2Client&) = delete;
  ~Nghttp2Client();

  // The identifier. A body that does not end waits for send().
  std::int32_t request(const std::string& method, const std::string& path, const Headers& more = {},
                       std::optional<std::string> body = {}, bool ends = true,
                       const Headers& trailers = {});
  void send(std::int32_t id, const std::string& bytes, bool ends);
  void reset(std::int32_t id);
  // Of a body, what has not left.
  [[nodiscard]] std::size_t left(std::int32_t id) { return bodies_[id].bytes.size(); }

  // What there is to send.
  std::string bytes();
  // Expects that all of it is understood.
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
  };
  struct Callbacks;

  nghttp2_session* session_ = nullptr;
  std::map<std::int32_t, Body> bodies_;
};

}  // namespace h2server::http::h2
