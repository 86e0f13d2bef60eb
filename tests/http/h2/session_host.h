// A session with its transfers, driven by a test that sees its events as a text.
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
  explicit SessionHost(Implementation implementation, const Limits& given = {});
  SessionHost(const SessionHost&) = delete;
  SessionHost& operator=(const SessionHost&) = delete;
  ~SessionHost() { close(); }

  // Anew, with what `limits` says now.
  void open();
  void close();

  // Gives the session bytes, so many at a time, and notes the events. False: it has failed.
  bool receive(std::string_view bytes, std::size_t step = SIZE_MAX);
  // Notes what has happened without any bytes.
  void note_events();
  // What the session sends.
  std::string take(std::size_t bytes_max = SIZE_MAX);
  // Until neither side has anything more to say.
  void settle(Nghttp2Client& client);
  // It has said GOAWAY, or would not say anything any more.
  [[nodiscard]] bool over() const { return session->failed() || session->finished(); }

  [[nodiscard]] bool has(std::uint32_t id) const;
  // Throws where there is none.
  Transfer& transfer(std::uint32_t id);
  // ":status" 200, "x: y" and that body.
  void respond(std::uint32_t id, Response response);
  // The same without a body.
  void respond(std::uint32_t id);

  Limits limits;
  WindowBudget* windows = nullptr;
  std::unique_ptr<Session> session;
  std::int64_t now_ms = 1;
  std::set<Transfer*> alive;
  std::map<std::uint32_t, std::string> received;  // content by stream
  std::string log;  // a line for each event, but for pieces of content in a row
  bool consumes = true;
  bool answers = false;    // each request at once, without a body
  bool keeps = false;      // transfers beyond `closed`
  std::uint32_t last = 0;  // end_after() is called for this stream's request

 private:
  void note(const SessionEvent& event);
  void release(Transfer* transfer);

  const Implementation implementation_;
  const Transfer* last_data_ = nullptr;  // whose content was the last event
  base::Pool<Transfer> transfers_;
};

// "native" or "nghttp2".
std::string name_of(Implementation implementation);
inline std::string name_of_parameter(const testing::TestParamInfo<Implementation>& row) {
  return name_of(row.param);
}

}  // namespace h2server::http::h2
