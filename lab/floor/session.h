// One client's conversation without its socket: takes what was received, says what to send. The
// first bytes tell HTTP/1.1 from HTTP/2, over TLS as well. Copies and refers to the Answers, which
// outlive it. Used by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "floor/answers.h"
#include "floor/framing.h"
#include "floor/output.h"

namespace h2server::lab::floor {

// How much fill() adds at a time, and how.
struct FillLimits {
  std::size_t bytes_max = 1024 * 1024;  // no more is begun above: a large body comes in turns
  bool refer_to_body = true;            // false: whoever takes the output wants it in one piece
};

class H1Session {
 public:
  explicit H1Session(const Answers& answers) : answers_(answers) {}

  void receive(std::string_view bytes);
  void fill(Output& output, const FillLimits& limits);
  // Nothing more will be said: the connection ends when all was sent.
  [[nodiscard]] bool finished() const noexcept { return finished_ && left_ == 0; }

 private:
  const Answers& answers_;
  H1Framing framing_;
  H1UploadFraming upload_framing_;  // instead, where requests may have bodies
  bool finished_ = false;
  std::uint64_t left_ = 0;  // bytes of responses
  std::size_t place_ = 0;   // in the response that is half said
};

// With the flow control of RFC 9113, 5.2: a body stops where the client's windows end. Requests'
// bodies are dropped; a stream's may have 2 GiB, since only the connection's window opens again.
class H2Session {
 public:
  explicit H2Session(const Answers& answers);

  void receive(std::string_view bytes);
  void fill(Output& output, const FillLimits& limits);

 private:
  // A request that was not answered to the end.
  struct Stream {
    std::uint32_t number;
    bool begun = false;   // HEADERS are out
    std::int64_t window;  // may be negative (6.9.2)
    std::size_t sent = 0;
  };

  void change_window(std::uint32_t stream, std::uint32_t increment);
  void count_received(std::uint32_t bytes);
  void change_setting(std::uint16_t identifier, std::uint32_t value);
  bool answer(Stream& stream, Output& output, const FillLimits& limits);

  const Answers& answers_;
  H2Framing framing_;
  std::int64_t window_ = 65'535;          // of the connection (6.9.2)
  std::int64_t initial_window_ = 65'535;  // of each stream
  std::uint32_t received_ = 0;            // bytes of DATA since the connection's window was opened
  std::vector<Stream> streams_;           // the oldest first
  std::string control_;                   // frames to send before any other
};

class Session {
 public:
  explicit Session(const Answers& answers) : answers_(answers), h1_(answers) {}

  void receive(std::string_view bytes);
  // Adds what is to be sent now: nothing when the client is to speak.
  void fill(Output& output, const FillLimits& limits);
  [[nodiscard]] bool finished() const noexcept { return h1_.finished(); }

 private:
  enum class Protocol { unknown, h1, h2 };

  std::string_view find_out(std::string_view bytes);

  const Answers& answers_;
  Protocol protocol_ = Protocol::unknown;
  std::size_t matched_ = 0;  // bytes of the preface
  H1Session h1_;
  std::optional<H2Session> h2_;
};

}  // namespace h2server::lab::floor
