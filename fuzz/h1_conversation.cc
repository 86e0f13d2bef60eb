#include "h1_conversation.h"

#include <optional>

#include "base/memory/arena.h"
#include "http/h1/body_decoder.h"
#include "http/h1/trailer_section.h"
#include "require.h"

namespace h2server::fuzz {

namespace {

using http::h1::BodyDecoder;
using http::h1::Parser;
using End = H1Conversation::End;

// The bytes that have arrived and how many of them are taken.
struct Arrival {
  std::string_view bytes;
  Cuts cuts;
  std::size_t taken = 0;
  std::size_t arrived = 0;
  std::optional<ExactCopy> copy;

  // Returns false if nothing more arrives.
  bool receive() {
    const std::size_t size = cuts.next(bytes.size() - arrived);
    arrived += size;
    return size > 0;
  }
  // The view is valid until the next call. Single bytes are not copied: copying the head for each
  // of them would take most of the time.
  std::string_view unread() {
    const std::string_view view = bytes.substr(taken, arrived - taken);
    return cuts.are_single_bytes() ? view : copy.emplace(view).view();
  }
};

Parser::Verdict read_head(Parser& parser, Arrival& arrival, const Limits& limits) {
  for (;;) {
    const std::string_view unread = arrival.unread();
    const Parser::Verdict verdict = parser.parse(unread);
    if (verdict != Parser::Verdict::need_more) return verdict;
    require(unread.size() <= limits.head_bytes_max, "a head that waits for more is bounded");
    if (!arrival.receive()) return verdict;
  }
}

BodyDecoder::Verdict read_body(BodyDecoder& decoder, Arrival& arrival, std::string& content) {
  for (;;) {
    const std::string_view unread = arrival.unread();
    std::string_view rest = unread;
    BodyDecoder::Verdict verdict;
    while ((verdict = decoder.decode(rest)) == BodyDecoder::Verdict::content) {
      require(!decoder.content().empty(), "a piece of content is not empty");
      content += decoder.content();
    }
    arrival.taken += unread.size() - rest.size();
    const bool finished = verdict == BodyDecoder::Verdict::finished;
    require(finished == decoder.finished(), "the verdict and finished() agree");
    if (verdict != BodyDecoder::Verdict::need_more) return verdict;
    require(rest.empty(), "a decoder that needs more has taken everything");
    if (!arrival.receive()) return verdict;
  }
}

H1Request begin_request(const Parser& parser, const Arrival& arrival) {
  H1Request request;
  request.framing = parser.framing();
  request.head_begin = arrival.taken;
  request.body_begin = arrival.taken + parser.head_size();
  require(request.body_begin <= arrival.arrived, "no head is longer than what has arrived");
  parser.fill(arrival.bytes.substr(arrival.taken, parser.head_size()), request.head);
  return request;
}

std::string_view name_of(End end) {
  switch (end) {
    case End::head_incomplete:
      return "head incomplete";
    case End::head_malformed:
      return "head malformed";
    case End::body_incomplete:
      return "body incomplete";
    case End::body_malformed:
      return "body malformed";
  }
  return "";
}

}  // namespace

H1Conversation converse_h1(std::string_view bytes, Cuts cuts, const Limits& limits) {
  H1Conversation conversation;
  Arrival arrival{.bytes = bytes, .cuts = cuts, .copy = {}};
  Parser parser(limits);
  for (;;) {
    parser.reset();
    conversation.begin_of_rest = arrival.taken;
    const Parser::Verdict verdict = read_head(parser, arrival, limits);
    if (verdict != Parser::Verdict::complete) {
      const bool malformed = verdict == Parser::Verdict::malformed;
      conversation.end = malformed ? End::head_malformed : End::head_incomplete;
      conversation.status = malformed ? parser.status() : 0;
      return conversation;
    }
    H1Request& request = conversation.requests.emplace_back(begin_request(parser, arrival));
    arrival.taken = request.body_begin;
    base::Arena arena;
    http::h1::TrailerSection trailers(arena);
    BodyDecoder decoder(request.framing, &trailers);
    const BodyDecoder::Verdict body = read_body(decoder, arrival, request.content);
    request.body_end = arrival.taken;
    request.finished = body == BodyDecoder::Verdict::finished;
    if (!request.finished) {
      const bool malformed = body == BodyDecoder::Verdict::malformed;
      conversation.end = malformed ? End::body_malformed : End::body_incomplete;
      return conversation;
    }
    for (const Field& field : trailers.fields()) {
      request.trailers.append(field.name).append("=").append(field.value).append("\n");
    }
  }
}

std::string describe(const RequestHead& head, const http::h1::Framing& framing) {
  std::string text;
  text.append(head.method_name).append(" ").append(head.target);
  text += head.version == Version::http_1_0 ? " 1.0" : " 1.1";
  text.append(" for ").append(head.authority);
  text += " body " + std::to_string(static_cast<int>(framing.body));
  text += " of " + std::to_string(framing.length);
  if (framing.keep_alive) text += " keep-alive";
  if (framing.expects_continue) text += " expects";
  text += '\n';
  for (const Field& field : head.fields) {
    text.append(field.name).append("=").append(field.value).append("\n");
  }
  return text;
}

std::string describe(const H1Conversation& conversation) {
  std::string text;
  for (const H1Request& request : conversation.requests) {
    text += describe(request.head, request.framing);
    text += "head from " + std::to_string(request.head_begin);
    text += ", body from " + std::to_string(request.body_begin);
    text += " to " + std::to_string(request.body_end);
    text += (request.finished ? ": " : " so far: ") + request.content + '\n' + request.trailers;
  }
  text.append(name_of(conversation.end)).append(" ").append(std::to_string(conversation.status));
  text += " from " + std::to_string(conversation.begin_of_rest) + '\n';
  return text;
}

}  // namespace h2server::fuzz
