#include "libhotel/wire/inflate.h"

#include <algorithm>
#include <limits>

#include <zlib.h>

#include "libhotel/base/strings.h"

namespace hotel::wire {
namespace {

enum class Coding { kNone, kGzip, kDeflate };

// What inflateInit2 calls a window: 15 bits, with 16 added for the gzip form, negated for none.
constexpr int kZlibWindow = 15;
constexpr int kGzipWindow = 15 + 16;
constexpr int kRawWindow = -15;

constexpr std::size_t kStep = std::size_t{16} * 1024;

Coding CodingOf(std::string_view content_encoding) noexcept {
  const std::string_view word = base::Trim(content_encoding);
  if (base::EqualsIgnoreCase(word, "gzip") || base::EqualsIgnoreCase(word, "x-gzip")) {
    return Coding::kGzip;
  }
  return base::EqualsIgnoreCase(word, "deflate") ? Coding::kDeflate : Coding::kNone;
}

class Inflater {
 public:
  explicit Inflater(int window) : ready_(inflateInit2(&stream_, window) == Z_OK) {}
  ~Inflater() {
    if (ready_) inflateEnd(&stream_);
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Appends to `out` until it holds `limit` bytes, the input ends or goes bad. False when not one
  // whole piece was understood.
  bool Run(std::string_view bytes, std::size_t limit, bool members, std::string* out) {
    if (!ready_) return false;
    bool ended = false;
    while (out->size() < limit) {
      if (stream_.avail_in == 0) GiveInput(&bytes);
      const std::size_t before = out->size();
      out->resize(std::min(limit, before + kStep));
      stream_.next_out = reinterpret_cast<Bytef*>(out->data() + before);
      stream_.avail_out = static_cast<uInt>(out->size() - before);
      const int status = inflate(&stream_, Z_NO_FLUSH);
      out->resize(out->size() - stream_.avail_out);
      ended = ended || status == Z_STREAM_END;
      if (status == Z_STREAM_END) {
        // A gzip file may be several, one behind the other.
        if (!members || (stream_.avail_in == 0 && bytes.empty())) break;
        if (inflateReset(&stream_) != Z_OK) break;
      } else if (status != Z_OK ||
                 (stream_.avail_in == 0 && bytes.empty() && stream_.avail_out > 0)) {
        break;
      }
    }
    return ended || !out->empty();
  }

 private:
  void GiveInput(std::string_view* bytes) noexcept {
    const std::size_t count =
        std::min<std::size_t>(bytes->size(), std::numeric_limits<uInt>::max());
    stream_.next_in = reinterpret_cast<z_const Bytef*>(const_cast<char*>(bytes->data()));
    stream_.avail_in = static_cast<uInt>(count);
    bytes->remove_prefix(count);
  }

  z_stream stream_{};
  bool ready_;
};

// The two bytes with which zlib's own form begins.
bool HasZlibHeader(std::string_view bytes) noexcept {
  if (bytes.size() < 2) return false;
  const unsigned first = static_cast<unsigned char>(bytes[0]);
  const unsigned second = static_cast<unsigned char>(bytes[1]);
  return (first & 0x0F) == Z_DEFLATED && (first * 256 + second) % 31 == 0;
}

}  // namespace

bool CanInflate(std::string_view content_encoding) noexcept {
  return CodingOf(content_encoding) != Coding::kNone;
}

std::optional<std::string> Inflate(std::string_view content_encoding, std::string_view bytes,
                                   std::size_t limit) {
  const Coding coding = CodingOf(content_encoding);
  if (coding == Coding::kNone) return std::nullopt;
  std::string out;
  if (bytes.empty() || limit == 0) return out;
  if (coding == Coding::kGzip) {
    if (!Inflater(kGzipWindow).Run(bytes, limit, true, &out)) return std::nullopt;
    return out;
  }
  // "deflate" is zlib's form by the standard and the bare one by many servers.
  if (HasZlibHeader(bytes) && Inflater(kZlibWindow).Run(bytes, limit, false, &out)) return out;
  out.clear();
  if (!Inflater(kRawWindow).Run(bytes, limit, false, &out)) return std::nullopt;
  return out;
}

}  // namespace hotel::wire
