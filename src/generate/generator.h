// Decoding with a model on a device: tokens go in, the logits of the next one come out. Keys and
// values of what went in are kept on the device, so that a token costs one pass of one token.
//
// Works on weights in any store, those of a training run among them: they are read, never changed.
// The cache is kept in the same store; generators of one batch size and length on one store share
// it, and may not be used in turns within one sequence. Text is generate/text.h.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "executors/executor.h"
#include "generate/sampling.h"
#include "models/model.h"

namespace headwater {

struct GeneratorOptions {
  int64_t batch_size = 1;  // B: sequences at once, that begin with the same prompt
  int64_t max_tokens = 0;  // of a sequence, prompt included; 0: as many as the model has positions
  // Of the parameters in the store, where others are read in their place ("#ema").
  std::string state_suffix;
};

class Generator {
 public:
  // kUnimplemented for a model that does not predict the next token.
  static Result<> check_model(const Model& model);
  // The store must hold the model's parameters, and outlive the generator.
  static Result<std::unique_ptr<Generator>> create(const Model& model, const Executor& executor,
                                                   StateStore& store,
                                                   const GeneratorOptions& options = {});

  int64_t batch_size() const { return batch_size_; }
  int64_t max_tokens() const { return max_tokens_; }
  int64_t vocab_size() const { return vocab_size_; }

  // Begins B sequences anew with the same tokens, at least one: logits f32 [B, V] of the next.
  Result<Tensor> start(std::span<const int32_t> prompt);
  // One more token of each sequence, [B].
  Result<Tensor> extend(std::span<const int32_t> tokens);

 private:
  Generator() = default;
  Result<> compile(const Gpt2Config& config, const Executor& executor, StateStore& store,
                   const std::string& state_suffix);
  Result<> check_tokens(std::span<const int32_t> tokens, int64_t added) const;
  Result<> feed(Program& program, const Tensor& ids, int64_t last) const;
  Result<Tensor> logits(const Program& program) const;

  int64_t batch_size_ = 1, max_tokens_ = 0, vocab_size_ = 0;
  int64_t block_ = 1, capacity_ = 0;  // tokens of a pass over a prompt; of the cache
  int64_t length_ = 0;                // tokens in the cache
  std::unique_ptr<Program> block_program_, token_program_;
};

struct GenerateOptions {
  SamplingOptions sampling;
  int64_t max_new_tokens = 100;
  std::vector<int32_t> stop_tokens;  // end a sequence, and are no part of it
  int64_t token_count = 0;           // ids from here on are never taken; 0: all may be
};

struct GeneratedTokens {
  std::vector<int32_t> ids;  // without the prompt
  bool stopped = false;      // by a stop token; else by its length
};

struct Generated {
  std::vector<GeneratedTokens> sequences;      // [B]
  double prompt_seconds = 0, new_seconds = 0;  // for reports
};

// Called with every new token of every sequence as soon as it is known; an error ends the work.
using TokenSink = std::function<Result<>(int64_t sequence, int32_t token)>;

// A prompt that leaves no room for a further token is an error; a sequence that meets the limit on
// its way ends there. Sequence b draws from key.fold_in(b): what it becomes does not depend on the
// others, and only to rounding on how many there are.
Result<Generated> generate(Generator& generator, std::span<const int32_t> prompt,
                           const GenerateOptions& options, Key key, const TokenSink& sink = {});

}  // namespace headwater
