#include "server/late_call.h"

#include <memory>
#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace hotel::server {
namespace {

class NotingCall final : public Call {
 public:
  explicit NotingCall(std::vector<std::string>* notes) : notes_(notes) {}
  ~NotingCall() override { notes_->emplace_back("dropped"); }
  void Resume() override { notes_->emplace_back("resume"); }
  void Cancel() override { notes_->emplace_back("cancel"); }
  const std::string& request_id() const noexcept override { return id_; }

 private:
  std::vector<std::string>* notes_;
  const std::string id_;
};

using Notes = std::vector<std::string>;

TEST_CASE("what the client does once the call has started is passed on") {
  Notes notes;
  {
    LateCall late;
    late.Set(std::make_unique<NotingCall>(&notes));
    CHECK(notes.empty());
    late.Resume();
    late.Cancel();
  }
  CHECK(notes == Notes{"resume", "cancel", "dropped"});
}

TEST_CASE("a client that left before the call started has it cancelled") {
  Notes notes;
  LateCall late;
  late.Cancel();
  late.Set(std::make_unique<NotingCall>(&notes));
  CHECK(notes == Notes{"cancel"});
}

TEST_CASE("room that came before the handle did is not forgotten") {
  Notes notes;
  LateCall late;
  late.Resume();
  late.Set(std::make_unique<NotingCall>(&notes));
  CHECK(notes == Notes{"resume"});
}

TEST_CASE("a call that is never started is nothing to tell anybody") {
  LateCall late;
  late.Resume();
  late.Cancel();
}

}  // namespace
}  // namespace hotel::server
