// `train`: a model by its architecture, on any records.
#include "cli/verb.h"
#include "train/train_run.h"

namespace headwater {

Verb make_train_verb() {
  return make_verb<TrainOptions>(
      {.name = "train",
       .summary = "train a GPT-2, BERT or ELECTRA network on any records",
       .description =
           "Trains the model that a config.json describes, from fresh weights or from those of a "
           "checkpoint of any format, on TFRecord files, JSON lines or text. What a record holds "
           "is "
           "said in a line (--features) or seen in the first record; batches are padded, bucketed "
           "or packed, and neither padding nor another document enters loss or accuracy.\n\n"
           "Objectives: clm (the next token), mlm (masked tokens, drawn anew for every batch "
           "unless the records have labels), mlm+nsp and mlm+sop (and the order of two sentences), "
           "rtd (replaced tokens, of given labels), classification. The ELECTRA pair, generator "
           "and "
           "discriminator together, is `headwater pretrain`.\n\n"
           "The run's directory holds checkpoints, metrics.jsonl and TensorBoard event files; "
           "`headwater export` makes a Hugging Face directory of it. --resume goes on as if the "
           "run "
           "had never stopped, in the middle of an epoch too. Ctrl-C or SIGTERM saves a checkpoint "
           "first.",
       .examples =
           {{"headwater train --model config.json --tokenizer vocab/ --records 'gpt/*.tfrecord' "
             "--output-dir run --batch-size 32 --epochs 3 --learning-rate 5e-4",
             "a GPT-2 from fresh weights"},
            {"headwater train --model run-of-yesterday --records 'more/*.tfrecord' --output-dir "
             "run2 --max-steps 10000 --eval-fraction 0.01 --eval-steps 500",
             "go on from another run, with a held-out share"},
            {"headwater train --model bert-base --objective mlm --whole-word-masking --records "
             "'bert/*.tfrecord' --output-dir run --epochs 1 --pad-to 64,128,256,512",
             "a BERT, whole words masked, four widths of batches"},
            {"headwater train --model config.json --records 'any/*.tfrecord.gz' --features "
             "'input_ids:int64[], attention_mask:int64[]?' --output-dir run --epochs 2",
             "records of another program"}},
       .exit_notes = "130, 143  stopped by Ctrl-C or SIGTERM after a final checkpoint"},
      run_training);
}

}  // namespace headwater
