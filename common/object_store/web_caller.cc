#include "common/object_store/web_caller.h"

#include <curl/curl.h>

#include <array>
#include <csignal>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/check.h"

namespace paceline {
namespace {

constexpr absl::Duration kConnectPatience = absl::Seconds(5);
// Below so many bytes a second nothing moves.
constexpr long kLeastBytesPerSecond = 1024;  // NOLINT(google-runtime-int)
constexpr size_t kMostIdle = 8;

struct HeaderListFree {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using HeaderList = std::unique_ptr<curl_slist, HeaderListFree>;

// What a call gets, and how much of it may be.
struct Taking {
  WebAnswer answer;
  uint64_t most_bytes = 0;
  bool too_long = false;
};

size_t TakeBody(char* data, size_t one, size_t count, void* user) {
  auto& taking = *static_cast<Taking*>(user);
  const size_t size = one * count;
  taking.too_long = taking.answer.body.size() + size > taking.most_bytes;
  if (taking.too_long) return 0;
  taking.answer.body.append(data, size);
  return size;
}

size_t TakeHeader(char* data, size_t one, size_t count, void* user) {
  auto& headers = static_cast<Taking*>(user)->answer.headers;
  const absl::string_view line(data, one * count);
  const size_t colon = line.find(':');
  if (colon != absl::string_view::npos) {
    headers[absl::AsciiStrToLower(line.substr(0, colon))] =
        std::string(absl::StripAsciiWhitespace(line.substr(colon + 1)));
  }
  return one * count;
}

HeaderList ToList(const WebCall& call) {
  curl_slist* list = nullptr;
  const auto add = [&list](const std::string& line) {
    list = curl_slist_append(list, line.c_str());
    CHECK(list != nullptr);
  };
  for (const auto& [name, value] : call.headers) {
    add(value.empty() ? absl::StrCat(name, ";")
                      : absl::StrCat(name, ": ", value));
  }
  // The library would add them.
  add("Expect:");
  if (!call.headers.contains("content-type")) add("Content-Type:");
  return HeaderList(list);
}

// An option that has to work: its value is in range and the library has it.
template <class Value>
void Set(CURL* handle, CURLoption option, Value value) {
  CHECK(curl_easy_setopt(handle, option, value) == CURLE_OK);
}

void SetUp(CURL* handle, const WebCall& call, const std::string& ca_file) {
  Set(handle, CURLOPT_URL, call.url.c_str());
  Set(handle, CURLOPT_PATH_AS_IS, 1L);
  Set(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  Set(handle, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  Set(handle, CURLOPT_NOSIGNAL, 1L);
  if (!ca_file.empty()) Set(handle, CURLOPT_CAINFO, ca_file.c_str());
  Set(handle, CURLOPT_CONNECTTIMEOUT_MS,
      static_cast<long>(absl::ToInt64Milliseconds(kConnectPatience)));
  Set(handle, CURLOPT_TIMEOUT_MS,
      static_cast<long>(absl::ToInt64Milliseconds(call.most)));
  Set(handle, CURLOPT_LOW_SPEED_LIMIT, kLeastBytesPerSecond);
  Set(handle, CURLOPT_LOW_SPEED_TIME,
      static_cast<long>(absl::ToInt64Seconds(call.silence)));
  if (call.method == "HEAD") {
    Set(handle, CURLOPT_NOBODY, 1L);
  } else if (call.method == "PUT" || call.method == "POST") {
    // Sent from where it lies, and again if a connection of before is dead.
    Set(handle, CURLOPT_POST, 1L);
    Set(handle, CURLOPT_POSTFIELDS, call.body.data());
    Set(handle, CURLOPT_POSTFIELDSIZE_LARGE,
        static_cast<curl_off_t>(call.body.size()));
  }
  if (call.method != "HEAD") {
    Set(handle, CURLOPT_CUSTOMREQUEST, call.method.c_str());
  }
}

absl::Status ToStatus(CURLcode code, const WebCall& call, const char* details) {
  const std::string why = absl::StrCat(
      "calling ",
      call.url.substr(0, call.url.find('/', call.url.find("//") + 2)), ": ",
      *details != '\0' ? details : curl_easy_strerror(code));
  switch (code) {
    case CURLE_OPERATION_TIMEDOUT:
      return absl::DeadlineExceededError(why);
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
      return absl::FailedPreconditionError(absl::StrCat(
          why, "; AWS_CA_BUNDLE can name a file of the authority to trust"));
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
      return absl::InvalidArgumentError(why);
    default:
      return absl::UnavailableError(why);
  }
}

}  // namespace

void WebCaller::CloseHandle::operator()(void* handle) const {
  curl_easy_cleanup(handle);
}

WebCaller::WebCaller(std::string ca_file) : ca_file_(std::move(ca_file)) {
  // Once in a process, and for as long as it lasts. OpenSSL writes to
  // connections that the other side has closed, and by default the signal of
  // that ends the process.
  static const bool started =
      curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK &&
      signal(SIGPIPE, SIG_IGN) != SIG_ERR;
  CHECK(started);
}

WebCaller::~WebCaller() = default;

WebCaller::Handle WebCaller::Take() {
  {
    absl::MutexLock lock(&mu_);
    if (!idle_.empty()) {
      Handle handle = std::move(idle_.back());
      idle_.pop_back();
      return handle;
    }
  }
  Handle handle(curl_easy_init());
  CHECK(handle != nullptr);
  return handle;
}

void WebCaller::GiveBack(Handle handle) {
  // Options go, connections stay.
  curl_easy_reset(handle.get());
  absl::MutexLock lock(&mu_);
  if (idle_.size() < kMostIdle) idle_.push_back(std::move(handle));
}

absl::StatusOr<WebAnswer> WebCaller::Call(const WebCall& call) {
  Handle handle = Take();
  SetUp(handle.get(), call, ca_file_);
  const HeaderList headers = ToList(call);
  Set(handle.get(), CURLOPT_HTTPHEADER, headers.get());
  std::array<char, CURL_ERROR_SIZE> details = {};
  Set(handle.get(), CURLOPT_ERRORBUFFER, details.data());
  Taking taking;
  taking.most_bytes = call.most_bytes;
  Set(handle.get(), CURLOPT_WRITEFUNCTION, &TakeBody);
  Set(handle.get(), CURLOPT_WRITEDATA, &taking);
  Set(handle.get(), CURLOPT_HEADERFUNCTION, &TakeHeader);
  Set(handle.get(), CURLOPT_HEADERDATA, &taking);
  const CURLcode code = curl_easy_perform(handle.get());
  long answered = 0;  // NOLINT(google-runtime-int)
  curl_easy_getinfo(handle.get(), CURLINFO_RESPONSE_CODE, &answered);
  GiveBack(std::move(handle));
  if (taking.too_long) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the answer of ", call.url, " has more than ",
                     call.most_bytes, " bytes"));
  }
  if (code != CURLE_OK) return ToStatus(code, call, details.data());
  taking.answer.code = static_cast<int>(answered);
  return std::move(taking.answer);
}

}  // namespace paceline
