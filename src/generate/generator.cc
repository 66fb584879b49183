#include "generate/generator.h"

#include <algorithm>
#include <chrono>

#include "base/checked.h"
#include "models/gpt2.h"

namespace headwater {
namespace {

// Tokens of one pass over a prompt: products of as many rows run near full speed, and a short
// prompt is not filled up to much more than it has.
constexpr int64_t kPromptBlock = 32;

Result<std::unique_ptr<Program>> compile_decoder(const Gpt2Config& config, int64_t batch_size,
                                                 int64_t tokens, int64_t capacity,
                                                 const std::string& state_suffix,
                                                 const Executor& executor, StateStore& store) {
  Graph graph;
  try {
    ParameterTree tree(graph, state_suffix);
    const Type scalar{DType::kI32, {}};
    DecoderInputs inputs;
    inputs.input_ids = graph.input("input_ids", {DType::kI32, {batch_size, tokens}});
    inputs.position = graph.input("position", scalar);
    inputs.last = graph.input("last", scalar);
    inputs.capacity = capacity;
    ForwardContext context;
    context.training = false;
    context.batch_size = batch_size;
    context.seq_length = tokens;
    graph.output("logits", build_gpt2_decoder(tree, config, inputs, context));
  } catch (const GraphError& e) {
    return fail(Code::kInvalidArgument, "the decoder cannot be built: {}", e.what());
  }
  return executor.compile(graph, store);
}

Tensor scalar_i32(int64_t value) {
  const auto narrow = static_cast<int32_t>(value);
  return Tensor::i32({}, std::span(&narrow, 1));
}

}  // namespace

Result<> Generator::check_model(const Model& model) {
  if (std::holds_alternative<Gpt2Config>(model.config)) return {};
  return fail_hint(
      Code::kUnimplemented,
      fmt::format("models that do: {}", architecture_name(Architecture::kGpt2LMHeadModel)),
      "{} does not predict the next token, so it cannot generate",
      architecture_name(model.architecture));
}

Result<std::unique_ptr<Generator>> Generator::create(const Model& model, const Executor& executor,
                                                     StateStore& store,
                                                     const GeneratorOptions& options) {
  HW_RETURN_IF_ERROR(check_model(model));
  const auto& config = std::get<Gpt2Config>(model.config);
  constexpr int64_t kMaxBatch = 4096;
  if (options.batch_size < 1 || options.batch_size > kMaxBatch) {
    return fail(Code::kInvalidArgument, "{} sequences at once: must be 1 to {}", options.batch_size,
                kMaxBatch);
  }
  auto generator = std::unique_ptr<Generator>(new Generator);
  generator->batch_size_ = options.batch_size;
  generator->vocab_size_ = config.vocab_size;
  const int64_t wanted = options.max_tokens > 0 ? options.max_tokens : config.n_positions;
  generator->max_tokens_ = std::min(wanted, config.n_positions);
  generator->block_ = std::min(kPromptBlock, config.n_positions);
  generator->capacity_ = round_up(generator->max_tokens_, generator->block_);
  HW_RETURN_IF_ERROR(generator->compile(config, executor, store, options.state_suffix));
  return generator;
}

Result<> Generator::compile(const Gpt2Config& config, const Executor& executor, StateStore& store,
                            const std::string& state_suffix) {
  const auto program = [&](int64_t tokens) {
    return compile_decoder(config, batch_size_, tokens, capacity_, state_suffix, executor, store);
  };
  HW_ASSIGN_OR_RETURN(token_program_, program(1));
  if (block_ == 1) return {};
  HW_ASSIGN_OR_RETURN(block_program_, program(block_));
  return {};
}

Result<> Generator::check_tokens(std::span<const int32_t> tokens, int64_t added) const {
  for (const int32_t token : tokens) {
    if (token >= 0 && token < vocab_size_) continue;
    return fail_hint(Code::kOutOfRange, "is this the model's tokenizer?",
                     "token {} is not one of the model's {}", token, vocab_size_);
  }
  if (added <= max_tokens_ - length_) return {};
  return fail(Code::kOutOfRange, "{} tokens are more than the {} that a sequence may have",
              length_ + added, max_tokens_);
}

Result<> Generator::feed(Program& program, const Tensor& ids, int64_t last) const {
  HW_RETURN_IF_ERROR(program.feed("input_ids", ids));
  HW_RETURN_IF_ERROR(program.feed("position", scalar_i32(length_)));
  return program.feed("last", scalar_i32(last));
}

// On the devices of a data-parallel training every replica makes the same rows: the first's.
Result<Tensor> Generator::logits(const Program& program) const {
  HW_ASSIGN_OR_RETURN(Tensor all, program.fetch("logits"));
  if (all.shape()[0] == batch_size_) return all;
  const auto size = static_cast<size_t>(batch_size_ * vocab_size_);
  return Tensor::f32({batch_size_, vocab_size_}, all.as<float>().first(size));
}

Result<Tensor> Generator::start(std::span<const int32_t> prompt) {
  length_ = 0;
  const auto size = static_cast<int64_t>(prompt.size());
  if (size == 0) return fail(Code::kInvalidArgument, "the prompt has no token");
  HW_RETURN_IF_ERROR(check_tokens(prompt, size));
  Program* program = nullptr;
  while (length_ < size) {
    const int64_t rest = size - length_;
    const int64_t block = rest == 1 ? 1 : block_, taken = std::min(rest, block);
    program = block == 1 ? token_program_.get() : block_program_.get();
    Tensor ids(DType::kI32, {batch_size_, block});  // zeros behind the end of the prompt
    for (int64_t b = 0; b < batch_size_; ++b)
      std::copy_n(prompt.begin() + length_, taken, ids.as<int32_t>().begin() + b * block);
    HW_RETURN_IF_ERROR(feed(*program, ids, taken - 1));
    HW_RETURN_IF_ERROR(program->run());
    length_ += taken;
  }
  return logits(*program);
}

Result<Tensor> Generator::extend(std::span<const int32_t> tokens) {
  if (static_cast<int64_t>(tokens.size()) != batch_size_ || length_ == 0) {
    return fail(Code::kFailedPrecondition, "{} tokens for {} sequences of {}", tokens.size(),
                batch_size_, length_);
  }
  HW_RETURN_IF_ERROR(check_tokens(tokens, 1));
  HW_RETURN_IF_ERROR(feed(*token_program_, Tensor::i32({batch_size_, 1}, tokens), 0));
  HW_RETURN_IF_ERROR(token_program_->run());
  length_ += 1;
  return logits(*token_program_);
}

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The sequences of one prompt while they grow.
class Growth {
 public:
  Growth(std::span<const int32_t> prompt, int64_t batch_size, const GenerateOptions& options,
         Key key)
      : options_(options), key_(key) {
    sequences_.resize(static_cast<size_t>(batch_size));
    seen_.assign(sequences_.size(), {prompt.begin(), prompt.end()});
    last_.assign(sequences_.size(), prompt.back());
    done_.assign(sequences_.size(), false);
  }

