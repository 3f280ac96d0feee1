#include "server/sim/http_request.h"

#include <algorithm>
#include <charconv>

#include <strings.h>

namespace hotel::sim {
namespace {

constexpr std::size_t kMaxHead = 64 << 10;
constexpr std::size_t kMaxBody = 64 << 20;
constexpr std::size_t kMaxChunkLine = 1024;

bool SameName(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

std::string_view Trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

bool ParseSize(std::string_view text, int base, std::size_t* size) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *size, base);
  return error == std::errc() && stop == end && !text.empty();
}

}  // namespace

std::string_view HttpRequest::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (SameName(key, name)) return value;
  }
  return {};
}

RequestReader::Result RequestReader::Ready() {
  state_ = State::kHead;
  scanned_ = 0;
  return Result::kReady;
}

RequestReader::Result RequestReader::Read(std::string* in) {
  if (state_ == State::kHead) {
    const Result result = ReadHead(in);
    if (result != Result::kReady) return result;
  }
  Result result = state_ == State::kLength ? ReadBody(in) : ReadChunked(in);
  if (result == Result::kMore && expect_continue_) {
    expect_continue_ = false;
    result = Result::kContinue;
  }
  return result;
}

RequestReader::Result RequestReader::ReadHead(std::string* in) {
  const std::size_t end = in->find("\r\n\r\n", scanned_);
  if (end == std::string::npos) {
    if (in->size() > kMaxHead) return Result::kTooLarge;
    scanned_ = in->size() < 3 ? 0 : in->size() - 3;
    return Result::kMore;
  }
  if (end > kMaxHead) return Result::kTooLarge;
  request_ = HttpRequest();
  if (!ParseHead(std::string_view(*in).substr(0, end + 2))) return Result::kBad;
  in->erase(0, end + 4);

  const std::string_view coding = request_.header("transfer-encoding");
  const std::string_view length = request_.header("content-length");
  expect_continue_ = SameName(request_.header("expect"), "100-continue");
  left_ = 0;
  if (!coding.empty()) {
    if (!SameName(coding, "chunked") || !length.empty()) return Result::kBad;
    state_ = State::kChunkSize;
    return Result::kReady;
  }
  if (!length.empty() && !ParseSize(length, 10, &left_)) return Result::kBad;
  if (left_ > kMaxBody) return Result::kTooLarge;
  state_ = State::kLength;
  return Result::kReady;
}

bool RequestReader::ParseHead(std::string_view head) {
  const auto take_line = [&head] {
    const std::size_t end = head.find("\r\n");
    const std::string_view line = head.substr(0, end);
    head.remove_prefix(end + 2);
    return line;
  };
  const std::string_view line = take_line();
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return false;
  const std::string_view version = line.substr(last + 1);
  if (version != "HTTP/1.1" && version != "HTTP/1.0") return false;
  request_.method = line.substr(0, first);
  const std::string_view target = line.substr(first + 1, last - first - 1);
  request_.path = target.substr(0, target.find('?'));
  if (request_.path.size() < target.size())
    request_.query = target.substr(request_.path.size() + 1);
  while (!head.empty()) {
    const std::string_view field = take_line();
    const std::size_t colon = field.find(':');
    if (colon == 0 || colon == std::string_view::npos) return false;
    request_.headers.emplace_back(field.substr(0, colon), Trim(field.substr(colon + 1)));
  }
  const std::string_view connection = request_.header("connection");
  request_.keep_alive =
      version == "HTTP/1.1" ? !SameName(connection, "close") : SameName(connection, "keep-alive");
  return true;
}

RequestReader::Result RequestReader::ReadBody(std::string* in) {
  if (request_.body.empty() && in->size() == left_) {
    request_.body.swap(*in);
    return Ready();
  }
  if (request_.body.empty()) request_.body.reserve(left_);
  const std::size_t size = std::min(left_, in->size());
  request_.body.append(*in, 0, size);
  in->erase(0, size);
  left_ -= size;
  return left_ == 0 ? Ready() : Result::kMore;
}

RequestReader::Result RequestReader::ReadChunked(std::string* in) {
  std::size_t at = 0;
  Result result = Result::kMore;
  for (;;) {
    if (state_ == State::kChunkData) {
      const std::size_t size = std::min(left_, in->size() - at);
      request_.body.append(*in, at, size);
      at += size;
      left_ -= size;
      if (left_ > 0) break;
      if (in->size() - at < 2) break;
      if (in->compare(at, 2, "\r\n") != 0) return Result::kBad;
      at += 2;
      state_ = State::kChunkSize;
    }
    const std::size_t end = in->find("\r\n", at);
    if (end == std::string::npos) {
      if (in->size() - at > kMaxChunkLine) return Result::kBad;
      break;
    }
    const std::string_view line = std::string_view(*in).substr(at, end - at);
    at = end + 2;
    if (state_ == State::kTrailer) {
      if (!line.empty()) continue;
      result = Ready();
      break;
    }
    if (!ParseSize(Trim(line.substr(0, line.find(';'))), 16, &left_)) return Result::kBad;
    if (left_ > kMaxBody || request_.body.size() + left_ > kMaxBody) return Result::kTooLarge;
    state_ = left_ == 0 ? State::kTrailer : State::kChunkData;
  }
  in->erase(0, at);
  return result;
}

}  // namespace hotel::sim
