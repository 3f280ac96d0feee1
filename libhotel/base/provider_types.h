// The known provider types by name (facts k, and vllm for seed 003). What each of them means on the wire is wire's table.
#ifndef HOTEL_BASE_PROVIDER_TYPES_H_
#define HOTEL_BASE_PROVIDER_TYPES_H_

#include <array>
#include <string_view>

namespace hotel::base {

inline constexpr std::array<std::string_view, 24> kProviderTypeNames = {
    "openai",       "anthropic",    "anthropic-messages",
    "azure",        "bedrock",      "cohere",
    "custom",       "deepseek",     "google",
    "kimi-code",    "koboldcpp",    "lmstudio",
    "minimax",      "nanogpt",      "neuralwatt",
    "ollama",       "ollama-cloud", "opencode-go",
    "opencode-zen", "openrouter",   "vertex-express",
    "vllm",         "xai",          "zai-coding",
};

}  // namespace hotel::base

#endif  // HOTEL_BASE_PROVIDER_TYPES_H_
