// ResumableUploads in an object store: their bytes and all of their state lie in the store, so that
// a client goes on at another replica after the first was killed. See store_upload_state.h for the
// objects.
//
// What has made no progress for a while is removed, by one replica at a time, at most once a
// minute, while requests come.
#pragma once

#include <memory>
#include <string>

#include "content/uploads/area/pending_places.h"
#include "content/uploads/resumable/resumable_uploads.h"
#include "content/uploads/stored/store_upload.h"
#include "content/uploads/stored/store_uploads.h"
#include "h2server/store.h"
#include "h2server/uploads.h"

namespace h2server::content {

// Those of the uploads at a place of a store, which outlive a reload.
std::shared_ptr<PendingPlaces> pending_places_of(const std::string& place);

struct ResumableStoreOptions {
  // Of all uploads of the process. Not null.
  std::shared_ptr<PartBudget> budget = part_budget_of_process();
  std::shared_ptr<PendingPlaces> pending = std::make_shared<PendingPlaces>(
      PendingLimits().uploads_max, PendingLimits().client_uploads_max);    // not null
  http::MediaTypesRef types = std::make_shared<const http::MediaTypes>();  // objects get theirs
  UploadOptions uploads = {};
  PendingLimits limits = {};
  StoreUploadSizes sizes = {};
};

// The store must be one that is written.
std::shared_ptr<ResumableUploads> resumable_in_store(std::shared_ptr<Store> store,
                                                     ResumableStoreOptions options);

}  // namespace h2server::content
