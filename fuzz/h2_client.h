// Client that decodes and checks a server's HTTP/2 bytes. libnghttp2 decodes the field blocks; this
// class checks the frames, more strictly than a client must.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "http/h2/frame.h"

struct nghttp2_hd_inflater;

namespace h2server::fuzz {

class Client {
 public:
  struct Answer {
    std::string fields;
    std::string trailers;
    std::string body;
    bool continued = false;
    bool ended = false;
    bool reset = false;
    std::uint32_t reset_code = 0;
  };

  Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client();

  // `sent` is all that the server will receive. Its SETTINGS take effect when acknowledged.
  void expect_settings(std::string_view sent);
  void receive(std::string_view bytes);

  std::map<std::uint32_t, Answer> answers;
  std::string problem;              // protocol errors of the server; empty if none
  std::uint64_t content_bytes = 0;  // of all DATA
  std::uint32_t goaway_code = 0;
  bool sent_away = false;     // GOAWAY with an error
  bool small_window = false;  // the client sent SETTINGS_INITIAL_WINDOW_SIZE

 private:
  struct FreeInflater {
    void operator()(nghttp2_hd_inflater* inflater) const noexcept;
  };

  void take_frame(const http::h2::FrameHead& head, std::string_view payload);
  void take_block();
  void acknowledge_settings();
  void complain(const std::string& text) { problem += text + "; "; }

  std::unique_ptr<nghttp2_hd_inflater, FreeInflater> inflater_;
  std::deque<std::vector<std::uint32_t>> table_sizes_;  // of unacknowledged SETTINGS
  std::string input_;
  std::string block_;
  std::uint32_t block_stream_ = 0;  // 0 if no block is incomplete
  bool block_ends_ = false;
};

}  // namespace h2server::fuzz
