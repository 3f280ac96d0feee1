#include "libhotel/net/curl_handles.h"

namespace hotel::net {

CurlHandles::~CurlHandles() {
  for (CURL* easy : idle_) ::curl_easy_cleanup(easy);
}

CURL* CurlHandles::Take() {
  if (!idle_.empty()) {
    CURL* easy = idle_.back();
    idle_.pop_back();
    return easy;
  }
  CURL* easy = ::curl_easy_init();
  if (easy == nullptr || SetCommonOptions(easy, callbacks_, ca_file_)) return easy;
  ::curl_easy_cleanup(easy);
  return nullptr;
}

void CurlHandles::Return(CURL* easy, bool reusable) {
  if (!reusable || idle_.size() >= kMaxIdle) return ::curl_easy_cleanup(easy);
  ClearRequestOptions(easy);
  idle_.push_back(easy);
}

}  // namespace hotel::net
