// `pretrain`: ELECTRA pre-training.
#include "cli/verb.h"
#include "train/pretrain_run.h"

namespace headwater {

Verb make_pretrain_verb() {
  return make_verb<PretrainOptions>(
      {.name = "pretrain",
       .summary = "train an ELECTRA pair, or continue a run",
       .description =
           "Trains generator and discriminator by replaced-token detection on records that "
           "`headwater records build` or google's builder made. The run's directory holds "
           "checkpoints, metrics.jsonl and TensorBoard event files.\n\n"
           "--resume continues a run of one's own as if it had never stopped: weights, optimizer, "
           "order of the data, masks and dropout. --init-checkpoint begins a new run from the "
           "weights of another one. Ctrl-C or SIGTERM saves a checkpoint first.",
       .examples = {{"headwater pretrain --records 'records/*.tfrecord*' --vocab-file vocab.txt "
                     "--output-dir run --preset tiny",
                     "a small model that learns in minutes"},
                    {"headwater pretrain --records 'records/*.tfrecord*' --vocab-file vocab.txt "
                     "--output-dir run --preset tiny --resume",
                     "go on after an interruption"},
                    {"headwater pretrain --records 'chat/*.tfrecord*' --vocab-file vocab.txt "
                     "--output-dir adapted --preset tiny --init-checkpoint run --max-steps 300",
                     "continue on other text"}},
       .exit_notes = "130, 143  stopped by Ctrl-C or SIGTERM after a final checkpoint"},
      run_pretraining);
}

}  // namespace headwater
