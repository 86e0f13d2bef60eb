#include "content/uploads/stored/store_uploads.h"

#include <exception>
#include <utility>

#include "content/uploads/access/upload_quota.h"
#include "content/uploads/stored/store_receiver.h"
#include "h2server/own_stop.h"
#include "h2server/task_group.h"

namespace h2server::content {

namespace {

// Parts of 8 MiB for 32 clients, or for six fast ones.
constexpr std::uint64_t budget_bytes = std::uint64_t{256} << 20;

}  // namespace

StoreUploads::StoreUploads(std::shared_ptr<Store> store, std::shared_ptr<PartBudget> budget,
                           const StoreUploadsOptions& options)
    : store_(std::move(store)),
      budget_(std::move(budget)),
      options_(options),
      journal_(store_, options.expire_s) {}

WriterParts StoreUploads::writer_parts() noexcept {
  return {.store = *store_, .budget = *budget_, .journal = journal_, .limits = options_.limits};
}

ObjectPlan StoreUploads::plan(std::string path, std::optional<std::uint64_t> size,
                              std::string client) const {
  std::string type(options_.types->of(path));
  return {.key = std::move(path),
          .size = size,
          .content_type = std::move(type),
          .client = std::move(client)};
}

Task<Stored> StoreUploads::receive(Request& request, UploadIntent intent) {
  coro::StopState* const stop = co_await coro::OwnStop();
  StoreReceiver receiver(std::move(intent), *this);
  TaskGroup sweeping;
  Task<void> sweep = journal_.run_if_due();
  sweep.inherit_stop(stop);
  sweeping.start(std::move(sweep));
  Stored stored;
  std::exception_ptr failure;
  try {
    Stored received = co_await receive_body(request, receiver);
    stored = std::move(received);
  } catch (...) {
    failure = std::current_exception();
  }
  if (receiver.may_have_stored()) request.attach(MayHaveStored{});
  co_await sweeping.join();
  if (failure) std::rethrow_exception(failure);
  co_return stored;
}

std::shared_ptr<PartBudget> part_budget_of_process() {
  static const auto budget = std::make_shared<PartBudget>(budget_bytes);
  return budget;
}

}  // namespace h2server::content
