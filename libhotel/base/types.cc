#include "hotel/types.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <openssl/crypto.h>

#include "libhotel/base/strings.h"

namespace hotel {
namespace {

// A std::string that was moved from or shrunk keeps its old bytes in the buffer, so the whole
// capacity is overwritten, not only the bytes in use.
void Wipe(std::string* text) noexcept {
  text->resize(text->capacity());
  OPENSSL_cleanse(text->data(), text->size());
  text->clear();
}

}  // namespace

std::string_view FindHeader(const HeaderList& headers, std::string_view name) noexcept {
  for (const Header& header : headers) {
    if (base::EqualsIgnoreCase(header.name, name)) return header.value;
  }
  return {};
}

// The argument is copied and then wiped rather than moved: a moved short string leaves its bytes
// behind in the caller's object.
Secret::Secret(std::string value) : value_(value) { Wipe(&value); }

Secret::Secret(const Secret& other) : value_(other.value_) {}

Secret::Secret(Secret&& other) noexcept : value_(std::move(other.value_)) { Wipe(&other.value_); }

Secret& Secret::operator=(const Secret& other) {
  if (this != &other) {
    std::string copy = other.value_;
    Wipe(&value_);
    value_.swap(copy);
    Wipe(&copy);
  }
  return *this;
}

Secret& Secret::operator=(Secret&& other) noexcept {
  if (this != &other) {
    Wipe(&value_);
    value_.swap(other.value_);
    Wipe(&other.value_);
  }
  return *this;
}

Secret::~Secret() { Wipe(&value_); }

bool operator==(const Secret& a, const Secret& b) noexcept {
  return a.value_.size() == b.value_.size() &&
         CRYPTO_memcmp(a.value_.data(), b.value_.data(), a.value_.size()) == 0;
}

Body::Body(std::shared_ptr<const std::string> bytes) {
  if (bytes == nullptr || bytes->empty()) return;
  size_ = bytes->size();
  parts_.push_back(Part{std::move(bytes), 0, size_});
}

Body Body::Splice(std::size_t offset, std::size_t length, std::string replacement) const {
  Body result;
  result.parts_.reserve(parts_.size() + 2);
  const auto add = [&result](const std::shared_ptr<const std::string>& owner, std::size_t from,
                             std::size_t count) {
    if (count == 0) return;
    result.size_ += count;
    result.parts_.push_back(Part{owner, from, count});
  };
  const auto middle = std::make_shared<const std::string>(std::move(replacement));
  const std::size_t end = offset + length;
  bool placed = false;
  std::size_t start = 0;  // of the part, in this body
  for (const Part& part : parts_) {
    const std::size_t stop = start + part.length;
    if (start < offset) add(part.owner, part.offset, std::min(offset, stop) - start);
    if (!placed && offset <= stop) {
      add(middle, 0, middle->size());
      placed = true;
    }
    if (end < stop) {
      const std::size_t from = std::max(end, start);
      add(part.owner, part.offset + (from - start), stop - from);
    }
    start = stop;
  }
  if (!placed) add(middle, 0, middle->size());  // this body is empty
  return result;
}

std::size_t Body::Read(std::size_t offset, char* out, std::size_t capacity) const noexcept {
  std::size_t copied = 0;
  for (const Part& part : parts_) {
    if (copied == capacity) break;
    if (offset >= part.length) {
      offset -= part.length;
      continue;
    }
    const std::size_t count = std::min(part.length - offset, capacity - copied);
    std::memcpy(out + copied, part.owner->data() + part.offset + offset, count);
    copied += count;
    offset = 0;
  }
  return copied;
}

std::string Body::ToString() const {
  std::string text(size_, '\0');
  Read(0, text.data(), text.size());
  return text;
}

}  // namespace hotel
