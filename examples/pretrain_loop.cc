// The training loop in one's own hands: text -> vocabulary -> records -> batches -> steps -> a
// Hugging Face directory.
//
//   pretrain_loop CORPUS_DIR OUTPUT_DIR [STEPS]
#include <headwater/headwater.h>

#include <cstdio>
#include <cstdlib>

namespace hw = headwater;

namespace {

constexpr int64_t kLength = 64, kBatch = 16, kPredictions = 9;

// Counts the words of a corpus and trains a WordPiece vocabulary on them.
hw::Result<hw::Vocabulary> make_vocabulary(hw::FileSystem& fs, const std::string& corpus,
                                           const std::string& path) {
  hw::WordCounts counts({});
  HW_ASSIGN_OR_RETURN(const auto files, hw::list_corpus(fs, corpus));
  for (const hw::CorpusFile& file : files) {
    HW_ASSIGN_OR_RETURN(hw::LineReader reader, hw::LineReader::open(fs, file.path, {}));
    std::vector<std::string> lines;
    for (std::string_view line;;) {
      HW_ASSIGN_OR_RETURN(const bool more, reader.next(line));
      if (!more) break;
      lines.emplace_back(line);
    }
    counts.add_lines(lines);
  }
  hw::VocabTrainerOptions options;
  options.vocab_size = 2000;
  HW_ASSIGN_OR_RETURN(const auto trained, hw::train_vocabulary(counts.sorted(), options));
  std::string text;
  for (const std::string& token : trained.tokens) text += token + "\n";
  HW_RETURN_IF_ERROR(hw::write_file_atomic(fs, path, text));
  return hw::Vocabulary::load(fs, path);
}

// A pair of 2 layers; everything else as in ELECTRA.
hw::TrainerOptions trainer_options(int64_t vocab_size) {
  hw::TrainerOptions options;
  hw::ElectraConfig& c = options.model.discriminator;
  c.vocab_size = vocab_size;
  c.embedding_size = c.hidden_size = 64;
  c.num_hidden_layers = 2;
  c.num_attention_heads = 2;
  c.intermediate_size = 256;
  c.max_position_embeddings = kLength;
  options.model.generator = c;
  options.model.sizes = {kBatch, kLength, kPredictions};
  options.seed = 1;
  return options;
}

hw::Result<> run(const std::string& corpus, const std::string& output, int64_t steps) {
  hw::FileSystem& fs = hw::local_files();
  HW_RETURN_IF_ERROR(fs.make_directories(output));
  HW_ASSIGN_OR_RETURN(const hw::Vocabulary vocabulary,
                      make_vocabulary(fs, corpus, output + "/vocab.txt"));
  hw::RecordsBuildOptions build;
  build.corpus_dir = corpus;
  build.vocab_file = output + "/vocab.txt";
  build.output_dir = output + "/records";
  build.max_seq_length = kLength;
  HW_RETURN_IF_ERROR(hw::build_records(fs, build));

  hw::PipelineOptions data;
  data.records = output + "/records/*.tfrecord*";
  data.batch_size = kBatch;
  data.max_seq_length = kLength;
  data.max_predictions = kPredictions;
  data.vocab_size = vocabulary.size();
  HW_ASSIGN_OR_RETURN(const hw::SpecialIds specials, vocabulary.special_ids());
  HW_ASSIGN_OR_RETURN(const auto batches, hw::PretrainPipeline::open(fs, data, specials));

  const hw::TrainerOptions options = trainer_options(vocabulary.size());
  HW_ASSIGN_OR_RETURN(auto executor, hw::Executor::open("cpu"));
  HW_ASSIGN_OR_RETURN(const auto trainer, hw::Trainer::create(options, std::move(executor)));
  HW_RETURN_IF_ERROR(trainer->initialize());
  const hw::Schedule schedule{.peak = 1e-3, .warmup_steps = steps / 10, .total_steps = steps};
  for (int64_t step = 0; step < steps; ++step) {
    HW_ASSIGN_OR_RETURN(const hw::PretrainBatch batch, batches->next());
    hw::ElectraMetrics metrics;
    HW_ASSIGN_OR_RETURN(const hw::StepResult result,
                        trainer->step(std::span(&batch, 1), step, schedule.rate(step), metrics));
    if (step % 10 == 0 || step == steps - 1) {
      std::printf("step %3lld  generator %.3f  discriminator %.3f\n", static_cast<long long>(step),
                  result.mlm_loss, result.disc_loss.value_or(0));
    }
  }

  HW_ASSIGN_OR_RETURN(const hw::TrainState state, trainer->state(steps));
  hw::HfExport request;
  request.state = &state;
  request.discriminator = options.model.discriminator;
  request.generator = options.model.generator;
  request.vocabulary = &vocabulary;
  HW_ASSIGN_OR_RETURN(const auto report, hw::export_electra(fs, request, output + "/model"));
  for (const auto& network : report.networks) {
    std::printf("%s: %lld parameters\n", network.directory.c_str(),
                static_cast<long long>(network.parameters));
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: pretrain_loop CORPUS_DIR OUTPUT_DIR [STEPS]\n");
    return 2;
  }
  if (const auto result = run(argv[1], argv[2], argc > 3 ? std::atoll(argv[3]) : 100); !result) {
    std::fprintf(stderr, "%s\n", result.error().to_string().c_str());
    return 1;
  }
  return 0;
}
