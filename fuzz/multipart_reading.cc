#include "multipart_reading.h"

#include "require.h"

namespace h2server::fuzz {

namespace {

using content::MultipartParser;
using Event = MultipartParser::Event;

class Reader {
 public:
  Reader(std::string_view boundary, content::MultipartLimits limits)
      : parser_(std::string(boundary), limits) {
    require(parser_.next() == Event::need_more, "a parser that was fed nothing needs more");
  }

  // Returns false if the body is malformed.
  bool feed(std::string_view piece) {
    const ExactCopy copy(piece);
    parser_.feed(copy.view());
    for (;;) {
      const Event event = parser_.next();
      if (event == Event::need_more) return true;
      take(event);
      if (event == Event::malformed) return false;
    }
  }

  MultipartReading finish() {
    require(parser_.finished() == reading_.finished, "finished() and the event agree");
    return std::move(reading_);
  }

 private:
  void take(Event event) {
    std::vector<ReadPart>& parts = reading_.parts;
    const bool inside = !parts.empty() && !parts.back().ended;
    require(!reading_.finished, "nothing follows the end");
    switch (event) {
      case Event::need_more:
        return;
      case Event::part_begin:
        require(!inside, "parts do not overlap");
        parts.emplace_back().head = parser_.part();
        return;
      case Event::data:
        require(inside, "content belongs to a part");
        require(!parser_.data().empty(), "a piece of content is not empty");
        parts.back().content += parser_.data();
        return;
      case Event::part_end:
        require(inside, "a part ends that has begun");
        parts.back().ended = true;
        return;
      case Event::finished:
        require(!inside, "the body ends behind its parts");
        reading_.finished = true;
        return;
      case Event::malformed:
        reading_.problem = parser_.problem();
        require(!reading_.problem.empty(), "what is malformed has a reason");
        require(parser_.next() == Event::malformed, "what is malformed stays so");
        return;
    }
  }

  MultipartParser parser_;
  MultipartReading reading_;
};

}  // namespace

MultipartReading read_multipart(std::string_view boundary, std::string_view body, Cuts cuts,
                                content::MultipartLimits limits) {
  Reader reader(boundary, limits);
  while (const std::size_t size = cuts.next(body.size())) {
    if (!reader.feed(body.substr(0, size))) break;
    body.remove_prefix(size);
  }
  return reader.finish();
}

std::string describe(const MultipartReading& reading) {
  std::string text;
  for (const ReadPart& part : reading.parts) {
    text += "part " + part.head.name + ", ";
    text += part.head.file_name ? "file " + *part.head.file_name : "no file";
    text += ", of type " + part.head.content_type;
    text += (part.ended ? ": " : " so far: ") + part.content + '\n';
  }
  return text + (reading.finished ? "finished" : "") + reading.problem;
}

}  // namespace h2server::fuzz