  // Chooses the next token of every sequence that is not done; false when all are.
  Result<bool> add(Tensor logits, const TokenSink& sink) {
    const auto width = static_cast<size_t>(logits.shape()[1]);
    const size_t count = options_.token_count > 0
                             ? std::min(width, static_cast<size_t>(options_.token_count))
                             : width;
    bool grows = false;
    for (size_t b = 0; b < sequences_.size(); ++b) {
      if (done_[b]) continue;
      HW_RETURN_IF_ERROR(add_to(b, logits.as<float>().subspan(b * width, count), sink));
      grows = grows || !done_[b];
    }
    return grows;
  }

  std::span<const int32_t> last() const { return last_; }
  std::vector<GeneratedTokens> take() { return std::move(sequences_); }

 private:
  Result<> add_to(size_t b, std::span<float> logits, const TokenSink& sink) {
    if (!has_choice(logits)) {
      return fail_hint(Code::kDataLoss, "its training has diverged, or the weights are damaged",
                       "the model's logits are no numbers");
    }
    GeneratedTokens& sequence = sequences_[b];
    const int32_t token = choose_token(logits, seen_[b], options_.sampling,
                                       key_.fold_in(static_cast<uint32_t>(b)), sequence.ids.size());
    last_[b] = token;
    sequence.stopped = std::ranges::find(options_.stop_tokens, token) != options_.stop_tokens.end();
    if (!sequence.stopped) {
      sequence.ids.push_back(token);
      seen_[b].push_back(token);
      if (sink) HW_RETURN_IF_ERROR(sink(static_cast<int64_t>(b), token));
    }
    done_[b] =
        sequence.stopped || static_cast<int64_t>(sequence.ids.size()) >= options_.max_new_tokens;
    return {};
  }

  const GenerateOptions& options_;
  Key key_;
  std::vector<GeneratedTokens> sequences_;
  std::vector<std::vector<int32_t>> seen_;  // prompt and new tokens
  std::vector<int32_t> last_;
  std::vector<bool> done_;
};

}  // namespace

Result<Generated> generate(Generator& generator, std::span<const int32_t> prompt,
                           const GenerateOptions& options, Key key, const TokenSink& sink) {
  const auto room = generator.max_tokens() - static_cast<int64_t>(prompt.size());
  if (room <= 0 && options.max_new_tokens > 0) {
    return fail_hint(Code::kOutOfRange, "shorten the prompt",
                     "the prompt has {} tokens, and with what follows it may have {}",
                     prompt.size(), generator.max_tokens());
  }
  const auto begin = Clock::now();
  HW_ASSIGN_OR_RETURN(Tensor logits, generator.start(prompt));
  Generated generated;
  generated.prompt_seconds = seconds_since(begin);
  const auto first = Clock::now();
  GenerateOptions bounded = options;
  bounded.max_new_tokens = std::min(options.max_new_tokens, room);
  Growth growth(prompt, generator.batch_size(), bounded, key);
  while (bounded.max_new_tokens > 0) {
    HW_ASSIGN_OR_RETURN(const bool grows, growth.add(std::move(logits), sink));
    if (!grows) break;
    HW_ASSIGN_OR_RETURN(logits, generator.extend(growth.last()));
  }
  generated.sequences = growth.take();
  generated.new_seconds = seconds_since(first);
  return generated;
}

}  // namespace headwater
