// How many requests may be at one provider at the same time (seed 000, "Saturation happens
// because..."; facts e).
//
// A slot is taken before anything is sent and held until the answer's body has ended. A provider
// that says it is saturated gets a window: one request less than it had when it said so; clean
// answers widen the window again. Who finds every provider of its route at its window waits in
// line and is handed the first slot that comes free.
#ifndef HOTEL_INFLIGHT_LIMITER_H_
#define HOTEL_INFLIGHT_LIMITER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hotel/types.h"

namespace hotel {

/// The provider a slot is asked of. Views: they need to live as long as the call they are passed
/// to.
struct InflightTarget {
  std::string_view provider_id;    ///< UUID; identity
  std::string_view provider_name;  ///< routing form, for per-provider options; not identity
  /// The operator's ceiling (`Provider::max_in_flight`); 0 = none. It holds also while the learner
  /// is off. The value of the latest call is the one in force.
  int max_in_flight = 0;
};

/// How a slot ended.
enum class SlotEnd {
  kClean,    ///< a 2xx answer was read to its end
  kUnclean,  ///< anything else that reached the provider
  kUnused,   ///< nothing was sent: the slot goes back as if it had never been taken
};

class InflightLimiter;

/// The right to have one request at one provider. Move-only. A slot that dies unsettled ends
/// unclean. Not thread-safe; must not outlive its limiter.
class InflightSlot {
 public:
  InflightSlot() = default;
  /// For limiters. `window` is what the limiter wants to be handed back.
  InflightSlot(InflightLimiter* limiter, void* window) noexcept
      : limiter_(limiter), window_(window) {}
  InflightSlot(InflightSlot&& other) noexcept;
  InflightSlot& operator=(InflightSlot&& other) noexcept;
  ~InflightSlot();

  /// True until ended or moved from.
  bool valid() const noexcept { return limiter_ != nullptr; }

  /// Gives the slot back. REQUIRES: valid(). `end` is not kClean when the answer was judged bad or
  /// its body did not reach its end.
  void End(SlotEnd end, TimePoint now);

  /// Gives the slot back and cuts the window to what is then in flight, at least 1, in one step.
  /// For a 429 that reads saturated. `retry_after` (>= 0) defers the forgetting of the cut.
  /// REQUIRES: valid().
  void EndSaturated(Duration retry_after, TimePoint now);

  /// The provider stated that nothing remains (`X-RateLimit-Remaining*: 0`, on any answer): the
  /// window shrinks to what is in flight now, this slot included; it never widens. The slot is
  /// kept. REQUIRES: valid().
  void NoneRemaining(TimePoint now);

 private:
  InflightLimiter* limiter_ = nullptr;
  void* window_ = nullptr;
};

/// A provider's window as it looks from outside.
struct InflightView {
  std::string provider_id;
  std::string provider_name;
  int limit = 0;          ///< what was learned; 0 = uncapped
  int max_in_flight = 0;  ///< the operator's ceiling; 0 = none
  int effective = 0;      ///< the smaller one of the two that are set; 0 = uncapped
  int inflight = 0;       ///< slots out, those handed to a waiter that has not taken them included
  int waiting = 0;        ///< requests in line here; one request may stand in several lines
};

/// A place in the lines of some providers. Destroying it leaves the lines; a slot that was handed
/// over and not taken goes to the next in line, unused. Move-only; not thread-safe; must not
/// outlive its limiter.
class SlotWait {
 public:
  /// What the limiter keeps of a waiting request.
  class Place {
   public:
    virtual ~Place() = default;
    virtual InflightSlot Take(std::size_t* target) = 0;
    virtual bool ready() const = 0;
    virtual std::uint64_t seniority() const noexcept = 0;
  };

  SlotWait() = default;
  explicit SlotWait(std::unique_ptr<Place> place) noexcept : place_(std::move(place)) {}

  bool valid() const noexcept { return place_ != nullptr; }
  /// True when a slot lies ready. REQUIRES: valid().
  bool ready() const { return place_->ready(); }
  /// Takes the slot that was handed over and leaves all lines; `*target` becomes its index in the
  /// list given to Wait. Not valid() when none was handed over: then the place is kept. REQUIRES:
  /// valid().
  InflightSlot Take(std::size_t* target) { return place_->Take(target); }
  /// For a later Wait of the same request: its place in line. Never 0. REQUIRES: valid().
  std::uint64_t seniority() const noexcept { return place_->seniority(); }

 private:
  std::unique_ptr<Place> place_;
};

/// The windows of all providers. Every method is thread-safe. Memory is bounded by what is in
/// flight, what waits, and the windows that were cut within forget_after: idle windows are dropped.
class InflightLimiter {
 public:
  virtual ~InflightLimiter() = default;

  /// True while `target` is at its window. Changes nothing, does not allocate.
  virtual bool Busy(const InflightTarget& target, TimePoint now) const noexcept = 0;

  /// A slot, or one that is not valid() when the provider is at its window. Who waits in line for
  /// the provider comes first. Does not allocate once the provider is known.
  virtual InflightSlot TryAcquire(const InflightTarget& target, TimePoint now) = 0;

  /// Stands in line at every one of `targets` until one hands over a slot: the first one, in the
  /// order given, that admits now, else the first that comes free. Lines are first come, first
  /// served; a slot is handed to one waiter only, so none is woken in vain, and newcomers do not
  /// overtake.
  ///
  /// `on_slot` is called once when a slot was handed over behind the return of Wait, on the thread
  /// that gave it back, with no lock held; not when the slot is there at the return (`ready()`).
  /// It must not throw and should only post to the waiter's loop, where `Take` fetches the slot.
  /// It may still run while the place is being destroyed by another thread, so it must own what
  /// it touches.
  ///
  /// `seniority` of an earlier place keeps that place in line; 0 = the end of it.
  virtual SlotWait Wait(const std::vector<InflightTarget>& targets, TimePoint now,
                        std::function<void()> on_slot, std::uint64_t seniority = 0) = 0;

  /// Looks again at what changes without a slot moving: the settings, the passing of forget_after,
  /// and the ceilings of `changed` providers. Hands out what came free and drops idle windows. To
  /// be called behind a change of settings or providers, and now and then.
  virtual void Refresh(const std::vector<InflightTarget>& changed, TimePoint now) = 0;

  /// The windows with something to tell (capped, in use or waited for), sorted by provider id.
  virtual std::vector<InflightView> Views(TimePoint now) const = 0;

 protected:
  friend class InflightSlot;
  /// Each ends a slot, once.
  virtual void Release(void* window, SlotEnd end, TimePoint now) = 0;
  virtual void ReleaseSaturated(void* window, Duration retry_after, TimePoint now) = 0;
  /// Ends none.
  virtual void Shrink(void* window, TimePoint now) = 0;
};

}  // namespace hotel

#endif  // HOTEL_INFLIGHT_LIMITER_H_
