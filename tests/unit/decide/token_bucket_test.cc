// Buckets, meters and prices of virtual keys (facts o; decisions 7).
#include "libhotel/decide/token_bucket.h"

#include <chrono>
#include <string>

#include "libhotel/decide/address_buckets.h"
#include "tests/support/catch.h"

namespace hotel::decide {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr TimePoint kStart{std::chrono::hours(5)};

}  // namespace

TEST_CASE("facts o a bucket lets a burst through and then so much a second") {
  TokenBucket bucket;
  const BucketRate rate{10, 3};
  for (int i = 0; i < 3; ++i) {
    CHECK(bucket.WaitFor(1, rate, kStart) == Duration::zero());
    bucket.Take(1, kStart);
  }
  CHECK(bucket.WaitFor(1, rate, kStart) == milliseconds(100));
  CHECK(bucket.WaitFor(1, rate, kStart + milliseconds(100)) == Duration::zero());
  CHECK(bucket.WaitFor(2, rate, kStart + milliseconds(100)) == milliseconds(100));
  // It never holds more than its burst, however long nobody came.
  CHECK(bucket.Available(rate, kStart + minutes(9)) == Approx(3));
}

TEST_CASE("facts o a bucket may be overdrawn and pays it back") {
  TokenBucket bucket;
  const BucketRate rate{20, 1200};
  bucket.Take(2000, kStart);
  CHECK(bucket.Available(rate, kStart) == Approx(-800));
  CHECK(bucket.WaitFor(1, rate, kStart) == Duration(seconds(40)) + milliseconds(50));
  CHECK(bucket.Available(rate, kStart + seconds(60)) == Approx(400));
  bucket.GiveBack(5000, kStart + seconds(60));
  CHECK(bucket.Available(rate, kStart + seconds(60)) == Approx(1200));
}

TEST_CASE("F193 another rate or burst gives back nothing that was taken") {
  TokenBucket bucket;
  const BucketRate one{1.0 / 60, 1};
  const BucketRate two{2.0 / 60, 2};
  int admitted = 0;
  TimePoint now = kStart;
  for (int turn = 0; turn < 30; ++turn) {
    const BucketRate& rate = turn % 2 == 0 ? one : two;
    if (bucket.WaitFor(1, rate, now) == Duration::zero()) {
      bucket.Take(1, now);
      ++admitted;
    }
    now += seconds(1);
  }
  CHECK(admitted == 2);
}

TEST_CASE("a rate that was just raised does not speak for the time before it") {
  TokenBucket bucket;
  bucket.Take(10, kStart);
  const BucketRate slow{1, 10};
  const BucketRate fast{1000, 10};
  CHECK(bucket.Available(slow, kStart) == Approx(0));
  CHECK(bucket.Available(fast, kStart + seconds(3)) == Approx(3));
  CHECK(bucket.Available(fast, kStart + seconds(4)) == Approx(10));
}

TEST_CASE("a clock that stands still or steps back gives nothing") {
  TokenBucket bucket;
  const BucketRate rate{1000, 1};
  CHECK(bucket.Available(rate, kStart) == Approx(1));
  bucket.Take(1, kStart);
  CHECK(bucket.Available(rate, kStart - seconds(5)) == Approx(0));
  CHECK(bucket.WaitFor(1, {1e-9, 1}, kStart) > std::chrono::hours(24));
}

TEST_CASE("facts o addresses are counted apart, refused requests take nothing") {
  AddressBuckets buckets;
  const BucketRate rate{1, 2};
  CHECK(buckets.Ask("a", rate, kStart).admitted);
  CHECK(buckets.Ask("a", rate, kStart).admitted);
  for (int i = 0; i < 5; ++i) {
    const AddressBuckets::Decision refused = buckets.Ask("a", rate, kStart);
    CHECK_FALSE(refused.admitted);
    CHECK(refused.wait == seconds(1));
  }
  CHECK(buckets.Ask("b", rate, kStart).admitted);
  CHECK(buckets.Ask("a", rate, kStart + seconds(1)).admitted);
  CHECK(buckets.Ask("a", {0, 2}, kStart + seconds(1)).admitted);
}

TEST_CASE("a flood of addresses fills no memory, and idle ones are dropped after ten minutes") {
  AddressBuckets buckets;
  const BucketRate rate{1, 1};
  for (std::size_t i = 0; i < AddressBuckets::kMost + 500; ++i) {
    buckets.Ask(std::to_string(i), rate, kStart);
  }
  CHECK(buckets.size() == AddressBuckets::kMost);
  // What came on top shares one bucket.
  CHECK_FALSE(buckets.Ask("one more", rate, kStart).admitted);
  CHECK(buckets.Ask("late", rate, kStart + minutes(10)).admitted);
  CHECK(buckets.size() == 1);
}

}  // namespace hotel::decide
