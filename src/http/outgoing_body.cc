#include "http/outgoing_body.h"

#include <algorithm>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/memory/memory_budget.h"
#include "file/content.h"
#include "file/parts_source.h"

namespace h2server::http {

// open() ends no lifetime that needs a destructor.
static_assert(std::is_trivially_destructible_v<file::PartSender>);

namespace {

std::unique_ptr<BodySource> source_of(const Response::FilePart& part) {
  std::vector<file::PartsSource::Part> parts;
  if (part.count > 0) parts.push_back({.first = part.first, .count = part.count});
  return std::make_unique<file::PartsSource>(part.file, std::move(parts));
}

}  // namespace

void OutgoingBody::open(Response& response, const file::PartSender::Options& options) {
  clear();
  Response::Body& body = response.body();
  if (const auto* const text = std::get_if<std::string>(&body)) {
    memory_ = *text;
    finished_ = memory_.empty();
  } else if (const auto* const part = std::get_if<Response::FilePart>(&body)) {
    if (part->file->content().may_wait()) {
      own_source_ = source_of(*part);
      source_ = own_source_.get();
      promised_ = part->count;
      finished_ = part->count == 0;
      return;
    }
    has_part_ = true;
    std::construct_at(&part_, part->file, part->first, part->count, options);
    finished_ = part_.finished();
  } else if (auto* const streamed = std::get_if<Response::Streamed>(&body)) {
    source_ = streamed->source.get();
    promised_ = streamed->size;
    finished_ = false;
  }
}

void OutgoingBody::count(std::size_t bytes) noexcept {
  base::MemoryBudget& budget = base::MemoryBudget::of_process();
  if (counted_ > 0) budget.discharge(base::MemoryOwner::bodies, counted_);
  if (bytes > 0) budget.charge(base::MemoryOwner::bodies, bytes);
  counted_ = bytes;
}

Result<void> OutgoingBody::offer(std::string_view piece) {
  ASSERT(source_ != nullptr && memory_.empty() && !finished_);
  if (piece.empty()) {
    if (promised_.value_or(0) != 0) return std::unexpected(Error{0, "body shorter than declared"});
    finished_ = true;
    return {};
  }
  if (promised_) {
    if (piece.size() > *promised_) return std::unexpected(Error{0, "body longer than declared"});
    *promised_ -= piece.size();
  }
  memory_ = piece;
  return {};
}

std::size_t OutgoingBody::next_size(std::size_t bytes_max) const noexcept {
  if (finished_) return 0;
  return has_part_ ? part_.next_size(bytes_max) : std::min(memory_.size(), bytes_max);
}

Result<void> OutgoingBody::append(base::BufferChain& out, std::string_view prefix,
                                  std::size_t size) {
  if (has_part_) {
    Result<void> appended = part_.append(out, prefix, size);
    if (!appended) {
      failure_ = appended.error();
      failed_ = true;
      return appended;
    }
    finished_ = part_.finished();
  } else {
    out.append(prefix);
    out.append(memory_.substr(0, size));
    memory_.remove_prefix(size);
    if (source_ == nullptr) finished_ = memory_.empty();
  }
  appended_ += size;
  return {};
}

}  // namespace h2server::http
