#include "h2_conversation.h"

#include <algorithm>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "http/h2/frames.h"

namespace h2server::fuzz {

namespace {

using namespace http::h2;

class Talk {
 public:
  explicit Talk(std::uint32_t seed) : random_(seed + 1) {}

  std::string make() {
    std::string bytes(1, static_cast<char>(pick(4) * 2));
    bytes += opening(some_settings());
    for (std::uint32_t frames = pick(40) + 1; frames > 0; --frames) bytes += next_frame();
    return bytes;
  }

 private:
  std::uint32_t pick(std::uint32_t below) { return static_cast<std::uint32_t>(random_() % below); }
  bool sometimes() { return pick(8) == 0; }

  SettingsList some_settings() {
    SettingsList list;
    if (pick(3) == 0) list.emplace_back(1, pick(3) * 2048);
    if (pick(3) == 0) list.emplace_back(4, pick(3) * 1000);
    if (sometimes()) list.emplace_back(5, 16384 + pick(100));
    if (sometimes()) list.emplace_back(2, 0);
    if (sometimes()) list.emplace_back(0x99, pick(9));
    return list;
  }

  std::string next_frame() {
    switch (pick(14)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return request();
      case 4:
      case 5:
      case 6:
        return content();
      case 7:
        return trailers();
      case 8:
        return open_.empty() || !sometimes() ? window_update(0, pick(9999) + 1) : reset();
      case 9:
        return window_update(some_stream(), pick(9999) + 1);
      case 10:
        return settings_frame(some_settings());
      case 11:
        return ping("abcdefgh", static_cast<int>(pick(2)));
      case 12:
        if (sometimes()) return goaway(0, "debug");
        return std::exchange(acknowledged_, true) ? ping() : settings_ack();
      default:
        return pick(2) == 0 ? priority_frame(last_ + 2, 0) : priority_update(last_ + 2, "u=1, i");
    }
  }

  std::uint32_t some_stream() { return last_ == 0 ? 0 : 2 * pick((last_ + 1) / 2) + 1; }

  std::string request() {
    last_ += last_ == 0 ? 1 : 2;
    const bool has_content = pick(2) == 0;
    FieldList more;
    if (pick(2) == 0)
      more.emplace_back("x-" + std::string(pick(4), 'y'), std::string(pick(300), 'z'));
    if (pick(4) == 0) more.emplace_back("cookie", "a=b");
    if (has_content && pick(3) == 0) more.emplace_back("content-length", std::to_string(pick(20)));
    if (sometimes()) more.emplace_back("te", "trailers");
    if (sometimes()) more.emplace_back("priority", "u=2");
    if (sometimes()) more.emplace_back("expect", "100-continue");
    if (has_content) open_.insert(last_);
    std::string fields = request_block(has_content ? "POST" : "GET", more);
    if (pick(3) == 0) {  // from the tables, with an insertion
      fields = "\x82\x87\x84\x41\x03";
      fields += "abc";
      fields += has_content ? "" : "\x40\x01x\x02yz\xbe";
    }
    const int end = has_content ? 0 : flag::end_stream;
    if (pick(4) != 0) return headers(last_, fields, end | flag::end_headers);
    const std::size_t part = pick(static_cast<std::uint32_t>(fields.size()));
    return headers(last_, fields.substr(0, part), end) +
           continuation(last_, fields.substr(part), true);
  }

  std::string content() {
    if (open_.empty()) return request();
    const std::uint32_t id = some_open();
    const bool last = pick(3) == 0;
    if (last) open_.erase(id);
    const std::string bytes(pick(30), 'c');
    return pick(3) == 0 ? padded_data(id, bytes, static_cast<std::uint8_t>(pick(20)), last)
                        : data(id, bytes, last);
  }

  std::string trailers() {
    if (open_.empty()) return request();
    const std::uint32_t id = some_open();
    open_.erase(id);
    return headers(id, block({{"t", "u"}}));
  }

  std::string reset() {
    const std::uint32_t id = some_open();
    open_.erase(id);
    return rst_stream(id);
  }

  std::uint32_t some_open() {
    return *std::next(open_.begin(), pick(static_cast<std::uint32_t>(open_.size())));
  }

  std::minstd_rand random_;
  std::set<std::uint32_t> open_;  // streams whose content is not complete
  std::uint32_t last_ = 0;
  bool acknowledged_ = false;
};

}  // namespace

std::string make_h2_conversation(std::uint32_t seed) { return Talk(seed).make(); }

}  // namespace h2server::fuzz
