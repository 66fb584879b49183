// A model trained on any records, and written as a Hugging Face directory.
//
//   train_gpt2 CONFIG_JSON RECORDS OUTPUT_DIR [STEPS]
#include <headwater/headwater.h>

#include <cstdio>
#include <cstdlib>

namespace hw = headwater;

namespace {

hw::Result<> run(const std::string& config, const std::string& records, const std::string& output,
                 int64_t steps) {
  hw::FileSystem& fs = hw::local_files();
  hw::ModelTrainerOptions options{.optimizer = hw::find_optimizer("adamw-hf")->options, .seed = 7};
  HW_ASSIGN_OR_RETURN(options.model.model, hw::read_hf_model(fs, config));
  HW_ASSIGN_OR_RETURN(auto executor, hw::Executor::open("cpu"));
  HW_ASSIGN_OR_RETURN(const auto trainer, hw::ModelTrainer::create(options, std::move(executor)));
  HW_RETURN_IF_ERROR(trainer->initialize());  // or load(): weights of a checkpoint

  hw::BatchPipelineOptions data{.records = records, .batch_size = 16};
  HW_ASSIGN_OR_RETURN(data.features, hw::parse_feature_specs("input_ids:int64[]"));
  HW_ASSIGN_OR_RETURN(const auto batches, hw::BatchPipeline::open(fs, data));
  HW_ASSIGN_OR_RETURN(const auto maker, hw::ModelBatchMaker::create(data.features, false, {}));

  const hw::Schedule schedule{.peak = 1e-3, .warmup_steps = steps / 10, .total_steps = steps};
  hw::ModelMetrics metrics(hw::Objective::kClm);
  for (int64_t step = 0; step < steps; ++step) {
    HW_ASSIGN_OR_RETURN(const auto batch, batches->next());
    HW_ASSIGN_OR_RETURN(const hw::ModelBatch made, maker.make(*batch));
    HW_ASSIGN_OR_RETURN(const hw::ModelStepResult result,
                        trainer->step(std::span(&made, 1), step, schedule.rate(step), metrics));
    if (step % 10 == 0) std::printf("step %3d  loss %.3f\n", static_cast<int>(step), result.loss);
  }
  HW_ASSIGN_OR_RETURN(const hw::TrainState state, trainer->state(steps));
  const hw::HfModelExport request{.state = &state, .model = options.model.model, .files = {}};
  HW_ASSIGN_OR_RETURN(const auto network, hw::export_model(fs, request, output));
  std::printf("%s: %lld parameters\n", network.directory.c_str(),
              static_cast<long long>(network.parameters));
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: train_gpt2 CONFIG_JSON RECORDS OUTPUT_DIR [STEPS]\n");
    return 2;
  }
  const auto result = run(argv[1], argv[2], argv[3], argc > 4 ? std::atoll(argv[4]) : 100);
  if (result) return 0;
  std::fprintf(stderr, "%s\n", result.error().to_string().c_str());
  return 1;
}
