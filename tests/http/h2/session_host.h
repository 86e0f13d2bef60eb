// A session with its exchanges, driven by a test. Logs the events as text. Does no I/O; owns the
// session and the exchanges.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "http/h2/nghttp2_client.h"
#include "http/h2/session.h"

namespace h2server::http::h2 {

class SessionHost {
 public:
  explicit SessionHost(Http2Implementation implementation, const Limits& given = {});
  SessionHost(const SessionHost&) = delete;
  SessionHost& operator=(const SessionHost&) = delete;
  ~SessionHost() { close(); }

  // Replaces the session by a new one with the current `limits`.
  void open();
  void close();

  // Passes `bytes` to the session in steps and logs the events. Returns false if it failed.
  bool receive(std::string_view bytes, std::size_t step = SIZE_MAX);
  // Logs the pending events.
  void note_events();
  // Returns what the session sends, `bytes_max` bytes or a little more.
  std::string take(std::size_t bytes_max = SIZE_MAX);
  // Exchanges bytes until neither side has any to send.
  void settle(Nghttp2Client& client);
  // Returns true if the session has failed or finished.
  [[nodiscard]] bool over() const { return session->failed() || session->finished(); }

  [[nodiscard]] bool has(std::uint32_t id) const;
  // Throws std::out_of_range if there is none.
  H2Exchange& exchange(std::uint32_t id);
  // Responds with ":status: 200", "x: y" and the body of `response`.
  void respond(std::uint32_t id, Response response);
  // The same without a body.
  void respond(std::uint32_t id);

  Limits limits;
  WindowBudget* windows = nullptr;
  std::unique_ptr<Session> session;
  std::int64_t now_ms = 1;
  std::set<H2Exchange*> alive;
  std::map<std::uint32_t, std::string> received;  // content by stream
  std::string log;  // one line per event; consecutive `data` events of a stream are one line
  bool consumes = true;
  bool reads = false;      // as if handlers read the content
  bool answers = false;    // responds to each request at once, without a body
  bool keeps = false;      // keeps exchanges after `closed`
  std::uint32_t last = 0;  // end_after() is called for this stream's request

 private:
  void note(const SessionEvent& event);
  void release(H2Exchange* exchange);

  const Http2Implementation implementation_;
  const H2Exchange* last_data_ = nullptr;  // of the last event, if that was `data`
  base::Pool<H2Exchange> exchanges_;
};

// "native" or "nghttp2".
std::string name_of(Http2Implementation implementation);
inline std::string name_of_parameter(const testing::TestParamInfo<Http2Implementation>& row) {
  return name_of(row.param);
}

}  // namespace h2server::http::h2
