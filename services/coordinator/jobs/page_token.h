#ifndef PACELINE_SERVICES_COORDINATOR_JOBS_PAGE_TOKEN_H_
#define PACELINE_SERVICES_COORDINATOR_JOBS_PAGE_TOKEN_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message_lite.h"
#include "google/protobuf/repeated_ptr_field.h"
#include "google/protobuf/timestamp.pb.h"
#include "protos/paceline/v1/jobs.pb.h"

namespace paceline {

// The first half of the SHA-256 of `bytes`, as 32 hexadecimal digits: the same
// in every process.
std::string Digest(absl::string_view bytes);

// Digests a message's content: equal messages have equal digests.
std::string DigestOf(const google::protobuf::MessageLite& message);

// The etag of a job as it is: of all its fields but `progress`, `etag` and
// `restore_from`, which each of its checkpoints changes while it runs.
std::string EtagOf(const v1::Job& job);

// Pages of lists (AIP-158). A page token is opaque: base64url of a digest of
// the query and the key of the last item that was returned. The next page
// begins after that key, so that items that come or go in between neither hide
// others nor show them twice.

// The limits of one method.
struct PageSizes {
  int usual = 100;  // Where a request has 0.
  int most = 1000;  // Where it has more.
};

// Where a page ends before its size. Clients take 4 MiB a message, unless told
// otherwise; half of it leaves room for what is filled in afterwards.
inline constexpr size_t kPageBytes = size_t{2} << 20;

// Which items still go onto a page: the first, however big it is, and as many
// more as there is room for.
class PageRoom {
 public:
  explicit PageRoom(int items) : items_(items) {}

  // False: the page ends before this item.
  bool Take(const google::protobuf::MessageLite& item);

 private:
  int items_;
  size_t bytes_ = 0;  // Taken.
};

struct PageStart {
  int size = 0;
  std::string after;  // The key of the last item; empty: from the beginning.
  std::string query;  // For the next page's token.
};

// Reads a request's `page_size` and `page_token`. `query` is all else that
// makes the list what it is: method, parent, filter, order.
// INVALID_ARGUMENT (fields page_size, page_token) if the size is negative, or
// the token is none or of another query.
absl::StatusOr<PageStart> ReadPage(absl::string_view query, int32_t page_size,
                                   absl::string_view page_token,
                                   PageSizes sizes = {});

// The token of the page after the item `key`, which is not empty.
std::string NextPageToken(absl::string_view query, absl::string_view key);

// For lists by sequence number, which begin at 1.
struct SequencePage {
  int size = 0;
  int64_t after = 0;  // The last item's; 0: from the beginning.
  std::string query;  // For the next page's token.
};
absl::StatusOr<SequencePage> ReadSequencePage(absl::string_view query,
                                              int32_t page_size,
                                              absl::string_view page_token,
                                              PageSizes sizes = {});
std::string NextSequenceToken(absl::string_view query, int64_t sequence);

// A key under which newer items come first.
std::string NewestFirstKey(const google::protobuf::Timestamp& time,
                           absl::string_view name);

// Moves the page of `items`, messages, that `start` asks for to the response's
// field `to`; gives the token of the next page, empty at the end.
// `key_of(item)` gives an item's key; no two are equal. `items` may be in any
// order; the page is in that of the keys.
template <typename Item, typename KeyOf>
std::string TakePage(std::vector<Item> items, const PageStart& start,
                     KeyOf key_of,
                     google::protobuf::RepeatedPtrField<Item>* to) {
  std::vector<std::pair<std::string, Item*>> keyed;
  for (Item& item : items) {
    std::string key(key_of(item));
    if (key > start.after) keyed.emplace_back(std::move(key), &item);
  }
  std::sort(keyed.begin(), keyed.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  PageRoom room(start.size);
  for (size_t i = 0; i < keyed.size(); ++i) {
    if (!room.Take(*keyed[i].second)) {
      return NextPageToken(start.query, keyed[i - 1].first);
    }
    *to->Add() = std::move(*keyed[i].second);
  }
  return "";
}

// Calls add(item) with each item of the page, which gives the item's sequence
// number; gives the token of the next page, empty at the end. `items` are those
// after `page.after`, in order, one more than the page has if there are more.
template <typename Item, typename Add>
std::string TakeSequencePage(std::vector<Item> items, const SequencePage& page,
                             Add add) {
  int64_t last = 0;
  int taken = 0;
  for (Item& item : items) {
    if (taken++ == page.size) return NextSequenceToken(page.query, last);
    last = add(item);
  }
  return "";
}

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_JOBS_PAGE_TOKEN_H_
