// Parses multipart/form-data (RFC 7578; RFC 2046, 5.1.1) incrementally: feed() pushes bytes, next()
// pulls events.
//
// Content is neither stored nor copied. data() points into the bytes fed. For content that looked
// like a delimiter across two feeds, it points into the parser's own copy of the delimiter. Only
// the head of a part is kept, up to a limit. The caller limits the number of parts, their content
// and the preamble.
//
//   parser.feed(bytes);
//   while ((event = parser.next()) != Event::need_more) ...   // stop at malformed
//
// One owner, one thread at a time.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "h2server/multipart.h"

namespace h2server::content {

// Returns the boundary parameter of a Content-Type. Returns nullopt if the type is not
// multipart/form-data, or if the boundary is missing, repeated, empty, longer than 70 characters or
// has characters that RFC 2046 does not allow. Accepts non-token characters without quotes, too.
std::optional<std::string> multipart_boundary(std::string_view content_type);

using h2server::MultipartLimits;  // parts_max is left to the caller
using PartHead = FormPart;

class MultipartParser {
 public:
  enum class Event {
    need_more,   // all bytes fed are consumed
    part_begin,  // part() describes it
    data,        // data() is the next piece of content, never empty
    part_end,
    finished,   // the closing delimiter, once; bytes after it (the epilogue) are ignored
    malformed,  // problem() says why; permanent
  };

  // `boundary` as multipart_boundary() returns it.
  explicit MultipartParser(std::string boundary, MultipartLimits limits = {});
  // Not movable: data() may point into it.
  MultipartParser(const MultipartParser&) = delete;
  MultipartParser& operator=(const MultipartParser&) = delete;

  // Call only at first and after need_more. `bytes` must stay valid until next() returns need_more.
  void feed(std::string_view bytes);

  // A line that starts with the delimiter and continues with anything but "--", a blank or CR is
  // content. Blanks or a CR without a following line end are malformed.
  Event next();

  // The part of the last part_begin event. Valid until the next part_begin.
  const PartHead& part() const { return part_; }

  // The content of the last data event. Valid until the next call of next().
  std::string_view data() const { return data_; }

  // Empty unless malformed. Static text.
  std::string_view problem() const { return problem_; }

  // Returns true if malformed stands for a head longer than the limit.
  bool exceeds_limit() const { return exceeds_limit_; }

  // Returns true if the closing delimiter was seen. A body that ends before it is truncated.
  bool finished() const { return state_ == State::closing || state_ == State::epilogue; }

 private:
  // RFC 2046, 5.1.1. Each state names what comes next.
  enum class State {
    content,          // or the preamble, if not in_part_
    after_delimiter,  // "--", padding or a line end; otherwise it was content
    second_dash,
    padding,
    line_feed,
    head,
    closing,  // finished is to be reported
    epilogue,
    broken,
  };

  std::optional<Event> step();
  std::optional<Event> scan();
  std::optional<Event> resume_match();
  std::optional<Event> read_after_delimiter();
  std::optional<Event> read_second_dash();
  std::optional<Event> read_padding();
  std::optional<Event> read_line_feed();
  std::optional<Event> read_head();

  void start_content();
  std::optional<Event> end_part(State next);
  std::optional<Event> give(std::string_view content);
  std::optional<Event> give_look_alike(std::size_t size);
  std::optional<Event> fail(std::string_view problem);

  std::string_view rest() const { return fed_.substr(position_); }
  std::string_view delimiter() const {
    return std::string_view(look_alike_).substr(0, look_alike_.size() - 1);
  }

  const std::string look_alike_;  // the delimiter and a dash, the longest text that may be content
  const MultipartLimits limits_;
  State state_ = State::content;
  bool in_part_ = false;
  std::string_view fed_;
  std::size_t position_ = 0;
  // Bytes of look_alike_ that came in an earlier feed, and how many of them can't be content: the
  // line end before the first delimiter, or that of the head.
  std::size_t matched_ = 0;
  std::size_t imagined_ = 0;
  std::string head_;  // starts with the line end before it
  PartHead part_;
  std::string_view data_;
  std::string_view problem_;
  bool exceeds_limit_ = false;
};

}  // namespace h2server::content
