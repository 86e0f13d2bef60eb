// Fixture: an HTTP/2 connection whose client is raw frames, built with frames.h.
#pragma once

#include "http/h2/connection_fixture.h"
#include "http/h2/frames.h"

namespace h2server::http::h2 {

class FramedConnection : public ConnectionFixture {
 protected:
  static std::string request(std::uint32_t id, const char* method, const char* path, bool ends) {
    const FieldList fields = {
        {":method", method}, {":scheme", "http"}, {":path", path}, {":authority", "a"}};
    return headers(id, block(fields), ends ? whole : int{flag::end_headers});
  }
  void begin(std::string_view more, const SettingsList& settings = {}) {
    open();
    transport_.arrive(opening(settings) + settings_ack() + std::string(more));
  }
  std::string said() { return describe(read_writes()); }
  bool says(std::string_view what) {
    const std::string text = said();
    return text.find(what) != std::string::npos;
  }
};

}  // namespace h2server::http::h2
