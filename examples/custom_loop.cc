// A training step of one's own around a model of the library: a loss that is not in it, a further
// metric, a frozen part. The forward pass is a function; backward, clipping and optimizer follow
// from it.
//
// The loss is cross-entropy and a penalty on log Z, the normaliser of the softmax, which keeps
// logits from drifting (Chowdhery et al. 2022, section 5). Learned is to count: each token is the
// one before plus three.
#include <headwater/headwater.h>

#include <cstdio>

namespace hw = headwater;

namespace {

constexpr int64_t kBatch = 8, kLength = 16, kWords = 32;

hw::Model small_gpt2() {
  hw::Gpt2Config config;
  config.vocab_size = kWords;
  config.n_positions = kLength;
  config.n_embd = 32;
  config.n_layer = 2;
  config.n_head = 4;
  return {hw::Architecture::kGpt2LMHeadModel, config, {}};
}

hw::ForwardPass forward(hw::ParameterTree& tree, bool training) {
  hw::Graph& graph = tree.graph();
  hw::ModelInputs inputs;
  inputs.tokens.input_ids = graph.input("input_ids", {hw::DType::kI32, {kBatch, kLength}});
  inputs.labels = inputs.tokens.input_ids;  // the model shifts them
  hw::ForwardContext context;
  context.key = graph.input("key", {hw::DType::kU32, {2}});
  context.training = training;
  context.batch_size = kBatch;
  context.seq_length = kLength;
  const hw::ModelOutputs model = hw::build_model(tree, small_gpt2(), inputs, context);

  const hw::Value logits = hw::reshape(model.logits, {kBatch * kLength, kWords});
  const hw::Value log_z = hw::log(hw::reduce_sum(hw::exp(logits), {1}));
  const double rows = kBatch * kLength;
  const hw::Value penalty = hw::sum_all(log_z * log_z) * hw::constant(graph, 1e-4 / rows);
  const hw::Value mean_log_z = hw::sum_all(log_z) * hw::constant(graph, 1 / rows);
  return {model.loss + penalty,
          {{"loss", model.loss}, {"accuracy", model.task.accuracy}, {"log_z", mean_log_z}}};
}

hw::Result<> run() {
  hw::StepParts parts;
  parts.forward = forward;
  parts.is_trained = [](std::string_view name) { return name != "transformer.wpe.weight"; };
  const hw::OptimizerOptions optimizer = hw::find_optimizer("adamw-hf")->options;
  hw::Graph graph;
  HW_RETURN_IF_ERROR(hw::build_train_graph(parts, optimizer, graph));

  HW_ASSIGN_OR_RETURN(const auto executor, hw::Executor::open("cpu"));
  HW_ASSIGN_OR_RETURN(const hw::ParameterTypes types, hw::parameter_types(small_gpt2()));
  hw::DeviceState state(executor->make_store(), types, optimizer, /*seed=*/1);
  HW_RETURN_IF_ERROR(state.initialize());
  HW_ASSIGN_OR_RETURN(const auto program, executor->compile(graph, state.store()));

  const hw::Schedule schedule{.peak = 3e-3, .warmup_steps = 20, .total_steps = 300};
  for (int64_t step = 0; step < schedule.total_steps; ++step) {
    hw::Tensor ids(hw::DType::kI32, {kBatch, kLength});
    const hw::Key key = hw::Key::from_seed(1).fold_in(static_cast<uint32_t>(step));
    for (int64_t row = 0; row < kBatch; ++row) {
      const auto first = static_cast<int64_t>(key.below(static_cast<uint64_t>(row), kWords));
      for (int64_t t = 0; t < kLength; ++t)
        ids.as<int32_t>()[static_cast<size_t>(row * kLength + t)] =
            static_cast<int32_t>((first + 3 * t) % kWords);
    }
    HW_RETURN_IF_ERROR(program->feed("input_ids", ids));
    HW_RETURN_IF_ERROR(program->feed("key", hw::key_tensor(key)));
    HW_RETURN_IF_ERROR(
        hw::feed_scalars(*program, hw::optimizer_feeds(optimizer, step + 1, schedule.rate(step))));
    HW_RETURN_IF_ERROR(program->run());
    if (step % 50 != 0 && step != schedule.total_steps - 1) continue;
    HW_ASSIGN_OR_RETURN(const double loss, hw::fetch_scalar(*program, "loss"));
    HW_ASSIGN_OR_RETURN(const double accuracy, hw::fetch_scalar(*program, "accuracy"));
    HW_ASSIGN_OR_RETURN(const double log_z, hw::fetch_scalar(*program, "log_z"));
    std::printf("step %3d  loss %.3f  accuracy %.3f  log Z %.2f\n", static_cast<int>(step), loss,
                accuracy, log_z);
  }
  return {};
}

}  // namespace

int main() {
  const auto result = run();
  if (result) return 0;
  std::fprintf(stderr, "%s\n", result.error().to_string().c_str());
  return 1;
}
