// One client's conversation without a socket: takes received bytes and produces the bytes to send.
// Detects HTTP/1.1 or HTTP/2 by the first bytes, also over TLS. Refers to the Answers, which must
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

// How much fill() adds at a time, and in which form.
struct FillLimits {
  std::size_t bytes_max = 1024 * 1024;  // no new part is begun above it, so large bodies take turns
  bool refer_to_body = true;            // false: copies the body, for output in one piece
};

class H1Session {
 public:
  explicit H1Session(const Answers& answers) : answers_(answers) {}

  void receive(std::string_view bytes);
  void fill(Output& output, const FillLimits& limits);
  // Returns true if all responses are written and the connection must be closed.
  [[nodiscard]] bool finished() const noexcept { return finished_ && left_ == 0; }

 private:
  const Answers& answers_;
  H1Framing framing_;
  H1UploadFraming upload_framing_;  // used instead if requests may have bodies
  bool finished_ = false;
  std::uint64_t left_ = 0;  // bytes of responses to write
  std::size_t place_ = 0;   // offset in the response that is partly written
};

// Implements flow control (RFC 9113, 5.2). Drops request bodies. A stream may upload 2 GiB at most,
// because only the connection's window is replenished.
class H2Session {
 public:
  explicit H2Session(const Answers& answers);

  void receive(std::string_view bytes);
  void fill(Output& output, const FillLimits& limits);

 private:
  // A request that is not completely answered.
  struct Stream {
    std::uint32_t number;
    bool begun = false;   // HEADERS are written
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
  std::uint32_t received_ = 0;            // bytes of DATA since the last WINDOW_UPDATE
  std::vector<Stream> streams_;           // oldest first
  std::string control_;                   // frames to send before any other
};

class Session {
 public:
  explicit Session(const Answers& answers) : answers_(answers), h1_(answers) {}

  void receive(std::string_view bytes);
  // Appends what to send now. Appends nothing while the client must send first.
  void fill(Output& output, const FillLimits& limits);
  [[nodiscard]] bool finished() const noexcept { return h1_.finished(); }

 private:
  enum class Protocol { unknown, h1, h2 };

  std::string_view find_out(std::string_view bytes);

  const Answers& answers_;
  Protocol protocol_ = Protocol::unknown;
  std::size_t matched_ = 0;  // bytes of the preface seen
  H1Session h1_;
  std::optional<H2Session> h2_;
};

}  // namespace h2server::lab::floor
