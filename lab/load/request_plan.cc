#include "load/request_plan.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

namespace h2server::lab::load {

namespace {

constexpr std::string_view number_mark = "{n}";
constexpr std::string_view boundary = "h2server-lab-load-5b1f0c94d7e2a683";
constexpr std::string_view padding_field = "X-Padding: ";

}  // namespace

RequestPlan::RequestPlan(RequestSpec spec)
    : spec_(std::move(spec)),
      numbered_(spec_.multipart || spec_.path.find(number_mark) != std::string::npos) {
  if (spec_.multipart) {
    content_type_ = "multipart/form-data; boundary=h2server-lab-load-5b1f0c94d7e2a683";
  } else if (spec_.has_upload) {
    content_type_ = "application/octet-stream";
  }
}

Result<RequestPlan, std::string> RequestPlan::make(RequestSpec spec) {
  RequestPlan plan(std::move(spec));
  // The largest number gives the longest head.
  const std::uint64_t longest = plan.numbered_ ? UINT64_MAX : 0;
  plan.write_head(longest, plan.upload(longest).size());
  const std::uint32_t wanted = plan.spec_.message_bytes;
  if (wanted > 0 && plan.head_.size() != wanted) {
    return std::unexpected(
        fmt::format("a message of this request has up to {} bytes already", plan.head_.size()));
  }
  return plan;
}

std::string RequestPlan::path(std::uint64_t number) const {
  std::string made;
  std::string_view rest = spec_.path;
  for (std::size_t mark = rest.find(number_mark); mark != std::string_view::npos;
       mark = rest.find(number_mark)) {
    made += rest.substr(0, mark);
    fmt::format_to(std::back_inserter(made), "{}", number);
    rest.remove_prefix(mark + number_mark.size());
  }
  return made += rest;
}

Upload RequestPlan::upload(std::uint64_t number) const {
  if (!spec_.has_upload) return {};
  if (!spec_.multipart) return {spec_.upload_bytes, {}, {}};
  return {spec_.upload_bytes,
          fmt::format("--{}\r\nContent-Disposition: form-data; name=\"file\"; "
                      "filename=\"load-{}\"\r\nContent-Type: application/octet-stream\r\n\r\n",
                      boundary, number),
          fmt::format("\r\n--{}--\r\n", boundary)};
}

std::string_view RequestPlan::head(std::uint64_t number, std::uint64_t body_bytes) {
  if (numbered_) write_head(number, body_bytes);
  return head_;
}

void RequestPlan::write_head(std::uint64_t number, std::uint64_t body_bytes) {
  head_.clear();
  const auto out = std::back_inserter(head_);
  fmt::format_to(out, "{} {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: h2server-lab\r\n", spec_.method,
                 path(number), spec_.authority);
  if (spec_.has_upload) {
    fmt::format_to(out, "Content-Type: {}\r\nContent-Length: {}\r\n", content_type_, body_bytes);
  }
  if (spec_.closes) head_ += "Connection: close\r\n";
  const std::size_t least = head_.size() + padding_field.size() + 4;  // two line ends
  if (spec_.message_bytes >= least) {
    fmt::format_to(out, "{}{}\r\n", padding_field, std::string(spec_.message_bytes - least, 'p'));
  }
  head_ += "\r\n";
}

}  // namespace h2server::lab::load
