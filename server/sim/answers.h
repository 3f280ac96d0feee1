// What providers' answers look like, endpoint by endpoint.
#ifndef HOTEL_SERVER_SIM_ANSWERS_H_
#define HOTEL_SERVER_SIM_ANSWERS_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace hotel::sim {

enum class Dialect {
  kChat,
  kMessages,
  kResponses,
  kEmbeddings,
  kRerank,
  kImages,
  kSpeech,  ///< bytes that are no text
  kTranscription,
};

/// There is a form of the answer that comes piece by piece.
bool CanStream(Dialect dialect);
/// It comes piece by piece without being asked for.
inline bool AlwaysStreams(Dialect dialect) { return dialect == Dialect::kSpeech; }
/// Of a good answer.
std::string_view ContentType(Dialect dialect, bool stream);

/// What a refusal's words say, beside its status.
enum class Wording { kPlain, kBusy, kSpent };

/// What the shapes of one answer are filled with.
struct AnswerContext {
  Dialect dialect = Dialect::kChat;
  std::string model_json;  ///< the model's name as a JSON string
  std::uint64_t id = 0;
  int input_tokens = 0;
  bool include_usage = false;  ///< chat streams: the request asked for a usage chunk
  bool crlf = false;
  bool tool_call = false;  ///< the model calls a function; the texts are its arguments
  int inputs = 1;          ///< embeddings, rerank: how many results
  bool base64 = false;     ///< embeddings: vectors as base64 of their floats
};

/// `text` as a JSON string, quotes included; bytes that are not UTF-8 are replaced.
std::string JsonString(std::string_view text);

/// A whole answer. `text_json` is a JSON string. Not for answers that always stream.
std::string PlainBody(const AnswerContext& context, std::string_view text_json, int tokens);
/// An error body for `status`.
std::string ErrorBody(Dialect dialect, int status, Wording wording = Wording::kPlain);
/// The body of a 200 that hides an error.
std::string HiddenErrorBody(int status);

/// Writes the events of one stream, in order.
class StreamWriter {
 public:
  explicit StreamWriter(AnswerContext context) : context_(std::move(context)) {}

  /// The events before the first text.
  void Opener(std::string* out);
  /// One piece of text; `text_json` is a JSON string (speech: the bytes themselves).
  void Text(std::string_view text_json, std::string* out);
  /// An event whose data is not JSON.
  void Malformed(std::string* out);
  void Error(int status, std::string* out);
  /// Why the text ended, and how much it was.
  void Finish(int tokens, std::string* out);
  /// The terminal event.
  void Done(int tokens, std::string* out);
  /// Something that is no event of the answer.
  void KeepAlive(std::string* out);

 private:
  void Event(std::string_view name, std::string_view data, std::string* out);
  void NameTool(std::string* out);
  void FinishResponse(std::string* out);
  std::string ResponseObject(std::string_view status, int tokens) const;
  std::string ResponseItem(std::string_view status) const;
  std::string_view ItemPrefix() const;

  AnswerContext context_;
  int sequence_ = 0;
  bool tool_named_ = false;
  std::string full_text_;  ///< what is repeated at the end; JSON-escaped, without quotes
};

}  // namespace hotel::sim

#endif  // HOTEL_SERVER_SIM_ANSWERS_H_
