// StoreUploads: what the uploads into one store share. Any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "content/uploads/receive/upload_backend.h"
#include "content/uploads/stored/object_writer.h"
#include "content/uploads/stored/part_budget.h"
#include "content/uploads/stored/parts_journal.h"
#include "h2server/request.h"
#include "h2server/store.h"
#include "h2server/task.h"
#include "http/fields/media_type.h"

namespace h2server::content {

struct StoreUploadsOptions {
  std::int64_t expire_s = 24 * 3600;  // of parts without progress
  http::MediaTypesRef types = std::make_shared<const http::MediaTypes>();  // objects get theirs
  WriterLimits limits = {};
};

class StoreUploads final : public UploadBackend {
 public:
  // `budget` is that of the process.
  StoreUploads(std::shared_ptr<Store> store, std::shared_ptr<PartBudget> budget,
               const StoreUploadsOptions& options);

  [[nodiscard]] Store& store() const noexcept { return *store_; }
  [[nodiscard]] const WriterLimits& limits() const noexcept { return options_.limits; }
  // This must outlive what is made with them.
  [[nodiscard]] WriterParts writer_parts() noexcept;
  [[nodiscard]] ObjectPlan plan(std::string path, std::optional<std::uint64_t> size,
                                std::string client) const;

  // Meanwhile looks for parts that others have left, if it is time.
  Task<Stored> receive(Request& request, UploadIntent intent) override;

  // Looks for them, for keep_up().
  Task<void> upkeep() { return journal_.run(); }
  [[nodiscard]] std::chrono::milliseconds sweep_pause() const noexcept {
    return std::chrono::milliseconds(journal_.pause_ms());
  }

 private:
  const std::shared_ptr<Store> store_;
  const std::shared_ptr<PartBudget> budget_;
  const StoreUploadsOptions options_;
  PartsJournal journal_;
};

using StoreUploadsRef = std::shared_ptr<StoreUploads>;

// The memory of all uploads to stores of this process.
std::shared_ptr<PartBudget> part_budget_of_process();

}  // namespace h2server::content
